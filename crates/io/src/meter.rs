//! Bytes that this process has read and written so far, for whoever shows how far it is.

use std::sync::atomic::{AtomicU64, Ordering};

// Each pairs with itself: figures for people, which order nothing.
static READ: AtomicU64 = AtomicU64::new(0);
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// Adds bytes that were read and bytes that were written.
pub fn count(read: u64, written: u64) {
    READ.fetch_add(read, Ordering::Relaxed);
    WRITTEN.fetch_add(written, Ordering::Relaxed);
}

/// Bytes read and bytes written so far.
pub fn moved() -> (u64, u64) {
    (READ.load(Ordering::Relaxed), WRITTEN.load(Ordering::Relaxed))
}
