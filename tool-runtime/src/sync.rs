//! Locks.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`, even if another holder panicked: a panic ends one call or one report, and leaves the data consistent.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
