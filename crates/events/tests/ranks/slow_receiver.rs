//! How much is held, on both sides together, for a rank whose tasks take nothing.

use crate::runs::{Way, connected, from, ways};
use freestone_events::{Config, Progress, Rank, Submit};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

const INBOX: usize = 1 << 20;

/// What a transport may hold of one rank for another, by its settings: see the page on settings of events.
fn bound(way: Way) -> usize {
    match way {
        // A ring, and for large payloads the arena, which is 16 MiB in tests: both ranks are on one node.
        Way::Threads | Way::Mapped | Way::Hybrid => (256 << 10) + (16 << 20),
        // The send buffer, and at most what Linux gives to a socket on either side.
        Way::Tcp => (1 << 20) + (4 << 20) + (6 << 20),
        Way::Mpi => 4 << 20,
    }
}

/// Lets tasks go on once it is opened.
#[derive(Default)]
struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn wait(&self) {
        let closed = self.opened.wait_while(self.is_open.lock().unwrap(), |is_open| !*is_open);
        drop(closed.unwrap());
    }

    fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }
}

/// How many bytes rank 0 can fire at rank 1, whose task takes one event and does not return, before
/// it has waited for room for a second.
fn held(way: Way, progress: Progress, nbytes: usize) -> usize {
    let config = Config { inbox: INBOX, progress, ..Config::default() };
    let (mut ranks, gate) = (connected(way, 2, &config), Arc::new(Gate::default()));
    let waits = Arc::clone(&gate);
    let takes = Submit::on(vec![from(0, "e")]).persistent();
    let take = move |_: &Rank, _| {
        waits.wait();
        Ok(())
    };
    ranks[1].submit_many(takes, take).unwrap();
    let (receiver, sender) = (ranks.pop().unwrap(), ranks.pop().unwrap());
    let (total, is_enough) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let payload = vec![7; nbytes];
            while !is_enough.load(Ordering::Acquire) {
                sender.fire_bytes(1, "e", &payload).unwrap();
                total.fetch_add(nbytes, Ordering::AcqRel);
            }
            sender.finish().unwrap();
        });
        let has_waited = |report: &str| {
            let waited = report.split("has waited ").nth(1).and_then(|rest| rest.split(' ').next());
            waited.is_some_and(|time| time.trim_end_matches('s').parse::<f64>().is_ok())
        };
        while !has_waited(&sender.report()) {
            std::thread::yield_now();
        }
        let found = total.load(Ordering::Acquire);
        is_enough.store(true, Ordering::Release);
        gate.open();
        receiver.finish().unwrap();
        found
    })
}

#[test]
fn a_slow_receiver_bounds_the_memory_on_both_sides() {
    for way in ways() {
        for (progress, nbytes) in [
            (Progress::IdleWorker, 8 << 10),
            (Progress::Thread, 8 << 10),
            (Progress::IdleWorker, 1 << 20),
        ] {
            let total = held(way, progress, nbytes);
            // The event in the task, and one that was begun, come on top.
            let most = INBOX + bound(way) + 2 * nbytes + (1 << 20);
            assert!(total <= most, "{way:?}, {progress:?}, {nbytes} B: {total} > {most}");
            assert!(total > INBOX / 2, "{way:?}, {progress:?}, {nbytes} B: {total}");
        }
    }
}
