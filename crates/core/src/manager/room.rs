//! Room at workers: what is dropped where it is short, and tasks that wait until there is some.
//!
//! A worker says that it has no room by a call's `StorageFull` or a transfer's `FetchFailed`. What
//! can be had again is dropped there, the longest unused first. If that is not enough, the call goes
//! elsewhere, or waits here until something was let go of. It is refused once nothing runs or moves
//! any more, since nothing is going to make room then.

use super::Manager;
use super::api::{Now, Outcome, Why};
use super::blocks::Block;
use super::table::{BlockSlot, TaskSlot};
use super::tasks::Stage;
use crate::wire::{Keep, TaskFailure};
use freestone_base::{TaskId, WorkerId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Clients let go of futures a few times a second: so long after the last work has ended it is
/// waited for that.
const GRACE_NS: Now = 1_000_000_000;
/// How many waiting calls try again when something was let go of.
const TRIES: usize = 64;
/// How many tasks are looked at to see whether a block can be made again.
const LINEAGE_SEEN: usize = 64;

/// Tasks that wait for room.
#[derive(Default)]
pub(super) struct Cramped {
    /// Each with what the last worker said.
    tasks: BTreeMap<TaskId, TaskFailure>,
    /// Something was let go of since they were last tried.
    relieved: bool,
    /// Since when nothing runs that could make room.
    quiet_since: Option<Now>,
}

impl Cramped {
    /// Something was let go of somewhere.
    pub fn relieve(&mut self) {
        self.relieved = true;
    }

    /// Whether a task waits for room.
    pub fn holds(&self, task: TaskId) -> bool {
        self.tasks.contains_key(&task)
    }
}

impl Manager {
    /// A worker has no room for what a task needs or makes; the task stands as waiting for nothing.
    pub(super) fn on_storage_full(&mut self, task: TaskSlot, id: WorkerId, why: TaskFailure) {
        let TaskFailure::StorageFull { needed, .. } = why else { return };
        if self.make_room(id, needed) || self.has_room_elsewhere(task, id) {
            self.counts.retried += 1;
            return self.resume(task);
        }
        self.cramped.tasks.insert(self.tasks.id(task), why);
    }

    /// Drops what can be had again at a worker, the longest unused first, until as many bytes are
    /// let go of; whether any are.
    ///
    /// Costs a look at all blocks of the worker, so that nothing has to be kept in order for it.
    pub(super) fn make_room(&mut self, id: WorkerId, nbytes: u64) -> bool {
        let Some(worker) = self.workers.get(id) else { return false };
        let spare = worker.blocks.iter().filter(|slot| self.is_spare_at(**slot, id));
        let mut spare: Vec<(Now, BlockSlot)> =
            spare.map(|slot| (self.blocks[*slot].used_ns, *slot)).collect();
        spare.sort_unstable();
        let mut freed = 0;
        for (_, slot) in spare {
            if freed >= nbytes.max(1) {
                break;
            }
            freed += self.blocks[slot].nbytes();
            let name = self.blocks[slot].name;
            self.detach_replica(slot, id);
            self.drop_at(id, name);
            self.loose.push(slot);
        }
        freed > 0
    }

    /// Whether a block can be dropped at a worker and still be had: from another one, or by its
    /// task; or it is only kept in case somebody asks for it again.
    fn is_spare_at(&self, slot: BlockSlot, id: WorkerId) -> bool {
        let block = &self.blocks[slot];
        // What is kept forever has a copy that its worker falls back on by itself.
        if block.keep == Keep::Forever || block.is_group() || self.is_in_use_at(block, id) {
            return false;
        }
        if self.workers[id].sending.iter().any(|(other, _)| *other == slot) {
            return false;
        }
        let is_elsewhere = |other: &WorkerId| *other != id && self.workers.is_present(*other);
        let has_copy = block.replicas().iter().any(is_elsewhere) && !self.hot.contains_key(&slot);
        let is_asked_for = block.unfinished > 0 || block.extra.is_some();
        has_copy
            || (!block.is_wanted() && block.lineage == 0)
            || (!is_asked_for && self.can_be_made_again(block))
    }

    /// Whether tasks that may run twice can make a block again from what is there.
    fn can_be_made_again(&self, block: &Block) -> bool {
        let Some(producer) = block.producer else { return false };
        let mut tasks = vec![producer];
        let mut seen = 0;
        while seen < tasks.len() {
            let record = &self.tasks[tasks[seen]];
            seen += 1;
            let may_run = record.options.twice && record.stage.is_done();
            let can_run = self.refusal(&record.options.resources, record.pinned).is_none();
            if !may_run || !can_run || seen > LINEAGE_SEEN {
                return false;
            }
            for slot in &record.inputs {
                let input = &self.blocks[*slot];
                match input.producer {
                    _ if input.is_available() || self.has_origin(&input.name) => {}
                    Some(task) if self.tasks[task].stage.is_done() => {
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
    pub(super) fn retry_cramped(&mut self) {
        if !std::mem::take(&mut self.cramped.relieved) || self.cramped.tasks.is_empty() {
            return;
        }
        self.cramped.quiet_since = None;
        for _ in 0..TRIES {
            let Some((task, _)) = self.cramped.tasks.pop_first() else { break };
            self.try_cramped(task);
        }
        // One whose input has failed meanwhile fails now.
        self.let_go();
    }

    fn try_cramped(&mut self, task: TaskId) {
        let Some(task) = self.tasks.find(task) else { return };
        if self.tasks[task].stage != (Stage::Waiting { missing: 0 }) {
            return;
        }
        // A worker that was full may have room now; those that it killed are avoided all the same.
        let history = self.tasks[task].history();
        for id in std::mem::take(&mut history.full) {
            history.avoid.retain(|avoided| *avoided != id);
        }
        self.counts.retried += 1;
        self.resume(task);
    }

    /// Time passes: when nothing runs or moves, nothing is going to make room. All that wait try
    /// once more, since workers may have moved blocks to disk meanwhile; then they are refused one
    /// after another, as long as that lets go of nothing.
    pub(super) fn refuse_cramped(&mut self) {
        let moves = || self.workers.iter().any(|worker| !worker.receiving.is_empty());
        if self.cramped.tasks.is_empty() || self.counts.ready + self.counts.assigned > 0 || moves()
        {
            return;
        }
        let Some(since) = self.cramped.quiet_since else {
            self.cramped.relieved = true;
            self.retry_cramped();
            self.cramped.quiet_since = Some(self.now);
            return;
        };
        if self.now - since < GRACE_NS {
            return;
        }
        while let Some((task, why)) = self.cramped.tasks.pop_first() {
            if let Some(task) = self.tasks.find(task)
                && self.tasks[task].stage == (Stage::Waiting { missing: 0 })
            {
                self.fail_with(task, Why::Attempt(why));
            }
            self.let_go();
            if self.cramped.relieved {
                return;
            }
        }
    }

    /// A worker has no room for a block that clients want there, and nothing can be dropped.
    pub(super) fn refuse_gathers_at(&mut self, slot: BlockSlot, id: WorkerId, free: u64) {
        let Some(block) = self.blocks.get(slot) else { return };
        let folder = self.workers.get(id).map_or(String::new(), |worker| worker.folder.clone());
        let why = TaskFailure::StorageFull { needed: block.nbytes(), free, folder };
        let failure = Self::block_failure(block.name, Why::Attempt(why));
        while let Some(index) = self.gather_at(slot, id) {
            let ticket = self.remove_gather(slot, index);
            self.settle(ticket, Outcome::Failed(Arc::clone(&failure)));
        }
    }
}

#[cfg(test)]
#[path = "room_tests.rs"]
mod tests;
