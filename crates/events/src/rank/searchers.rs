//! Which workers are awake and look for something to do: whoever pushes a job wakes nobody while one does, and that one
//! wakes another if it leaves jobs behind. So no job is left to those who sleep, and most jobs wake nobody.

use crate::sync::atomic::{AtomicU32, Ordering, fence};
use crate::transport::sleep::Bell;

/// Counts workers that look for something to do.
#[derive(Debug, Default)]
pub(super) struct Searchers {
    count: AtomicU32,
}

impl Searchers {
    /// A worker looks from now on, also for what is pushed meanwhile.
    pub fn begin(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// It looks no more; whether nobody else does, so that it has to see to what was pushed meanwhile.
    pub fn end(&self) -> bool {
        let is_last = self.count.fetch_sub(1, Ordering::Relaxed) == 1;
        // Its partner is in `is_left_to_sleepers`: either who pushes sees that we look no more, or we see what it has
        // pushed, after this.
        fence(Ordering::SeqCst);
        is_last
    }

    /// Sleeps; `sleep` looks once more itself, after a fence, as a bell does.
    pub fn pause(&self, sleep: impl FnOnce()) {
        self.count.fetch_sub(1, Ordering::Relaxed);
        sleep();
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether somebody sleeps, by `bell` or elsewhere, who has to be woken for what the caller has pushed.
    pub fn is_left_to_sleepers(&self, bell: &Bell, sleeps_elsewhere: impl Fn() -> bool) -> bool {
        // Its partners are in `end` and where workers sleep.
        fence(Ordering::SeqCst);
        self.count.load(Ordering::Relaxed) == 0 && (bell.may_have_sleeper() || sleeps_elsewhere())
    }
}
