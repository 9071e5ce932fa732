//! How a call is to be run, and what it may take.

use freestone_base::Resources;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How a call is kept apart from others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash, Serialize, Deserialize)]
pub enum Isolation {
    /// In the resident executor.
    #[default]
    Shared,
    /// In a child of an executor whose imports are hoisted.
    Fork,
    /// In a new interpreter.
    Process,
}

/// How long a block outlives its last use.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash, Serialize, Deserialize,
)]
pub enum Keep {
    /// Until no task and no future needs it.
    #[default]
    Task,
    /// Until the cluster is closed.
    Session,
    /// Until its worker ends.
    Worker,
    /// On its node's disk, for later runs.
    Forever,
}

/// How a call is to be run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CallOptions {
    /// What it takes while it runs.
    pub resources: Resources,
    /// How it is kept apart.
    pub isolation: Isolation,
    /// How long its outputs stay.
    pub keep: Keep,
    /// The longest that one attempt may run, in nanoseconds.
    pub timeout_ns: Option<u64>,
    /// How many replicas its outputs should have, if they are no small values.
    pub replicas: u32,
    /// Whether it may run in two places at once.
    pub twice: bool,
    /// Calls of one category take about as much memory; 0 for none.
    pub category: u32,
    /// How many executors it may end before it is refused, if that is more than any call may.
    pub kills: u32,
    /// Whether it fails if it may have begun when the manager's process was killed, as nobody knows
    /// then how far it came; a retry of its own allows it to run again.
    pub once: bool,
    /// By which clients find their calls to cancel them; of no use to a worker.
    pub tag: Option<Arc<str>>,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self {
            resources: Resources::ONE_CORE,
            isolation: Isolation::default(),
            keep: Keep::default(),
            timeout_ns: None,
            replicas: 1,
            twice: true,
            category: 0,
            kills: 0,
            once: false,
            tag: None,
        }
    }
}

impl CallOptions {
    /// What the call may take, if its memory is to be measured.
    pub fn memory_limit(&self) -> Option<u64> {
        match (self.resources.memory, self.category) {
            (0, 0) => None,
            (0, _) => Some(u64::MAX),
            (memory, _) => Some(memory),
        }
    }

    /// Bytes of files that the call may make, if they are to be measured.
    pub fn disk_limit(&self) -> Option<u64> {
        Some(self.resources.disk).filter(|nbytes| *nbytes > 0)
    }
}

/// With this status an executor ends whose call takes more memory than it may.
pub const MEMORY_EXCEEDED: i32 = 86;
/// With this one, whose call leaves more in its folder for temporary files than it may.
pub const DISK_EXCEEDED: i32 = 87;
/// The signal that stops a process whatever it does: it is what ended an executor that was killed since
/// it stayed stopped.
pub const SIGSTOP: i32 = libc::SIGSTOP;
