//! What is checked.

use crate::transport::region::Region;
use crate::transport::ring::{Reader, Writer, footprint};
use crate::transport::sleep::Bell;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use std::collections::VecDeque;
use std::sync::Arc;

fn ring(capacity: usize) -> (Writer, Reader) {
    let region = Arc::new(Region::new(footprint(capacity)));
    (Writer::new(Arc::clone(&region), 0, capacity), Reader::new(region, 0, capacity))
}

/// How often a thread is interrupted where it would go on. What few interruptions do not show is
/// hardly ever a mistake, and all of them would take hours.
const INTERRUPTIONS: usize = 4;

/// Checks a small case under every interleaving of so many interruptions.
pub fn every_interleaving(body: impl Fn() + Send + Sync + 'static) {
    let seen = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = Arc::clone(&seen);
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(INTERRUPTIONS);
    model.check(move || {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        body();
    });
    assert!(seen.load(std::sync::atomic::Ordering::Relaxed) > 1, "there is nothing to interleave");
}

#[test]
fn frames_come_out_of_a_ring_whole_and_in_order() {
    every_interleaving(|| {
        // One frame fits, and the word after it: the next has to wait for it to be read, and lies where one was.
        let (mut writer, mut reader) = ring(32);
        assert!(writer.push(&[&1_u64.to_le_bytes()]));
        let writing = thread::spawn(move || {
            for value in 2..=3_u64 {
                while !writer.push(&[&value.to_le_bytes()[..3], &value.to_le_bytes()[3..]]) {
                    thread::yield_now();
                }
            }
        });
        for value in 1..=3_u64 {
            while reader.pop(|frame| assert_eq!(frame, value.to_le_bytes())).is_none() {
                thread::yield_now();
            }
            reader.release();
        }
        writing.join().unwrap();
        assert!(!reader.has_frame());
    });
}

#[test]
fn who_waits_for_room_is_woken_or_has_it() {
    every_interleaving(|| {
        // Three frames fit, and the word after them.
        let (mut writer, mut reader) = ring(64);
        assert!((1..=3).all(|value| writer.push(&[&[value; 8]])) && !writer.push(&[&[4; 8]]));
        let waiting = thread::spawn(move || writer.wait_for_room(8));
        let mut is_woken = false;
        for value in 1..=2 {
            reader.pop(|frame| assert_eq!(frame, [value; 8])).unwrap();
            is_woken |= reader.release();
        }
        let waits = waiting.join().unwrap();
        assert!(is_woken || !waits);
    });
}

#[test]
fn no_ring_of_a_bell_is_missed() {
    every_interleaving(|| {
        let shared = loom::sync::Arc::new((Bell::default(), AtomicUsize::new(0)));
        let other = loom::sync::Arc::clone(&shared);
        let sleeping = thread::spawn(move || {
            let (bell, count) = &*other;
            for expected in 0..2 {
                while count.load(Ordering::Relaxed) <= expected {
                    bell.sleep(&|| count.load(Ordering::Relaxed) <= expected, None);
                }
            }
        });
        let (bell, count) = &*shared;
        for number in 1..=2 {
            count.store(number, Ordering::Relaxed);
            bell.ring(1);
        }
        sleeping.join().unwrap();
    });
}

#[test]
fn two_workers_leave_no_job_behind() {
    every_interleaving(|| {
        type Jobs = (Bell, loom::sync::Mutex<VecDeque<u32>>, AtomicUsize);
        let shared: loom::sync::Arc<Jobs> = loom::sync::Arc::default();
        let work = |shared: loom::sync::Arc<Jobs>| {
            move || {
                let (bell, ready, done) = &*shared;
                while done.load(Ordering::Acquire) < 2 {
                    let job = ready.lock().unwrap().pop_front();
                    if job.is_some() {
                        done.fetch_add(1, Ordering::AcqRel);
                        bell.ring(i32::MAX);
                        continue;
                    }
                    let is_idle =
                        || ready.lock().unwrap().is_empty() && done.load(Ordering::Acquire) < 2;
                    bell.sleep(&is_idle, None);
                }
            }
        };
        let worker = thread::spawn(work(loom::sync::Arc::clone(&shared)));
        let (bell, ready, _) = &*shared;
        for job in 0..2 {
            ready.lock().unwrap().push_back(job);
            bell.ring(1);
        }
        worker.join().unwrap();
        assert!(ready.lock().unwrap().is_empty());
    });
}
