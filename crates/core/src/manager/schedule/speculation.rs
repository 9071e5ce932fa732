//! Stragglers: a call that takes far longer than its like is run a second time elsewhere when
//! nothing else waits and someone has nothing to do. Whoever ends first, wins.
//!
//! The later attempt is the task's; the first one is kept here, with the slot that it holds, until
//! it ends, the task does, or the task is given to a third worker. That happens once to a task.
//!
//! See docs/decisions/010-the-second-attempt-of-a-straggler-is-the-tasks-attempt.md

use crate::manager::Manager;
use crate::manager::clock::Now;
use crate::manager::graph::Stage;
use crate::manager::table::TaskSlot;
use crate::wire::Report;
use freestone_base::sizing::AHEAD_NS;
use freestone_base::{TaskId, WorkerId};
use serde::{Deserialize, Serialize};

/// A call is a straggler when it has run for so many times the mean of its function,
const TIMES_MEAN: u64 = 3;
/// and for so long besides: short calls are not worth it.
const MIN_NS: Now = 500_000_000;

/// The attempt that was first, and still runs.
#[derive(Serialize, Deserialize)]
pub(super) struct First {
    task: TaskId,
    worker: WorkerId,
    attempt: u32,
    charged_ns: u64,
}

impl Manager {
    /// Time passes: idle workers try what others are slow at.
    pub(in crate::manager) fn speculate(&mut self) {
        if self.counts.ready > 0 || self.counts.assigned == 0 || !self.config.speculate {
            return;
        }
        let idle = self.members.workers.idle(usize::MAX);
        let mut idle: Vec<WorkerId> =
            idle.into_iter().filter(|id| self.members.workers[*id].held() == 0).collect();
        if idle.is_empty() {
            return;
        }
        for task in self.stragglers() {
            let needs = &self.graph.tasks[task].options.resources;
            let fits = |id: &WorkerId| self.members.workers[*id].can_begin(needs);
            let Some(place) = idle.iter().position(fits) else { continue };
            self.run_again(task, idle.swap_remove(place));
        }
    }

    fn stragglers(&self) -> Vec<TaskSlot> {
        let running = self.members.workers.iter().flat_map(|worker| &worker.running);
        let mut late: Vec<TaskSlot> = running
            .filter_map(|id| self.graph.tasks.find(*id))
            .filter(|task| self.is_late(*task))
            .collect();
        late.sort_unstable_by_key(|task| self.graph.tasks[*task].sent_ns);
        late
    }

    fn is_late(&self, task: TaskSlot) -> bool {
        let record = &self.graph.tasks[task];
        let mean_ns = self.graph.functions.mean_ns(record.function);
        let late_ns = |mean_ns: u64| mean_ns.saturating_mul(TIMES_MEAN).saturating_add(MIN_NS);
        record.options.twice
            && record.pinned.is_none()
            && self.tied_to(record).is_none()
            && !record.history.as_ref().is_some_and(|history| history.no_speculation)
            && matches!(record.stage, Stage::Assigned { .. })
            && mean_ns.is_some_and(|mean_ns| self.now - record.sent_ns > late_ns(mean_ns))
    }

    /// Whether an attempt of a task is at a worker, be it the first of two: it needs its inputs.
    pub(in crate::manager) fn is_attempted_at(&self, task: TaskSlot, id: WorkerId) -> bool {
        self.graph.tasks[task].stage.assigned_to() == Some(id)
            || self.schedule.stragglers.get(&task).is_some_and(|first| first.worker == id)
    }

    fn run_again(&mut self, task: TaskSlot, id: WorkerId) {
        let record = &mut self.graph.tasks[task];
        let Stage::Assigned { worker, running: true } = record.stage else { return };
        let (attempt, charged_ns) = (record.attempt, record.charged_ns);
        record.stage = Stage::Ready;
        record.history().no_speculation = true;
        let first = First { task: self.graph.tasks.id(task), worker, attempt, charged_ns };
        self.counts.assigned -= 1;
        self.counts.ready += 1;
        self.counts.retried += 1;
        self.assign(task, id);
        self.members.workers.reorder(id);
        self.schedule.stragglers.insert(task, first);
    }

    /// The first attempt is of no use any more: its call is ended.
    pub(in crate::manager) fn end_first(&mut self, task: TaskSlot) {
        if self.schedule.stragglers.is_empty() {
            return;
        }
        let Some(first) = self.schedule.stragglers.remove(&task) else { return };
        self.release_first(task, &first);
        if let Some(worker) = self.members.workers.get_mut(first.worker) {
            worker.post.cancel.push(first.task);
            self.schedule.freed.push(first.worker);
        }
        self.promote(first.worker);
    }

    fn release_first(&mut self, task: TaskSlot, first: &First) {
        let needs = &self.graph.tasks[task].options.resources;
        let Some(worker) = self.members.workers.get_mut(first.worker) else { return };
        worker.release(first.task, needs);
        worker.backlog_ns -= first.charged_ns;
        worker.held_ns -= first.charged_ns.min(AHEAD_NS);
        self.members.touch(first.worker);
        for index in 0..self.graph.tasks[task].inputs.len() {
            let slot = self.graph.tasks[task].inputs[index];
            self.unwant(slot, first.worker, Some(task));
        }
    }

    /// Takes the report of a first attempt; gives back any other.
    pub(in crate::manager) fn on_first_report(
        &mut self,
        id: WorkerId,
        report: Report,
    ) -> Option<Report> {
        if self.schedule.stragglers.is_empty() {
            return Some(report);
        }
        let task = self.graph.tasks.find(report.task);
        let first = task.and_then(|task| self.schedule.stragglers.get(&task));
        let is_first =
            first.is_some_and(|first| first.worker == id && first.attempt == report.attempt);
        let (Some(task), true) = (task, is_first) else { return Some(report) };
        self.trace_attempt(task, id, &report);
        let Some(first) = self.schedule.stragglers.remove(&task) else { return Some(report) };
        self.release_first(task, &first);
        self.promote(id);
        // If it failed, the second attempt may do better.
        let Ok(outputs) = report.result else { return None };
        self.withdraw(task);
        self.counts.waiting -= 1;
        self.counts.busy_ns += report.spent.duration_ns;
        self.graph.functions.ran(self.graph.tasks[task].function, report.spent.duration_ns);
        let record = &mut self.graph.tasks[task];
        record.ready_ns = report.spent.start_ns;
        record.charged_ns = report.spent.duration_ns;
        self.on_outputs(task, id, outputs);
        None
    }

    /// A worker is lost (and out of the table), with the first attempts that ran there.
    pub(in crate::manager) fn forget_firsts(&mut self, id: WorkerId) {
        self.schedule.stragglers.retain(|_, first| first.worker != id);
    }
}

#[cfg(test)]
#[path = "speculation_tests.rs"]
mod tests;
