//! Near the end of what was submitted, the task that begins the longest chain goes first.
//!
//! Before, tasks go depth-first: the fewest blocks are there at once. But then the last ones begin chains
//! that most workers can only watch. So when all workers need little longer for what is left than the longest
//! chain takes, by measured durations, the order is that of a list scheduler: by what comes after a task at
//! least. And where workers are lost, what is there once is copied from then on: all would wait for what has
//! to be made again.
//!
//! Lengths are learnt rarely: when so many tasks have ended that the end may be near, or many have come.
//!
//! See T. L. Adam, K. M. Chandy and J. R. Dickson, A comparison of list schedules for parallel processing
//! systems, CACM 17 (1974), for how near to the ideal such an order comes.

use crate::manager::Manager;
use crate::manager::graph::{AGAIN, Chains, Stage, rank};
use crate::manager::table::TaskSlot;
use freestone_base::WorkerId;
use serde::{Deserialize, Serialize};

/// The end has come when this many quarters of the longest chain are left.
const QUARTERS_LEFT: u64 = 5;
/// Chains count as different by so many lengths,
const LENGTHS: u64 = 64;
/// and each of them is more urgent than any depth.
const MIN_URGENCY: u32 = 1 << 31;

/// When it was last looked how much is left.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Outlook {
    /// How many tasks had not ended then.
    unfinished: u64,
    /// How many are left when it is time to look again.
    next: u64,
    /// Whether the order is that of chains.
    is_ending: bool,
}

impl Outlook {
    fn is_due(&self, unfinished: u64) -> bool {
        unfinished <= self.next || unfinished > self.unfinished + self.unfinished / 2
    }
}

impl Manager {
    /// Time passes: orders what is ready by chains once the end is near, and by depth while it is not.
    pub(in crate::manager) fn look_ahead(&mut self) {
        let unfinished = self.counts.waiting + self.counts.ready + self.counts.assigned;
        let slots = self.members.workers.slots();
        if unfinished == 0 || slots == 0 || !self.schedule.outlook.is_due(unfinished) {
            return;
        }
        let chains = self.graph.chains();
        let left_ns = chains.left_ns / slots;
        let end_ns = chains.longest_ns.saturating_mul(QUARTERS_LEFT) / 4;
        let is_ending = left_ns <= end_ns;
        // As many as are left at the end if it goes on like this, but not one by one.
        let at_end = u128::from(unfinished) * u128::from(end_ns) / u128::from(left_ns.max(1));
        let next = if is_ending { unfinished / 2 } else { (at_end as u64).min(unfinished / 8 * 7) };
        let was_ending = self.schedule.outlook.is_ending;
        self.schedule.outlook = Outlook { unfinished, next, is_ending };
        if is_ending {
            self.order_by(|task, _| urgency(&chains, task));
            self.copy_what_is_left();
        } else if was_ending {
            self.order_by(|_, depth| depth);
        }
    }

    /// Whether so little is left that the order is that of chains.
    pub(in crate::manager) fn is_ending(&self) -> bool {
        self.schedule.outlook.is_ending
    }

    /// Gives each task its urgency, by its slot and its depth, and puts what is ready in that order.
    fn order_by(&mut self, urgency: impl Fn(TaskSlot, u32) -> u32) {
        for task in self.graph.tasks.slots() {
            let again = self.graph.tasks[task].urgency & AGAIN;
            self.graph.tasks[task].urgency = urgency(task, self.graph.depth(task)) | again;
        }
        for class in 0..self.schedule.classes.len() {
            let entries = self.schedule.classes.queue(class).drain();
            for entry in entries {
                let Some(task) = self.graph.tasks.find_queued(entry, Stage::Ready) else {
                    continue;
                };
                let record = &self.graph.tasks[task];
                let rank = rank(record.priority, record.urgency);
                self.schedule.classes.queue(class).push(record.tenant, rank, entry);
            }
        }
        for id in self.members.workers.ids() {
            self.order_queue_of(id);
        }
    }

    fn order_queue_of(&mut self, id: WorkerId) {
        let queue = &mut self.members.workers[id].queue;
        for entry in queue.drain() {
            let Some(task) = self.graph.tasks.find_queued(entry, Stage::Queued(id)) else {
                continue;
            };
            let record = &self.graph.tasks[task];
            queue.push(record.tenant, rank(record.priority, record.urgency), entry);
        }
    }
}

fn urgency(chains: &Chains, task: TaskSlot) -> u32 {
    // Tasks that have ended begin longer chains than any that has not, if they are made again.
    let length = chains.length_ns(task).min(2 * chains.longest_ns);
    let step_ns = (chains.longest_ns / LENGTHS).max(1);
    MIN_URGENCY + (length / step_ns) as u32
}

#[cfg(test)]
#[path = "ending_tests.rs"]
mod tests;
