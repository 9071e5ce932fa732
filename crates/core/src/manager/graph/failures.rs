//! Attempts that fail, tasks that fail for good, and what depends on them.

use super::Graph;
use super::blocks::Data;
use super::reports::ended;
use super::tasks::{Slots, Stage};
use crate::manager::Manager;
use crate::manager::api::{Attempt, Failure, Outcome, Why};
use crate::manager::table::{BlockSlot, TaskSlot};
use crate::wire::{Spent, TaskFailure};
use freestone_base::{Name, Resources, WorkerId};
use std::sync::Arc;

/// How many attempts a task that lives is explained with.
const ATTEMPTS_KEPT: usize = 4;

impl Graph {
    pub(in crate::manager) fn may_retry(&mut self, task: TaskSlot) -> bool {
        let record = &mut self.tasks[task];
        let may = record.history.as_ref().map_or(0, |history| history.retried) < record.retries;
        if may {
            record.history().retried += 1;
        }
        may
    }

    pub(in crate::manager) fn note_attempt(
        &mut self,
        task: TaskSlot,
        worker: WorkerId,
        spent: &Spent,
        failure: &TaskFailure,
    ) {
        let record = &mut self.tasks[task];
        let sent_ns = record.sent_ns;
        let Spent { start_ns, duration_ns, .. } = *spent;
        let ended = ended(failure).to_owned();
        let attempts = &mut record.history().attempts;
        if attempts.len() == ATTEMPTS_KEPT {
            attempts.remove(0);
        }
        attempts.push(Attempt { worker, sent_ns, start_ns, duration_ns, ended });
    }
}

impl Failure {
    /// One before any attempt.
    pub fn before(label: String, name: Name, why: Why) -> Self {
        Self { label, name, worker: None, attempts: 0, last_attempts: Vec::new(), why }
    }
}

impl Manager {
    /// Why no worker can ever run a task, if that is so.
    pub(in crate::manager) fn refusal(
        &self,
        needs: &Resources,
        pinned: Option<WorkerId>,
    ) -> Option<Why> {
        if let Some(id) = pinned {
            return self.refusal_at(id, needs);
        }
        let holds = self.members.workers.slots() == 0 || self.members.workers.can_hold(needs);
        (!holds).then(|| Why::Unschedulable {
            needs: needs.clone(),
            largest: self.members.workers.largest(),
        })
    }

    /// Why a worker can never run a task, if that is so.
    fn refusal_at(&self, id: WorkerId, needs: &Resources) -> Option<Why> {
        if !self.members.workers.is_expected(id) {
            return Some(self.absence(id));
        }
        let worker = self.members.workers.get(id)?;
        if !worker.is_active() {
            return Some(self.absence(id));
        }
        let largest = || worker.resources.clone();
        (!needs.fit(&worker.resources))
            .then(|| Why::Unschedulable { needs: needs.clone(), largest: largest() })
    }

    /// That a worker takes no calls.
    pub(in crate::manager) fn absence(&self, id: WorkerId) -> Why {
        let gone_ns = self.members.workers.gone_since(id).map(|since| self.now - since);
        let active = self.members.workers.iter().filter(|worker| worker.is_active());
        Why::WorkerAbsent { worker: id, gone_ns, present: active.map(|worker| worker.id).collect() }
    }

    /// Workers joined or left: fails ready tasks that none of those present can hold.
    pub(in crate::manager) fn refuse_unschedulable(&mut self) {
        for class in 0..self.schedule.classes.len() {
            let ceiling = self.schedule.classes.get(class).ceiling.clone();
            if self.refusal(&ceiling, None).is_none() {
                continue;
            }
            for entry in self.schedule.classes.queue(class).drain() {
                let Some(task) = self.graph.tasks.find_queued(entry, Stage::Ready) else {
                    continue;
                };
                self.counts.ready -= 1;
                self.counts.waiting += 1;
                self.graph.tasks[task].stage = Stage::Waiting { missing: 0 };
                self.resume(task);
            }
        }
    }

