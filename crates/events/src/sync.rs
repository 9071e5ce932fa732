//! Locking when a thread that panicked may have held the lock, and keeping words apart.

// Sources that tests check under all interleavings take these from here: there they are loom's.
pub use std::sync::atomic;

use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks; what a thread that panicked left behind is whole, as state changes in one step.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A word that threads write all the time, on cache lines of its own: those who read what lies beside
/// it are not held up.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Apart<T>(pub T);

impl<T> Deref for Apart<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
