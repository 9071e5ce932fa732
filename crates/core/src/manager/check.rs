//! The invariants, checked after every event in tests.

use crate::manager::Manager;
use crate::manager::graph::{Data, Stage, WantStage};

impl Manager {
    /// Checks every invariant of the README; for tests: the cost is that of looking at everything.
    ///
    /// # Panics
    /// If one does not hold.
    pub fn check(&self) {
        let (mut waiting, mut ready, mut assigned) = (0, 0, 0);
        for (slot, task) in self.graph.tasks.iter() {
            let inputs = task.inputs.iter().map(|input| &self.graph.blocks[*input]);
            let absent = inputs.filter(|block| !block.is_available()).count() as u32;
            match task.stage {
                Stage::Waiting { missing } => {
                    waiting += 1;
                    let waits =
                        missing > 0 || self.transfer.cramped.holds(slot, self.graph.tasks.id(slot));
                    assert!(waits && missing == absent, "{missing} missing, {absent} absent");
                }
                Stage::Ready | Stage::Queued(_) => {
                    ready += 1;
                    assert_eq!(absent, 0);
                }
                Stage::Assigned { worker, .. } => {
                    assigned += 1;
                    assert!(self.members.workers.get(worker).is_some());
                    let inputs = task.inputs.iter();
                    let vanished =
                        inputs.filter(|slot| self.graph.vanished.get(slot) == Some(&worker));
                    assert_eq!(absent, vanished.count() as u32);
                }
                Stage::Done(_) => assert!(self.graph.is_lineage_needed(slot)),
            }
        }
        let inline_nbytes = self.check_blocks();
        let counts = &self.counts;
        assert_eq!((counts.waiting, counts.ready, counts.assigned), (waiting, ready, assigned));
        assert_eq!(counts.inline_nbytes, inline_nbytes);
        self.check_queues();
        self.check_workers();
        self.shared.check();
    }

    /// What blocks know of workers is what workers know of blocks. Gives the bytes of small values.
    fn check_blocks(&self) -> u64 {
        let (mut inline_nbytes, mut replicas, mut wants) = (0, 0, 0);
        for (slot, block) in self.graph.blocks.iter() {
            if let Data::Inline(bytes) = &block.data {
                inline_nbytes += bytes.len() as u64;
            }
            let entry = block.is_needed()
                || block.lineage > 0
                || block.producer.is_some()
                || block.extra.is_some();
            assert!(entry, "{} is kept for nothing", block.name);
            assert!(block.tickets.is_empty() || !block.is_available());
            replicas += block.replicas().len();
            wants += block.wants().len();
            for id in block.replicas() {
                assert!(self.members.workers[*id].blocks.contains(&slot));
            }
            for want in block.wants() {
                assert!(self.members.workers[want.target].wanted.contains(&slot));
                assert!(!block.is_at(want.target) || want.stage.is_active());
            }
        }
        assert_eq!(replicas, self.members.workers.iter().map(|worker| worker.blocks.len()).sum());
        assert_eq!(wants, self.members.workers.iter().map(|worker| worker.wanted.len()).sum());
        inline_nbytes
    }

    fn check_queues(&self) {
        for worker in self.members.workers.iter() {
            for (&(nbytes, slot), source) in &worker.inbox {
                let block = &self.graph.blocks[slot];
                assert_eq!(block.nbytes(), nbytes.0, "queued under another size");
                let mut wants = block.wants().iter().filter(|want| want.target == worker.id);
                assert_eq!(wants.next().map(|want| want.stage), Some(WantStage::Queued(*source)));
                let source = &self.members.workers[*source];
                assert!(source.outbox.contains(&(nbytes, slot, worker.id)));
                let one_is_full = worker.receiving.len() as u32 >= self.config.transfers_in
                    || source.sending.len() as u32 >= self.config.transfers_out;
                assert!(one_is_full, "{} waits although it could be sent", block.name);
            }
        }
        let workers = || self.members.workers.iter();
        let queued: usize = workers().map(|worker| worker.inbox.len()).sum();
        assert_eq!(queued, workers().map(|worker| worker.outbox.len()).sum());
    }

    fn check_workers(&self) {
        assert_eq!(self.members.workers.len(), self.members.workers.iter().count());
        for worker in self.members.workers.iter() {
            let ahead = worker.ahead.iter().filter(|(id, attempt)| {
                self.graph.tasks.find(*id).is_some_and(|task| {
                    crate::manager::schedule::is_ahead(&self.graph.tasks[task], worker.id, *attempt)
                })
            });
            assert_eq!(ahead.count() as u32, worker.ahead_len);
            assert!(worker.running.len() as u32 <= worker.slots);
            assert!(worker.receiving.len() as u32 <= self.config.transfers_in);
            assert!(worker.sending.len() as u32 <= self.config.transfers_out);
            if worker.held() == 0 {
                assert_eq!((worker.held_ns, &worker.free), (0, &worker.resources));
                let is_fed = worker.queue.is_empty() || !worker.is_active();
                assert!(is_fed, "work lies about at {}: {:?}", worker.id, worker.queue);
            }
        }
    }
}
