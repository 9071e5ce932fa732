//! Bells between threads; `tests/loom` has all interleavings of small cases.

use super::sleep::Bell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const COUNT: u64 = 20_000;

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
