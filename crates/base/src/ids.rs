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
    /// What a client waits for; chosen by the client and handed back when it is settled.
    Ticket(u64), "ticket-"
);

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
