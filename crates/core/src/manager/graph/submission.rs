//! What clients submit, put, watch and release.

use super::Graph;
use super::Template;
use super::blocks::{Block, Data};
use super::tasks::{Slots, Stage, Task};
use crate::manager::Manager;
use crate::manager::api::{Failure, Outcome, Submission, Why};
use crate::manager::table::{BlockSlot, TaskSlot};
use crate::wire::{BlockDesc, Keep, Payload};
use freestone_base::{Name, Ticket, WorkerId};
use std::sync::Arc;

impl Graph {
    /// A block that is known by name only: dropped, and nothing that could make it again.
    pub(in crate::manager) fn is_forgotten(&self, slot: BlockSlot) -> bool {
        let block = &self.blocks[slot];
        block.producer.is_none()
            && !block.is_available()
            && block.failure().is_none()
            && !block.is_coming()
            && !self.vanished.contains_key(&slot)
            && !self.has_origin(&block.name)
    }

    /// The blocks of these names, if each is there or to come.
    pub(in crate::manager) fn usable(&self, names: &[Name]) -> Option<Slots> {
        let is_usable =
            |slot: &BlockSlot| !self.is_forgotten(*slot) && self.blocks[*slot].failure().is_none();
        names.iter().map(|name| self.blocks.find(name).filter(is_usable)).collect()
    }

    pub(in crate::manager) fn failure_of(&self, submission: &Submission, why: Why) -> Arc<Failure> {
        let label = self.functions.label(submission.function);
        let name = submission.outputs.first().copied().unwrap_or_default();
        Arc::new(Failure::before(label, name, why))
    }

    /// A task was made, or made anew: it becomes the producer of its outputs and a consumer of
    /// its inputs. Gives the number of inputs that are not there.
    pub(in crate::manager) fn link(&mut self, task: TaskSlot) -> u32 {
        let id = self.tasks.id(task);
        let mut missing = 0;
        for index in 0..self.tasks[task].outputs.len() {
            let block = &mut self.blocks[self.tasks[task].outputs[index]];
            block.producer = Some(task);
            if let Some(extra) = &mut block.extra {
                extra.doomed = None;
            }
            if block.failure().is_some() {
                block.data = Data::Absent;
            }
        }
        for index in 0..self.tasks[task].inputs.len() {
            let slot = self.tasks[task].inputs[index];
            self.forget_consumers(slot);
            let block = &mut self.blocks[slot];
            block.unfinished += 1;
            block.consumers.push(id);
            missing += u32::from(!block.is_available());
        }
        self.tasks[task].stage = Stage::Waiting { missing };
        missing
    }

    /// An unfinished task needs one block more.
    pub(in crate::manager) fn add_input(&mut self, task: TaskSlot, slot: BlockSlot) {
        let id = self.tasks.id(task);
        self.tasks[task].inputs.push(slot);
        let block = &mut self.blocks[slot];
        block.unfinished += 1;
        block.consumers.push(id);
    }

    /// A block that is used all the time forgets tasks that have ended, now and then.
    pub(in crate::manager) fn forget_consumers(&mut self, slot: BlockSlot) {
        let block = &mut self.blocks[slot];
        if block.consumers.len() < 2 * block.unfinished as usize + 64 {
            return;
        }
        let mut consumers = std::mem::take(&mut block.consumers);
        consumers.retain(|id| {
            let found = self.tasks.find(*id);
            found.is_some_and(|task| !self.tasks[task].stage.is_done())
        });
        self.blocks[slot].consumers = consumers;
    }
}

