//! Runs calls in a process of their own, whatever language they are written in.
//!
//! - [`executor`]: the loop that reads calls, runs them and reports their results.
//! - [`interpreter`]: what the loop asks of a language; the binding of each implements it.
//! - [`block`]: blocks of the node's cache as inputs, and outputs as blocks.
//! - [`group`]: values that are made of other blocks of the worker.
//! - [`codec`]: plain values as bytes, for the interpreter to write and read.
//! - [`printing`]: which call printed what.
//! - [`meter`]: what a call takes of memory and disk, and an end to calls that take too much.

pub mod block;
pub mod codec;
pub mod descendants;
pub mod error;
pub mod executor;
pub mod group;
pub mod interpreter;
pub mod memory;
pub mod meter;
pub mod printing;

pub use error::ExecutorError;
pub use executor::{Executor, Options};
pub use interpreter::{Ended, Interpreter, Returned};
