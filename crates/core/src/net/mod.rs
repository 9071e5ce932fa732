//! The shells: sockets, processes and threads that carry out what the state machines decide.
//!
//! - [`poller`]: waiting that spins for a moment before it blocks.
//! - [`stream`], [`tls`], [`access`], [`listener`]: unix sockets, and TLS for everything else.
//! - [`connection`]: frames over a stream, without blocking.
//! - [`worker`]: the process of a worker; [`executors`], [`fork_server`], [`children`], [`grants`], [`transfer`], [`idle`],
//!   [`pool`], [`prints`], [`signals`], [`scratch`]: what it is made of.
//! - [`manager`]: the manager's thread, with [`records`]; [`client`], [`cell`]: how its program
//!   talks to it, and [`remote`]: how another one does; [`CurrentHome`]: whose cache it shares.
//!
//! See docs/decisions/001-one-poll-loop-thread-per-process-no-asynchronous-runtime.md

mod admission;
mod arrivals;
pub mod cell;
pub mod children;
pub mod client;
mod clients;
pub mod clock;
pub mod connection;
pub mod executors;
pub mod fork_server;
pub mod grants;
pub mod held;
mod home;
pub mod idle;
mod journal;
pub mod listener;
pub mod manager;
mod manager_clients;
mod manager_journal;
pub mod poller;
pub mod pool;
pub mod printed;
pub mod prints;
mod prints_budget;
mod rate;
pub mod records;
pub mod remote;
pub mod scratch;
mod seek;
pub mod signals;
pub mod stream;
mod tickets;
pub mod transfer;
mod unix;
pub mod unsent;
pub mod worker;
mod worker_actions;
mod worker_folders;
mod worker_link;
mod worker_manager;
pub mod worker_options;
mod worker_peers;
mod worker_prints;

pub use crate::store::owned::boot_id;
pub use cell::{Cell, Completions};
pub use client::Client;
pub use clock::monotonic_ns;
pub use connection::{Connection, ConnectionError};
pub use freestone_tls::{Access, AccessError, Identity};
pub use home::{CurrentHome, HomeWorker};
pub use poller::{Poller, Waker};
pub use stream::Stream;
pub use worker::run_worker;
pub use worker_options::{WorkerError, WorkerOptions};
