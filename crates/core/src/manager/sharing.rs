//! What clients ask about state that they share by name, and the answers.

use freestone_base::{Name, Ticket, WorkerId};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// How many may be in at once: none says that it is a lock, which lets one in.
pub type Limit = Option<NonZeroU32>;

/// What a client asks of state that it shares with others.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SharedRequest {
    /// Of a lock or semaphore.
    Lock(LockRequest),
    /// Of a queue.
    Queue(QueueRequest),
    /// Of a variable.
    Variable(VariableRequest),
    /// An entry ends, whether what it asked for was granted or not: a lock is let go, an item that
    /// was taken goes back to its place in the queue.
    Leave {
        /// The entry.
        hold: u64,
    },
    /// An entry no longer waits: its ticket is resolved with [`Given::Ended`], unless what it asked
    /// for was granted before.
    Withdraw {
        /// The entry.
        hold: u64,
    },
    /// An entry ends, and what it took is done with. Answered by
    /// [`Outcome::Accepted`](crate::manager::Outcome::Accepted): whether it had anything.
    Finish {
        /// The entry.
        hold: u64,
        /// What waits for the answer.
        ticket: Ticket,
    },
}

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

/// A block in a queue or variable. Each counts as a reference to it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Item {
    /// The block.
    pub name: Name,
    /// What made it, for people.
    pub label: String,
}

/// Whose an entry of a queue or variable is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Waiter {
    /// The client's number for this entry.
    pub hold: u64,
    /// Whose it is: a number of the client's, 0 in the manager's own program.
    pub owner: u64,
    /// The worker of the task that waits: its loss ends the entry.
    pub worker: Option<WorkerId>,
    /// What waits for the answer, an [`Outcome::Given`](crate::manager::Outcome::Given).
    pub ticket: Ticket,
}

/// What a client asks of a queue.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum QueueRequest {
    /// Make it, for as long as this entry does not end. Answered by [`Given::Stored`], or
    /// [`Given::Other`] if there is one.
    Open {
        /// Which queue.
        title: String,
        /// How many items it has room for; 0 for any number.
        capacity: u32,
        /// Whose it is.
        by: Waiter,
    },
    /// Append an item once there is room.
    Put {
        /// Which queue; it is made by the first who uses it.
        title: String,
        /// How many items it has room for; 0 for any number. None is for a queue that was opened:
        /// if it is not there, the answer is [`Given::Closed`].
        capacity: Option<u32>,
        /// The item.
        item: Item,
        /// Who waits for room.
        by: Waiter,
    },
    /// Take the first item once there is one.
    Take {
        /// Which queue.
        title: String,
        /// As for `Put`.
        capacity: Option<u32>,
        /// Who waits for an item. The item is its own until the entry ends.
        by: Waiter,
        /// Whether it waits no longer, and is answered by [`Given::Ended`], when its worker is to be
        /// let go.
        moves: bool,
    },
    /// No more is put into it. Answered by [`Given::Stored`], or [`Given::Other`].
    Close {
        /// Which queue.
        title: String,
        /// As for `Put`.
        capacity: Option<u32>,
        /// What waits for the answer.
        ticket: Ticket,
    },
    /// Forget it and its items. Answered by [`Given::Stored`].
    Delete {
        /// Which queue.
        title: String,
        /// What waits for the answer.
        ticket: Ticket,
    },
    /// Answered by [`Given::Count`]: how many items are in it.
    Count {
        /// Which queue.
        title: String,
        /// What waits for the answer.
        ticket: Ticket,
    },
}

/// What a client asks of a variable.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum VariableRequest {
    /// Give it a value. Answered by [`Given::Stored`], or [`Given::Nothing`].
    Set {
        /// Which variable.
        title: String,
        /// The value.
        item: Item,
        /// Only if this is its version, 0 for a variable without a value.
        expected: Option<u64>,
        /// What waits for the answer.
        ticket: Ticket,
    },
    /// Read it: the value stays, for this entry, until the entry ends.
    Get {
        /// Which variable.
        title: String,
        /// Whether to wait until it has a value; else the answer may be [`Given::Nothing`].
        waits: bool,
        /// Who asks.
        by: Waiter,
    },
    /// Take its value away. Answered by [`Given::Stored`], or [`Given::Nothing`] if it had none.
    Delete {
        /// Which variable.
        title: String,
        /// What waits for the answer.
        ticket: Ticket,
    },
}

/// What becomes of who asks something of a queue or variable.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Given {
    /// The item of a queue, or the value of a variable, and its version.
    Item {
        /// Which.
        item: Item,
        /// Grows with each value of the variable, or item of the queue.
        version: u64,
    },
    /// It was put, set, closed or deleted.
    Stored,
    /// The variable has no value, or another version than was expected.
    Nothing,
    /// The queue was closed: there is no room in it, and nothing to take any more.
    Closed,
    /// The entry no longer waits, and has nothing.
    Ended,
    /// The manager does not know of this block.
    Unknown,
    /// The name is a queue's that has room for so many items.
    Other {
        /// How many.
        capacity: u32,
    },
    /// So many items are in the queue.
    Count {
        /// How many.
        items: u64,
    },
}

impl SharedRequest {
    /// What waits for it.
    pub fn ticket(&self) -> Option<Ticket> {
        match self {
            Self::Lock(LockRequest::Enter { ticket, .. } | LockRequest::Await { ticket, .. })
            | Self::Queue(
                QueueRequest::Open { by: Waiter { ticket, .. }, .. }
                | QueueRequest::Put { by: Waiter { ticket, .. }, .. }
                | QueueRequest::Take { by: Waiter { ticket, .. }, .. }
                | QueueRequest::Close { ticket, .. }
                | QueueRequest::Delete { ticket, .. }
                | QueueRequest::Count { ticket, .. },
            )
            | Self::Variable(
                VariableRequest::Get { by: Waiter { ticket, .. }, .. }
                | VariableRequest::Set { ticket, .. }
                | VariableRequest::Delete { ticket, .. },
            )
            | Self::Finish { ticket, .. } => Some(*ticket),
            Self::Leave { .. } | Self::Withdraw { .. } => None,
        }
    }

    /// The worker of the task that asks, if it says so.
    pub fn worker(&self) -> Option<WorkerId> {
        match self {
            Self::Lock(LockRequest::Enter { worker, .. }) => *worker,
            Self::Queue(
                QueueRequest::Open { by, .. }
                | QueueRequest::Put { by, .. }
                | QueueRequest::Take { by, .. },
            )
            | Self::Variable(VariableRequest::Get { by, .. }) => by.worker,
            _ => None,
        }
    }

    /// The worker that what asks this leaves when it is to be let go.
    pub(super) fn moves_from(&self) -> Option<WorkerId> {
        match self {
            Self::Queue(QueueRequest::Take { by, moves: true, .. }) => by.worker,
            _ => None,
        }
    }

    /// The block that is to be kept by what is asked.
    pub(super) fn item(&self) -> Option<&Item> {
        match self {
            Self::Queue(QueueRequest::Put { item, .. })
            | Self::Variable(VariableRequest::Set { item, .. }) => Some(item),
            _ => None,
        }
    }
}
