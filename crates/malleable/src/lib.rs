//! Resizing a running MPI job, and redistributing its data.
//!
//! [`resize`] says what happens next, as a state machine without I/O; [`blueprint`] which rows move
//! where; [`data`] is what a program registers; [`state`] is a file of all of it; a [`Job`] carries it out with [`mpi`].

pub mod blueprint;
pub mod data;
pub mod error;
pub mod guard;
pub mod job;
pub mod mpi;
pub mod resize;
pub mod state;

pub use blueprint::Method;
pub use data::Kind;
pub use error::{Fault, MalleableError, Result};
pub use job::{Job, Layout, Resize, Role, Settings};
pub use resize::Outcome;
