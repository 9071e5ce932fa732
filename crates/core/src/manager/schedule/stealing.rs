//! Work that moves from a worker with much of it to one with none.

use crate::manager::Manager;
use crate::manager::graph::{Stage, Task};
use crate::manager::table::TaskSlot;
use crate::wire::ToWorker;
use freestone_base::hash::SetOf;
use freestone_base::{TaskId, WorkerId};

/// A victim with less work ahead than this is left alone: asking takes about as long.
const MIN_GAIN_NS: u64 = 200_000;

/// How many tasks at the end of a victim's queue are looked at for one that is worth moving.
const TASKS_SEEN: usize = 8;

/// A task that was given back stays at least so long where it then is, and twice as long each time:
/// else idle workers that can't fetch its inputs take it from each other without end.
const FIRST_STAY_NS: u64 = 200_000;

/// After this many times it stays no longer: some minutes.
const MAX_DOUBLINGS: u32 = 20;

/// How many idle workers look for work when time passes.
const THIEVES_PER_TICK: usize = 64;

impl Manager {
    /// Finds work for a worker that has free slots when nothing is ready for it.
    pub(in crate::manager) fn steal_for(&mut self, thief: WorkerId) {
        while self.is_idle(thief) {
            let Some(victim) = self.victim(thief) else { return };
            if !self.take_queued(victim, thief) {
                return self.ask_half(victim, thief);
            }
        }
    }

    fn is_idle(&self, id: WorkerId) -> bool {
        self.members.workers.get(id).is_some_and(|worker| {
            worker.is_active()
                && worker.free_slots() > 0
                && worker.queue.is_empty()
                && worker.ahead_len == 0
        })
    }

    /// The worker with the longest backlog among the most loaded, if there is something to gain.
    fn victim(&self, thief: WorkerId) -> Option<WorkerId> {
        let candidates = self.members.workers.most_loaded().filter(|id| *id != thief);
        let backlog_ns = |id: &WorkerId| {
            let worker = &self.members.workers[*id];
            let idle = worker.ahead_len == 0 && worker.queue.is_empty();
            if idle || worker.returning.is_some() { 0 } else { worker.wait_ns() }
        };
        let victim = candidates.max_by_key(|id| (backlog_ns(id), *id))?;
        (backlog_ns(&victim) >= MIN_GAIN_NS).then_some(victim)
    }

    /// Moves one task from the queue that is kept for a victim; whether there was one worth it.
    fn take_queued(&mut self, victim: WorkerId, thief: WorkerId) -> bool {
        let wait_ns = self.members.workers[victim].wait_ns();
        self.members.workers[victim].queue.unpark();
        let mut passed = Vec::new();
        let mut found = None;
        while let Some(task) = self.last_queued(victim).filter(|_| passed.len() < TASKS_SEEN) {
            let entry = self.members.workers[victim].queue.pop_last(&self.schedule.shares, true);
            if self.may_run(task, thief) && self.fetch_ns(&self.graph.tasks[task], thief) < wait_ns
            {
                found = Some(task);
                break;
            }
            passed.extend(entry.map(|entry| (task, entry)));
        }
        for (task, entry) in passed.into_iter().rev() {
            let record = &self.graph.tasks[task];
            let rank = crate::manager::graph::rank(record.priority, record.urgency);
            self.members.workers[victim].queue.push(record.tenant, rank, entry);
        }
        let Some(task) = found else { return false };
        self.unqueue(task, victim);
        self.members.workers.reorder(victim);
        self.graph.tasks[task].stage = Stage::Ready;
        self.counts.stolen += 1;
        self.assign(task, thief);
        self.members.workers.reorder(thief);
        true
    }

    fn last_queued(&mut self, victim: WorkerId) -> Option<TaskSlot> {
        loop {
            let entry = self.members.workers[victim].queue.last(&self.schedule.shares)?;
            if let Some(task) = self.graph.tasks.find_queued(entry, Stage::Queued(victim)) {
                return Some(task);
            }
            self.members.workers[victim].queue.pop_last(&self.schedule.shares, false);
        }
    }

