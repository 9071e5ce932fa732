//! Which workers are awake and look for something to do: whoever pushes a job wakes nobody while one does, and that one
//! wakes another if it leaves jobs behind. So no job is left to those who sleep, and most jobs wake nobody.

use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use crate::transport::sleep::Bell;

/// Counts workers that look for something to do.
#[derive(Debug, Default)]
pub(super) struct Searchers {
    count: AtomicU32,
    /// Whether one that sleeps is to be woken, and none has looked since: it may take long until that one runs.
    waking: AtomicBool,
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

    /// Sleeps; `sleep` looks once more itself, after a fence, as a bell does, and calls what it is given before that.
    pub fn pause(&self, sleep: impl FnOnce(&dyn Fn())) {
        self.count.fetch_sub(1, Ordering::Relaxed);
        // Whoever wakes somebody from now on finds this one; what those have pushed who did not is seen after this.
        sleep(&|| self.note_awake());
        self.note_awake();
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// A worker is awake and is about to look.
    fn note_awake(&self) {
        // Its partner is the swap below: who finds the mark has pushed something before, which is seen now.
        self.waking.swap(false, Ordering::AcqRel);
    }

    /// Whether somebody sleeps, by `bell` or elsewhere, who has to be woken for what the caller has pushed: not if another
    /// thread is about to wake one, who looks after that.
    pub fn is_left_to_sleepers(&self, bell: &Bell, sleeps_elsewhere: impl Fn() -> bool) -> bool {
        // Its partners are in `end` and where workers sleep.
        fence(Ordering::SeqCst);
        self.count.load(Ordering::Relaxed) == 0
            && (bell.may_have_sleeper() || sleeps_elsewhere())
            && !self.waking.swap(true, Ordering::AcqRel)
    }
}