impl Manager {
    pub(in crate::manager) fn on_submission(&mut self, submission: &Submission) {
        let Submission { outputs, inputs, options, worker, .. } = submission;
        if self.asks_to_keep_inline(outputs, inputs, options.keep)
            && self.refusal(&options.resources, *worker).is_none()
        {
            self.forget_inline(outputs);
        } else if self.answer(submission) {
            return;
        }
        let mut unusable = None;
        let mut inputs = Slots::new();
        for name in &submission.inputs {
            let slot = self.graph.blocks.find(name).filter(|slot| !self.graph.is_forgotten(*slot));
            match slot.map(|slot| (slot, self.graph.blocks[slot].failure())) {
                Some((slot, None)) => inputs.push(slot),
                Some((_, Some(failure))) => unusable = unusable.or(Some(Arc::clone(failure))),
                None => {
                    unusable = unusable.or_else(|| {
                        Some(self.graph.failure_of(submission, Why::UnknownInput(*name)))
                    });
                }
            }
        }
        let depth = inputs.iter().map(|slot| self.graph.blocks[*slot].depth + 1).max().unwrap_or(0);
        let outputs = self.reference_outputs(submission, depth);
        if let Some(failure) = unusable.or_else(|| self.unschedulable(submission)) {
            self.counts.failed += 1;
            for slot in outputs {
                self.fail_block(slot, &failure);
            }
            return;
        }
        self.insert_task(submission, inputs, outputs, depth);
    }

    /// Whether the outputs are known and come, or are there, without a new task; then the
    /// submission only adds references.
    fn answer(&mut self, submission: &Submission) -> bool {
        let Some(first) = submission.outputs.first().and_then(|name| self.graph.blocks.find(name))
        else {
            return false;
        };
        let known = submission.outputs.iter().all(|name| {
            self.graph.blocks.find(name).is_some_and(|slot| {
                !self.graph.is_forgotten(slot) && self.graph.blocks[slot].failure().is_none()
            })
        });
        if !known {
            return false;
        }
        let depth = self.graph.blocks[first].depth;
        self.counts.answered += 1;
        for slot in self.reference_outputs(submission, depth) {
            self.demand(slot);
        }
        self.remember_lineage(submission, first);
        true
    }

    /// A submission is answered by blocks that were retained or found: now it is known how to make
    /// them again.
    fn remember_lineage(&mut self, submission: &Submission, first: BlockSlot) {
        let block = &self.graph.blocks[first];
        let Some(worker) = block.replicas().first().copied() else { return };
        if block.producer.is_some() {
            return;
        }
        let Some(inputs) = self.graph.usable(&submission.inputs) else { return };
        // One of several outputs may just have failed to be made again: the call fails then, too.
        let Some(outputs) = self.graph.usable(&submission.outputs) else { return };
        self.remember_call(submission, inputs, outputs, worker);
    }

    /// Notes a call that has made blocks, in an earlier run say, as if it had been run by a worker.
    pub(in crate::manager) fn remember_call(
        &mut self,
        call: &Submission,
        inputs: Slots,
        outputs: Slots,
        worker: WorkerId,
    ) {
        for slot in &inputs {
            self.graph.blocks[*slot].lineage += 1;
        }
        let depth = self.graph.blocks[outputs[0]].depth;
        let mut record = self.record(call, inputs, outputs.clone(), depth);
        record.stage = Stage::Done(worker);
        let task = self.graph.tasks.insert(record);
        for slot in outputs {
            self.graph.blocks[slot].producer.get_or_insert(task);
        }
    }

    fn reference_outputs(&mut self, submission: &Submission, depth: u32) -> Slots {
        let mut outputs = Slots::new();
        for (index, name) in submission.outputs.iter().enumerate() {
            let slot = self.graph.blocks.find_or_insert(*name);
            let block = &mut self.graph.blocks[slot];
            block.references += 1;
            if block.failure().is_some() {
                block.data = Data::Absent;
            }
            block.depth = block.depth.max(depth);
            self.raise_keep(slot, submission.options.keep);
            if let Some(ticket) = submission.tickets.get(index) {
                self.promise(slot, *ticket);
            }
            outputs.push(slot);
        }
        outputs
    }

