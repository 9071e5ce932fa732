//! The worker whose cache a program shares, and its successor once it has died.

use crate::store::Folder;
use freestone_base::WorkerId;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The worker on the program's machine, whose cache the program shares.
pub struct HomeWorker {
    /// Which worker.
    pub worker: WorkerId,
    /// Its cache.
    pub folder: Folder,
}

/// The home worker that a program has now, if it has one.
#[derive(Default)]
pub struct CurrentHome {
    home: Mutex<ProgramHome>,
    changed: Condvar,
}

#[derive(Default)]
struct ProgramHome {
    worker: Option<Arc<HomeWorker>>,
    /// Whether the program has started it.
    is_own: bool,
}

impl CurrentHome {
    fn lock(&self) -> MutexGuard<'_, ProgramHome> {
        self.home.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The one of now.
    pub fn get(&self) -> Option<Arc<HomeWorker>> {
        self.lock().worker.clone()
    }

    /// The program has a worker of its own, or a new one.
    pub fn set(&self, home: HomeWorker) {
        *self.lock() = ProgramHome { worker: Some(Arc::new(home)), is_own: true };
        self.changed.notify_all();
    }

    /// The cluster's home is on this machine: a program without a worker of its own shares it.
    pub fn offer(&self, offered: HomeWorker) {
        let mut home = self.lock();
        if !home.is_own {
            home.worker = Some(Arc::new(offered));
            self.changed.notify_all();
        }
    }

    /// The home has reconnected under another number, with the same cache.
    pub fn renumber(&self, former: WorkerId, worker: WorkerId) {
        let mut home = self.lock();
        if let Some(same) = home.worker.as_ref().filter(|home| home.worker == former) {
            home.worker = Some(Arc::new(HomeWorker { worker, folder: same.folder.clone() }));
            self.changed.notify_all();
        }
    }

    /// Waits for another home than a worker that is gone; whether there is one in time.
    pub fn wait_for_other(&self, gone: WorkerId, timeout: Duration) -> bool {
        let is_same =
            |home: &mut ProgramHome| home.worker.as_ref().is_some_and(|home| home.worker == gone);
        let waited = self.changed.wait_timeout_while(self.lock(), timeout, is_same);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Folder;
    use std::thread;

    fn home(number: u32) -> (tempfile::TempDir, HomeWorker) {
        let place = tempfile::tempdir().expect("a folder");
        let [memory, disk] = ["memory", "disk"].map(|tier| place.path().join(tier));
        let folder = Folder::open(&memory, &disk).expect("a cache");
        (place, HomeWorker { worker: WorkerId(number), folder })
    }

    #[test]
    fn a_successor_ends_the_wait_and_the_same_worker_does_not() {
        let (current, (_one, first), (_two, second)) = (CurrentHome::default(), home(1), home(2));
        current.set(first);
        assert!(!current.wait_for_other(WorkerId(1), Duration::from_millis(1)));
        assert!(current.wait_for_other(WorkerId(7), Duration::ZERO), "worker 1 is another one");
        thread::scope(|scope| {
            let waits =
                scope.spawn(|| current.wait_for_other(WorkerId(1), Duration::from_secs(600)));
            current.set(second);
            assert!(waits.join().expect("no panic"));
        });
        assert_eq!(current.get().map(|home| home.worker), Some(WorkerId(2)));
        current.renumber(WorkerId(1), WorkerId(3));
        assert_eq!(current.get().map(|home| home.worker), Some(WorkerId(2)));
        current.renumber(WorkerId(2), WorkerId(3));
        assert_eq!(current.get().map(|home| home.worker), Some(WorkerId(3)));
    }

    #[test]
    fn a_program_with_a_worker_of_its_own_takes_no_other_home() {
        let (current, (_one, shared), (_two, own)) = (CurrentHome::default(), home(1), home(2));
        let number = || current.get().map(|home| home.worker);
        current.offer(shared);
        assert_eq!(number(), Some(WorkerId(1)));
        current.set(own);
        let (_three, other) = home(3);
        current.offer(other);
        assert_eq!(number(), Some(WorkerId(2)));
    }
}
