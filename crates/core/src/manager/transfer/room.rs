//! Room at workers: what is dropped where it is short, and tasks that wait until there is some.
//!
//! A worker says that it has no room by a call's `StorageFull` or a transfer's `FetchFailed`. What
//! can be had again is dropped there, the longest unused first. If that is not enough, the call goes
//! elsewhere, or waits here until something was let go of. It is refused once nothing runs or moves
//! any more, since nothing is going to make room then.

use crate::manager::Manager;
use crate::manager::api::Why;
use crate::manager::clock::Now;
use crate::manager::graph::{Block, Extra, Stage, rank};
use crate::manager::members::Worker;
use crate::manager::table::{BlockSlot, TaskSlot};
use crate::wire::{Keep, TaskFailure};
use freestone_base::{TaskId, WorkerId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Clients let go of futures a few times a second: so long after the last work has ended it is
/// waited for that.
const GRACE_NS: Now = 1_000_000_000;
/// How many waiting calls try again when something was let go of.
const TRIES: usize = 64;
/// How many tasks are looked at to see whether a block can be made again.
const LINEAGE_SEEN: usize = 64;
/// So often a block that something waits for is dropped since it was last asked for: tasks that
/// take each other's room would be run for ever.
const MAX_DISPLACED: u8 = 16;

/// Tasks that wait for room.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::manager) struct Cramped {
    /// Each with what the last worker said. By slot, since that is about the order of submission,
    /// and what was submitted together is often used together.
    tasks: BTreeMap<TaskSlot, (TaskId, TaskFailure)>,
    /// Something was let go of since they were last tried.
    relieved: bool,
    /// Since when nothing runs that could make room.
    quiet_since: Option<Now>,
    /// The task for which blocks were dropped that others wait for, and those blocks.
    favoured: Option<(TaskId, Vec<BlockSlot>)>,
}

/// What may be dropped for want of room: what can be had again.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Spare {
    /// Not what this one needs.
    favoured: Option<TaskSlot>,
    /// Also what waiting tasks and reductions need.
    displaces: bool,
}

impl Cramped {
    /// Something was let go of somewhere.
    pub fn relieve(&mut self) {
        self.relieved = true;
    }

    /// Whether a task waits for room.
    pub fn holds(&self, slot: TaskSlot, task: TaskId) -> bool {
        self.tasks.get(&slot).is_some_and(|(id, _)| *id == task)
    }
}

impl Manager {
    /// A worker has no room for what a task needs or makes; the task stands as waiting for nothing.
    pub(in crate::manager) fn on_storage_full(
        &mut self,
        task: TaskSlot,
        id: WorkerId,
        why: TaskFailure,
    ) {
        let TaskFailure::StorageFull { needed, .. } = why else { return };
        let mut inputs = self.graph.tasks[task].inputs.iter();
        // An input may have vanished there meanwhile.
        let is_complete = inputs.all(|slot| self.graph.blocks[*slot].is_available());
        if !is_complete
            || self.make_room(id, needed, Some(task))
            || self.has_room_elsewhere(task, id)
        {
            self.counts.retried += 1;
            return self.resume(task);
        }
        self.transfer.cramped.tasks.insert(task, (self.graph.tasks.id(task), why));
    }

    /// Drops what can be had again at a worker and nothing waits for, the longest unused first, until
    /// as many bytes are let go of; whether any are. What a task needs does not make way for it, or it
    /// would be fetched and dropped again and again.
    pub(in crate::manager) fn make_room(
        &mut self,
        id: WorkerId,
        nbytes: u64,
        favoured: Option<TaskSlot>,
    ) -> bool {
        !self.drop_spare(id, nbytes, Spare { favoured, displaces: false }).is_empty()
    }

    /// Drops blocks at a worker, the longest unused first, until as many bytes are let go of; which.
    ///
    /// Costs a look at all blocks of the worker, so that nothing has to be kept in order for it.
    fn drop_spare(&mut self, id: WorkerId, nbytes: u64, which: Spare) -> Vec<BlockSlot> {
        let Some(worker) = self.members.workers.get(id) else { return Vec::new() };
        let spare = worker.blocks.iter().filter(|slot| self.is_spare_at(**slot, id, which));
        // What waits and was made of much costs most to make again.
        let depth = |block: &Block| if which.displaces { block.depth } else { 0 };
        let mut spare: Vec<(u32, Now, BlockSlot)> = spare
            .map(|slot| {
                (depth(&self.graph.blocks[*slot]), self.graph.blocks[*slot].used_ns(), *slot)
            })
            .collect();
        spare.sort_unstable();
        let mut freed = 0;
        let mut dropped = Vec::new();
        // It is room for one: if others took it, they would drop each other's blocks for ever.
        let relieved = self.transfer.cramped.relieved;
        for (.., slot) in spare {
            if freed >= nbytes.max(1) {
                break;
            }
            freed += self.graph.blocks[slot].nbytes();
            self.detach_replica(slot, id);
            self.drop_replica(slot, id);
            // Another copy would take the same room again.
            self.transfer.forget_copies(slot);
            self.graph.dirty.push(slot);
            dropped.push(slot);
        }
        self.transfer.cramped.relieved = relieved;
        dropped
    }

