//! The interface through which the loop writes and reads the log of a run.

use futures_util::future::BoxFuture;

use super::{Append, Record, StoreError, StoredRun};
use crate::run::{Run, Timestamp};

/// A [`Session`](crate::agent::Session)'s access to the log of one run.
///
/// A run's state follows from its log alone. The loop appends entries first, and only then takes the actions that follow: it
/// asks the model, starts calls, asks people. So a keeper need not know models and tools. It has four duties:
///
/// - **Append.** [`append`](Self::append) returns when the entries are durable. Only one of several writers with the same
///   [`expected`](super::Append::expected) may succeed.
/// - **Resume the run when it is due.** The head of each append has the time at which the run is due ([`Head::due_at`]). At
///   that time, the engine makes a process open and resume the run ([`Agent::open`], [`Session::resume`]), even if this process
///   has ended. While the run continues by itself, the time is in the past, so a run whose process dies is resumed at once.
/// - **Report entries of others.** [`wait`](Self::wait) returns when other processes may have added entries: decisions,
///   messages, stops. [`read`](Self::read) returns these entries.
/// - **Grant the right to drive.** [`renew`](Self::renew) acquires it for this process, and [`release`](Self::release) gives it up.
///
/// If a store returns no keeper, the runtime uses its own keeper, which holds a lease, and reads the log when the store
/// notifies it or at intervals. An engine that already does durable execution implements [`Store`] and `Keeper`. Every process
/// loads runs and appends decisions with the store. A session drives the run with the keeper that [`Store::keeper`] returns. An
/// engine has two kinds of keepers:
///
/// - In the process in which the engine drives the run, the keeper hands each append to the engine. The engine has given the
///   right to drive, so [`renew`](Self::renew) has nothing to do.
/// - In all other processes, [`drives`](Self::drives) returns `false`. The session then adds its prompt, and follows the run
///   until it is at rest, but takes no action itself.
///
/// The runtime trusts no keeper: entries are texts, and [`Run::fold`] checks each of them. A keeper cannot make evidence, so it
/// cannot let a call run that nobody approved.
///
/// # Rules
///
/// - A session creates a keeper each time that it begins to drive, and calls [`release`](Self::release) when it stops. The next
///   drive releases that keeper again, because the earlier future may have been dropped.
/// - The first append of a new run, with `expected` 0, comes before the first [`renew`](Self::renew), because no other process
///   can know that run.
/// - If [`renew`](Self::renew) returns no time, a session does not read the log before its first drive, nor at the end of a drive.
///   So the engine must give the right to drive before the run is loaded. It must resume the run for entries that come after the
///   last append.
/// - After a restart, calls that started and did not end are lost. The loop itself then decides whether to start them again or
///   to ask a person, so the keeper never repeats an action.
/// - A keeper that does not know whether an append succeeded may append again. It must recognize its own entries, or return
///   [`StoreError::Unavailable`]. The next drive then loads the run.
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
    /// The loop then reads the log. It may drop the future at any time, and always does so after an append. Without
    /// notifications, the future completes after a while; [`LogLengths`](super::LogLengths) report this process's appends.
    fn wait(&mut self, known: u64, asks: bool) -> BoxFuture<'static, ()>;

    /// Returns whether the session takes the actions that follow from the entries, as it does by default. Otherwise the engine
    /// takes them: it resumes the run after an append whose head has a due time. The session only follows the run, like
    /// [`Session::follow`](crate::agent::Session::follow). Its operator receives no requests. Its observer receives the pieces
    /// of the model's turn that [`Store::pieces`](super::Store::pieces) passes on, and the rest at the turn's end.
    fn drives(&self) -> bool {
        true
    }

    /// Returns the maximum size in bytes of the text of one append. By default, there is no limit.
    ///
    /// The loop divides longer appends. A call whose result is longer fails, and the model reads why. A tool whose question or
    /// durable step is longer gets an error. A turn of the model that is longer than half of the maximum is cut, as at the
    /// provider's own limit. A longer prompt is refused ([`StoreError::TooLarge`]). If what follows from one event is still too
    /// long, the run stops ([`StopReason::LimitReached`](crate::run::StopReason::LimitReached)).
    fn max_append_bytes(&self) -> usize {
        usize::MAX
    }

    /// Returns whether the drive should end before the next request to the model, as it does not by default. The engine then
    /// resumes the run.
    fn ends_drive(&self) -> bool {
        false
    }

    /// Loads the run. By default, it folds all records.
    fn load(&mut self) -> BoxFuture<'_, Result<Run, StoreError>> {
        Box::pin(async { StoredRun::new(None, self.read(0).await?).rebuild() })
    }

    /// Acquires the right to drive the run, or renews it. Returns the time at which it must be renewed; `None` if the engine has
    /// given the right before the run was loaded.
    ///
    /// Fails with [`StoreError::Leased`] while another process drives the run, and with [`StoreError::Fenced`] if another
    /// process has driven it in between.
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
