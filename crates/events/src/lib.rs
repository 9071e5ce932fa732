//! SPMD programs as tasks driven by events.
//!
//! A program runs as several *ranks*. Each submits *tasks* that depend on *events*, and fires
//! events at ranks; a task runs once all its events are there. [`matching`], [`locks`] and
//! [`termination`] say what happens, as state machines without I/O; [`transport`] carries events; a
//! [`Rank`] is all of that with threads.

pub mod bridge;
pub mod cores;
pub mod error;
pub mod event;
pub mod limits;
pub mod locks;
pub mod matching;
pub mod payload;
pub mod rank;
pub mod termination;
pub mod transport;

mod pieces;
mod saying;
mod sync;

pub use freestone_tls::{Access, AccessError, Identity};

pub use bridge::Bridge;
pub use error::{EventsError, Failure};
pub use event::{Dependency, Event, EventId, Lasting, Source};
pub use payload::{Data, Payload};
pub use rank::{Config, Host, Progress, Rank, Submit, Target};
pub use saying::say;
