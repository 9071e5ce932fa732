//! Executors that are replaced on all workers at once.

use crate::manager::Manager;
use crate::manager::graph::Stage;
use crate::manager::table::TaskSlot;
use freestone_base::{Name, TaskId, WorkerId};

impl Manager {
    /// Replaces the executors of all workers that take calls. What the client waits for is cancelled:
    /// see [`Request::Restart`](crate::manager::Request::Restart). Other calls begin again.
    pub(in crate::manager) fn on_restart(&mut self, abandoned: Option<&[(Name, u32)]>) {
        match abandoned {
            Some(held) => self.on_abandon(held),
            None => self.abandon_own(),
        }
        let workers = self.members.workers.iter();
        let active: Vec<WorkerId> =
            workers.filter(|worker| worker.is_active()).map(|worker| worker.id).collect();
        let tasks = self.attempted_at(&active);
        for task in &tasks {
            self.end_first(*task);
            self.withdraw(*task);
            self.counts.retried += 1;
        }
        for id in &active {
            self.members.workers[*id].post.restart = true;
            self.members.touch(*id);
        }
        let ids: Vec<TaskId> = tasks.into_iter().map(|task| self.graph.tasks.id(task)).collect();
        for id in ids {
            let Some(task) = self.graph.tasks.find(id) else { continue };
            if matches!(self.graph.tasks[task].stage, Stage::Waiting { .. }) {
                self.resume(task);
            }
        }
    }

    /// Tasks that were sent to some workers, be it the first of two attempts.
    fn attempted_at(&self, workers: &[WorkerId]) -> Vec<TaskSlot> {
        let at = |task: &TaskSlot| workers.iter().any(|id| self.is_attempted_at(*task, *id));
        self.graph.tasks.slots().into_iter().filter(at).collect()
    }
}

#[cfg(test)]
#[path = "restart_tests.rs"]
mod tests;
