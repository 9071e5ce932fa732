//! What workers run.

use super::Rank;
use super::body::OnceBody;
use super::waiter::Waiter;
use crate::error::Failure;
use crate::matching::Given;
use crate::payload::{Events, Payload};
use crate::sync::lock;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a task returns.
pub type Done = Result<(), Failure>;

pub(super) type ManyBody = Box<dyn Fn(&Rank, Events) -> Done + Send + Sync>;

/// What another language knows of a task: numbers, so that it costs nothing until somebody asks.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    /// Says it for people, with the name that the task was given.
    pub describe: fn(&Code, Option<&str>) -> String,
    /// Where the task's code is.
    pub address: usize,
    /// Where the name of the source's file is, and what is written there; 0 if nobody said so.
    pub file: usize,
    /// See `file`.
    pub text: usize,
    /// The line in the file.
    pub line: u32,
}

/// A line of the user's source.
#[derive(Clone, Debug)]
pub struct SourceLine {
    /// The path of the file, as the language has it.
    pub file: Arc<str>,
    /// From 1.
    pub line: u32,
}

/// By what people know a task.
#[derive(Clone, Debug)]
pub enum Label {
    /// Where it was submitted.
    Place(&'static Location<'static>),
    /// What it was called, and where that was, if that is known.
    Name(Arc<str>, Option<SourceLine>),
    /// Where it is, and what it was called, if it was.
    Code(Code, Option<Arc<str>>),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Place(place) => write!(f, "the task of {}:{}", place.file(), place.line()),
            Self::Name(name, Some(SourceLine { file, line })) => {
                write!(f, "'{name}' ({file}:{line})")
            }
            Self::Name(name, None) => write!(f, "'{name}'"),
            Self::Code(code, name) => f.write_str(&(code.describe)(code, name.as_deref())),
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
    /// For how long it waits for more events, if it takes them in batches.
    pub within: Duration,
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
                Some(body) => body.call(rank, events),
                None => Ok(()),
            },
            Work::Many(body) => body(rank, events),
            Work::Wake(_) => Ok(()),
        }
    }
}
