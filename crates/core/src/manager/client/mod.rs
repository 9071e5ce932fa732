//! What clients ask for: blocks that they put and map, reductions, and answers about a run.

mod abandon;
mod adoption;
mod explain;
mod overview;
mod pins;
mod printed;
mod publish;
mod reduction;
mod statistics;
mod task_graph;

use super::clock::Now;
use super::table::{BlockSlot, ReductionSlot, Slot, Table};
use crate::wire::Keep;
use freestone_base::WorkerId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What clients asked for and have not got yet. Its fields are for this folder.
#[derive(Serialize, Deserialize)]
pub(in crate::manager) struct Clients {
    bindings: Bindings,
    /// Blocks that clients put and that wait for a worker of their machine, since when.
    stranded: BTreeMap<BlockSlot, Now>,
    reductions: Table<ReductionSlot, reduction::Row>,
    /// What outlives its clients, by title.
    published: publish::Published,
    recent_failures: overview::Failures,
}

impl Clients {
    /// Nothing was asked for.
    pub fn new() -> Self {
        let bindings = Bindings::default();
        Self {
            bindings,
            stranded: BTreeMap::new(),
            reductions: Table::new(),
            published: publish::Published::default(),
            recent_failures: overview::Failures::default(),
        }
    }

    /// The blocks that the calls of a reduction which has not ended refer to.
    pub fn blocks_of_reduction(&self, row: ReductionSlot) -> Vec<BlockSlot> {
        self.reductions[row].blocks()
    }

    /// The result of a reduction which has not ended is to be kept for longer.
    pub fn keep_reduction(&mut self, row: ReductionSlot, keep: Keep) {
        self.reductions[row].keep(keep);
    }
}

/// Which blocks are adopted, gathered or pinned at which worker, each pair once.
#[derive(Default, Serialize, Deserialize)]
struct Bindings(BTreeSet<(WorkerId, BlockSlot)>);

impl Bindings {
    fn bind(&mut self, id: WorkerId, slot: BlockSlot) {
        self.0.insert((id, slot));
    }

    fn unbind(&mut self, id: WorkerId, slot: BlockSlot) {
        self.0.remove(&(id, slot));
    }

    /// The blocks that are bound to a worker, by slot.
    fn of(&self, id: WorkerId) -> Vec<BlockSlot> {
        let bound = (id, BlockSlot::of(0))..=(id, BlockSlot::of(u32::MAX));
        self.0.range(bound).map(|(_, slot)| *slot).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_bound_to_each_worker_once() {
        let mut bindings = Bindings::default();
        for (id, slot) in [(1, 5), (2, 5), (1, 3), (1, 5), (1, 7)] {
            bindings.bind(WorkerId(id), BlockSlot::of(slot));
        }
        assert_eq!(bindings.of(WorkerId(1)), [3, 5, 7].map(BlockSlot::of));
        bindings.unbind(WorkerId(1), BlockSlot::of(5));
        assert_eq!(bindings.of(WorkerId(1)), [3, 7].map(BlockSlot::of));
        assert_eq!(bindings.of(WorkerId(2)), [BlockSlot::of(5)]);
        assert_eq!(bindings.of(WorkerId(3)), []);
    }
}