    /// An attempt failed; the task stands as waiting for nothing.
    pub(in crate::manager) fn on_attempt_failed(
        &mut self,
        task: TaskSlot,
        id: WorkerId,
        why: TaskFailure,
    ) {
        let again = match &why {
            TaskFailure::Raised(exception) => !exception.in_encoding && self.graph.may_retry(task),
            TaskFailure::TimedOut { .. } => self.graph.may_retry(task),
            TaskFailure::Killed { .. } => {
                let most = self.max_kills(task);
                let history = self.graph.tasks[task].history();
                history.kills += 1;
                history.avoid.push(id);
                let kills = history.kills;
                if kills >= most {
                    return self.fail_with(task, Why::Killed { kills, last: why });
                }
                true
            }
            TaskFailure::InputLost { name } => return self.on_input_lost(task, id, *name),
            TaskFailure::MemoryExceeded { limit } => self.may_have_more(task, *limit),
            TaskFailure::DiskExceeded { .. } | TaskFailure::TooLarge { .. } => false,
            TaskFailure::StorageFull { .. } => return self.on_storage_full(task, id, why),
            TaskFailure::File { .. } => return self.on_file_problem(task, why),
            TaskFailure::Cancelled => return self.fail_with(task, Why::Cancelled),
        };
        if !again {
            return self.fail_with(task, Why::Attempt(why));
        }
        self.counts.retried += 1;
        self.resume(task);
    }

    /// How many executors a task may end before it is refused.
    fn max_kills(&self, task: TaskSlot) -> u32 {
        self.config.max_kills.max(self.graph.tasks[task].options.kills)
    }

    /// A file of the user's can't be used: so say all that need it.
    fn on_file_problem(&mut self, task: TaskSlot, why: TaskFailure) {
        let inputs = self.graph.tasks[task].inputs.clone();
        let failure = self.failure_with(task, Why::Attempt(why));
        self.fail_task(task, &failure);
        for slot in inputs {
            if self.graph.vanished.remove(&slot).is_some() {
                self.take_back_consumers(slot, None);
                self.fail_block(slot, &failure);
            }
        }
    }

    /// Counts an input that was lost under a task; whether that were too many.
    pub(in crate::manager) fn has_lost_too_often(&mut self, task: TaskSlot) -> bool {
        let most = self.config.max_recoveries;
        let history = self.graph.tasks[task].history();
        history.recoveries += 1;
        history.recoveries > most
    }

    fn on_input_lost(&mut self, task: TaskSlot, id: WorkerId, name: Name) {
        if self.has_lost_too_often(task) {
            return self.fail_with(task, Why::InputLost(name));
        }
        self.counts.retried += 1;
        if let Some(slot) = self.graph.blocks.find(&name) {
            self.remove_replica(slot, id);
            if self.graph.vanished.remove(&slot).is_some() {
                self.on_gone(slot);
            }
        }
        if self.graph.tasks.get(task).is_some() {
            self.resume(task);
        }
    }

    /// Notes that a worker has no room for a task; whether another could.
    pub(in crate::manager) fn has_room_elsewhere(&mut self, task: TaskSlot, id: WorkerId) -> bool {
        let history = self.graph.tasks[task].history();
        if !history.avoid.contains(&id) {
            history.avoid.push(id);
            history.full.push(id);
        }
        let avoid = history.avoid.clone();
        let record = &self.graph.tasks[task];
        let needs = &record.options.resources;
        let mut others = self.members.workers.least_loaded_of_each_shape(needs, &avoid);
        record.pinned.is_none() && others.next().is_some()
    }

    /// A task that stands as waiting becomes ready, or waits for what is missing.
    pub(in crate::manager) fn resume(&mut self, task: TaskSlot) {
        let record = &self.graph.tasks[task];
        let failed = record.inputs.iter().find_map(|slot| self.graph.blocks[*slot].failure());
        if let Some(failure) = failed.cloned() {
            return self.fail_task(task, &failure);
        }
        let inputs = record.inputs.iter();
        let missing =
            inputs.filter(|slot| !self.graph.blocks[**slot].is_available()).count() as u32;
        self.graph.tasks[task].stage = Stage::Waiting { missing };
        if missing == 0 {
            self.make_ready(task);
        } else {
            self.demand_inputs(task);
        }
    }

    /// Fails a task for good.
    pub(in crate::manager) fn fail_with(&mut self, task: TaskSlot, why: Why) {
        let failure = self.failure_with(task, why);
        self.fail_task(task, &failure);
    }

