//! Work that moves from a worker with much of it to one with none.

use super::Manager;
use super::table::TaskSlot;
use super::tasks::Stage;
use crate::wire::ToWorker;
use freestone_base::{TaskId, WorkerId};

/// A victim with less work ahead than this is left alone: asking takes about as long.
const LEAST_GAIN_NS: u64 = 200_000;

/// How many tasks at the end of a victim's queue are looked at for one that is worth moving.
const TASKS_SEEN: usize = 8;

/// How many idle workers look for work when time passes.
const THIEVES_PER_TICK: usize = 64;

impl Manager {
    /// Finds work for a worker that has free slots when nothing is ready for it.
    pub(super) fn steal_for(&mut self, thief: WorkerId) {
        while self.is_idle(thief) {
            let Some(victim) = self.victim(thief) else { return };
            if !self.take_queued(victim, thief) {
                return self.ask_back(victim);
            }
        }
    }

    fn is_idle(&self, id: WorkerId) -> bool {
        self.workers.get(id).is_some_and(|worker| {
            worker.is_active()
                && worker.free_slots() > 0
                && worker.queue.is_empty()
                && worker.ahead_len == 0
        })
    }

    /// The worker with the longest backlog among the most loaded, if there is something to gain.
    fn victim(&self, thief: WorkerId) -> Option<WorkerId> {
        let candidates = self.workers.most_loaded().filter(|id| *id != thief);
        let backlog_ns = |id: &WorkerId| {
            let worker = &self.workers[*id];
            let idle = worker.ahead_len == 0 && worker.queue.is_empty();
            if idle || worker.returning { 0 } else { worker.wait_ns() }
        };
        let victim = candidates.max_by_key(|id| (backlog_ns(id), *id))?;
        (backlog_ns(&victim) >= LEAST_GAIN_NS).then_some(victim)
    }

    /// Moves one task from the queue that is kept for a victim; whether there was one worth it.
    fn take_queued(&mut self, victim: WorkerId, thief: WorkerId) -> bool {
        let wait_ns = self.workers[victim].wait_ns();
        let mut passed = Vec::new();
        let mut found = None;
        while let Some(id) = self.last_queued(victim).filter(|_| passed.len() < TASKS_SEEN) {
            let Some(task) = self.tasks.find(id) else { break };
            self.workers[victim].queue.pop_last(true);
            if self.may_run(task, thief) && self.fetch_ns(&self.tasks[task], thief) < wait_ns {
                found = Some(task);
                break;
            }
            passed.push((task, id));
        }
        for (task, id) in passed.into_iter().rev() {
            let record = &self.tasks[task];
            let rank = super::ready::rank(record.priority, record.depth);
            self.workers[victim].queue.push(rank, id);
        }
        let Some(task) = found else { return false };
        self.unqueue(task, victim);
        self.workers.reorder(victim);
        self.tasks[task].stage = Stage::Ready;
        self.counts.stolen += 1;
        self.assign(task, thief);
        self.workers.reorder(thief);
        true
    }

    fn last_queued(&mut self, victim: WorkerId) -> Option<TaskId> {
        loop {
            let id = self.workers[victim].queue.last()?;
            let task = self.tasks.find(id);
            if task.is_some_and(|task| self.tasks[task].stage == Stage::Queued(victim)) {
                return Some(id);
            }
            self.workers[victim].queue.pop_last(false);
        }
    }

    fn may_run(&self, task: TaskSlot, id: WorkerId) -> bool {
        let record = &self.tasks[task];
        let avoided = record.history.as_ref().is_some_and(|history| history.avoid.contains(&id));
        record.pinned.is_none()
            && !avoided
            && record.options.resources.fit(&self.workers[id].resources)
    }

    /// Asks a victim to give back half of what was sent ahead to it.
    fn ask_back(&mut self, victim: WorkerId) {
        let worker = &self.workers[victim];
        if worker.returning || worker.ahead_len == 0 {
            return;
        }
        let most = worker.ahead_len.div_ceil(2) as usize;
        let latest = worker.ahead.iter().rev();
        let meant = latest.filter(|(id, attempt)| {
            self.tasks.find(*id).is_some_and(|task| {
                let record = &self.tasks[task];
                super::dispatch::is_ahead(record, victim, *attempt) && record.pinned.is_none()
            })
        });
        let asked: Vec<TaskId> = meant.take(most).map(|(id, _)| *id).collect();
        if !asked.is_empty() {
            self.workers[victim].returning = true;
            self.send(victim, ToWorker::Return(asked));
        }
    }

    /// A worker gives back what had not begun: it is placed anew.
    pub(super) fn on_returned(&mut self, id: WorkerId, returned: &[TaskId]) {
        if let Some(worker) = self.workers.get_mut(id) {
            worker.returning = false;
        }
        self.touch(id);
        for task in returned {
            let Some(task) = self.tasks.find(*task) else { continue };
            let Stage::Assigned { worker, running } = self.tasks[task].stage else { continue };
            if worker != id {
                continue;
            }
            self.unassign(task, id, running);
            self.tasks[task].history().returned += 1;
            self.counts.stolen += 1;
            self.counts.ready += 1;
            self.place(task);
        }
        self.promote(id);
        self.workers.reorder(id);
    }

    /// Idle workers look again: estimates may have been wrong.
    pub(super) fn steal_again(&mut self) {
        for id in self.workers.idle(THIEVES_PER_TICK) {
            self.steal_for(id);
        }
    }
}
