//! Workers that look for jobs, and who pushes them.

use super::searchers::Searchers;
use crate::models::every_interleaving;
use crate::transport::sleep::Bell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

#[derive(Default)]
struct Pool {
    searchers: Searchers,
    bell: Bell,
    jobs: AtomicU32,
}

impl Pool {
    fn push(&self) {
        self.jobs.fetch_add(1, Ordering::Release);
        self.notify();
    }

    fn notify(&self) {
        if self.searchers.is_left_to_sleepers(&self.bell, || false) {
            self.bell.ring(1);
        }
    }

    fn has_job(&self) -> bool {
        self.jobs.load(Ordering::Acquire) > 0
    }

    fn take(&self) -> bool {
        let fewer = |jobs: u32| jobs.checked_sub(1);
        self.jobs.fetch_update(Ordering::AcqRel, Ordering::Acquire, fewer).is_ok()
    }

    /// As `next` of a worker.
    fn next(&self) {
        if self.take() {
            return;
        }
        self.searchers.begin();
        while !self.take() {
            self.searchers.pause(|look| {
                let is_idle = || {
                    look();
                    !self.has_job()
                };
                self.bell.sleep(&is_idle, None);
            });
        }
        if self.searchers.end() && self.has_job() {
            self.notify();
        }
    }
}

#[test]
fn a_worker_finds_all_jobs() {
    every_interleaving(|| {
        let pool = Arc::new(Pool::default());
        let other = Arc::clone(&pool);
        let worker = thread::spawn(move || (0..2).for_each(|_| other.next()));
        pool.push();
        pool.push();
        // A job that is left to a sleeper is a thread that never ends.
        worker.join().unwrap();
    });
}