    pub(in crate::manager) fn failure_with(&self, task: TaskSlot, why: Why) -> Arc<Failure> {
        let record = &self.graph.tasks[task];
        let history = record.history.as_ref();
        let mut attempts = history.map_or_else(Vec::new, |history| history.attempts.clone());
        if let Stage::Assigned { worker, running: true } = record.stage {
            let duration_ns = self.now.saturating_sub(record.sent_ns);
            let ended = if matches!(why, Why::Cancelled) { "cancelled" } else { "given up" };
            let (sent_ns, ended) = (record.sent_ns, ended.to_owned());
            attempts.push(Attempt { worker, sent_ns, start_ns: 0, duration_ns, ended });
        }
        Arc::new(Failure {
            label: self.graph.functions.label(record.function),
            name: self.graph.blocks[record.outputs[0]].name,
            worker: match record.stage {
                Stage::Assigned { worker, .. } => Some(worker),
                _ => attempts.last().map(|attempt| attempt.worker),
            },
            attempts: record.attempts(),
            last_attempts: attempts,
            why,
        })
    }

    pub(in crate::manager) fn fail_task(&mut self, task: TaskSlot, failure: &Arc<Failure>) {
        self.remember_failure(failure);
        let outputs = self.remove_failed(task);
        self.fail_blocks(outputs.to_vec(), failure);
    }

    pub(in crate::manager) fn fail_block(&mut self, slot: BlockSlot, failure: &Arc<Failure>) {
        self.fail_blocks(vec![slot], failure);
    }

    /// Blocks will never be there: fails them, the tasks that need them, and so on.
    fn fail_blocks(&mut self, mut slots: Vec<BlockSlot>, failure: &Arc<Failure>) {
        while let Some(slot) = slots.pop() {
            let Some(block) = self.graph.blocks.get_mut(slot) else { continue };
            if block.failure().is_some() || block.producer.is_some() {
                continue;
            }
            if block.is_available() {
                if block.stored().is_some() {
                    block.extra().doomed = Some(Arc::clone(failure));
                }
                continue;
            }
            block.data = Data::Failed(Arc::clone(failure));
            let tickets = std::mem::take(&mut block.tickets);
            let consumers = std::mem::take(&mut block.consumers);
            for ticket in tickets {
                self.resolve(ticket, Outcome::Failed(Arc::clone(failure)));
            }
            for id in consumers {
                let Some(task) = self.graph.tasks.find(id) else { continue };
                if !self.graph.tasks[task].stage.is_done() {
                    slots.extend(self.remove_failed(task));
                }
            }
            self.fail_client_pins(slot);
            slots.extend(self.fail_reductions(slot));
            if !self.graph.blocks[slot].is_wanted() {
                self.graph.dirty.push(slot);
            }
        }
    }

    /// Takes a task that has failed out of the graph, and gives its outputs back.
    fn remove_failed(&mut self, task: TaskSlot) -> Slots {
        self.counts.failed += 1;
        self.graph.functions.ended(self.graph.tasks[task].function, false);
        self.remove_unfinished(task)
    }

    fn remove_unfinished(&mut self, task: TaskSlot) -> Slots {
        self.withdraw(task);
        self.counts.waiting -= 1;
        self.end_use(task, false);
        let Some(record) = self.graph.tasks.remove(task) else { return Slots::new() };
        for slot in &record.outputs {
            let block = &mut self.graph.blocks[*slot];
            if block.producer == Some(task) {
                block.producer = None;
                if !block.is_wanted() {
                    self.graph.dirty.push(*slot);
                }
            }
        }
        record.outputs
    }

    /// Takes a task back from wherever it is; it then stands as waiting.
    pub(in crate::manager) fn withdraw(&mut self, task: TaskSlot) {
        let id = self.graph.tasks.id(task);
        match self.graph.tasks[task].stage {
            Stage::Waiting { .. } | Stage::Done(_) => return,
            Stage::Ready => {
                self.counts.ready -= 1;
                self.schedule.classes.queue(self.graph.tasks[task].class).forget(true);
            }
            Stage::Queued(worker) => {
                self.counts.ready -= 1;
                self.unqueue(task, worker);
                if let Some(worker) = self.members.workers.get_mut(worker) {
                    worker.queue.forget(true);
                }
            }
            Stage::Assigned { worker, running } => {
                self.unassign(task, worker, running);
                if let Some(worker) = self.members.workers.get_mut(worker) {
                    worker.post.cancel.push(id);
                    worker.post.run.retain(|assignment| assignment.task != id);
                }
            }
        }
        self.counts.waiting += 1;
        let stage =
            std::mem::replace(&mut self.graph.tasks[task].stage, Stage::Waiting { missing: 0 });
        if let Some(worker) = stage.assigned_to() {
            self.promote(worker);
        }
    }

