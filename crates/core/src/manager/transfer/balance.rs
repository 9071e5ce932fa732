//! Blocks of collections that move when workers come and go, so that each worker has its share.
//!
//! See docs/decisions/019-the-manager-balances-collections.md

use crate::manager::Manager;
use crate::manager::clock::Now;
use crate::manager::graph::{Block, Stage};
use crate::manager::members::Worker;
use crate::manager::table::BlockSlot;
use crate::wire::Keep;
use freestone_base::layout::blocks::even_out;
use freestone_base::{Name, WorkerId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// How many blocks come to a worker at once to even it out: inputs of tasks have to come besides.
const AT_ONCE: usize = 2;

/// How long nobody may have joined before blocks move: who joins is seldom alone, and with each of
/// them some would move that have moved for the one before.
const JOIN_DELAY_NS: u64 = 5_000_000_000;

/// What is known of collections, and what moves.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::manager) struct Balance {
    collections: BTreeMap<u64, Vec<Name>>,
    coming: BTreeMap<WorkerId, Coming>,
    /// What has come, and may still be in use where it was.
    surplus: Vec<Move>,
    /// Where something may begin to come.
    touched: Vec<WorkerId>,
    /// When the last worker joined, if blocks have not moved since.
    joined_ns: Option<Now>,
    due: bool,
}

/// What is to come to a worker.
#[derive(Default, Serialize, Deserialize)]
struct Coming {
    planned: VecDeque<Move>,
    asked: BTreeMap<BlockSlot, Move>,
}

/// A block that is to leave a worker.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Move {
    slot: BlockSlot,
    name: Name,
    source: WorkerId,
}

/// Blocks of one place in their collections that are at one worker, and stay together.
#[derive(Serialize, Deserialize)]
struct Together {
    owner: usize,
    nbytes: u64,
    blocks: Vec<BlockSlot>,
}

impl Balance {
    pub fn collect(&mut self, collection: u64, blocks: Vec<Name>) {
        self.collections.insert(collection, blocks);
    }

    pub fn disperse(&mut self, collection: u64) {
        self.collections.remove(&collection);
    }

    /// Blocks move at the end of this event.
    pub fn be_due(&mut self) {
        self.due = true;
    }

    /// A worker has joined. Collections that come later know of it: nothing of them has to move.
    pub fn on_joined(&mut self, now: Now) {
        if !self.collections.is_empty() {
            self.joined_ns = Some(now);
        }
    }

    /// How many blocks are to move, or move.
    pub fn moving(&self) -> u64 {
        self.coming.values().map(|coming| coming.planned.len() + coming.asked.len()).sum::<usize>()
            as u64
    }

    /// A worker is lost: nothing comes to it any more.
    pub fn on_left(&mut self, id: WorkerId) {
        self.coming.remove(&id);
    }

    /// Where blocks are on their way to.
    fn targets(&self) -> BTreeMap<BlockSlot, Option<WorkerId>> {
        let each = self.coming.iter();
        each.flat_map(|(id, one)| one.asked.keys().map(|slot| (*slot, Some(*id)))).collect()
    }

    /// Those of as many blocks belong together.
    fn alike(&self) -> BTreeMap<usize, Vec<Vec<Name>>> {
        let mut alike = BTreeMap::<_, Vec<_>>::new();
        for blocks in self.collections.values() {
            alike.entry(blocks.len()).or_default().push(blocks.clone());
        }
        alike
    }
}

impl Manager {
    /// Plans moves if workers came or go, and takes those that are planned on.
    pub(in crate::manager) fn advance_balance(&mut self) {
        if std::mem::take(&mut self.transfer.balance.due) {
            self.plan_moves();
        }
        let touched = std::mem::take(&mut self.transfer.balance.touched);
        for target in &touched {
            self.ask_planned(*target);
        }
        if !touched.is_empty() {
            self.drop_surplus();
        }
    }

    /// Time passes.
    pub(in crate::manager) fn balance_again(&mut self) {
        let is_past = |joined: Now| self.now.saturating_sub(joined) >= JOIN_DELAY_NS;
        self.transfer.balance.due |= self.transfer.balance.joined_ns.is_some_and(is_past);
        for (target, coming) in std::mem::take(&mut self.transfer.balance.coming) {
            let mut coming = coming;
            coming.asked.retain(|_, one| self.is_coming_to(one, target));
            if !coming.asked.is_empty() || !coming.planned.is_empty() {
                self.transfer.balance.coming.insert(target, coming);
                self.transfer.balance.touched.push(target);
            }
        }
        self.drop_surplus();
    }

