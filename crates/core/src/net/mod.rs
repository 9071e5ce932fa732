//! The shells: sockets, processes and threads that carry out what the state machines decide.
//!
//! - [`poller`]: waiting that spins for a moment before it blocks.
//! - [`connection`]: a stream of frames, without blocking.

pub mod connection;
pub mod poller;

pub use connection::{Connection, ConnectionError, Stream};
pub use poller::{Poller, Waker};
