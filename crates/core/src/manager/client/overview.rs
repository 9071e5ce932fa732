//! Counts tasks and blocks by function, and remembers what failed lately.

use crate::manager::Manager;
use crate::manager::api::{Failure, Outcome, Why};
use crate::manager::clock::Now;
use crate::manager::graph::{Block, Stage, Task, ended};
use crate::manager::overview::{
    Arguments, BlockFigures, FunctionFigures, Overview, Query, RecentFailure, SHOWN_NBYTES,
    TaskFigures,
};
use crate::manager::table::{BlockSlot, TaskSlot};
use crate::wire::TaskFailure;
use freestone_base::{FunctionId, Ticket};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// So many failures are remembered: those that a person reads.
const REMEMBERED: usize = 64;
/// Of a traceback, the last bytes: the exception stands at its end.
const TRACEBACK_NBYTES: usize = 16 << 10;
/// The names of so many inputs are shown: a person reads the first.
const SHOWN_INPUTS: usize = 8;

impl RecentFailure {
    fn new(failure: &Failure, at_ns: Now) -> Self {
        let (ended, last) = match &failure.why {
            Why::Attempt(last) => (ended(last), Some(last)),
            Why::Killed { last, .. } => ("killed", Some(last)),
            Why::Unschedulable { .. } => ("unschedulable", None),
            Why::WorkerAbsent { .. } => ("worker absent", None),
            Why::TooManyCalls { .. } => ("too many calls", None),
            Why::UnknownInput(_) => ("unknown input", None),
            Why::InputLost(_) => ("input lost", None),
            Why::Interrupted => ("interrupted", None),
            Why::Cancelled => ("cancelled", None),
            Why::Closed => ("closed", None),
        };
        let (message, traceback) = last.map(described).unwrap_or_default();
        Self {
            at_ns,
            label: failure.label.clone(),
            name: failure.name,
            worker: failure.worker,
            attempts: failure.attempts,
            ended: ended.into(),
            message,
            traceback,
        }
    }
}

/// The exception in a line and its traceback, or how the executor ended.
fn described(failure: &TaskFailure) -> (String, String) {
    match failure {
        TaskFailure::Raised(raised) => {
            let message = format!("{}: {}", raised.kind, raised.message);
            (last_bytes(&message).to_owned(), last_bytes(&raised.traceback).to_owned())
        }
        TaskFailure::Killed { signal: Some(signal), .. } => {
            (format!("its executor was ended by signal {signal}"), String::new())
        }
        TaskFailure::Killed { status: Some(status), .. } => {
            (format!("its executor exited with status {status}"), String::new())
        }
        TaskFailure::TimedOut { timeout_ns } => {
            (format!("it ran for more than {} s", *timeout_ns as f64 / 1e9), String::new())
        }
        _ => Default::default(),
    }
}

