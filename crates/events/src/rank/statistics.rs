//! What a rank has done, and is doing, in numbers.

use super::{Inner, PLACE, Rank};
use std::sync::atomic::Ordering;

/// What a rank has done since it began, and what it is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Events that it has fired at other ranks, one for each target.
    pub fired: u64,
    /// Events that have arrived here, from this rank, its timers and others.
    pub arrived: u64,
    /// Tasks that have been called; one that waits counts.
    pub tasks: u64,
    /// Tasks that wait for events, threads that wait included.
    pub waiting: usize,
    /// Tasks that have their events, and wait for a worker.
    pub ready: usize,
    /// Events that no task has taken.
    pub unconsumed: usize,
    /// How many tasks can run at the same time.
    pub workers: usize,
    /// How many run.
    pub busy: usize,
}

impl Rank {
    /// What it has done and is doing; each number for itself, while others change.
    pub fn statistics(&self) -> Statistics {
        let inner = &self.inner;
        let state = inner.state();
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Acquire);
        let ready = inner.jobs();
        let begun = inner.pending.begun() - state.resumed;
        Statistics {
            fired: inner.sent.iter().map(count).sum(),
            arrived: state.arrived,
            tasks: begun.saturating_sub(ready as u64),
            waiting: state.matcher.len(),
            ready,
            unconsumed: state.matcher.stored(),
            workers: self.workers(),
            busy: inner.busy(),
        }
    }

    /// How many tasks can run at the same time.
    pub fn workers(&self) -> usize {
        self.inner.workers()
    }

    /// How many run; one that waits does not.
    pub fn busy_workers(&self) -> usize {
        self.inner.busy()
    }

    /// The number of the worker that runs this task, from 0; none outside of tasks.
    pub fn worker(&self) -> Option<usize> {
        self.inner.in_task().then(|| PLACE.get())
    }

    /// The core on which a worker stays; none if it may be on any.
    pub fn core(&self, worker: usize) -> Option<usize> {
        let cores = &self.inner.config.cores;
        if worker < self.workers() && !cores.is_empty() {
            return Some(cores[worker % cores.len()]);
        }
        None
    }

    /// Where the workers are, for people.
    pub fn mapping(&self) -> String {
        let on = |worker| match self.core(worker) {
            Some(core) => format!("worker {worker} on core {core}"),
            None => format!("worker {worker} on any core"),
        };
        let all: Vec<_> = (0..self.workers()).map(on).collect();
        format!("rank {}: {}", self.rank(), all.join(", "))
    }
}

impl Inner {
    pub(super) fn workers(&self) -> usize {
        self.config.workers.max(1)
    }

    fn busy(&self) -> usize {
        let pending = self.pending.count() as usize;
        pending.saturating_sub(self.jobs()).min(self.workers())
    }
}
