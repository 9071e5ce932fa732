//! The shells: sockets, processes and threads that carry out what the state machines decide.
//!
//! - [`poller`]: waiting that spins for a moment before it blocks.
//! - [`connection`]: a stream of frames, without blocking.
//! - [`worker`]: the process of a worker; [`executors`], [`transfer`], [`pool`], [`signals`]: what
//!   it is made of.
//! - [`manager`]: the manager's thread; [`client`], [`cell`]: how a program talks to it.

pub mod cell;
pub mod client;
pub mod clock;
pub mod connection;
pub mod executors;
pub mod manager;
pub mod poller;
pub mod pool;
pub mod signals;
mod tickets;
pub mod transfer;
pub mod worker;
mod worker_actions;
pub mod worker_options;
mod worker_peers;
mod worker_site;

pub use cell::{Cell, Completions};
pub use client::Client;
pub use clock::monotonic_ns;
pub use connection::{Connection, ConnectionError, Stream};
pub use poller::{Poller, Waker};
pub use worker::run_worker;
pub use worker_options::{WorkerError, WorkerOptions};