    /// A task leaves a worker's queue.
    pub(in crate::manager) fn unqueue(&mut self, task: TaskSlot, worker: WorkerId) {
        let charged_ns = self.graph.tasks[task].charged_ns;
        if let Some(worker) = self.members.workers.get_mut(worker) {
            worker.backlog_ns -= charged_ns;
        }
        self.members.touch(worker);
    }

    /// The task that makes a block, if it waits for its inputs.
    fn waiting_for_inputs(&self, slot: BlockSlot) -> Option<TaskSlot> {
        let task = self.graph.blocks[slot].producer?;
        matches!(self.graph.tasks[task].stage, Stage::Waiting { .. }).then_some(task)
    }

    /// A client says that a task has failed elsewhere, which waits for its inputs.
    pub(in crate::manager) fn on_fail(&mut self, name: Name, worker: WorkerId, why: TaskFailure) {
        let slot = self.graph.blocks.find(&name);
        if let Some(task) = slot.and_then(|slot| self.waiting_for_inputs(slot)) {
            self.graph.tasks[task].attempt += 1;
            self.graph.note_attempt(task, worker, &Spent::default(), &why);
            self.fail_with(task, Why::Attempt(why));
        }
    }

    /// A client has put what a task was to make that waits for its inputs: it need not run, and is
    /// not how the block could be made again.
    pub(in crate::manager) fn supersede(&mut self, slot: BlockSlot) {
        let Some(task) = self.waiting_for_inputs(slot) else { return self.drop_lineage(slot) };
        let mut outputs = self.graph.tasks[task].outputs.iter();
        if outputs.all(|slot| self.graph.blocks[*slot].is_available()) {
            self.counts.done += 1;
            self.graph.functions.ended(self.graph.tasks[task].function, true);
            self.remove_unfinished(task);
        }
    }

    /// What made a block once, and need not make it again.
    fn drop_lineage(&mut self, slot: BlockSlot) {
        let done =
            self.graph.blocks[slot].producer.filter(|task| self.graph.tasks[*task].stage.is_done());
        if let Some(task) = done.filter(|task| !self.graph.is_lineage_needed(*task)) {
            self.graph.remove_lineage(task);
        }
    }

    pub(in crate::manager) fn on_cancel(&mut self, names: &[Name]) {
        for name in names {
            self.cancel(name);
        }
    }

    /// Cancels what makes a block.
    pub(in crate::manager) fn cancel(&mut self, name: &Name) {
        let Some(slot) = self.graph.blocks.find(name) else { return };
        // Nothing makes a block under its other names.
        if self.graph.blocks[slot].name != *name {
            return;
        }
        let extra = self.graph.blocks[slot].extra.as_ref();
        if let Some(row) = extra.and_then(|extra| extra.reducing) {
            self.cancel_reduction(row);
        }
        let producer = self.graph.blocks.get(slot).and_then(|block| block.producer);
        let Some(task) = producer else { return };
        if !self.graph.tasks[task].stage.is_done() {
            self.fail_with(task, Why::Cancelled);
        }
    }

    /// Cancels a reduction and its calls that nothing else needs.
    fn cancel_reduction(&mut self, row: crate::manager::table::ReductionSlot) {
        let calls = self.clients.blocks_of_reduction(row);
        let Some(output) = self.end_reduction(row) else { return };
        let failure = Self::block_failure(self.graph.blocks[output].name, Why::Cancelled);
        self.fail_block(output, &failure);
        for slot in calls {
            let Some(block) = self.graph.blocks.get(slot).filter(|block| !block.is_needed()) else {
                continue;
            };
            let producer = block.producer.filter(|task| !self.graph.tasks[*task].stage.is_done());
            // What a call makes besides may be needed by others.
            let is_needless = |slot: &BlockSlot| {
                let block = &self.graph.blocks[*slot];
                !block.is_needed() && block.tickets.is_empty()
            };
            if let Some(task) = producer
                && self.graph.tasks[task].outputs.iter().all(is_needless)
            {
                self.fail_task(task, &failure);
            }
        }
    }
}

#[cfg(test)]
#[path = "pinned_tests.rs"]
mod tests;
