//! How much time is left: of all tasks, and of the longest chain of tasks that begins with each.

use super::{Graph, UNMEASURED_NS};
use crate::manager::table::{Slot, TaskSlot};
use std::cmp::Reverse;

/// Times by what functions have taken so far; what was never measured counts as [`UNMEASURED_NS`].
pub(in crate::manager) struct Chains {
    /// The longest chain of unfinished tasks that each task begins, in nanoseconds, by the number of its
    /// slot.
    lengths: Vec<u64>,
    /// The longest of an unfinished task.
    pub longest_ns: u64,
    /// Of all unfinished tasks together.
    pub left_ns: u64,
}

impl Chains {
    /// The longest chain that a task begins.
    pub fn length_ns(&self, task: TaskSlot) -> u64 {
        self.lengths[task.index()]
    }
}

impl Graph {
    /// Follows all chains of tasks, in the time that it takes to look at every task and to sort them by
    /// depth.
    pub fn chains(&self) -> Chains {
        let mut tasks: Vec<TaskSlot> = self.tasks.slots();
        // Tasks after a task are deeper than it is.
        tasks.sort_by_key(|task| Reverse(self.depth(*task)));
        let slots = tasks.iter().map(|task| task.index() + 1).max().unwrap_or(0);
        let mut chains = Chains { lengths: vec![0; slots], longest_ns: 0, left_ns: 0 };
        for slot in tasks {
            let task = &self.tasks[slot];
            let own_ns = self.functions.mean_ns(task.function).unwrap_or(UNMEASURED_NS);
            let outputs = task.outputs.iter().filter_map(|output| self.blocks.get(*output));
            let consumers = outputs.flat_map(|output| &output.consumers);
            let after_ns = consumers
                .filter_map(|id| self.tasks.find(*id))
                .map(|consumer| chains.length_ns(consumer))
                .max();
            let length_ns = own_ns.saturating_add(after_ns.unwrap_or(0));
            chains.lengths[slot.index()] = length_ns;
            if !task.stage.is_done() {
                chains.left_ns = chains.left_ns.saturating_add(own_ns);
                chains.longest_ns = chains.longest_ns.max(length_ns);
            }
        }
        chains
    }
}
