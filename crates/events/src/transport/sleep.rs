//! A bell: who sleeps by it wakes when it rings.

use super::futex;
use std::sync::atomic::{AtomicU32, Ordering, fence};
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
    /// Sleeps until the bell rings or `timeout` is over, unless `is_idle` denies it at the last
    /// moment. May wake early.
    pub fn sleep(&self, is_idle: &dyn Fn() -> bool, timeout: Option<Duration>) {
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        let seen = self.rings.load(Ordering::Relaxed);
        // Its partner is in `ring`: either the ringer sees the sleeper, or `is_idle` sees what
        // the ringer did before.
        fence(Ordering::SeqCst);
        if is_idle() {
            futex::wait(&self.rings, seen, timeout);
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Wakes up to `count` sleepers; whether there may be some.
    pub fn ring(&self, count: i32) -> bool {
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) == 0 {
            return false;
        }
        self.rings.fetch_add(1, Ordering::Relaxed);
        futex::wake(&self.rings, count);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    const COUNT: u64 = if cfg!(miri) { 100 } else { 20_000 };

    #[test]
    fn no_ring_is_missed() {
        let shared = Arc::new((Bell::default(), AtomicU64::new(0)));
        let sleeper = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let (bell, count) = &*sleeper;
            for expected in 0..COUNT {
                while count.load(Ordering::Relaxed) <= expected {
                    bell.sleep(&|| count.load(Ordering::Relaxed) <= expected, None);
                }
            }
        });
        let (bell, count) = &*shared;
        for number in 1..=COUNT {
            count.store(number, Ordering::Relaxed);
            bell.ring(1);
        }
        thread.join().unwrap();
        assert!(!bell.ring(1));
    }
}