    fn is_coming_to(&self, one: &Move, target: WorkerId) -> bool {
        self.graph.blocks.get(one.slot).is_some_and(|block| {
            block.name == one.name && block.wants().iter().any(|want| want.target == target)
        })
    }

    /// Decides anew who shall have which blocks; what is being sent goes on.
    fn plan_moves(&mut self) {
        self.transfer.balance.joined_ns = None;
        if self.transfer.balance.collections.is_empty() {
            return;
        }
        self.recall_moves();
        let there = self.members.workers.iter().filter(|one| !one.is_closing());
        let mut loads: Vec<(u64, WorkerId)> = there.map(|one| (one.nbytes, one.id)).collect();
        let mut owners = self.transfer.balance.targets();
        for collections in self.transfer.balance.alike().into_values() {
            // What could go to several goes to the one that has least of all.
            loads.sort_unstable();
            let places: BTreeMap<WorkerId, usize> =
                loads.iter().enumerate().map(|(place, (_, id))| (*id, place)).collect();
            let together = self.together(&collections, &places, &mut owners);
            self.plan_alike(&together, &mut loads);
        }
        self.transfer.balance.touched = self.transfer.balance.coming.keys().copied().collect();
    }

    /// Takes back what is planned or waits to be sent.
    fn recall_moves(&mut self) {
        for (target, mut coming) in std::mem::take(&mut self.transfer.balance.coming) {
            coming.asked.retain(|slot, one| {
                if !self.is_coming_to(one, target) {
                    return false;
                }
                self.unwant(*slot, target, None);
                self.is_coming_to(one, target)
            });
            coming.planned.clear();
            self.transfer.balance.coming.insert(target, coming);
        }
    }

    /// The blocks of like collections, by their places there and the workers that have them; each
    /// but once. `targets`: where blocks are on their way to.
    fn together(
        &self,
        collections: &[Vec<Name>],
        places: &BTreeMap<WorkerId, usize>,
        targets: &mut BTreeMap<BlockSlot, Option<WorkerId>>,
    ) -> Vec<Together> {
        let mut all = Vec::new();
        for index in 0..collections.first().map_or(0, Vec::len) {
            let first = all.len();
            for name in collections.iter().map(|blocks| &blocks[index]) {
                let Some(slot) = self.graph.blocks.find(name) else { continue };
                let target = targets.insert(slot, None);
                let owner = target.unwrap_or_else(|| self.only_owner(slot));
                let Some(owner) = owner.and_then(|id| places.get(&id)) else { continue };
                let nbytes = self.graph.blocks[slot].nbytes();
                match all[first..].iter_mut().find(|one: &&mut Together| one.owner == *owner) {
                    Some(one) => {
                        one.nbytes += nbytes;
                        one.blocks.push(slot);
                    }
                    None => all.push(Together { owner: *owner, nbytes, blocks: vec![slot] }),
                }
            }
        }
        all
    }

    /// Who has a block, if that is one worker and the block is needed.
    fn only_owner(&self, slot: BlockSlot) -> Option<WorkerId> {
        let block = &self.graph.blocks[slot];
        let is_needed = block.is_wanted() || block.keep >= Keep::Session;
        if !is_needed || block.is_group() {
            return None;
        }
        // Beside another copy, the one that its home keeps in any case does not count.
        let home = self.graph.home_of(block);
        let mut others = block.replicas().iter().copied().filter(|id| Some(*id) != home);
        match (others.next(), others.next()) {
            (None, _) => home,
            (only, None) => only,
            _ => None,
        }
    }

