//! Which texts were opened before.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::future::{BoxFuture, ready};

use crate::run::Time;
use crate::store::StoreError;

/// What becomes of a text that is opened twice.
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

/// Remembers which texts were opened. Where several processes open texts, they must share it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot remember which sealed runs were opened",
    label = "`NonceStore` is not implemented",
    note = "`MemoryNonces` does within one process; implement `NonceStore` where several share it"
)]
pub trait NonceStore: Send + Sync {
    /// Notes `nonce`, and says whether it was new. It can be forgotten at `expires`.
    fn spend<'a>(&'a self, nonce: &'a str, expires: Time, now: Time) -> BoxFuture<'a, Result<bool, StoreError>>;
}

/// Remembers in memory: for one process, until it ends.
#[derive(Debug, Default)]
pub struct MemoryNonces {
    spent: Mutex<HashMap<String, Time>>,
}

impl MemoryNonces {
    /// Nothing was opened yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl NonceStore for MemoryNonces {
    fn spend<'a>(&'a self, nonce: &'a str, expires: Time, now: Time) -> BoxFuture<'a, Result<bool, StoreError>> {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.retain(|_, until| *until > now);
        let is_new = spent.insert(nonce.to_owned(), expires).is_none();
        Box::pin(ready(Ok(is_new)))
    }
}