    /// Resolves the ticket now or when the block is resolved.
    pub(in crate::manager) fn promise(&mut self, slot: BlockSlot, ticket: Ticket) {
        let block = &mut self.graph.blocks[slot];
        if block.is_available() {
            if let Some(output) = block.as_output() {
                self.resolve(ticket, Outcome::Ready(output));
            }
        } else if let Some(failure) = block.failure().cloned() {
            self.resolve(ticket, Outcome::Failed(failure));
        } else {
            block.tickets.push(ticket);
        }
    }

    fn unschedulable(&self, submission: &Submission) -> Option<Arc<Failure>> {
        let why = self.refusal(&submission.options.resources, submission.worker)?;
        Some(self.graph.failure_of(submission, why))
    }

    fn record(
        &mut self,
        submission: &Submission,
        inputs: Slots,
        outputs: Slots,
        depth: u32,
    ) -> Task {
        let template = self.graph.templates.find(submission).unwrap_or_else(|| {
            let class = self.schedule.classes.of(&submission.options.resources);
            self.graph.templates.share(Template::new(submission, class))
        });
        Task::new(submission, template, inputs, outputs, depth)
    }

    pub(in crate::manager) fn insert_task(
        &mut self,
        submission: &Submission,
        inputs: Slots,
        outputs: Slots,
        depth: u32,
    ) {
        let record = self.record(submission, inputs, outputs, depth);
        let task = self.graph.tasks.insert(record);
        self.counts.waiting += 1;
        self.begin(task);
    }

    fn begin(&mut self, task: TaskSlot) {
        for index in 0..self.graph.tasks[task].inputs.len() {
            let slot = self.graph.tasks[task].inputs[index];
            self.graph.blocks[slot].displaced = 0;
        }
        if self.graph.link(task) == 0 {
            self.make_ready(task);
        } else {
            self.demand_inputs(task);
        }
    }

    pub(in crate::manager) fn demand_inputs(&mut self, task: TaskSlot) {
        for index in 0..self.graph.tasks.get(task).map_or(0, |task| task.inputs.len()) {
            let Some(record) = self.graph.tasks.get(task) else { return };
            let slot = record.inputs[index];
            self.demand(slot);
        }
    }

    pub(in crate::manager) fn on_put_inline(&mut self, name: Name, bytes: Payload) {
        let slot = self.graph.blocks.find_or_insert(name);
        let block = &mut self.graph.blocks[slot];
        block.references += 1;
        if !block.is_available() {
            self.counts.inline_nbytes += bytes.len() as u64;
            block.data = Data::Inline(bytes);
            self.on_available(slot);
            self.supersede(slot);
        }
    }

    pub(in crate::manager) fn on_watch(&mut self, name: Name, ticket: Ticket) {
        let slot = self.graph.blocks.find_or_insert(name);
        let is_unknown = self.graph.is_forgotten(slot);
        self.graph.blocks[slot].references += 1;
        if is_unknown {
            let failure = Self::block_failure(name, Why::UnknownInput(name));
            self.fail_block(slot, &failure);
        }
        self.promise(slot, ticket);
        self.demand(slot);
    }

    /// A failure that is about a block and no task.
    pub(in crate::manager) fn block_failure(name: Name, why: Why) -> Arc<Failure> {
        Arc::new(Failure::before(String::new(), name, why))
    }

    pub(in crate::manager) fn on_release(&mut self, names: &[Name]) {
        for name in names {
            let Some(slot) = self.graph.blocks.find(name) else { continue };
            let block = &mut self.graph.blocks[slot];
            block.references = block.references.saturating_sub(1);
            if block.references == 0 {
                self.transfer.cramped.relieve();
                self.graph.dirty.push(slot);
            }
        }
    }

    /// A worker that joins has a block already, from an earlier run: it stays.
    pub(in crate::manager) fn retain_found(&mut self, desc: BlockDesc, worker: WorkerId) {
        let slot = self.graph.blocks.find_or_insert(desc.name);
        let block: &mut Block = &mut self.graph.blocks[slot];
        block.keep = block.keep.max(Keep::Forever);
        self.add_replica(desc, worker);
    }
}
