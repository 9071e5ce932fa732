//! How many tasks are ready or run: those that have begun to be, and those that are no longer. Who submits tasks
//! counts the ones, who runs them the others, so that neither waits for the other's word.

use crate::sync::Apart;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts tasks.
#[derive(Debug, Default)]
pub(super) struct Pending {
    begun: Apart<AtomicU64>,
    ended: Apart<AtomicU64>,
}

impl Pending {
    /// So many tasks are ready, or go on after they have waited.
    pub fn begin(&self, count: u64) {
        // Its partners are the loads in `count` and, of who sleeps until there is one, in `sleep_until_busy`.
        self.begun.fetch_add(count, Ordering::SeqCst);
    }

    /// A task has ended, or waits: all that it did is visible to who finds that none is left.
    pub fn end(&self) {
        self.ended.fetch_add(1, Ordering::SeqCst);
    }

    /// How many there are. None means that there was none at one moment: those that have ended are counted first,
    /// and no more can have ended by then than had begun.
    pub fn count(&self) -> u64 {
        let ended = self.ended.load(Ordering::SeqCst);
        self.begun.load(Ordering::SeqCst) - ended
    }

    /// How many have begun since the rank did.
    pub fn begun(&self) -> u64 {
        self.begun.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_is_counted_only_where_none_is_left() {
        let pending = Pending::default();
        pending.begin(1);
        std::thread::scope(|scope| {
            // There is always one, and most of the time there are two.
            let changing = scope.spawn(|| {
                for _ in 0..100_000 {
                    pending.begin(1);
                    pending.end();
                }
            });
            while !changing.is_finished() {
                assert!(pending.count() > 0);
            }
        });
        assert_eq!((pending.count(), pending.begun()), (1, 100_001));
    }
}
