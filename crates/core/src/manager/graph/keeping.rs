//! Results that are to be kept forever, and were made, or are being made, for less.
//!
//! One that lies at workers is copied by one of them. A small one is only here, and what later runs
//! find are files of workers: so it is made once more, by a call that leaves it as one.

use super::blocks::{Block, Data};
use super::tasks::Stage;
use crate::manager::Manager;
use crate::manager::table::{BlockSlot, TaskSlot};
use crate::wire::{CallOptions, Keep, Output, ToWorker};
use freestone_base::{Name, WorkerId};
use smallvec::SmallVec;

impl Manager {
    /// A block is to be kept for at least so long.
    pub(in crate::manager) fn raise_keep(&mut self, slot: BlockSlot, keep: Keep) {
        let block = &mut self.graph.blocks[slot];
        if block.keep >= keep {
            return;
        }
        block.keep = keep;
        if keep < Keep::Forever {
            return;
        }
        if let Some(row) = block.extra.as_ref().and_then(|extra| extra.reducing) {
            self.clients.keep_reduction(row, keep);
        }
        if let Some(task) = self.graph.blocks[slot].producer {
            let template = &self.graph.tasks[task].template;
            let options = CallOptions { keep, ..(*template.options).clone() };
            let template = template.with_options(options, template.class);
            let template = self.graph.templates.share(template);
            let record = &mut self.graph.tasks[task];
            record.template = template;
            if record.stage.assigned_to().is_some() {
                record.history().for_less = true;
            }
        }
        self.keep_stored(slot);
    }

    /// Has one of its workers keep a block, if it is at any.
    fn keep_stored(&mut self, slot: BlockSlot) {
        let Some(block) = self.graph.blocks.get(slot) else { return };
        if let Some(id) = block.replicas().first().copied() {
            let name = block.name;
            self.members.send(id, ToWorker::Keep(name));
        }
    }

    /// Whether results are small, here, were not to be kept forever so far, and can be made once
    /// more of these inputs.
    pub(in crate::manager) fn asks_to_keep_inline(
        &self,
        outputs: &[Name],
        inputs: &[Name],
        keep: Keep,
    ) -> bool {
        let is_unkept = |block: &Block| {
            matches!(block.data, Data::Inline(_))
                && block.keep < Keep::Forever
                && block.producer.is_none()
        };
        keep == Keep::Forever
            && outputs.iter().all(|name| {
                self.graph.blocks.find(name).is_some_and(|slot| is_unkept(&self.graph.blocks[slot]))
            })
            && self.graph.usable(inputs).is_some()
    }

    /// Results are here no more, so that who asks for them gets what is kept.
    pub(in crate::manager) fn forget_inline(&mut self, outputs: &[Name]) {
        for name in outputs {
            let Some(slot) = self.graph.blocks.find(name) else { continue };
            if let Data::Inline(bytes) = &self.graph.blocks[slot].data {
                self.counts.inline_nbytes -= bytes.len() as u64;
                self.graph.blocks[slot].data = Data::Absent;
                self.take_back_consumers(slot, None);
            }
        }
    }

    /// Whether the worker that a task was sent to keeps its outputs for less long than they are to
    /// be kept. It is so once: the next attempt is sent as it should be.
    pub(in crate::manager) fn was_sent_for_less(&mut self, task: TaskSlot) -> bool {
        let history = self.graph.tasks[task].history.as_mut();
        history.is_some_and(|history| std::mem::take(&mut history.for_less))
    }

    /// A task made what is to be kept forever, and did not know. Its inputs are there, so it can make
    /// small outputs once more.
    pub(in crate::manager) fn on_outputs_for_less(
        &mut self,
        task: TaskSlot,
        id: WorkerId,
        outputs: SmallVec<[Output; 1]>,
    ) {
        if outputs.iter().any(|output| matches!(output, Output::Inline(_))) {
            self.counts.waiting += 1;
            self.counts.retried += 1;
            self.graph.tasks[task].stage = Stage::Waiting { missing: 0 };
            return self.resume(task);
        }
        let slots = self.graph.tasks[task].outputs.clone();
        self.on_outputs(task, id, outputs);
        for slot in slots {
            self.keep_stored(slot);
        }
    }
}

#[cfg(test)]
#[path = "keeping_tests.rs"]
mod tests;