    /// Whether a block can be dropped at a worker and still be had: from another one, or by its
    /// task; or it is only kept in case somebody asks for it again.
    fn is_spare_at(&self, slot: BlockSlot, id: WorkerId, which: Spare) -> bool {
        let block = &self.graph.blocks[slot];
        // What is kept forever has a copy that its worker falls back on by itself.
        if block.keep == Keep::Forever || block.is_group() || self.is_in_use_at(block, id) {
            return false;
        }
        if self.members.workers[id].sending.iter().any(|(other, _)| *other == slot) {
            return false;
        }
        if which.favoured.is_some_and(|task| self.graph.tasks[task].inputs.contains(&slot)) {
            return false;
        }
        let is_tied = |extra: &Extra| {
            !extra.wants.is_empty()
                || !extra.client_pins.is_empty()
                || !extra.adopting.is_empty()
                || !extra.pins.is_empty()
        };
        if which.displaces {
            // What has a copy elsewhere would only be copied again.
            let is_only = block.replicas().len() == 1 && block.displaced < MAX_DISPLACED;
            let is_free = is_only && !block.extra.as_deref().is_some_and(is_tied);
            return is_free && self.can_be_made_again(block);
        }
        let mut others = block.replicas().iter().filter(|other| **other != id);
        let stays = |id: WorkerId| self.members.workers.get(id).is_some_and(Worker::is_active);
        // Who retires would only hand it over again.
        if others.clone().any(|other| !stays(*other)) {
            return false;
        }
        let has_copy = others.next().is_some()
            && !self.transfer.keeps_copies(slot)
            && self.graph.home_of(block) != Some(id);
        has_copy
            || (!block.is_wanted() && block.lineage == 0)
            || self.graph.is_root(block)
            || (block.unfinished == 0 && block.extra.is_none() && self.can_be_made_again(block))
    }

    /// Whether tasks that may run twice can make a block again from what is there.
    fn can_be_made_again(&self, block: &Block) -> bool {
        let Some(producer) = block.producer else { return false };
        let mut tasks = vec![producer];
        let mut seen = 0;
        while seen < tasks.len() {
            let record = &self.graph.tasks[tasks[seen]];
            seen += 1;
            let may_run = record.options.twice && record.stage.is_done();
            let can_run = self.refusal(&record.options.resources, record.pinned).is_none();
            if !may_run || !can_run || seen > LINEAGE_SEEN {
                return false;
            }
            for slot in &record.inputs {
                let input = &self.graph.blocks[*slot];
                match input.producer {
                    _ if input.is_available() || self.graph.has_origin(&input.name) => {}
                    Some(task) if self.graph.tasks[task].stage.is_done() => {
                        if !tasks.contains(&task) {
                            tasks.push(task);
                        }
                    }
                    Some(_) => {}
                    None => return false,
                }
            }
        }
        true
    }

    /// Something was let go of: tasks that wait for room try again.
    pub(in crate::manager) fn retry_cramped(&mut self) {
        if !std::mem::take(&mut self.transfer.cramped.relieved)
            || self.transfer.cramped.tasks.is_empty()
        {
            return;
        }
        self.transfer.cramped.quiet_since = None;
        for _ in 0..TRIES {
            let Some((task, (id, _))) = self.transfer.cramped.tasks.pop_first() else { break };
            if self.waits_for_room(task, id) {
                self.try_cramped(task);
            }
        }
        // One whose input has failed meanwhile fails now.
        self.let_go();
    }

    /// Whether that is a task which waits for nothing else.
    fn waits_for_room(&self, slot: TaskSlot, task: TaskId) -> bool {
        self.graph.tasks.find(task) == Some(slot)
            && self.graph.tasks[slot].stage == (Stage::Waiting { missing: 0 })
    }

