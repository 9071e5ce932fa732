//! What a person who watches a run is shown: tasks and blocks by function, and what failed lately.

use super::clock::Now;
use crate::wire::Payload;
use freestone_base::{Name, WorkerId};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// How long attempts are counted by: up to each of these, in nanoseconds.
pub const DURATION_BOUNDS_NS: [u64; 14] = [
    100_000,
    500_000,
    1_000_000,
    5_000_000,
    10_000_000,
    50_000_000,
    100_000_000,
    500_000_000,
    1_000_000_000,
    5_000_000_000,
    10_000_000_000,
    50_000_000_000,
    100_000_000_000,
    500_000_000_000,
];

/// Arguments of so many bytes are shown to people.
pub const SHOWN_NBYTES: usize = 4 << 10;

/// Attempts by how long they took: above the bound before and up to its own; the last has no bound.
pub type Durations = [u64; DURATION_BOUNDS_NS.len() + 1];

/// Which tasks to list, besides the figures of all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Query {
    /// At most so many tasks, and as many blocks.
    pub limit: usize,
    /// Only of the functions with this name, if given.
    pub label: Option<String>,
    /// Only those that are `waiting`, `ready` or `assigned`, if given.
    pub stage: Option<String>,
    /// With what waits for what, task by task if there are at most so many.
    pub graph: Option<usize>,
}

/// A run, function by function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    /// The manager's clock.
    pub now_ns: Now,
    /// Each function that was defined; then, without a label, blocks of which none is known.
    pub functions: Vec<FunctionFigures>,
    /// Unfinished tasks, those at workers first.
    pub tasks: Vec<TaskFigures>,
    /// The largest blocks.
    pub blocks: Vec<BlockFigures>,
    /// The last failures, oldest first.
    pub failures: Vec<RecentFailure>,
    /// What waits for what, if it was asked for.
    pub graph: Option<TaskGraph>,
}

/// What waits for what. A function is its position in `Overview::functions`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskGraph {
    /// Tasks that have not ended.
    pub unfinished: u64,
    /// They, and what is there and they need; none if there are more tasks than were asked for.
    pub nodes: Vec<GraphNode>,
    /// From each node to those that need what it makes, by their positions in `nodes`.
    pub edges: Vec<(u32, u32)>,
    /// How many inputs of the second function's unfinished tasks the first makes or has made.
    pub between: Vec<(u32, u32, u64)>,
}

/// A task that has not ended, or a block that one needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphNode {
    /// What it makes, or the block.
    pub name: Name,
    /// The function; none of a block that the program put.
    pub function: Option<u32>,
    /// `waiting`, `ready`, `assigned`; `done` of a block that is there.
    pub stage: Cow<'static, str>,
    /// Where the task was sent.
    pub worker: Option<WorkerId>,
}

/// The tasks of a function, and the blocks that they made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FunctionFigures {
    /// Its name for people.
    pub label: String,
    /// Tasks that wait for inputs, that wait for a worker, and that are at workers.
    pub waiting: u64,
    /// See `waiting`.
    pub ready: u64,
    /// See `waiting`.
    pub assigned: u64,
    /// Calls that ran to their end.
    pub done: u64,
    /// Calls that failed for good.
    pub failed: u64,
    /// Time that its calls ran, summed.
    pub busy_ns: u64,
    /// Attempts by how long they ran.
    pub durations: Durations,
    /// Outputs that are there.
    pub blocks: u64,
    /// Their replicas at workers.
    pub replicas: u64,
    /// Their bytes, each counted once.
    pub nbytes: u64,
    /// The most bytes of them that were at workers at once, each counted once.
    pub peak_nbytes: u64,
    /// The most that an executor's process has had in memory after a call that raised it; 0 if no
    /// call that was measured did.
    pub resident_nbytes: u64,
}

/// An unfinished task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskFigures {
    /// Its output.
    pub name: Name,
    /// Its function.
    pub label: String,
    /// What that is called with, if it is short.
    pub arguments: Option<Arguments>,
    /// `waiting`, `ready` or `assigned`.
    pub stage: Cow<'static, str>,
    /// Where it was sent.
    pub worker: Option<WorkerId>,
    /// Whether it has begun there.
    pub running: bool,
    /// When it became ready, or was sent; 0 while it waits.
    pub since_ns: Now,
    /// Inputs that are not there.
    pub missing: u32,
    /// For what it waits in its call.
    pub pause: Option<Pause>,
}

/// What a function is called with, to be shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arguments {
    /// As the client encoded them.
    pub bytes: Payload,
    /// The functions that make the first of the inputs; empty for what none has made.
    pub inputs: Vec<String>,
}

/// What a call that has begun waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pause {
    /// For people: a lock by its name, or another task.
    pub what: String,
    /// When the wait began.
    pub since_ns: Now,
}

/// A block that is there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockFigures {
    /// Its name.
    pub name: Name,
    /// The function that made it, if that is known.
    pub label: String,
    /// Its bytes.
    pub nbytes: u64,
    /// Who has it.
    pub replicas: Vec<WorkerId>,
}

/// A task that failed for good.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecentFailure {
    /// When.
    pub at_ns: Now,
    /// Its function.
    pub label: String,
    /// Its output.
    pub name: Name,
    /// Where the last attempt ran.
    pub worker: Option<WorkerId>,
    /// How many there were.
    pub attempts: u32,
    /// In a word, what happened.
    pub ended: Cow<'static, str>,
    /// The exception's type and message, or how the executor ended.
    pub message: String,
    /// Where it was raised.
    pub traceback: String,
}
