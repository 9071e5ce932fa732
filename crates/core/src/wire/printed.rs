//! What tasks print, on its way to the program that submitted them.

use super::payload::Payload;
use freestone_base::{Name, TaskId, WorkerId};
use serde::{Deserialize, Serialize};

/// What a piece is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
    /// The samples of where a call spent its time, as its interpreter encodes them; no text.
    Profile,
}

/// A piece of what an executor printed: whole lines, unless they are long or the call has ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Printed {
    /// The task whose call ran; none if none did, or if it has been reported already.
    pub task: Option<TaskId>,
    /// Where it was written to.
    pub stream: Stream,
    /// The bytes.
    pub text: Payload,
    /// How many bytes before them were left out, since it were too many.
    pub left_out: u64,
}

/// The same for the program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PrintedOf {
    /// The first output of the task.
    pub name: Option<Name>,
    /// The name of its function, for people.
    pub label: String,
    /// Where it ran.
    pub worker: WorkerId,
    /// Whether no program that is connected waits for it: the others are told themselves, and the
    /// manager's own program learns of it for who watches the cluster.
    pub is_own: bool,
    /// What it printed.
    pub printed: Printed,
}
