//! The calls that are here and have not ended.

use crate::wire::{Assignment, Input, Isolation};
use freestone_base::{Name, Resources, TaskId};
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// How far a call is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Inputs are missing.
    Waiting,
    /// It could start.
    Queued,
    /// Files of the user's are being looked at.
    Checking,
    /// It was sent to an executor.
    Sent { executor: u32, sequence: u32 },
}

/// A call.
#[derive(Debug)]
pub(super) struct Call {
    pub assignment: Assignment,
    /// Its stored inputs, each as often as the call has it: so often it will be mapped.
    pub inputs: SmallVec<[Name; 2]>,
    /// Those of them that it holds in the cache.
    pub held: SmallVec<[Name; 2]>,
    pub stage: Stage,
    /// Its place among calls of the same priority.
    arrival: u64,
    /// To be reported as cancelled, however it ends.
    pub cancelled: bool,
    /// Files of the user's were looked at just now.
    pub checked: bool,
    /// How many executors died that had it and had not begun it.
    pub deaths: u32,
    /// Since when it stands first but does not fit.
    pub blocked_since: Option<u64>,
}

impl Call {
    /// Whether it is to be the only call in its executor.
    pub fn is_exclusive(&self) -> bool {
        let options = &self.assignment.options;
        options.timeout_ns.is_some() || options.isolation != Isolation::Shared
    }

    /// What it takes; what can't be had at all is taken as far as it can, so that it runs alone
    /// instead of never.
    pub fn needs(&self, all: &Resources) -> Resources {
        self.assignment.options.resources.smaller(all)
    }

    fn key(&self) -> Key {
        (Reverse(self.assignment.priority), self.arrival)
    }
}

type Key = (Reverse<i32>, u64);

/// All calls, and those that could start in their order.
#[derive(Debug, Default)]
pub(super) struct Calls {
    all: HashMap<TaskId, Call>,
    queue: BTreeMap<Key, TaskId>,
    arrivals: u64,
}

impl Calls {
    pub fn get(&self, task: TaskId) -> Option<&Call> {
        self.all.get(&task)
    }

    pub fn get_mut(&mut self, task: TaskId) -> Option<&mut Call> {
        self.all.get_mut(&task)
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (TaskId, &Call)> {
        self.all.iter().map(|(task, call)| (*task, call))
    }

    /// Takes a call in; its inputs are to be found.
    pub fn insert(&mut self, assignment: Assignment) {
        let stored = |input: &Input| match input {
            Input::Stored(block) => Some(block.name),
            Input::Inline(_) => None,
        };
        let inputs = assignment.inputs.iter().filter_map(stored).collect();
        self.arrivals += 1;
        let call = Call {
            inputs,
            held: SmallVec::new(),
            stage: Stage::Waiting,
            arrival: self.arrivals,
            cancelled: false,
            checked: false,
            deaths: 0,
            blocked_since: None,
            assignment,
        };
        self.all.insert(call.assignment.task, call);
    }

    /// It could start now (again).
    pub fn enqueue(&mut self, task: TaskId) {
        if let Some(call) = self.all.get_mut(&task) {
            call.stage = Stage::Queued;
            self.queue.insert(call.key(), task);
        }
    }

    /// It stands in the queue no more.
    pub fn dequeue(&mut self, task: TaskId, stage: Stage) {
        if let Some(call) = self.all.get_mut(&task) {
            self.queue.remove(&call.key());
            call.stage = stage;
        }
    }

    pub fn remove(&mut self, task: TaskId) -> Option<Call> {
        let call = self.all.remove(&task)?;
        if call.stage == Stage::Queued {
            self.queue.remove(&call.key());
        }
        Some(call)
    }

    /// The first in the queue behind a position, with its own.
    pub fn next(&self, behind: Option<Key>) -> Option<(Key, TaskId)> {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = behind.map_or(Unbounded, Excluded);
        self.queue.range((from, Unbounded)).next().map(|(key, task)| (*key, *task))
    }
}
