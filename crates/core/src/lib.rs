//! The runtime of freestone.
//!
//! - [`wire`]: what manager, workers and executors say to each other, and how it is framed.
//! - [`manager`]: the graph, placement and recovery: a state machine without I/O.
//! - [`session`]: what clients of other processes ask a manager: a state machine without I/O.
//! - [`journal`]: what came to a manager, written down so that another process can go on.
//! - [`worker`]: a node's inputs, executors and cache accounting: a state machine without I/O.
//! - [`store`]: the files of a node's cache.
//! - [`net`]: the shells that carry the state machines' actions out.

pub mod journal;
pub mod manager;
pub mod net;
pub mod session;
pub mod store;
pub mod wire;
pub mod worker;
