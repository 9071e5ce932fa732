//! What can go wrong in a run.

use crate::event::{Dependency, Rank};
use crate::locks::NotHeld;
use crate::transport::TransportError;
use std::fmt;
use std::time::Duration;

/// What a task failed with, in a form that travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// How `bytes` is to be read: [`Failure::TEXT`], or what the program's language says.
    pub kind: u32,
    /// What it failed with.
    pub bytes: Vec<u8>,
}

impl Failure {
    /// `bytes` is text.
    pub const TEXT: u32 = 0;

    /// A failure that is described by a text.
    pub fn text(text: &str) -> Self {
        Self { kind: Self::TEXT, bytes: text.as_bytes().to_vec() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Self::TEXT => f.write_str(&String::from_utf8_lossy(&self.bytes)),
            kind => write!(f, "{} bytes of kind {kind}", self.bytes.len()),
        }
    }
}

/// What can go wrong in a run.
#[derive(Debug, thiserror::Error)]
pub enum EventsError {
    /// A task or the program failed, and the run ended with it.
    #[error("rank {rank} failed: {failure}")]
    TaskFailed {
        /// Where.
        rank: Rank,
        /// What it failed with.
        failure: Failure,
    },
    /// A rank is gone, and the run ended with it.
    #[error(
        "rank {rank} is lost: it ended before the run did; to go on without it, submit a task \
         that depends on the event 'rank_lost'"
    )]
    RankLost {
        /// Which.
        rank: Rank,
    },
    /// Tasks wait for events that nobody will fire.
    #[error(
        "the run is stuck: every rank is idle and nothing is on its way; fire what is waited \
         for, or consume what is fired\n{report}"
    )]
    Stuck {
        /// What waits on this rank, and for what.
        report: String,
    },
    /// The run is over already.
    #[error("the run is over; submit, fire and wait before the program and all its tasks end")]
    Over,
    /// There is no such rank.
    #[error("there is no rank {rank}; the run has {ranks}, from 0 to {}", ranks - 1)]
    NoSuchRank {
        /// What was asked for.
        rank: Rank,
        /// How many there are.
        ranks: u32,
    },
    /// A task is to wait for many events, and takes one of each dependency.
    #[error(
        "at_least={at_least}: only a greedy task takes all events that are there; make it greedy, or \
         leave at_least out"
    )]
    NotGreedy {
        /// For how many.
        at_least: usize,
    },
    /// A clock would tick too often.
    #[error(
        "an event every {period:?} is too often: at least {limit:?} are possible; give a longer period"
    )]
    ShortPeriod {
        /// What was asked for.
        period: Duration,
        /// The least that is possible.
        limit: Duration,
    },
    /// A task whose result is wanted was removed before it ran.
    #[error(
        "{task} was removed before it ran, so that it has no result; submit it again to run it"
    )]
    Removed {
        /// Which.
        task: String,
    },
    /// An identifier is too long to travel.
    #[error("an event's identifier has {len} bytes; at most {limit} are possible")]
    LongId {
        /// Its length.
        len: usize,
        /// What is possible.
        limit: usize,
    },
    /// An event is larger than what can be sent.
    #[error(
        "the event '{id}' has {nbytes} bytes, and at most {limit} can be sent: {why}; fire it in parts, or \
         fire a file's name"
    )]
    TooLarge {
        /// Its identifier.
        id: String,
        /// Its size in bytes.
        nbytes: usize,
        /// How many are possible.
        limit: usize,
        /// What sets the limit.
        why: &'static str,
    },
    /// Something is not possible inside of a task.
    #[error(
        "{call} was called inside of a task; only the program itself can wait for the end of all tasks"
    )]
    InTask {
        /// What was called.
        call: &'static str,
    },
    /// A wait ended before its events were there; see [`EventsError::timeout`].
    #[error("after {waited:?} there was still no {lacking}; is it fired, at this rank?")]
    Timeout {
        /// What of it had not come.
        lacking: String,
        /// For how long.
        waited: Duration,
    },
    /// A signal came while the program waited.
    #[error("a signal interrupted the wait")]
    Interrupted,
    /// Nobody made room for an event.
    #[error(
        "for {waited:?} rank {target} has had no room for the event '{id}': its tasks are busy, or \
         not as fast as those who fire; give it more workers, or more time (send_timeout_s, \
         FREESTONE_EVENTS_SEND_TIMEOUT_S)"
    )]
    NoRoom {
        /// Its identifier.
        id: String,
        /// For whom the event was.
        target: Rank,
        /// For how long it waited.
        waited: Duration,
    },
    /// A lock was let go by who does not hold it.
    #[error(transparent)]
    NotHeld(#[from] NotHeld),
    /// Events cannot be sent or received.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// A descriptor is not open.
    #[error("descriptor {fd} is not open; watch it before it is closed")]
    NoDescriptor {
        /// Which.
        fd: i32,
    },
    /// A thread could not be started.
    #[error("another worker could not be started: {0}")]
    NoThread(std::io::Error),
}

impl EventsError {
    /// A wait ended after `waited`, and these had not come.
    pub fn timeout(lacks: &[Dependency], waited: Duration) -> Self {
        let lacking = lacks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        Self::Timeout { lacking, waited }
    }
}
