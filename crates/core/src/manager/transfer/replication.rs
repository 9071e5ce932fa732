//! Copies of blocks besides the one that is used: as many as a call asks for, and a second one where
//! workers are lost, of what is dear to make again and waits for long.

use crate::manager::Manager;
use crate::manager::clock::Now;
use crate::manager::graph::Block;
use crate::manager::table::{BlockSlot, Slot, TaskSlot};
use crate::wire::Keep;
use freestone_base::Name;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// What would be copied later than this is never copied.
const OUTLOOK_NS: f64 = 60e9;
/// How many blocks are looked at when time passes.
const MAX_PER_TICK: usize = 256;

/// How many replicas a block should have.
#[derive(Serialize, Deserialize)]
struct Wanted {
    name: Name,
    copies: u32,
}

/// The blocks that should have more than one replica.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Copies {
    wanted: BTreeMap<BlockSlot, Wanted>,
    /// Which of them was looked at last when time passed.
    last: Option<BlockSlot>,
    /// Blocks that get a second one if they are still needed at a time, the earliest first.
    due: BinaryHeap<Reverse<(Now, BlockSlot, Name)>>,
}

impl Copies {
    fn want(&mut self, slot: BlockSlot, name: Name, copies: u32) {
        self.wanted.insert(slot, Wanted { name, copies });
    }

    /// A block gets a second replica if it is still needed then.
    fn want_at(&mut self, due_ns: Now, slot: BlockSlot, name: Name) {
        self.due.push(Reverse((due_ns, slot, name)));
    }

    /// A block that gets a second replica now.
    fn take_due(&mut self, now: Now) -> Option<(BlockSlot, Name)> {
        let Reverse((due_ns, slot, name)) = *self.due.peek()?;
        if due_ns > now {
            return None;
        }
        self.due.pop();
        Some((slot, name))
    }

    /// How many replicas the block of a name should have, if it is still the slot's.
    fn wanted(&self, slot: BlockSlot, name: Name) -> Option<u32> {
        let wanted = self.wanted.get(&slot).filter(|wanted| wanted.name == name)?;
        Some(wanted.copies)
    }

    pub fn contains(&self, slot: BlockSlot) -> bool {
        self.wanted.contains_key(&slot)
    }

    /// One replica is enough; whether it was not.
    pub fn forget(&mut self, slot: BlockSlot) -> bool {
        self.wanted.remove(&slot).is_some()
    }

    /// The next to be looked at, a bounded number at a time, in turn.
    fn next(&mut self) -> Vec<BlockSlot> {
        let next =
            self.last.map_or(BlockSlot::of(0), |last| BlockSlot::of(last.index() as u32 + 1));
        let slots: Vec<BlockSlot> =
            self.wanted.range(next..).take(MAX_PER_TICK).map(|(slot, _)| *slot).collect();
        self.last = slots.last().copied().filter(|_| slots.len() == MAX_PER_TICK);
        slots
    }
}

/// How often workers are lost.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Losses {
    lost: u32,
    began_ns: Now,
}

impl Losses {
    /// The first event was at this time.
    pub fn begin(&mut self, now: Now) {
        if self.began_ns == 0 {
            self.began_ns = now;
        }
    }

    pub fn count(&mut self) {
        self.lost += 1;
    }

    pub fn lost(&self) -> u32 {
        self.lost
    }

    /// How long a block waits at one of `workers` until its loss is as likely as a copy is cheaper than to
    /// make it again.
    fn until_worth_ns(
        &self,
        now: Now,
        workers: usize,
        copy_ns: u64,
        duration_ns: u64,
    ) -> Option<u64> {
        let lived_ns = (now - self.began_ns).max(1) as f64 * workers as f64;
        let wait_ns = lived_ns / f64::from(self.lost) * copy_ns as f64 / duration_ns as f64;
        (wait_ns <= OUTLOOK_NS).then_some(wait_ns as u64)
    }
}

impl Manager {
    /// A task made its outputs: they are copied if that was asked for, or later if it is worth it.
    pub(in crate::manager) fn replicate_outputs(&mut self, task: TaskSlot) {
        let asked = self.graph.tasks[task].options.replicas;
        for index in 0..self.graph.tasks[task].outputs.len() {
            let slot = self.graph.tasks[task].outputs[index];
            let is_of_use = |block: &&Block| block.stored().is_some() && !block.is_group();
            let Some(block) = self.graph.blocks.get(slot).filter(is_of_use) else { continue };
            let (name, nbytes) = (block.name, block.nbytes());
            if asked > 1 {
                self.transfer.copies.want(slot, name, asked);
                self.replicate(slot);
            } else if let Some(due_ns) = self.copy_due_ns(nbytes, self.graph.tasks[task].charged_ns)
            {
                self.transfer.copies.want_at(due_ns, slot, name);
            }
        }
    }

    /// A block that is there, or will be, has so many replicas from now on, where there are workers
    /// for them.
    pub(in crate::manager) fn have_replicas(&mut self, name: &Name, copies: u32) {
        let Some(slot) = self.graph.blocks.find(name) else { return };
        if self.graph.blocks.get(slot).is_some_and(|block| !block.is_group()) {
            self.transfer.copies.want(slot, *name, copies);
            self.replicate(slot);
        }
    }

