//! What can go wrong in an executor besides its calls.

use freestone_base::FunctionId;
use freestone_core::store::StoreError;
use freestone_core::wire::frame::FrameError;
use std::io;

/// Why an executor can't go on, or can't run a call.
#[derive(Debug, thiserror::Error)]
pub enum ExecutorError {
    /// The connection, a pipe or the shared page failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A message can't be encoded, or is none.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A block can't be opened or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A call of a function that the worker did not send before.
    #[error("{0} was not defined")]
    Undefined(FunctionId),
    /// A function of several outputs that returned something else.
    #[error("the function returned no tuple of {count} values")]
    NoTuple {
        /// How many outputs the call has.
        count: usize,
    },
    /// A group's block that holds no group.
    #[error("{path}: {reason}")]
    NoGroup {
        /// The block's file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The connection ended while an answer was waited for.
    #[error("the worker has ended")]
    WorkerEnded,
}
