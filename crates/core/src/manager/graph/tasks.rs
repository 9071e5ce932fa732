//! Tasks: the records of calls.

use super::ready::Entry;
use super::templates::Template;
use crate::manager::api::{Attempt, Submission};
use crate::manager::clock::Now;
use crate::manager::few::Few;
use crate::manager::overview::Pause;
use crate::manager::table::{BlockSlot, Occupant, Slot, Table, TaskSlot};
use crate::wire::Payload;
use freestone_base::{TaskId, WorkerId};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::ops::Deref;
use std::sync::Arc;

/// Where a task is in its life; see the README for the transitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(in crate::manager) enum Stage {
    /// As many of its input positions are not there.
    Waiting { missing: u32 },
    /// In the queue that all workers share.
    Ready,
    /// In the queue that is kept for one worker (which may be about to join, if it is pinned there).
    Queued(WorkerId),
    /// Sent to a worker; `running` if a slot and its resources are reserved for it.
    Assigned { worker: WorkerId, running: bool },
    /// Kept as lineage.
    Done(WorkerId),
}

impl Stage {
    /// The worker that it was sent to.
    pub fn assigned_to(self) -> Option<WorkerId> {
        match self {
            Self::Assigned { worker, .. } => Some(worker),
            _ => None,
        }
    }

    /// The worker that it was sent to, or that ran it.
    pub fn place(self) -> Option<WorkerId> {
        match self {
            Self::Assigned { worker, .. } | Self::Done(worker) => Some(worker),
            _ => None,
        }
    }

    /// The stage in a word, as people read it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting { .. } => "waiting",
            Self::Ready | Self::Queued(_) => "ready",
            Self::Assigned { .. } => "assigned",
            Self::Done(_) => "done",
        }
    }

    pub fn is_done(self) -> bool {
        matches!(self, Self::Done(_))
    }
}

/// The blocks that a task makes or needs.
pub(in crate::manager) type Slots = Few<BlockSlot, 3>;

/// In the urgency of what is made again: it goes before its like, since others wait for it and have waited
/// before. Neither depths nor lengths of chains come near.
pub(in crate::manager) const AGAIN: u32 = 1 << 30;

/// A million tasks are in memory at once, so that each byte counts: what calls of one `map` have in
/// common is in their template.
#[derive(Serialize, Deserialize)]
pub(in crate::manager) struct Task {
    pub outputs: Slots,
    /// One entry per position.
    pub inputs: Slots,
    pub arguments: Payload,
    pub template: Arc<Template>,
    pub stage: Stage,
    /// By which its id differs from those of former tasks in its slot.
    generation: u32,
    /// Among tasks of one priority the larger runs first: its depth, until the end is near.
    pub urgency: u32,
    pub attempt: u32,
    /// By which its last entry in a queue differs from others.
    pub stamp: u32,
    /// When it became ready; once done: when it began.
    pub ready_ns: Now,
    /// When it was sent.
    pub sent_ns: Now,
    /// What it was taken to last when it was queued or sent; once done: what it lasted.
    pub charged_ns: u64,
    /// What most tasks never need.
    pub history: Option<Box<History>>,
}

/// What went wrong with a task so far.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::manager) struct History {
    /// How often it was tried again after it had failed.
    pub retried: u32,
    pub kills: u32,
    pub recoveries: u32,
    pub deaths: u32,
    /// How many workers died that had it and had not begun it.
    pub unbegun: u32,
    /// How many workers had been lost before the first died under it.
    pub lost_before: u32,
    /// Its outputs are to be kept for longer than the worker that has it knows.
    pub for_less: bool,
    /// An attempt took more memory than it was given: the next gets all of a worker.
    pub exhausted: bool,
    /// It is not run beside an attempt that takes long: it was once, and as that attempt is not
    /// counted if it fails, such attempts would follow each other for ever; or it has waited for
    /// others, and how long it takes says nothing about where it runs.
    pub no_speculation: bool,
    /// The last wait for others, which may be over.
    pub pause: Option<Pause>,
    /// How many attempts were given back before they began.
    pub returned: u32,
    /// Workers to be avoided: an attempt was killed there, or there was no room for it.
    pub avoid: SmallVec<[WorkerId; 2]>,
    /// Those of them that only had no room.
    pub full: SmallVec<[WorkerId; 2]>,
    /// The last attempts that ended badly.
    pub attempts: Vec<Attempt>,
}

impl Task {
    /// A call as it was submitted, which waits for nothing so far.
    pub fn new(
        submission: &Submission,
        template: Arc<Template>,
        inputs: Slots,
        outputs: Slots,
        depth: u32,
    ) -> Self {
        Self {
            template,
            outputs,
            inputs,
            arguments: submission.arguments.clone(),
            stage: Stage::Waiting { missing: 0 },
            generation: 0,
            urgency: depth,
            attempt: 0,
            stamp: 0,
            ready_ns: 0,
            sent_ns: 0,
            charged_ns: 0,
            history: None,
        }
    }

    pub fn history(&mut self) -> &mut History {
        self.history.get_or_insert_default()
    }

    /// Attempts that may have begun.
    pub fn attempts(&self) -> u32 {
        self.attempt - self.history.as_ref().map_or(0, |history| history.returned)
    }
}

impl Deref for Task {
    type Target = Template;

    fn deref(&self) -> &Template {
        &self.template
    }
}

impl Occupant for Task {
    fn begin(&mut self, generation: u32) {
        self.generation = generation;
    }
}

pub(in crate::manager) type Tasks = Table<TaskSlot, Task>;

// A queued call takes these, and an entry in a queue.
const _: () = assert!(size_of::<Option<Task>>() == 104 && size_of::<Entry>() == 8);

impl Tasks {
    pub fn id(&self, slot: TaskSlot) -> TaskId {
        TaskId::new(slot.index() as u32, self.get(slot).map_or(0, |task| task.generation))
    }

    /// What is in the slot of an id, stale or not: only its place counts, which costs no look at it.
    pub fn at(&self, id: TaskId) -> Option<&Option<Task>> {
        self.entry(TaskSlot::of(id.slot() as u32))
    }

    /// The slot of a task, unless the id is stale.
    pub fn find(&self, id: TaskId) -> Option<TaskSlot> {
        let slot = TaskSlot::of(id.slot() as u32);
        self.get(slot).is_some_and(|task| task.generation == id.generation()).then_some(slot)
    }

    /// The slot of a task that is still where an entry of a queue says.
    pub fn find_queued(&self, entry: Entry, stage: Stage) -> Option<TaskSlot> {
        let (slot, stamp) = entry;
        let task = self.get(slot)?;
        (task.stamp == stamp && task.stage == stage).then_some(slot)
    }
}
