//! Tasks that one of several clients no longer needs: cancelled, unless another does.

use crate::manager::Manager;
use crate::manager::table::BlockSlot;
use freestone_base::{Name, Ticket};
use std::collections::{BTreeMap, BTreeSet};

impl Manager {
    /// The blocks, and those that are made of them by tasks that have not ended.
    ///
    /// # Complexity
    /// In the number of blocks and their consumers.
    pub fn dependents(&self, names: &[Name]) -> Vec<Name> {
        let mut left: Vec<BlockSlot> =
            names.iter().filter_map(|name| self.graph.blocks.find(name)).collect();
        let mut seen: BTreeSet<BlockSlot> = left.iter().copied().collect();
        while let Some(slot) = left.pop() {
            left.extend(self.made_of(slot).into_iter().filter(|made| seen.insert(*made)));
        }
        seen.into_iter().map(|slot| self.graph.blocks[slot].name).collect()
    }

    /// What unfinished tasks and reductions make of a block.
    fn made_of(&self, slot: BlockSlot) -> Vec<BlockSlot> {
        let block = &self.graph.blocks[slot];
        let tasks = block.consumers.iter().filter_map(|id| self.graph.tasks.find(*id));
        let unfinished = tasks.filter(|task| !self.graph.tasks[*task].stage.is_done());
        let mut made: Vec<BlockSlot> =
            unfinished.flat_map(|task| self.graph.tasks[task].outputs.iter().copied()).collect();
        let reductions = block.extra.iter().flat_map(|extra| &extra.reductions);
        made.extend(reductions.map(|(row, _)| self.clients.reductions[*row].output()));
        made
    }

    /// A client needs some blocks no longer, and holds so many references to each. References that
    /// others hold, and tasks that others submitted for them, keep what they need.
    pub(in crate::manager) fn on_abandon(&mut self, held: &[(Name, u32)]) {
        let mut mine: BTreeMap<BlockSlot, u32> = BTreeMap::new();
        for (name, count) in held {
            if let Some(slot) = self.graph.blocks.find(name) {
                *mine.entry(slot).or_default() += count;
            }
        }
        let needed = self.needed_by_others(&mine);
        let names: Vec<Name> = mine
            .keys()
            .filter(|slot| !needed.contains(slot))
            .map(|slot| self.graph.blocks[*slot].name)
            .collect();
        for name in names {
            self.cancel(&name);
        }
    }

    /// The manager's own program needs nothing that it waits for any longer.
    pub(in crate::manager) fn abandon_own(&mut self) {
        let published: BTreeSet<Name> =
            self.clients.published.values().map(|published| published.name).collect();
        let blocks = self.graph.blocks.slots().into_iter().map(|slot| &self.graph.blocks[slot]);
        let own = blocks.filter(|block| {
            let is_own = |ticket: &Ticket| !ticket.is_remote() && !ticket.is_detached();
            !block.tickets.is_empty()
                && block.tickets.iter().all(is_own)
                && !published.contains(&block.name)
        });
        let names: Vec<Name> = own.map(|block| block.name).collect();
        self.on_cancel(&names);
    }

    /// Those of a client's blocks that somebody else refers to, or that are made into such.
    fn needed_by_others(&self, mine: &BTreeMap<BlockSlot, u32>) -> BTreeSet<BlockSlot> {
        let mut makes: BTreeMap<BlockSlot, Vec<BlockSlot>> = BTreeMap::new();
        let mut left = Vec::new();
        let mut seen: BTreeSet<BlockSlot> = mine.keys().copied().collect();
        let mut look: Vec<BlockSlot> = seen.iter().copied().collect();
        while let Some(slot) = look.pop() {
            let siblings = self.siblings(slot);
            if mine.get(&slot).is_none_or(|count| self.graph.blocks[slot].references > *count) {
                left.push(slot);
            }
            for made in self.made_of(slot).into_iter().chain(siblings) {
                makes.entry(made).or_default().push(slot);
                if seen.insert(made) {
                    look.push(made);
                }
            }
        }
        let mut needed: BTreeSet<BlockSlot> = BTreeSet::new();
        while let Some(slot) = left.pop() {
            if needed.insert(slot) {
                left.extend(makes.get(&slot).into_iter().flatten().copied());
            }
        }
        needed
    }

    /// Other outputs of the task that makes a block.
    fn siblings(&self, slot: BlockSlot) -> Vec<BlockSlot> {
        let producer = self.graph.blocks[slot].producer;
        let outputs = producer.iter().flat_map(|task| &self.graph.tasks[*task].outputs);
        outputs.copied().filter(|other| *other != slot).collect()
    }
}

#[cfg(test)]
#[path = "abandon_tests.rs"]
mod tests;
