//! Ids: small numbers that stand for something within one run.
//!
//! Unlike a [`Name`](crate::Name), an id means nothing outside the run that gave it.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($repr:ty), $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub struct $name(pub $repr);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

id!(
    /// A worker, numbered in the order of joining; never given twice in a run.
    WorkerId(u32), "worker-"
);
id!(
    /// A function that the manager knows, numbered in the order of definition.
    FunctionId(u32), "function-"
);
id!(
    /// A task in the manager's graph: a slot and how often the slot was reused, so that a late
    /// message about a former occupant is told apart.
    TaskId(u64), "task-"
);
id!(
    /// What a client waits for; chosen by the client and handed back when it is resolved.
    Ticket(u64), "ticket-"
);

id!(
    /// Who shares a cluster with others: its calls take turns with theirs. The manager's own program
    /// is 0.
    #[derive(Default)]
    Tenant(u32), "tenant-"
);

impl Ticket {
    /// Set in tickets of clients that are connected to the manager, not part of its program.
    pub const REMOTE: u64 = 1 << 63;
    /// Set in tickets that nobody waits for: they end what kept a detached block.
    pub const DETACHED: u64 = 1 << 62;
    /// What is left for what a client chooses.
    pub const FREE: u64 = Self::DETACHED - 1;

    /// Whether a client waits for it that is connected to the manager.
    pub const fn is_remote(self) -> bool {
        self.0 & Self::REMOTE != 0
    }

    /// Whether nobody waits for it.
    pub const fn is_detached(self) -> bool {
        self.0 & (Self::REMOTE | Self::DETACHED) == Self::DETACHED
    }
}

impl TaskId {
    /// The id of the `generation`-th occupant of `slot`.
    pub const fn new(slot: u32, generation: u32) -> Self {
        Self((generation as u64) << 32 | slot as u64)
    }

    /// The slot in the manager's table.
    pub const fn slot(self) -> usize {
        (self.0 & 0xffff_ffff) as usize
    }

    /// How often the slot had been reused.
    pub const fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}
