//! The shells: sockets, processes and threads that carry out what the state machines decide.
//!
//! - [`poller`]: waiting that spins for a moment before it blocks.
//! - [`connection`]: a stream of frames, without blocking.
//! - [`manager`]: the manager's thread; [`client`], [`cell`]: how a program talks to it.

pub mod cell;
pub mod client;
pub mod connection;
pub mod manager;
pub mod poller;
mod tickets;

pub use cell::{Cell, Completions};
pub use client::Client;
pub use connection::{Connection, ConnectionError, Stream};
pub use poller::{Poller, Waker};
