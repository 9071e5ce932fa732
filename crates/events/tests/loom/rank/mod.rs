//! Threads that wait.

use crate::models::every_interleaving;
use loom::thread;

#[path = "../../../src/rank/searchers.rs"]
pub mod searchers;
mod searching;
use waiter::Waiter;

#[path = "../../../src/rank/waiter.rs"]
pub mod waiter;

#[test]
fn a_thread_that_gives_its_place_away_is_woken_once() {
    every_interleaving(|| {
        let waiter = loom::sync::Arc::new(Waiter::new(true));
        let other = loom::sync::Arc::clone(&waiter);
        let waking = thread::spawn(move || {
            other.fill(7);
            other.wake()
        });
        let parked = waiter.park();
        if parked {
            waiter.sleep(None);
        }
        assert!(waiter.is_woken() && waiter.take() == Some(Ok(7)));
        // Who wakes it has to find it a place exactly if it gave one away.
        assert_eq!(waking.join().unwrap(), parked);
    });
}