    fn try_cramped(&mut self, task: TaskSlot) {
        // A worker that was full may have room now; those that it killed are avoided all the same.
        let history = self.graph.tasks[task].history();
        for id in std::mem::take(&mut history.full) {
            history.avoid.retain(|avoided| *avoided != id);
        }
        self.counts.retried += 1;
        self.resume(task);
    }

    /// Time passes: when nothing runs or moves, nothing is going to make room. All that wait try
    /// once more, since workers may have moved blocks to disk meanwhile; then what can be made again
    /// makes way for one of them. If there is nothing, they are refused one after another, as long
    /// as that lets go of nothing.
    pub(in crate::manager) fn refuse_cramped(&mut self) {
        let moves = || self.members.workers.iter().any(|worker| !worker.receiving.is_empty());
        if self.transfer.cramped.tasks.is_empty()
            || self.counts.ready + self.counts.assigned > 0
            || moves()
        {
            return;
        }
        let Some(since) = self.transfer.cramped.quiet_since else {
            self.transfer.cramped.relieved = true;
            self.retry_cramped();
            self.transfer.cramped.quiet_since = Some(self.now);
            return;
        };
        if self.favour_one() || self.now - since < GRACE_NS {
            return;
        }
        while let Some((task, (id, why))) = self.transfer.cramped.tasks.pop_first() {
            if self.waits_for_room(task, id) {
                self.fail_with(task, Why::Attempt(why));
            }
            self.let_go();
            if self.transfer.cramped.relieved {
                return;
            }
        }
    }

    /// Gives one task that waits for room that of blocks that others wait for, which are made again
    /// when it has ended; whether there are such blocks. The deepest task goes first: it combines
    /// what others have made, and leaves more room than it takes.
    fn favour_one(&mut self) -> bool {
        let cramped = self.transfer.cramped.tasks.iter();
        let cramped = cramped.filter(|(task, (id, _))| self.waits_for_room(**task, *id));
        let mut cramped: Vec<TaskSlot> = cramped.map(|(task, _)| *task).collect();
        cramped.sort_by_key(|task| rank(self.graph.tasks[*task].priority, self.graph.depth(*task)));
        cramped.into_iter().any(|task| self.favour(task))
    }

    fn favour(&mut self, task: TaskSlot) -> bool {
        let id = self.graph.tasks.id(task);
        let Some((_, TaskFailure::StorageFull { needed, .. })) =
            self.transfer.cramped.tasks.get(&task)
        else {
            return false;
        };
        let (needed, full) = (*needed, self.graph.tasks[task].history().full.clone());
        let which = Spare { favoured: Some(task), displaces: true };
        let mut dropped = full.iter().map(|worker| self.drop_spare(*worker, needed, which));
        let Some(displaced) = dropped.find(|dropped| !dropped.is_empty()) else { return false };
        for slot in &displaced {
            self.graph.blocks[*slot].displaced += 1;
            self.take_back_consumers(*slot, None);
        }
        self.demand_displaced();
        self.transfer.cramped.favoured = Some((id, displaced));
        self.transfer.cramped.tasks.remove(&task);
        self.try_cramped(task);
        self.transfer.cramped.quiet_since = Some(self.now);
        true
    }

    /// Once the task has ended for which blocks made way, they are made again.
    pub(in crate::manager) fn restore_displaced(&mut self) {
        let Some((task, _)) = &self.transfer.cramped.favoured else { return };
        let found = self.graph.tasks.find(*task).map(|task| self.graph.tasks[task].stage);
        if matches!(found, Some(Stage::Ready | Stage::Queued(_) | Stage::Assigned { .. })) {
            return;
        }
        self.demand_displaced();
        self.let_go();
    }

    fn demand_displaced(&mut self) {
        let Some((_, displaced)) = self.transfer.cramped.favoured.take() else { return };
        for slot in displaced {
            if self.graph.blocks.get(slot).is_some_and(Block::is_wanted) {
                self.demand(slot);
            }
        }
    }

    /// A worker has no room for a block that clients want there, and nothing can be dropped.
    pub(in crate::manager) fn refuse_client_pins_at(
        &mut self,
        slot: BlockSlot,
        id: WorkerId,
        free: u64,
    ) {
        let Some(block) = self.graph.blocks.get(slot) else { return };
        let folder =
            self.members.workers.get(id).map_or(String::new(), |worker| worker.folder.clone());
        let why = TaskFailure::StorageFull { needed: block.nbytes(), free, folder };
        let failure = Self::block_failure(block.name, Why::Attempt(why));
        self.refuse_clients_at(slot, id, &failure);
    }
}

#[cfg(test)]
#[path = "room_tests.rs"]
mod tests;
