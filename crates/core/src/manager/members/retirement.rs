//! Workers that are let go: their calls end, and what only they have is handed over.

use super::workers::{Worker, WorkerStage};
use crate::manager::Manager;
use crate::manager::table::BlockSlot;
use crate::wire::{Keep, ToWorker};
use freestone_base::{TaskId, WorkerId};
use std::collections::BTreeSet;

impl Manager {
    pub(in crate::manager) fn on_retire(&mut self, id: WorkerId) {
        if self.members.workers.is_yet_to_join(id) {
            self.members.arrivals.retire(id);
            return;
        }
        if !self.members.workers.get(id).is_some_and(Worker::is_active) {
            return;
        }
        self.members.workers.rest(id);
        self.members.workers.give_up(id, self.now);
        let worker = &mut self.members.workers[id];
        worker.stage = WorkerStage::Retiring;
        self.members.workers.retiring += 1;
        let had_others = self.members.workers.least_filled(1, |_| true).is_some();
        self.members.workers[id].had_others = had_others;
        let worker = &mut self.members.workers[id];
        let queue = std::mem::take(&mut worker.queue);
        for task in self.take_queue(id, queue) {
            if let Some(task) = self.graph.tasks.find(task) {
                self.resume(task);
            }
        }
        self.members.touch(id);
        self.move_shared_of(id);
        self.transfer.balance.be_due();
        self.refuse_unschedulable();
    }

    /// Takes the retirements of workers that were touched as far as they go.
    pub(in crate::manager) fn advance_retirements(&mut self) {
        let mut index = 0;
        while index < self.members.touched.len() {
            self.advance_retirement(self.members.touched[index]);
            index += 1;
        }
        self.let_go();
    }

    /// Takes the retirement of a worker as far as it goes.
    fn advance_retirement(&mut self, id: WorkerId) {
        let Some(worker) = self.members.workers.get(id) else { return };
        if worker.stage != WorkerStage::Retiring || worker.returning.is_some() {
            return;
        }
        if worker.held() > 0 {
            return self.ask_all_back(id);
        }
        if self.is_adopting(id) {
            return;
        }
        while let Some(slot) = self.members.workers[id].handing.first().copied() {
            if self.is_only_at(slot, id) && self.hand_over(slot, id) {
                return;
            }
            self.members.workers[id].handing.remove(&slot);
        }
        // What nobody wanted when it began to retire may be wanted by now.
        let handing = self.hand_all_over(id);
        if handing.is_empty() {
            return self.close(id);
        }
        self.members.workers[id].handing = handing;
    }

    /// Asks once for what has not begun, but for what has to run there.
    fn ask_all_back(&mut self, id: WorkerId) {
        if std::mem::replace(&mut self.members.workers[id].asked_all, true) {
            return;
        }
        let ahead = self.meant_ahead(id, usize::MAX);
        let movable = |id: &TaskId| {
            self.graph.tasks.find(*id).is_some_and(|task| self.graph.tasks[task].pinned.is_none())
        };
        let ahead: Vec<TaskId> = ahead.filter(movable).collect();
        if !ahead.is_empty() {
            self.ask_back(id, ahead);
        }
    }

    /// Has what only this worker has copied to others; what that is, as far as there are any.
    fn hand_all_over(&mut self, id: WorkerId) -> BTreeSet<BlockSlot> {
        let blocks = self.members.workers[id].blocks.iter().copied();
        let mut only: BTreeSet<BlockSlot> =
            blocks.filter(|slot| self.is_only_at(*slot, id)).collect();
        only.retain(|slot| self.hand_over(*slot, id));
        only
    }

    /// Whether a block is needed beyond this worker, and has no other replica.
    fn is_only_at(&self, slot: BlockSlot, id: WorkerId) -> bool {
        self.graph.blocks.get(slot).is_some_and(|block| {
            block.replicas() == [id]
                && !block.is_group()
                && (block.is_wanted() || block.keep == Keep::Session || self.graph.is_root(block))
        })
    }

    /// A worker has joined: those that retire may have waited for one to take their blocks.
    pub(in crate::manager) fn resume_retirements(&mut self) {
        if self.members.workers.retiring == 0 {
            return;
        }
        for id in self.members.workers.ids() {
            if self.members.workers[id].stage == WorkerStage::Retiring {
                self.members.touch(id);
            }
        }
    }

    /// Has a block copied to another worker; false if nobody takes it. Where others were lost since
    /// the worker began to retire, the block stays until somebody joins.
    fn hand_over(&mut self, slot: BlockSlot, id: WorkerId) -> bool {
        let mut targets = self.graph.blocks[slot].wants().iter().map(|want| want.target);
        if targets.any(|target| self.members.workers.get(target).is_some_and(Worker::is_active)) {
            return true;
        }
        let Some(target) = self.members.workers.least_filled(8, |_| true) else {
            return self.members.workers[id].had_others;
        };
        self.queues().want(slot, target);
        true
    }

    fn close(&mut self, id: WorkerId) {
        self.members.workers[id].stage = WorkerStage::Closing;
        self.members.workers.retiring -= 1;
        self.members.send(id, ToWorker::Shutdown);
        self.unbind_all(id);
        let wanted = self.members.workers[id].wanted.clone();
        self.queues().abandon_all(&wanted, id, false);
        let blocks = self.members.workers[id].blocks.iter().copied().collect();
        self.remove_replicas(blocks, id);
    }
}

#[cfg(test)]
#[path = "retirement_tests.rs"]
mod tests;
