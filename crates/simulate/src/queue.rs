//! What is going to happen, in the order of a virtual clock.

use freestone_base::{Name, WorkerId};
use freestone_core::wire::{FromWorker, TaskFailure, ToWorker};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Something that happens at a moment.
#[derive(Debug)]
pub enum Happening {
    /// A message reaches a worker.
    ToWorker(WorkerId, Box<ToWorker>),
    /// A message reaches the manager.
    FromWorker(WorkerId, Box<FromWorker>),
    /// The manager sees that a connection has ended.
    Left(WorkerId),
    /// A call ends.
    CallEnds {
        /// Where.
        worker: WorkerId,
        /// Which beginning of a call there.
        run: u64,
        /// What went wrong.
        failure: Option<Box<TaskFailure>>,
    },
    /// A transfer ends.
    TransferEnds {
        /// Who receives.
        target: WorkerId,
        /// Who sends.
        source: WorkerId,
        /// Which transfer of the target.
        transfer: u64,
        /// What.
        name: Name,
        /// The value, or that the source did not have it, or that it failed for another reason.
        result: Result<u64, bool>,
    },
    /// The manager is done with a call or a result.
    Served,
    /// Workers say how they are, and time passes for the manager.
    Pulse,
    /// A worker is lost.
    Lose(WorkerId),
    /// A worker like this one joins.
    Replace(WorkerId),
    /// A worker that was out of reach is back.
    Reconnect(WorkerId),
    /// Messages that waited are to be written.
    WritesDue,
    /// The client wants to act.
    Wake(u64),
}

impl Happening {
    /// Whether it is a sign of life and nothing more.
    fn is_pulse(&self) -> bool {
        match self {
            Self::Pulse => true,
            Self::FromWorker(_, message) => matches!(**message, FromWorker::Status(_)),
            _ => false,
        }
    }
}

#[derive(Debug)]
struct Entry {
    at_ns: u64,
    serial: u64,
    what: Happening,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at_ns, other.serial).cmp(&(self.at_ns, self.serial))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

/// What is going to happen; at the same moment, in the order of planning.
#[derive(Debug, Default)]
pub struct Queue {
    heap: BinaryHeap<Entry>,
    serial: u64,
    pulses: usize,
}

impl Queue {
    /// Plans something.
    pub fn plan(&mut self, at_ns: u64, what: Happening) {
        self.serial += 1;
        self.pulses += usize::from(what.is_pulse());
        self.heap.push(Entry { at_ns, serial: self.serial, what });
    }

    /// Takes what happens next, and when.
    pub fn next(&mut self) -> Option<(u64, Happening)> {
        let Entry { at_ns, what, .. } = self.heap.pop()?;
        self.pulses -= usize::from(what.is_pulse());
        Some((at_ns, what))
    }

    /// When something happens next.
    pub fn next_at(&self) -> Option<u64> {
        self.heap.peek().map(|entry| entry.at_ns)
    }

    /// Whether nothing but pulses is going to happen.
    pub fn is_quiet(&self) -> bool {
        self.heap.len() == self.pulses
    }
}
