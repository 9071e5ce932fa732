//! What still waits, and why.

use super::Matcher;
use super::queues::Arrived;
use super::request::Request;
use crate::event::{Dependency, Event, EventId, Lasting, Rank};
use std::collections::BTreeMap;
use std::fmt;

/// A task that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting<T> {
    /// The task.
    pub task: T,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Whether it is persistent, so that a run may end without it.
    pub persistent: bool,
    /// What it still lacks.
    pub lacks: Vec<Dependency>,
    /// How many events it holds.
    pub holds: usize,
}

/// Events of one identifier from one rank that nothing has consumed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leftover {
    /// From whom.
    pub source: Rank,
    /// The identifier's bytes.
    pub id: Vec<u8>,
    /// How many.
    pub count: usize,
}

impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = EventId::new(&self.id);
        let times = if self.count == 1 { String::new() } else { format!(", {} times", self.count) };
        write!(f, "'{id}' from rank {}{times}", self.source)
    }
}

impl<T: Clone, P: Clone> Matcher<T, P> {
    /// The tasks that wait, in the order in which they were submitted.
    pub fn waiting(&self) -> Vec<Waiting<T>> {
        let mut requests: Vec<_> = self.requests.iter().map(|(_, request)| request).collect();
        requests.sort_by_key(|request| request.order);
        requests.into_iter().map(describe).collect()
    }

    /// Events that a run has to see consumed and that no task has taken.
    pub fn unconsumed(&self) -> Vec<Leftover> {
        count(self.queues.events().filter(|event| event.lasting == Lasting::Once))
    }

    /// Events that persistent tasks hold and for which the others never came. A run may end with
    /// them; it should not be silent about them. `counts` chooses among them by what they carry.
    pub fn held(&self, counts: impl Fn(&P) -> bool) -> Vec<Leftover> {
        let persistent = self.requests.iter().filter(|(_, request)| request.mode.persistent);
        let held = persistent.flat_map(|(_, request)| held(request)).map(|arrived| &arrived.event);
        count(held.filter(|event| event.lasting == Lasting::Once && counts(&event.payload)))
    }

    /// How many tasks wait.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Whether no task waits.
    pub fn is_empty(&self) -> bool {
        self.requests.len() == 0
    }

    /// How many events no task has taken.
    pub fn stored(&self) -> usize {
        self.queues.events().count()
    }

    /// How many records are kept: 0, when nothing waits for anything.
    pub fn kept(&self) -> usize {
        self.queues.kept() + self.requests.len() + self.names.len()
    }
}

fn describe<T: Clone, P: Clone>(request: &Request<T, P>) -> Waiting<T> {
    Waiting {
        task: request.task.clone(),
        name: request.name.clone(),
        persistent: request.mode.persistent,
        lacks: request.lacks().cloned().collect(),
        holds: held(request).count(),
    }
}

fn held<T, P>(request: &Request<T, P>) -> impl Iterator<Item = &Arrived<P>> {
    request.slots.iter().flat_map(|slot| &slot.held)
}

fn count<'a, P: 'a>(events: impl Iterator<Item = &'a Event<P>>) -> Vec<Leftover> {
    let mut counts: BTreeMap<(Rank, &[u8]), usize> = BTreeMap::new();
    for event in events {
        *counts.entry((event.source, event.id.as_bytes())).or_default() += 1;
    }
    let leftover =
        |((source, id), count): ((Rank, &[u8]), usize)| Leftover { source, id: id.to_vec(), count };
    counts.into_iter().map(leftover).collect()
}
