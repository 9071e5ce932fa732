//! Copies of blocks besides the one that is used: as many as a call asks for, and a second one of
//! what would take longer to make again than to copy, where workers are lost.

use crate::manager::Manager;
use crate::manager::graph::Block;
use crate::manager::table::{BlockSlot, TaskSlot};
use crate::wire::Keep;
use freestone_base::Name;

/// How far ahead losses are reckoned with: about as long as a block waits to be used.
const OUTLOOK_NS: f64 = 60e9;
/// How many blocks are looked at when time passes.
const LOOKED_AT: usize = 256;

/// How many replicas a block should have.
pub(in crate::manager) struct Hot {
    name: Name,
    copies: u32,
}

impl Manager {
    /// A task made its outputs: they are copied if that was asked for or is worth it.
    pub(in crate::manager) fn replicate_outputs(&mut self, task: TaskSlot) {
        let asked = self.tasks[task].options.replicas;
        for index in 0..self.tasks[task].outputs.len() {
            let slot = self.tasks[task].outputs[index];
            let copies = if self.is_worth_a_copy(slot, self.tasks[task].charged_ns) {
                asked.max(2)
            } else {
                asked
            };
            let is_of_use = |block: &&Block| block.stored().is_some() && !block.is_group();
            let Some(block) = self.blocks.get(slot).filter(is_of_use) else { continue };
            if copies > 1 {
                self.hot.insert(slot, Hot { name: block.name, copies });
                self.replicate(slot);
            }
        }
    }

    /// What a loss would cost, times how likely it is, against a copy.
    fn is_worth_a_copy(&self, slot: BlockSlot, duration_ns: u64) -> bool {
        let workers = self.workers.iter().count();
        if self.lost_workers == 0 || workers < 2 {
            return false;
        }
        let lived_ns = (self.now - self.began_ns).max(1) as f64 * workers as f64;
        let likely = (f64::from(self.lost_workers) / lived_ns * OUTLOOK_NS).min(1.0);
        let nbytes = self.blocks.get(slot).map_or(0, Block::nbytes);
        let copy_ns = super::transfers::FETCH_NS as f64 + nbytes as f64 * 1e9 / self.bandwidth;
        likely * duration_ns as f64 > copy_ns
    }

    /// Has a block copied until there are enough replicas; whether it is still to be looked at.
    fn replicate(&mut self, slot: BlockSlot) -> bool {
        let Some(hot) = self.hot.get(&slot) else { return false };
        let Some(block) = self.blocks.get(slot).filter(|block| block.name == hot.name) else {
            return false;
        };
        let is_needed = block.is_wanted() || block.keep == Keep::Session;
        if !is_needed {
            return false;
        }
        // While it is being made again there is nothing to copy.
        if !block.is_available() || block.stored().is_none() {
            return true;
        }
        let there = block.replicas().len() + block.wants().len();
        for _ in there..hot.copies as usize {
            let block = &self.blocks[slot];
            let is_new =
                |id| !block.is_at(id) && block.wants().iter().all(|want| want.target != id);
            let Some(target) = self.workers.least_filled(8, is_new) else { break };
            self.want(slot, target);
        }
        true
    }

    /// Time passes: replicas that were lost are replaced.
    pub(in crate::manager) fn replicate_again(&mut self) {
        let next = self.replicated_last.map_or(BlockSlot(0), |last| BlockSlot(last.0 + 1));
        let slots: Vec<BlockSlot> =
            self.hot.range(next..).take(LOOKED_AT).map(|(slot, _)| *slot).collect();
        self.replicated_last = slots.last().copied().filter(|_| slots.len() == LOOKED_AT);
        for slot in slots {
            if !self.replicate(slot) {
                self.hot.remove(&slot);
            }
        }
    }
}