    /// When a block that is made now is worth a copy, if it is still needed: what has waited for so long
    /// is taken to wait as long again, and to lose it then costs as much as the copy.
    fn copy_due_ns(&self, nbytes: u64, duration_ns: u64) -> Option<Now> {
        let workers = self.members.workers.len();
        let losses = &self.transfer.losses;
        if losses.lost() == 0 || workers < 2 {
            return None;
        }
        let copy_ns = self.transfer.fetch_ns(nbytes);
        // All that is left may have to wait for it to be made again.
        if self.is_ending() && copy_ns <= duration_ns {
            return Some(self.now);
        }
        let wait_ns = losses.until_worth_ns(self.now, workers, copy_ns, duration_ns)?;
        Some(self.now + wait_ns)
    }

    /// The end is near: what is at one worker only is copied, if workers are lost.
    pub(in crate::manager) fn copy_what_is_left(&mut self) {
        for task in self.graph.tasks.slots() {
            let record = &self.graph.tasks[task];
            if !record.stage.is_done() {
                continue;
            }
            for slot in &record.outputs {
                let is_single = |block: &&Block| block.replicas().len() == 1 && !block.is_group();
                let Some(block) = self.graph.blocks.get(*slot).filter(is_single) else { continue };
                if let Some(due_ns) = self.copy_due_ns(block.nbytes(), record.charged_ns) {
                    self.transfer.copies.want_at(due_ns, *slot, block.name);
                }
            }
        }
    }

    /// Has a block copied until there are enough replicas; whether it is still to be looked at.
    fn replicate(&mut self, slot: BlockSlot) -> bool {
        let Some(block) = self.graph.blocks.get(slot) else { return false };
        let Some(copies) = self.transfer.copies.wanted(slot, block.name) else { return false };
        let is_needed = block.is_wanted() || block.keep == Keep::Session;
        if !is_needed {
            return false;
        }
        // While it is being made again there is nothing to copy.
        if !block.is_available() || block.stored().is_none() {
            return true;
        }
        let there = block.replicas().len() + block.wants().len();
        for _ in there..copies as usize {
            let block = &self.graph.blocks[slot];
            let is_new =
                |id| !block.is_at(id) && block.wants().iter().all(|want| want.target != id);
            let workers = &self.members.workers;
            let drawn = workers.drawn(&block.name, is_new);
            let Some(target) = drawn.or_else(|| workers.least_filled(8, is_new)) else { break };
            self.queues().want(slot, target);
        }
        true
    }

    /// Time passes: what has waited for long is copied.
    pub(in crate::manager) fn replicate_due(&mut self) {
        while let Some((slot, name)) = self.transfer.copies.take_due(self.now) {
            let is_it = self.graph.blocks.get(slot).is_some_and(|block| block.name == name);
            if !is_it || self.transfer.copies.contains(slot) {
                continue;
            }
            self.transfer.copies.want(slot, name, 2);
            if !self.replicate(slot) {
                self.transfer.copies.forget(slot);
            }
        }
    }

    /// Time passes: replicas that were lost are replaced.
    pub(in crate::manager) fn replicate_again(&mut self) {
        for slot in self.transfer.copies.next() {
            if !self.replicate(slot) {
                self.transfer.copies.forget(slot);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_looked_at_in_turn_and_belong_to_a_name() {
        let mut copies = Copies::default();
        let name = |number: u8| Name([number; 16]);
        for slot in 0..300 {
            copies.want(BlockSlot::of(slot), name(slot as u8), 2);
        }
        assert_eq!(copies.next().len(), MAX_PER_TICK);
        assert_eq!(copies.next().len(), 300 - MAX_PER_TICK);
        assert_eq!(copies.next().first(), Some(&BlockSlot::of(0)));
        assert_eq!(copies.wanted(BlockSlot::of(7), name(7)), Some(2));
        assert_eq!(copies.wanted(BlockSlot::of(7), name(8)), None);
        assert!(copies.forget(BlockSlot::of(7)) && !copies.forget(BlockSlot::of(7)));
        assert!(!copies.contains(BlockSlot::of(7)) && copies.contains(BlockSlot::of(8)));
    }

    #[test]
    fn what_waits_is_copied_when_its_loss_costs_as_much_as_the_copy() {
        let mut losses = Losses::default();
        let second = 1_000_000_000;
        losses.begin(60 * second);
        losses.begin(120 * second);
        losses.count();
        // One in two minutes of ten workers: one in 1,200 seconds of a worker.
        let wait = |losses: &Losses, duration_ns| {
            losses.until_worth_ns(180 * second, 10, second / 1_000, duration_ns)
        };
        assert_eq!(wait(&losses, second), Some(1_200 * second / 1_000));
        assert_eq!(wait(&losses, 10 * second), Some(120 * second / 1_000));
        losses.count();
        assert_eq!(wait(&losses, 10 * second), Some(60 * second / 1_000));
        // It would wait for longer than blocks do.
        assert_eq!(wait(&losses, second / 1_000), None);
        assert_eq!(wait(&losses, 0), None);
    }

    #[test]
    fn what_is_due_comes_in_order() {
        let mut copies = Copies::default();
        let name = |number: u32| Name([number as u8; 16]);
        for (due_ns, slot) in [(30, 1), (10, 2), (20, 3)] {
            copies.want_at(due_ns, BlockSlot::of(slot), name(slot));
        }
        assert_eq!(copies.take_due(9), None);
        assert_eq!(copies.take_due(25), Some((BlockSlot::of(2), name(2))));
        assert_eq!(copies.take_due(25), Some((BlockSlot::of(3), name(3))));
        assert_eq!(copies.take_due(25), None);
    }
}
