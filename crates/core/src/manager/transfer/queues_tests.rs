//! Transfers without a manager: records of blocks and workers alone.

use super::*;
use crate::manager::tests::{desc, name};
use crate::wire::Address;
use freestone_base::Resources;

/// Blocks at worker 0, and workers that want them.
struct Records {
    graph: Graph,
    members: Members,
}

impl Records {
    fn new(workers: u32) -> Self {
        let mut members = Members::default();
        for id in 0..workers {
            let address = Address::Unix(format!("/{id}"));
            members.workers.insert(Worker::new(WorkerId(id), Resources::ONE_CORE, 1, address));
        }
        Self { graph: Graph::new(), members }
    }

    /// At most two in, one out.
    fn queues(&mut self) -> Queues<'_> {
        let limits = Limits { transfers_in: 2, transfers_out: 1 };
        Queues { graph: &mut self.graph, members: &mut self.members, limits }
    }

    /// A block of so many bytes at worker 0.
    fn add(&mut self, number: u32, nbytes: u64) -> BlockSlot {
        let slot = self.graph.blocks.find_or_insert(name(number));
        self.graph.note_replica(slot, desc(number, nbytes), WorkerId(0));
        slot
    }

    fn stage(&mut self, slot: BlockSlot, target: u32) -> Option<WantStage> {
        self.graph.blocks[slot].want_mut(WorkerId(target)).map(|want| want.stage)
    }

    /// A transfer from worker 0 ended well.
    fn arrives(&mut self, slot: BlockSlot, target: u32) {
        let source = self.queues().finish_want(slot, WorkerId(target));
        assert_eq!(source, Some(WorkerId(0)));
        self.queues().fill_source(WorkerId(0));
    }
}

#[test]
fn a_source_sends_one_at_a_time_the_largest_first() {
    let mut records = Records::new(4);
    let (small, large) = (records.add(1, 10), records.add(2, 20));
    for (slot, target) in [(small, 1), (small, 2), (large, 3)] {
        records.queues().want(slot, WorkerId(target));
    }
    assert_eq!(records.stage(small, 1), Some(WantStage::Active(WorkerId(0))));
    assert_eq!(records.stage(large, 3), Some(WantStage::Queued(WorkerId(0))));
    records.arrives(small, 1);
    assert_eq!(records.stage(small, 1), None);
    assert_eq!(records.stage(large, 3), Some(WantStage::Active(WorkerId(0))));
    assert_eq!(records.stage(small, 2), Some(WantStage::Queued(WorkerId(0))));
    records.arrives(large, 3);
    assert_eq!(records.stage(small, 2), Some(WantStage::Active(WorkerId(0))));
    records.arrives(small, 2);
    assert!(records.members.workers.iter().all(|one| one.wanted.is_empty() && one.outgoing() == 0));
}

#[test]
fn a_new_holder_takes_half_of_those_that_wait_for_a_block() {
    let mut records = Records::new(6);
    let slot = records.add(1, 10);
    for target in 1..6 {
        records.queues().want(slot, WorkerId(target));
    }
    records.graph.note_replica(slot, desc(1, 10), WorkerId(1));
    assert_eq!(records.queues().finish_want(slot, WorkerId(1)), Some(WorkerId(0)));
    records.queues().share(slot, WorkerId(0), WorkerId(1));
    let sources: Vec<_> = (2..6).map(|target| records.stage(slot, target)).collect();
    let at = |source| Some(WantStage::Queued(WorkerId(source)));
    assert_eq!(sources, [at(0), at(0), at(1), at(1)]);
}

#[test]
fn what_is_lost_is_lacking_until_it_is_there_again() {
    let mut records = Records::new(3);
    let slot = records.add(1, 10);
    for target in [1, 2] {
        records.queues().want(slot, WorkerId(target));
    }
    let stored = records.graph.blocks[slot].replicas().len();
    records.queues().lack_all(slot);
    assert_eq!(stored, 1);
    // What is under way fails by itself.
    assert_eq!(records.stage(slot, 1), Some(WantStage::Active(WorkerId(0))));
    assert_eq!(records.stage(slot, 2), Some(WantStage::Lacking));
    records.queues().restart_wants(slot);
    assert_eq!(records.stage(slot, 2), Some(WantStage::Queued(WorkerId(0))));
}
