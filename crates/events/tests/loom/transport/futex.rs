//! Futexes of loom's threads: who waits wakes up when it is woken, and never else.

use loom::sync::atomic::{AtomicU32, Ordering};
use loom::sync::{Condvar, Mutex};
use std::time::Duration;

loom::lazy_static! {
    static ref HELD: Mutex<()> = Mutex::new(());
    static ref WOKEN: Condvar = Condvar::new();
}

pub fn wait(word: &AtomicU32, expected: u32, _timeout: Option<Duration>) {
    let held = HELD.lock().unwrap();
    // The kernel's look at the word is one step with falling asleep.
    if word.load(Ordering::SeqCst) == expected {
        drop(WOKEN.wait(held).unwrap());
    }
}

pub fn wake(_word: &AtomicU32, count: i32) {
    let held = HELD.lock().unwrap();
    if count == 1 {
        WOKEN.notify_one();
    } else {
        WOKEN.notify_all();
    }
    drop(held);
}
