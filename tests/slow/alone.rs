//! Turns that tests take, so that what one measures of the process is its own: memory, CPU, panics.

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

static TURN: RwLock<()> = RwLock::const_new(());

/// Waits until no other test runs, and holds the others back.
pub(crate) async fn alone() -> RwLockWriteGuard<'static, ()> {
    TURN.write().await
}

/// As [`alone`], for a test without a runtime.
pub(crate) fn alone_blocking() -> RwLockWriteGuard<'static, ()> {
    TURN.blocking_write()
}

/// Waits until no test runs alone, and runs beside others that measure nothing.
pub(crate) async fn beside_others() -> RwLockReadGuard<'static, ()> {
    TURN.read().await
}

/// As [`beside_others`], for a test without a runtime.
pub(crate) fn beside_others_blocking() -> RwLockReadGuard<'static, ()> {
    TURN.blocking_read()
}
