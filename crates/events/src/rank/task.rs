//! What workers run.

use super::Rank;
use super::waiter::Waiter;
use crate::error::Failure;
use crate::matching::Given;
use crate::payload::{Events, Payload};
use crate::sync::lock;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Mutex};

/// What a task returns.
pub type Done = Result<(), Failure>;

pub(super) type OnceBody = Box<dyn FnOnce(&Rank, Events) -> Done + Send>;
pub(super) type ManyBody = Box<dyn Fn(&Rank, Events) -> Done + Send + Sync>;

/// By what people know a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Label {
    /// Where it was submitted.
    Place(&'static Location<'static>),
    /// What it was called.
    Name(Arc<str>),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Place(place) => write!(f, "the task of {}:{}", place.file(), place.line()),
            Self::Name(name) => write!(f, "'{name}'"),
        }
    }
}

pub(super) enum Work {
    Once(Mutex<Option<OnceBody>>),
    Many(ManyBody),
    /// Nothing is run: somebody goes on.
    Wake(Arc<Waiter>),
}

/// A task that was submitted.
pub(super) struct Task {
    pub label: Label,
    pub work: Work,
}

/// What a worker does next.
pub(super) enum Job {
    /// A task without dependencies.
    Call(OnceBody),
    Run(Arc<Task>, Given<Payload>),
    /// A task that waited goes on, in its own thread.
    Resume(Arc<Waiter>),
}

impl Task {
    pub fn run(&self, rank: &Rank, events: Events) -> Done {
        match &self.work {
            Work::Once(body) => match lock(body).take() {
                Some(body) => body(rank, events),
                None => Ok(()),
            },
            Work::Many(body) => body(rank, events),
            Work::Wake(_) => Ok(()),
        }
    }
}
