//! The manager: the graph, placement and recovery, as a state machine without I/O.

pub mod api;
pub mod simulate;

pub use api::*;
