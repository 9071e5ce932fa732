//! What workers report of their calls.

use super::tasks::Stage;
use crate::manager::Manager;
use crate::manager::api::Why;
use crate::manager::record::Record;
use crate::manager::table::{BlockSlot, TaskSlot};
use crate::wire::{FileProblem, Output, Report, Spent, TaskFailure};
use freestone_base::{FunctionId, WorkerId};
use smallvec::SmallVec;

impl Manager {
    pub(in crate::manager) fn on_done(&mut self, id: WorkerId, reports: Vec<Report>) {
        self.members.touch(id);
        for report in reports {
            self.on_report(id, report);
        }
        self.drop_doubted(id);
        self.promote(id);
    }

    /// What a worker was to drop while its task ran again, and has reported since, may have been
    /// stored before it was dropped.
    fn drop_doubted(&mut self, id: WorkerId) {
        let Some(worker) =
            self.members.workers.get_mut(id).filter(|worker| !worker.doubted.is_empty())
        else {
            return;
        };
        for (name, reported) in std::mem::take(&mut worker.doubted) {
            let Some(slot) = self.graph.blocks.find(&name) else { continue };
            if reported || self.graph.blocks[slot].is_at(id) {
                self.disbelieve(slot, id);
            } else {
                self.members.workers[id].doubted.push((name, false));
            }
        }
    }

    /// A replica that may be there or not counts as lost. It is dropped for certain, unless it is
    /// wanted there: then it is asked for, and the worker says that it has it. While its task runs
    /// there once more, what that stores is in doubt as well.
    pub(in crate::manager) fn disbelieve(&mut self, slot: BlockSlot, id: WorkerId) {
        let producer = self.graph.blocks.get(slot).and_then(|block| block.producer);
        let is_remade_there = producer.is_some_and(|task| self.is_attempted_at(task, id));
        self.remove_replica(slot, id);
        let (Some(worker), Some(block)) =
            (self.members.workers.get_mut(id), self.graph.blocks.get(slot))
        else {
            return;
        };
        let is_pinned = block.extra.as_ref().is_some_and(|extra| extra.pins.contains(&id));
        if is_pinned || worker.wanted.contains(&slot) {
            worker.doubted.push((block.name, true));
        } else if !block.is_to_be_adopted_by(id) {
            let name = block.name;
            if is_remade_there {
                worker.doubted.push((name, false));
            }
            self.drop_at(id, name);
        }
    }

    fn on_report(&mut self, id: WorkerId, mut report: Report) {
        report.spent.start_ns = self.on_our_clock(id, report.spent.start_ns);
        let Some(report) = self.on_first_report(id, report) else { return };
        let task = self.graph.tasks.find(report.task).filter(|task| {
            let record = &self.graph.tasks[*task];
            record.attempt == report.attempt
                && matches!(record.stage, Stage::Assigned { worker, .. } if worker == id)
        });
        let Some(task) = task else { return self.on_stale(id, report) };
        self.trace_attempt(task, id, &report);
        self.counts.busy_ns += report.spent.duration_ns;
        self.graph.functions.ran(self.graph.tasks[task].function, report.spent.duration_ns);
        self.note_resident(task, id, &report.spent);
        let Report { spent, result, .. } = report;
        let Stage::Assigned { running, .. } = self.graph.tasks[task].stage else { return };
        self.unassign(task, id, running);
        if running {
            self.promote(id);
        }
        match result {
            Ok(outputs) if self.was_sent_for_less(task) => {
                self.on_outputs_for_less(task, id, outputs);
            }
            Ok(outputs) => {
                self.graph.functions.measured(self.graph.tasks[task].function, spent.occupied_ns());
                let record = &mut self.graph.tasks[task];
                record.ready_ns = spent.start_ns;
                record.charged_ns = spent.duration_ns;
                self.note_memory(task, spent.memory);
                self.on_outputs(task, id, outputs);
            }
            Err(failure) => {
                self.counts.waiting += 1;
                self.graph.tasks[task].stage = Stage::Waiting { missing: 0 };
                self.graph.note_attempt(task, id, &spent, &failure);
                self.on_attempt_failed(task, id, failure);
            }
        }
    }

    /// Notes the memory of an executor's process, and whose call it was if that raised it.
    fn note_resident(&mut self, task: TaskSlot, id: WorkerId, spent: &Spent) {
        let Some(worker) = self.members.workers.get_mut(id).filter(|_| spent.resident > 0) else {
            return;
        };
        if worker.executors.raise(spent.pid, spent.resident) {
            self.graph.functions.grew(self.graph.tasks[task].function, spent.resident);
        }
    }

