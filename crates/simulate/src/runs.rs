//! A record of what ran where, for who looks at a simulated run from outside.

use freestone_base::{Name, WorkerId};
use std::collections::HashMap;

/// How a run of a call ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunEnd {
    /// With its outputs.
    Done,
    /// With a failure.
    Failed,
    /// It was cancelled, or its worker was lost, before it ended.
    Cut,
}

/// A call that began at a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// Its first output.
    pub name: Name,
    /// Where.
    pub worker: WorkerId,
    /// When it began.
    pub start_ns: u64,
    /// When it ended; of one that was cut, when it would have.
    pub end_ns: u64,
    /// How it ended.
    pub end: RunEnd,
}

/// All runs, in the order in which they began.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// The record.
    pub all: Vec<Run>,
    open: HashMap<(WorkerId, u64), usize>,
}

impl Runs {
    /// A call begins as the `serial`-th of its worker.
    pub(super) fn begin(&mut self, serial: u64, run: Run) {
        self.open.insert((run.worker, serial), self.all.len());
        self.all.push(run);
    }

    /// It ends, and the manager hears of it.
    pub(super) fn end(&mut self, worker: WorkerId, serial: u64, end: RunEnd) {
        if let Some(index) = self.open.remove(&(worker, serial)) {
            self.all[index].end = end;
        }
    }
}
