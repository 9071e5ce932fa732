//! Why a task waits, or where and when it ran.

use crate::manager::Manager;
use crate::manager::api::{Attempt, Explanation, Outcome};
use crate::manager::graph::{Block, Data, Stage, Task};
use crate::manager::overview::{Pause, TaskFigures};
use crate::manager::table::TaskSlot;
use freestone_base::{Name, Ticket};
use std::borrow::Cow;

/// So many inputs are reported with what makes them.
const AWAITED: usize = 8;

impl Manager {
    pub(in crate::manager) fn on_explain(&mut self, name: &Name, ticket: Ticket) {
        let explanation = Box::new(self.explain(name));
        self.reply(ticket, Outcome::Explained(explanation));
    }

    fn explain(&self, name: &Name) -> Explanation {
        let Some(slot) = self.graph.blocks.find(name) else {
            return Explanation { stage: "unknown".into(), ..Explanation::default() };
        };
        let block = &self.graph.blocks[slot];
        let mut explanation = match block.producer {
            Some(task) => self.explain_task(task, block),
            None => self.explain_block(block),
        };
        explanation.replicas = block.replicas().to_vec();
        let known = matches!(block.data, Data::Inline(_) | Data::Stored(_));
        explanation.nbytes = known.then(|| block.nbytes());
        explanation
    }

    fn explain_task(&self, slot: TaskSlot, block: &Block) -> Explanation {
        let task = &self.graph.tasks[slot];
        let inputs = if task.stage.is_done() { &[][..] } else { &task.inputs };
        let missing = inputs.iter().map(|input| &self.graph.blocks[*input]);
        let missing = missing.filter(|input| !input.is_available());
        let makers = missing.clone().filter_map(|input| Some((input.name, input.producer?)));
        let awaited = makers.take(AWAITED).map(|(name, maker)| self.awaited(name, maker)).collect();
        let mut attempts = match &task.history {
            Some(history) => history.attempts.clone(),
            None => Vec::new(),
        };
        attempts.extend(self.last_attempt(slot));
        Explanation {
            stage: Cow::Borrowed(match task.stage {
                Stage::Done(_) if block.is_available() => "done",
                Stage::Done(_) => "released",
                stage => stage.as_str(),
            }),
            label: self.graph.functions.label(task.function),
            arguments: self.arguments(task),
            pause: self.pause(slot).cloned(),
            waits_for: missing.map(|input| input.name).collect(),
            awaited,
            ahead: self.ahead_of(task),
            resources: task.options.resources.clone(),
            lacking: self.lacking(task),
            attempts,
            attempted: task.attempts(),
            ..Explanation::default()
        }
    }

    /// The task that makes an input.
    fn awaited(&self, name: Name, maker: TaskSlot) -> TaskFigures {
        TaskFigures { name, ..self.task_figures(maker) }
    }

    /// A block whose task is not known any more, or that was put.
    fn explain_block(&self, block: &Block) -> Explanation {
        if let Some(failure) = block.failure() {
            return Explanation {
                stage: "failed".into(),
                label: failure.label.clone(),
                attempts: failure.last_attempts.clone(),
                attempted: failure.attempts,
                ..Explanation::default()
            };
        }
        match self.graph.ended_lately(&block.name) {
            Some((function, explanation)) => {
                Explanation { label: self.graph.functions.label(function), ..explanation }
            }
            None => Explanation { stage: "block".into(), ..Explanation::default() },
        }
    }

    /// How many tasks run before a ready one.
    fn ahead_of(&self, task: &Task) -> u64 {
        match task.stage {
            Stage::Ready => {
                let queue = &self.schedule.classes.get(task.class).queue;
                queue.before(task.tenant, task.priority, task.urgency)
            }
            Stage::Queued(worker) => {
                let Some(worker) = self.members.workers.get(worker) else { return 0 };
                let queued = worker.queue.before(task.tenant, task.priority, task.urgency);
                queued + u64::from(worker.held())
            }
            Stage::Assigned { worker, running: false } => {
                u64::from(self.members.workers[worker].held())
            }
            _ => 0,
        }
    }

    /// The custom resources that hold up a task that could begin otherwise: where it is to run, or
    /// on all workers that have them.
    fn lacking(&self, task: &Task) -> Vec<String> {
        let needs = &task.options.resources;
        let place = match task.stage {
            Stage::Queued(worker) => Some(worker),
            Stage::Ready => None,
            _ => return Vec::new(),
        };
        let workers = self.members.workers.iter();
        let workers: Vec<_> = workers
            .filter(|worker| worker.can_hold(needs) && place.is_none_or(|id| id == worker.id))
            .collect();
        let lacks = |name: &&str| {
            let lacks = |free| needs.lacking(free).any(|lacking| lacking == *name);
            !workers.is_empty() && workers.iter().all(|worker| lacks(&worker.free))
        };
        needs.custom.iter().map(|(name, _)| name).filter(lacks).map(str::to_owned).collect()
    }

    fn last_attempt(&self, slot: TaskSlot) -> Option<Attempt> {
        let task = &self.graph.tasks[slot];
        let (worker, sent_ns) = (task.stage.place()?, task.sent_ns);
        let (start_ns, duration_ns, ended) = match task.stage {
            Stage::Done(_) => (task.ready_ns, task.charged_ns, "done"),
            // A worker says when a call ends, not when it begins: it has had a slot since it was
            // sent.
            _ if self.has_begun(task) => {
                let waits = self.pause(slot).is_some();
                (sent_ns, 0, if waits { "waiting for others" } else { "running" })
            }
            _ => (0, 0, "running"),
        };
        Some(Attempt { worker, sent_ns, start_ns, duration_ns, ended: ended.to_owned() })
    }

    /// For what its call waits.
    pub(in crate::manager) fn pause(&self, slot: TaskSlot) -> Option<&Pause> {
        let task = &self.graph.tasks[slot];
        let worker = self.members.workers.get(task.stage.assigned_to()?)?;
        let waits = worker.paused.contains(&(self.graph.tasks.id(slot), false));
        task.history.as_ref()?.pause.as_ref().filter(|_| waits)
    }

    /// Whether its call has begun, as far as that is known: it has a slot, and its inputs are there.
    pub(in crate::manager) fn has_begun(&self, task: &Task) -> bool {
        let Stage::Assigned { worker, running: true } = task.stage else { return false };
        let mut inputs = task.inputs.iter().map(|input| &self.graph.blocks[*input]);
        inputs.all(|input| !matches!(input.data, Data::Stored(_)) || input.is_at(worker))
    }
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
