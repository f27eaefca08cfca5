//! The interface through which the loop writes and reads the log of a run.

use futures_util::future::BoxFuture;

use super::{Append, Record, StoreError, StoredRun};
use crate::run::{Run, Timestamp};

/// A [`Session`](crate::agent::Session)'s access to the log of one run.
///
/// A run is nothing but its log. The loop appends entries first and takes the actions that follow from them afterwards: it asks
/// the model, starts calls, asks people. So a keeper needs no knowledge of models and tools. It has four duties:
///
/// - **Append.** [`append`](Self::append) returns when the entries are durable. Then, and only then, the loop takes their actions.
///   Only one of several writers with the same [`expected`](super::Append::expected) may succeed.
/// - **Resume the run at a time.** The head of each append has the time at which the run needs attention again ([`Head::due_at`]). At
///   that time, the engine has a process open and resume the run ([`Agent::open`], [`Session::resume`]), even if this process has
///   ended. While the run continues by itself, [`Head::due_at`] is in the past, so a run whose process dies is resumed at once.
/// - **Report entries of others.** [`wait`](Self::wait) returns when others may have added entries: decisions, messages, stops.
///   [`read`](Self::read) returns these entries.
/// - **Grant the right to drive.** [`renew`](Self::renew) acquires it for this process, and [`release`](Self::release) gives it up.
///
/// A store that returns no keeper gets the runtime's, which holds a lease and polls the log. An engine that already does durable
/// execution implements both traits. Every process uses the [`Store`] to load runs and to append decisions. A session drives the
/// run with the keeper that [`Store::keeper`] returns. There are two kinds of keepers:
///
/// - In the process in which the engine drives the run, the keeper hands each append to the engine. The right to drive is the
///   engine's own, so [`renew`](Self::renew) has nothing to do.
/// - In all others, [`drives`](Self::drives) returns `false`. The session then adds its prompt, and follows the run until
///   it rests, but takes no action itself.
///
/// A keeper trusts no process: entries are texts, and [`Run::fold`] checks each of them. It cannot make evidence, so it cannot let
/// a call run that nobody approved.
///
/// # Rules
///
/// - A session creates a keeper each time that it begins to drive, and ends it when it stops. If its future was dropped, the next
///   drive calls [`release`](Self::release) first.
/// - The first append of a new run, with `expected` 0, comes before the first [`renew`](Self::renew), because no other process
///   can know that run.
/// - If [`renew`](Self::renew) returns no time, a session does not read the log before its first drive, nor at the end of a drive.
///   So the engine must give the right to drive before the run is loaded. It must resume the run for entries that come after the
///   last append.
/// - After a restart, calls that were started and have no end are lost. The loop itself decides then whether to start them again or
///   to ask a person, so the keeper never repeats an action.
/// - A keeper that does not know whether an append succeeded may append again. It must recognize its own entries, or return
///   [`StoreError::Unavailable`]. The next drive loads the run.
///
/// [`Agent::open`]: crate::agent::Agent::open
/// [`Session::resume`]: crate::agent::Session::resume
/// [`Head::due_at`]: super::Head::due_at
/// [`Store`]: super::Store
/// [`Store::keeper`]: super::Store::keeper
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not keep the log of a run",
    label = "`Keeper` is not implemented",
    note = "a store needs no keeper: return `None` from `Store::keeper`, and the runtime drives its runs under a lease"
)]
pub trait Keeper: Send + Sync {
    /// Appends entries durably. [`Append::lease`] is not set.
    ///
    /// Fails with [`StoreError::Conflict`] if the log does not have exactly `expected` entries; the loop then loads the run, and
    /// appends what still follows. Fails with [`StoreError::Fenced`] if the right to drive is lost.
    fn append(&mut self, append: Append) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Returns the records after the first `known` entries, oldest first, as [`Store::read`](super::Store::read) does.
    fn read(&mut self, known: u64) -> BoxFuture<'_, Result<Vec<Record>, StoreError>>;

    /// Waits until the log may have more than `known` entries. `asks` is set if an interrupt is open, so that somebody may be
    /// about to decide.
    ///
    /// The loop reads the run then. It drops the future at will, and always after an append. A keeper without notifications
    /// returns after a while; [`LogLengths`](super::LogLengths) help it to notice the appends of its own process at once.
    fn wait(&mut self, known: u64, asks: bool) -> BoxFuture<'static, ()>;

    /// Returns whether the session takes the actions that follow from the entries, as it does by default. Otherwise the engine
    /// takes them: an append whose head has a time makes it resume the run. The session only follows it, like
    /// [`Session::follow`](crate::agent::Session::follow). Its observer receives the pieces of the model's turn that
    /// [`Store::pieces`](super::Store::pieces) passes on, and the rest at the turn's end. Its operator is not asked.
    fn drives(&self) -> bool {
        true
    }

    /// Loads the run. By default, it folds all records.
    fn load(&mut self) -> BoxFuture<'_, Result<Run, StoreError>> {
        Box::pin(async { StoredRun::new(None, self.read(0).await?).rebuild() })
    }

    /// Acquires the right to drive the run, or renews it. Returns the time at which it must be renewed; `None` if the engine has
    /// given the right before the run was loaded.
    ///
    /// Fails with [`StoreError::Leased`] while another process drives the run, and with [`StoreError::Fenced`] if another one has
    /// driven it since.
    fn renew(&mut self, now: Timestamp) -> BoxFuture<'_, Result<Option<Timestamp>, StoreError>> {
        let _ = now;
        Box::pin(async { Ok(None) })
    }

    /// Stores a snapshot of the run at `rev` ([`Run::freeze`]), from which it can be loaded faster. By default, nothing is stored.
    fn save_snapshot(&mut self, rev: u64, text: String) -> BoxFuture<'_, Result<(), StoreError>> {
        let _ = (rev, text);
        Box::pin(async { Ok(()) })
    }

    /// Gives up the right to drive, if there is one.
    fn release(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }
}
