//! How a worker has a call of an executor go on that waited for others.
//!
//! A word in the page that they share counts how often. The executor sleeps on it, so that neither
//! its socket nor the thread that reads it has a part in this.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How long a thread sleeps before it looks again, whatever happens.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The word that counts, for both sides.
#[derive(Clone, Copy, Debug)]
pub struct Grants<'a>(&'a AtomicU32);

impl<'a> Grants<'a> {
    /// That of one executor.
    pub const fn new(word: &'a AtomicU32) -> Self {
        Self(word)
    }

    /// Executor: how often its calls have gone on; to be read before it asks.
    pub fn count(self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    /// Executor: waits until the count is another one.
    pub fn wait(self, count: u32) {
        // Pairs with the addition in `give`.
        while self.0.load(Ordering::Acquire) == count {
            let timeout =
                libc::timespec { tv_sec: POLL_INTERVAL.as_secs().cast_signed(), tv_nsec: 0 };
            // SAFETY: a mapped word, and a time that lives as long as the call. It sleeps only if
            // the word is still `count`, so that no wake is missed.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.0.as_ptr(),
                    libc::FUTEX_WAIT,
                    count,
                    &raw const timeout,
                );
            }
        }
    }

    /// Worker: has the call go on.
    pub fn give(self) {
        self.0.fetch_add(1, Ordering::AcqRel);
        // SAFETY: a mapped word.
        unsafe {
            libc::syscall(libc::SYS_futex, self.0.as_ptr(), libc::FUTEX_WAKE, i32::MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_waits_goes_on_when_it_may() {
        let word = AtomicU32::new(7);
        let grants = Grants::new(&word);
        std::thread::scope(|scope| {
            let waits = scope.spawn(move || grants.wait(7));
            grants.give();
            waits.join().unwrap();
        });
        assert_eq!(grants.count(), 8);
        grants.wait(7);
    }
}