    fn plan_alike(&mut self, together: &[Together], loads: &mut [(u64, WorkerId)]) {
        let share = |id: WorkerId| {
            self.members.workers.get(id).filter(|one| one.is_active()).map_or(0, |one| one.slots)
        };
        let shares: Vec<u32> = loads.iter().map(|(_, id)| share(*id)).collect();
        let owners: Vec<usize> = together.iter().map(|one| one.owner).collect();
        let nbytes: Vec<u64> = together.iter().map(|one| one.nbytes).collect();
        // Without anybody to have them, blocks stay.
        let Ok(after) = even_out(&owners, &nbytes, &shares) else { return };
        for (one, target) in together.iter().zip(after) {
            if target != one.owner {
                loads[one.owner].0 = loads[one.owner].0.saturating_sub(one.nbytes);
                loads[target].0 += one.nbytes;
                let (source, target) = (loads[one.owner].1, loads[target].1);
                let coming = self.transfer.balance.coming.entry(target).or_default();
                coming.planned.extend(one.blocks.iter().map(|slot| {
                    let name = self.graph.blocks[*slot].name;
                    Move { slot: *slot, name, source }
                }));
            }
        }
    }

    /// Has blocks come to a worker, some at once; all that workers have which leave.
    fn ask_planned(&mut self, target: WorkerId) {
        let Some(mut coming) = self.transfer.balance.coming.remove(&target) else { return };
        let mut later = VecDeque::new();
        for one in std::mem::take(&mut coming.planned) {
            let leaves = !self.members.workers.get(one.source).is_some_and(Worker::is_active);
            if coming.asked.len() >= AT_ONCE && !leaves {
                later.push_back(one);
            } else if self.is_to_move(&one, target) {
                self.queues().want(one.slot, target);
                coming.asked.insert(one.slot, one);
            }
        }
        coming.planned = later;
        if !coming.asked.is_empty() {
            self.transfer.balance.coming.insert(target, coming);
        }
    }

    /// Whether a planned move is still of use; what has come otherwise need not come again.
    fn is_to_move(&mut self, one: &Move, target: WorkerId) -> bool {
        let Some(block) = self.graph.blocks.get(one.slot).filter(|block| block.name == one.name)
        else {
            return false;
        };
        if !block.is_at(one.source) {
            return false;
        }
        if block.is_at(target) {
            self.transfer.balance.surplus.push(*one);
            return false;
        }
        self.members.workers.get(target).is_some_and(Worker::is_active)
    }

    /// A worker has a block: if it was to have it, the former one need not have it any more.
    pub(in crate::manager) fn on_moved(&mut self, slot: BlockSlot, id: WorkerId) {
        let Some(coming) = self.transfer.balance.coming.get_mut(&id) else { return };
        if let Some(one) = coming.asked.remove(&slot) {
            self.transfer.balance.surplus.push(one);
            self.transfer.balance.touched.push(id);
        }
    }

    /// Drops what has moved where it was, unless it is in use there.
    fn drop_surplus(&mut self) {
        for one in std::mem::take(&mut self.transfer.balance.surplus) {
            if !self.drop_moved(&one) {
                self.transfer.balance.surplus.push(one);
            }
        }
    }

    /// Drops a block that has moved; whether there is nothing left to do.
    fn drop_moved(&mut self, one: &Move) -> bool {
        let there = |block: &&Block| block.name == one.name && block.is_at(one.source);
        let Some(block) = self.graph.blocks.get(one.slot).filter(there) else { return true };
        let Some(worker) = self.members.workers.get(one.source).filter(|one| one.is_active())
        else {
            return true;
        };
        // It was lost where it had gone to, or nothing else can give it again.
        if block.replicas().len() < 2 || self.graph.home_of(block) == Some(one.source) {
            return true;
        }
        if worker.sending.iter().any(|(slot, _)| *slot == one.slot)
            || self.is_in_use_at(block, one.source)
        {
            return false;
        }
        self.detach_replica(one.slot, one.source);
        self.drop_replica(one.slot, one.source);
        true
    }

    pub(in crate::manager) fn is_in_use_at(&self, block: &Block, id: WorkerId) -> bool {
        let tied = block.extra.as_ref().is_some_and(|extra| {
            extra.pins.contains(&id)
                || extra.client_pins.iter().any(|pin| pin.worker == id)
                || extra.adopting.iter().any(|adoption| adoption.worker == Some(id))
        });
        let mut consumers = block.consumers.iter().filter_map(|task| self.graph.tasks.find(*task));
        tied || consumers.any(|task| {
            self.graph.tasks[task].stage == Stage::Queued(id) || self.is_attempted_at(task, id)
        })
    }
}

#[cfg(test)]
#[path = "balance_tests.rs"]
mod tests;
