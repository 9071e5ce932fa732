//! Tasks that wait for others: their slots and resources are free meanwhile, but for custom ones.

use crate::manager::Manager;
use crate::manager::graph::Stage;
use crate::manager::overview::Pause;
use crate::manager::table::TaskSlot;
use freestone_base::{TaskId, WorkerId};

impl Manager {
    /// The call of a task waits for others.
    pub(in crate::manager) fn on_paused(
        &mut self,
        id: WorkerId,
        task: TaskId,
        attempt: u32,
        what: String,
    ) {
        let Some(slot) = self.begun_at(id, task, attempt) else { return };
        let needs = &self.graph.tasks[slot].options.resources;
        let Some(worker) = self.members.workers.get_mut(id) else { return };
        if worker.paused.iter().any(|(paused, _)| *paused == task) {
            // It waits for something else by now.
            self.graph.tasks[slot].history().pause = Some(Pause { what, since_ns: self.now });
            return;
        }
        if let Stage::Assigned { running: true, .. } = self.graph.tasks[slot].stage {
            worker.vacate(task, needs);
        } else {
            // It has begun, though it was sent ahead.
            worker.ahead_len -= 1;
            self.graph.tasks[slot].stage = Stage::Assigned { worker: id, running: true };
        }
        worker.paused.push((task, false));
        let history = self.graph.tasks[slot].history();
        history.no_speculation = true;
        history.pause = Some(Pause { what, since_ns: self.now });
        self.members.touch(id);
        self.promote(id);
        self.members.workers.reorder(id);
    }

    /// It goes on.
    pub(in crate::manager) fn on_resumed(&mut self, id: WorkerId, task: TaskId, attempt: u32) {
        if self.begun_at(id, task, attempt).is_none() {
            return;
        }
        let Some(worker) = self.members.workers.get_mut(id) else { return };
        if let Some(paused) = worker.paused.iter_mut().find(|(paused, _)| *paused == task) {
            paused.1 = true;
        }
        self.members.touch(id);
        self.promote(id);
        self.members.workers.reorder(id);
    }

    fn begun_at(&self, id: WorkerId, task: TaskId, attempt: u32) -> Option<TaskSlot> {
        let slot = self.graph.tasks.find(task)?;
        let record = &self.graph.tasks[slot];
        (record.attempt == attempt && record.stage.assigned_to() == Some(id)).then_some(slot)
    }

    /// Reserves for what has gone on, as far as there is anything: what was sent meanwhile may have
    /// it still.
    pub(in crate::manager) fn reserve_resumed(&mut self, id: WorkerId) {
        let Some(worker) = self.members.workers.get_mut(id) else { return };
        let resumed: Vec<TaskId> =
            worker.paused.iter().filter(|(_, goes_on)| *goes_on).map(|(task, _)| *task).collect();
        for task in resumed {
            let Some(slot) = self.graph.tasks.find(task) else { continue };
            if worker.reserve(task, &self.graph.tasks[slot].options.resources.without_custom()) {
                worker.paused.retain(|(paused, _)| *paused != task);
            }
        }
    }
}

#[cfg(test)]
#[path = "custom_tests.rs"]
mod tests;
