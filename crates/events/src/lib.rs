//! SPMD programs as tasks driven by events.
//!
//! A program runs as several *ranks*. Each submits *tasks* that depend on *events*, and fires
//! events at ranks; a task runs once all its events are there. [`matching`], [`locks`] and
//! [`termination`] say what happens, as state machines without I/O.

pub mod event;
pub mod locks;
pub mod matching;
pub mod termination;

pub use event::{Event, EventId};
