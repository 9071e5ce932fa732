//! Another process goes on with the manager of one that was killed.

use crate::manager::Manager;
use crate::manager::api::Why;
use crate::manager::clock::Now;
use crate::manager::config::Config;
use crate::manager::table::TaskSlot;
use freestone_base::TaskId;

/// How long what only a worker of the former process had is waited for: workers look for the manager
/// four times in a second.
const RECONNECT_NS: Now = 10_000_000_000;

impl Manager {
    /// Whether workers may still reconnect that the former process had.
    pub(in crate::manager) fn awaits_workers(&self) -> bool {
        self.now < self.members.awaited_until
    }

    /// The settings of the new process hold. What may not run twice and was sent to a worker fails:
    /// its report may be lost with the former process.
    pub(in crate::manager) fn on_taken_up(&mut self, config: Config) {
        self.transfer.configure(&config);
        self.config = config;
        self.members.awaited_until = self.now + RECONNECT_NS;
        let may_have_begun = |task: &TaskSlot| {
            let record = &self.graph.tasks[*task];
            record.options.once && record.stage.assigned_to().is_some()
        };
        let slots = self.graph.tasks.slots().into_iter().filter(may_have_begun);
        let begun: Vec<TaskId> = slots.map(|task| self.graph.tasks.id(task)).collect();
        for id in begun {
            let Some(task) = self.graph.tasks.find(id) else { continue };
            if !self.graph.may_retry(task) {
                let failure = self.failure_with(task, Why::Interrupted);
                self.end_first(task);
                self.withdraw(task);
                self.fail_task(task, &failure);
            }
        }
    }
}

#[cfg(test)]
#[path = "taking_up_tests.rs"]
mod tests;