    fn may_run(&self, task: TaskSlot, id: WorkerId) -> bool {
        let record = &self.graph.tasks[task];
        let avoided = record.history.as_ref().is_some_and(|history| history.avoid.contains(&id));
        record.pinned.is_none()
            && self.tied_to(record).is_none_or(|tied| tied == id)
            && !avoided
            && record.options.resources.fit(&self.members.workers[id].resources)
            && !self.members.workers[id].lacks_custom(&record.options.resources)
    }

    /// Whether a task that was given back before has been long enough where it is.
    fn has_stayed(&self, record: &Task) -> bool {
        let returned = record.history.as_ref().map_or(0, |history| history.returned);
        returned == 0
            || self.now - record.sent_ns >= FIRST_STAY_NS << (returned - 1).min(MAX_DOUBLINGS)
    }

    /// Asks a victim to give back half of what was sent ahead to it and is worth moving.
    fn ask_half(&mut self, victim: WorkerId, thief: WorkerId) {
        let worker = &self.members.workers[victim];
        let most = worker.ahead_len.div_ceil(2) as usize;
        let wait_ns = worker.wait_ns();
        let slots = u64::from(worker.slots.max(1));
        let worth = |id: &TaskId| {
            self.graph.tasks.find(*id).is_some_and(|task| {
                let record = &self.graph.tasks[task];
                let own_ns = record.charged_ns / slots;
                self.has_stayed(record)
                    && self.may_run(task, thief)
                    && self.fetch_ns(record, thief) + MIN_GAIN_NS / 2 + own_ns <= wait_ns
            })
        };
        let asked: Vec<TaskId> = self.meant_ahead(victim, most).filter(worth).collect();
        if !asked.is_empty() {
            self.ask_back(victim, asked);
        }
    }

    /// The last tasks that were sent ahead to a worker.
    pub(in crate::manager) fn meant_ahead(
        &self,
        id: WorkerId,
        most: usize,
    ) -> impl Iterator<Item = TaskId> + '_ {
        let latest = self.members.workers[id].ahead.iter().rev();
        let meant = latest.filter(move |(task, attempt)| {
            let found = self.graph.tasks.find(*task);
            found.is_some_and(|task| {
                super::dispatch::is_ahead(&self.graph.tasks[task], id, *attempt)
            })
        });
        meant.map(|(task, _)| *task).take(most)
    }

    pub(in crate::manager) fn ask_back(&mut self, victim: WorkerId, asked: Vec<TaskId>) {
        let attempts = asked.iter().filter_map(|id| {
            let task = self.graph.tasks.find(*id)?;
            Some((*id, self.graph.tasks[task].attempt))
        });
        self.members.workers[victim].returning = Some(attempts.collect());
        self.members.send(victim, ToWorker::Return(asked));
    }

    /// A worker gives back what had not begun: it is placed anew.
    pub(in crate::manager) fn on_returned(&mut self, id: WorkerId, returned: &[TaskId]) {
        let Some(worker) = self.members.workers.get_mut(id) else { return };
        let asked = worker.returning.take().unwrap_or_default();
        let returned: SetOf<u64> = returned.iter().map(|task| task.0).collect();
        self.members.touch(id);
        for (task, attempt) in asked.into_iter().filter(|(task, _)| returned.contains(&task.0)) {
            let Some(task) = self.graph.tasks.find(task) else { continue };
            let record = &mut self.graph.tasks[task];
            let Stage::Assigned { worker, running } = record.stage else { continue };
            if worker != id || record.attempt != attempt {
                continue;
            }
            record.history().returned += 1;
            self.unassign(task, id, running);
            self.counts.stolen += 1;
            self.counts.waiting += 1;
            self.graph.tasks[task].stage = Stage::Waiting { missing: 0 };
            self.resume(task);
        }
        self.promote(id);
        self.members.workers.reorder(id);
    }

    /// Idle workers look again: estimates may have been wrong.
    pub(in crate::manager) fn steal_again(&mut self) {
        for id in self.members.workers.idle(THIEVES_PER_TICK) {
            self.steal_for(id);
        }
    }
}
