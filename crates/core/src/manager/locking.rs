//! What clients ask about state that they share by name, and the answers.

use freestone_base::{Ticket, WorkerId};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// How many may be in at once: none says that it is a lock, which lets one in.
pub type Limit = Option<NonZeroU32>;

/// What a client asks of a lock or semaphore.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum LockRequest {
    /// Line up, or go in at once. Answered by [`Outcome::Entered`](crate::manager::Outcome::Entered).
    Enter {
        /// Which lock or semaphore; it exists while somebody holds it or waits.
        title: String,
        /// How many it lets in.
        limit: Limit,
        /// The client's number for this entry.
        hold: u64,
        /// Who enters, for people.
        holder: String,
        /// The worker of the task that enters: its loss ends the entry.
        worker: Option<WorkerId>,
        /// What waits for the answer.
        ticket: Ticket,
    },
    /// Answered by [`Outcome::Accepted`](crate::manager::Outcome::Accepted) once the entry is in:
    /// false if it has ended.
    Await {
        /// The entry.
        hold: u64,
        /// What waits for the answer.
        ticket: Ticket,
    },
    /// The entry ends, whether it is in or in line.
    Leave {
        /// The entry.
        hold: u64,
    },
}

/// What becomes of who enters.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Entry {
    /// It is in.
    Granted,
    /// It is in line, behind some of those who are in.
    Queued {
        /// Some of those who are in, for people.
        holders: Vec<String>,
    },
    /// The name is another lock's or semaphore's, which lets so many in.
    Other {
        /// How many.
        limit: Limit,
    },
}
