//! Copies of blocks besides the one that is used: as many as a call asks for, and a second one of
//! what would take longer to make again than to copy, where workers are lost.

use crate::manager::Manager;
use crate::manager::clock::Now;
use crate::manager::graph::Block;
use crate::manager::table::{BlockSlot, Slot, TaskSlot};
use crate::wire::Keep;
use freestone_base::Name;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How far ahead losses are reckoned with: about as long as a block waits to be used.
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
}

impl Copies {
    fn want(&mut self, slot: BlockSlot, name: Name, copies: u32) {
        self.wanted.insert(slot, Wanted { name, copies });
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

    /// How likely one of `workers` is lost before a block of it is used.
    fn likelihood(&self, now: Now, workers: usize) -> f64 {
        let lived_ns = (now - self.began_ns).max(1) as f64 * workers as f64;
        (f64::from(self.lost) / lived_ns * OUTLOOK_NS).min(1.0)
    }
}

impl Manager {
    /// A task made its outputs: they are copied if that was asked for or is worth it.
    pub(in crate::manager) fn replicate_outputs(&mut self, task: TaskSlot) {
        let asked = self.graph.tasks[task].options.replicas;
        for index in 0..self.graph.tasks[task].outputs.len() {
            let slot = self.graph.tasks[task].outputs[index];
            let copies = if self.is_worth_a_copy(slot, self.graph.tasks[task].charged_ns) {
                asked.max(2)
            } else {
                asked
            };
            let is_of_use = |block: &&Block| block.stored().is_some() && !block.is_group();
            let Some(block) = self.graph.blocks.get(slot).filter(is_of_use) else { continue };
            if copies > 1 {
                self.transfer.copies.want(slot, block.name, copies);
                self.replicate(slot);
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

    /// What a loss would cost, times how likely it is, against a copy.
    fn is_worth_a_copy(&self, slot: BlockSlot, duration_ns: u64) -> bool {
        let workers = self.members.workers.len();
        let losses = &self.transfer.losses;
        if losses.lost() == 0 || workers < 2 {
            return false;
        }
        let nbytes = self.graph.blocks.get(slot).map_or(0, Block::nbytes);
        let copy_ns = self.transfer.fetch_ns(nbytes);
        losses.likelihood(self.now, workers) * duration_ns as f64 > copy_ns as f64
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
    fn losses_are_as_likely_as_they_were() {
        let mut losses = Losses::default();
        let minute = OUTLOOK_NS as Now;
        losses.begin(minute);
        losses.begin(2 * minute);
        assert!(losses.likelihood(3 * minute, 10) < f64::EPSILON);
        losses.count();
        // One in two minutes of ten workers: one in twenty is lost in a minute.
        assert!((losses.likelihood(3 * minute, 10) - 0.05).abs() < 1e-9);
        (0..100).for_each(|_| losses.count());
        assert!((losses.likelihood(minute, 1) - 1.0).abs() < f64::EPSILON);
    }
}
