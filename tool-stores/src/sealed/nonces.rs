//! Which texts were opened before.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use chacha20poly1305::{AeadCore, XChaCha20Poly1305, aead::OsRng};
use futures_util::future::{BoxFuture, ready};

use tool_runtime::run::Time;
use tool_runtime::store::StoreError;

/// The fate of a text that is opened twice.
#[derive(Clone)]
#[non_exhaustive]
pub enum Replay {
    /// It is refused: each text is good for one opening.
    Refuse(Arc<dyn NonceStore>),
    /// It is opened again. For runs in which nothing can happen that must not happen twice.
    AllowReplay,
}

impl fmt::Debug for Replay {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Refuse(_) => "Refuse",
            Self::AllowReplay => "AllowReplay",
        })
    }
}

impl Replay {
    /// The id of the store that remembers.
    pub(super) fn id(&self) -> Option<&str> {
        match self {
            Self::Refuse(nonces) => nonces.id(),
            Self::AllowReplay => None,
        }
    }
}

/// For how many milliseconds a nonce is kept when its text has expired, a day: clocks of machines differ, and where one
/// is slow, the text can still be opened.
const KEPT: u64 = 24 * 60 * 60 * 1000;

/// Nonces of texts that have expired by then need not be kept at `now`.
pub(crate) fn kept_since(now: Time) -> Time {
    Time(now.0.saturating_sub(KEPT))
}

/// A text that nobody else has.
pub(crate) fn unique() -> String {
    BASE64.encode(XChaCha20Poly1305::generate_nonce(&mut OsRng))
}

/// Remembers which texts were opened. Where several processes open texts, they must share it.
///
/// With the feature `sqlite`, `SqliteStore` is one for the processes of a machine. With `postgres`, `PostgresStore` is
/// one for any number of machines. Both may keep runs, too.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot remember which sealed runs were opened",
    label = "`NonceStore` is not implemented",
    note = "`SqliteStore` and `PostgresStore` do, and `MemoryNonces` within one process; or implement `NonceStore`"
)]
pub trait NonceStore: Send + Sync {
    /// Identifies what the store remembers. A text is opened only where this is the same as when it was sealed: a store
    /// that was lost, or began later, does not know which of the earlier texts were opened.
    ///
    /// `None`, as long as it is not implemented: for a store that never forgets, and is the only one for its keys.
    fn id(&self) -> Option<&str> {
        None
    }

    /// Notes `nonce`, and says whether it was new. It can be forgotten at `expires`, and some time later where the
    /// clocks of machines differ. Of many at one time, for one it is new.
    ///
    /// Fails when it is not known whether it was noted: then nothing is opened.
    fn spend<'a>(&'a self, nonce: &'a str, expires: Time, now: Time) -> BoxFuture<'a, Result<bool, StoreError>>;
}

/// Remembers in memory: for one process, until it ends.
///
/// It opens nothing that was sealed before it began, or that another process has sealed, whatever the key: nobody knows
/// whether that was opened. So it goes with a key of the process, [`Key::random`](super::Key::random), and with tests.
/// Where the key outlives the process, the nonces must, too.
#[derive(Debug)]
pub struct MemoryNonces {
    id: String,
    spent: Mutex<HashMap<String, Time>>,
}

impl MemoryNonces {
    /// Returns a store in which nothing was opened yet.
    pub fn new() -> Self {
        Self { id: unique(), spent: Mutex::default() }
    }
}

impl Default for MemoryNonces {
    fn default() -> Self {
        Self::new()
    }
}

impl NonceStore for MemoryNonces {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }

    fn spend<'a>(&'a self, nonce: &'a str, expires: Time, now: Time) -> BoxFuture<'a, Result<bool, StoreError>> {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.retain(|_, until| *until > kept_since(now));
        let is_new = spent.insert(nonce.to_owned(), expires).is_none();
        Box::pin(ready(Ok(is_new)))
    }
}
