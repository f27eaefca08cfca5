//! Locks for tests that measure the whole process: its memory, its CPU or its panics.

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

static TURN: RwLock<()> = RwLock::const_new(());

/// Waits until no other test runs, and delays the others.
pub(crate) async fn alone() -> RwLockWriteGuard<'static, ()> {
    TURN.write().await
}

/// Does the same as [`alone`], for a test without a runtime.
pub(crate) fn alone_blocking() -> RwLockWriteGuard<'static, ()> {
    TURN.blocking_write()
}

/// Waits until no test runs alone. Tests that measure nothing run beside each other.
pub(crate) async fn beside_others() -> RwLockReadGuard<'static, ()> {
    TURN.read().await
}

/// Does the same as [`beside_others`], for a test without a runtime.
pub(crate) fn beside_others_blocking() -> RwLockReadGuard<'static, ()> {
    TURN.blocking_read()
}
