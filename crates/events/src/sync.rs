//! Locking when a thread that panicked may have held the lock.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks; what a thread that panicked left behind is whole, as state changes in one step.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