    /// An answer to a former attempt: what it made is dropped, unless it is of use.
    fn on_stale(&mut self, id: WorkerId, report: Report) {
        for output in report.result.into_iter().flatten() {
            if let Output::Stored(desc) = output {
                let slot = self.graph.blocks.find(&desc.name);
                if slot.is_some_and(|slot| self.graph.blocks[slot].failure().is_some()) {
                    self.drop_at(id, desc.name);
                    continue;
                }
                self.add_replica(desc, id);
            }
        }
    }

    pub(in crate::manager) fn on_outputs(
        &mut self,
        task: TaskSlot,
        id: WorkerId,
        outputs: SmallVec<[Output; 1]>,
    ) {
        self.counts.done += 1;
        self.graph.functions.ended(self.graph.tasks[task].function, true);
        // Its inputs are used no more.
        self.transfer.cramped.relieve();
        if let Some(worker) = self.members.workers.get_mut(id) {
            worker.done += 1;
        }
        self.graph.tasks[task].stage = Stage::Done(id);
        self.end_use(task, true);
        for (index, output) in outputs.into_iter().enumerate() {
            let Some(slot) = self.graph.tasks[task].outputs.get(index).copied() else { break };
            match output {
                Output::Stored(desc) => self.add_replica_of(slot, desc, id),
                Output::Inline(_) => {
                    self.set_inline(slot, output);
                }
            }
        }
        self.refuse_incomplete(task);
        self.replicate_outputs(task);
        if !self.graph.is_lineage_needed(task) {
            self.graph.remove_lineage(task);
        }
    }

    /// A worker that says less than was asked for breaks the contract: nothing waits for it.
    fn refuse_incomplete(&mut self, task: TaskSlot) {
        for index in 0..self.graph.tasks[task].outputs.len() {
            let slot = self.graph.tasks[task].outputs[index];
            let block = &mut self.graph.blocks[slot];
            if block.is_available() || block.producer != Some(task) {
                continue;
            }
            block.producer = None;
            let failure = Self::block_failure(block.name, Why::InputLost(block.name));
            self.fail_block(slot, &failure);
        }
    }

    pub(in crate::manager) fn trace_attempt(
        &mut self,
        task: TaskSlot,
        worker: WorkerId,
        report: &Report,
    ) {
        let nbytes = |output: &Output| match output {
            Output::Inline(bytes) => bytes.len() as u64,
            Output::Stored(desc) => desc.nbytes,
        };
        self.trace(|run| {
            let record = &run.graph.tasks[task];
            let name = |slot: &BlockSlot| run.graph.blocks[*slot].name;
            Record::Task {
                label: run.graph.functions.label(record.function),
                name: name(&record.outputs[0]),
                task: report.task,
                attempt: report.attempt,
                worker,
                ready_ns: record.ready_ns,
                sent_ns: record.sent_ns,
                spent: report.spent,
                nbytes: report.result.iter().flatten().map(nbytes).sum(),
                ended: report.result.as_ref().err().map_or("done", ended),
                inputs: record.inputs.iter().map(name).collect(),
                outputs: record.outputs[1..].iter().map(name).collect(),
            }
        });
    }

    /// Traces that there were never so many bytes of a function's outputs at once.
    pub(in crate::manager) fn trace_peak(&mut self, function: FunctionId) {
        self.trace(|run| Record::Peak {
            label: run.graph.functions.label(function),
            at_ns: run.now,
            nbytes: run.graph.functions.peak_nbytes(function),
        });
    }
}

/// How an attempt ended, in a word.
pub(in crate::manager) fn ended(failure: &TaskFailure) -> &'static str {
    match failure {
        TaskFailure::Raised(_) => "raised",
        TaskFailure::Killed { .. } => "killed",
        TaskFailure::TimedOut { .. } => "timed out",
        TaskFailure::MemoryExceeded { .. } => "out of memory",
        TaskFailure::DiskExceeded { .. } => "out of disk",
        TaskFailure::Cancelled => "cancelled",
        TaskFailure::InputLost { .. } => "input lost",
        TaskFailure::StorageFull { .. } => "storage full",
        TaskFailure::File { problem: FileProblem::Missing, .. } => "file missing",
        TaskFailure::File { problem: FileProblem::Unreadable, .. } => "file unreadable",
        TaskFailure::File { problem: FileProblem::Changed(_), .. } => "file changed",
        TaskFailure::TooLarge { .. } => "too large",
    }
}

#[cfg(test)]
#[path = "reports_tests.rs"]
mod tests;
