//! Taking in what arrives while all workers run tasks, so that no sender waits for a long one.

use super::Inner;
use crate::limits;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long it looks on without a pause after something has arrived: more is likely to come.
const LINGER: Duration = Duration::from_millis(1);
/// So many looks find a rank without tasks before its thread sleeps until there is one.
const IDLE_LOOKS: u32 = 20;
/// What an event takes besides its payload, about.
pub(super) const EVENT_NBYTES: usize = 128;

impl Inner {
    /// What the thread does that drains.
    pub(super) fn keep_draining(&self) {
        let mut idle_looks = IDLE_LOOKS;
        while !self.is_over() {
            if self.pending.count() == 0 {
                idle_looks = (idle_looks + 1).min(IDLE_LOOKS);
            } else {
                idle_looks = 0;
                self.drain_while_busy();
            }
            if idle_looks < IDLE_LOOKS {
                self.drainer.sleep(&|| !self.is_over(), Some(limits::get().drain_interval));
            } else {
                self.sleep_until_busy();
                idle_looks = 0;
            }
        }
    }

    fn sleep_until_busy(&self) {
        self.drainer_sleeps.store(true, Ordering::SeqCst);
        // Its partner is in `note_busy`: either that one sees the mark, or we see the task.
        let is_idle = || self.pending.count() == 0 && !self.is_over();
        self.drainer.sleep(&is_idle, None);
        self.drainer_sleeps.store(false, Ordering::SeqCst);
    }

    /// A task is ready: `pending` has grown.
    pub(super) fn note_busy(&self) {
        // Who finds the mark takes it, so that the thread is woken once.
        let sleeps = &self.drainer_sleeps;
        if sleeps.load(Ordering::SeqCst) && sleeps.swap(false, Ordering::SeqCst) {
            self.drainer.ring(1);
        }
    }

    fn drain_while_busy(&self) {
        let mut since = Instant::now();
        while since.elapsed() < LINGER && !self.is_over() {
            let Some(polling) = self.try_polling() else { return };
            let count = self.poll();
            drop(polling);
            // Workers may have gone to sleep because this thread looked for what arrives.
            self.idle.ring(1);
            if count == 0 {
                return;
            }
            since = Instant::now();
            std::thread::yield_now();
        }
    }
}