fn last_bytes(text: &str) -> &str {
    let mut start = text.len().saturating_sub(TRACEBACK_NBYTES);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// The last failures.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::manager) struct Failures(VecDeque<RecentFailure>);

impl Failures {
    fn push(&mut self, failure: RecentFailure) {
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(failure);
    }
}

impl Manager {
    /// Remembers a failure, unless it was somebody's wish.
    pub(in crate::manager) fn remember_failure(&mut self, failure: &Failure) {
        if !matches!(failure.why, Why::Cancelled | Why::Closed) {
            self.clients.recent_failures.push(RecentFailure::new(failure, self.now));
        }
    }

    pub(in crate::manager) fn on_overview(&mut self, query: &Query, ticket: Ticket) {
        let overview = Box::new(self.overview(query));
        self.reply(ticket, Outcome::Overview(overview));
    }

    /// Takes time for each task and each block that there is.
    fn overview(&self, query: &Query) -> Overview {
        let mut functions = self.graph.functions.figures();
        self.count_tasks(&mut functions);
        self.count_blocks(&mut functions);
        Overview {
            now_ns: self.now,
            functions,
            tasks: self.list_tasks(query),
            blocks: self.list_blocks(query),
            failures: self.clients.recent_failures.0.iter().cloned().collect(),
            graph: query.graph.map(|limit| self.task_graph(limit)),
        }
    }

    fn count_tasks(&self, functions: &mut [FunctionFigures]) {
        for (_, task) in self.graph.tasks.iter() {
            let Some(figures) = functions.get_mut(task.function.0 as usize) else { continue };
            match task.stage {
                Stage::Waiting { .. } => figures.waiting += 1,
                Stage::Ready | Stage::Queued(_) => figures.ready += 1,
                Stage::Assigned { .. } => figures.assigned += 1,
                Stage::Done(_) => {}
            }
        }
    }

    /// Counts blocks by the function that made them; those of which none is known, because they
    /// were put or their task is forgotten, make an entry of their own, last and without a label.
    fn count_blocks(&self, functions: &mut Vec<FunctionFigures>) {
        let mut others = FunctionFigures::default();
        for (_, block) in self.graph.blocks.iter().filter(|(_, block)| block.is_available()) {
            let made_by = self.maker(block).and_then(|id| functions.get_mut(id.0 as usize));
            let figures = made_by.unwrap_or(&mut others);
            figures.blocks += 1;
            figures.nbytes += block.nbytes();
            figures.replicas += block.replicas().len() as u64;
        }
        if others.blocks > 0 {
            functions.push(others);
        }
    }

    /// The function that made a block, as long as the manager remembers.
    pub(super) fn maker(&self, block: &Block) -> Option<FunctionId> {
        let producer = block.producer.map(|task| self.graph.tasks[task].function);
        producer
            .or_else(|| block.stored()?.maker)
            .or_else(|| Some(self.graph.ended_lately(&block.name)?.0))
    }

    fn list_tasks(&self, query: &Query) -> Vec<TaskFigures> {
        let mut found: [Vec<TaskFigures>; 3] = Default::default();
        for (slot, task) in self.graph.tasks.iter() {
            let rank = match task.stage {
                Stage::Assigned { .. } => 0,
                Stage::Ready | Stage::Queued(_) => 1,
                Stage::Waiting { .. } => 2,
                Stage::Done(_) => continue,
            };
            let is_asked = query.stage.as_deref().is_none_or(|asked| asked == task.stage.as_str())
                && query.label.as_deref().is_none_or(|label| self.is_called(task.function, label));
            if is_asked && found[rank].len() < query.limit {
                found[rank].push(self.task_figures(slot));
            }
        }
        let mut tasks = found.concat();
        tasks.truncate(query.limit);
        tasks
    }

    fn is_called(&self, function: FunctionId, label: &str) -> bool {
        self.graph.functions.get(function).is_some_and(|function| function.label == label)
    }

    pub(in crate::manager) fn task_figures(&self, slot: TaskSlot) -> TaskFigures {
        let task = &self.graph.tasks[slot];
        TaskFigures {
            name: self.graph.blocks[task.outputs[0]].name,
            label: self.graph.functions.label(task.function),
            arguments: self.arguments(task),
            stage: task.stage.as_str().into(),
            worker: task.stage.place(),
            running: self.has_begun(task),
            since_ns: since_ns(task),
            missing: if let Stage::Waiting { missing } = task.stage { missing } else { 0 },
            pause: self.pause(slot).cloned(),
        }
    }

    /// What a task is called with, if it is short.
    pub(in crate::manager) fn arguments(&self, task: &Task) -> Option<Arguments> {
        let made_by = |input: &BlockSlot| {
            let maker = self.maker(&self.graph.blocks[*input])?;
            Some(self.graph.functions.label(maker))
        };
        (task.arguments.len() <= SHOWN_NBYTES).then(|| Arguments {
            bytes: task.arguments.clone(),
            inputs: (task.inputs.iter().take(SHOWN_INPUTS))
                .map(|input| made_by(input).unwrap_or_default())
                .collect(),
        })
    }

    fn list_blocks(&self, query: &Query) -> Vec<BlockFigures> {
        let there = self.graph.blocks.iter().filter(|(_, block)| block.is_available());
        let mut largest: Vec<_> =
            there.map(|(slot, block)| (std::cmp::Reverse(block.nbytes()), slot)).collect();
        if largest.len() > query.limit {
            largest.select_nth_unstable(query.limit);
            largest.truncate(query.limit);
        }
        largest.sort_unstable();
        let figures = |(_, slot)| {
            let block = &self.graph.blocks[slot];
            let label = self.maker(block).map(|function| self.graph.functions.label(function));
            BlockFigures {
                name: block.name,
                label: label.unwrap_or_default(),
                nbytes: block.nbytes(),
                replicas: block.replicas().to_vec(),
            }
        };
        largest.into_iter().map(figures).collect()
    }
}

/// When a task became ready, or was sent; 0 while it waits.
fn since_ns(task: &Task) -> Now {
    match task.stage {
        Stage::Waiting { .. } => 0,
        Stage::Ready | Stage::Queued(_) => task.ready_ns,
        Stage::Assigned { .. } | Stage::Done(_) => task.sent_ns,
    }
}

#[cfg(test)]
#[path = "overview_tests.rs"]
mod tests;
