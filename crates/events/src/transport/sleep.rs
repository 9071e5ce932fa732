//! A bell: who sleeps by it wakes when it rings.

use super::futex;
use crate::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Duration;

/// Two words by which threads sleep and wake; all zeros at first, so they can lie in memory that
/// processes share.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Bell {
    rings: AtomicU32,
    sleepers: AtomicU32,
}

impl Bell {
    /// Says that somebody sleeps, or is about to, elsewhere: who rings finds that out by
    /// [`Bell::has_sleeper`]. What there is to do is looked for after that.
    pub fn announce(&self) {
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        // Its partner is in `has_sleeper`.
        fence(Ordering::SeqCst);
    }

    /// Takes back what [`Bell::announce`] said.
    pub fn retract(&self) {
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether somebody may sleep who has not seen what the caller did before.
    pub fn has_sleeper(&self) -> bool {
        fence(Ordering::SeqCst);
        self.may_have_sleeper()
    }

    /// The same for who has passed such a fence already.
    pub fn may_have_sleeper(&self) -> bool {
        self.sleepers.load(Ordering::Relaxed) > 0
    }

    /// Sleeps until the bell rings or `timeout` is over, unless `is_idle` denies it at the last
    /// moment. May wake early.
    pub fn sleep(&self, is_idle: &dyn Fn() -> bool, timeout: Option<Duration>) {
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        let seen = self.rings.load(Ordering::Relaxed);
        // Its partner is in `has_sleeper`: either the ringer sees the sleeper, or `is_idle` sees what
        // the ringer did before.
        fence(Ordering::SeqCst);
        if is_idle() {
            futex::wait(&self.rings, seen, timeout);
        }
        self.retract();
    }

    /// Wakes up to `count` sleepers; whether there may be some.
    pub fn ring(&self, count: i32) -> bool {
        if !self.has_sleeper() {
            return false;
        }
        self.rings.fetch_add(1, Ordering::Relaxed);
        futex::wake(&self.rings, count);
        true
    }
}
