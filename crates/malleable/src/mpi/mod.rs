//! MPI, as far as a resize needs it: a trait, and the library that the program has loaded.

mod library;
mod waiting;

use crate::error::Result;
use std::ffi::CString;

pub use freestone_mpi::Handle;
pub use library::Library;
pub use waiting::{Deadline, guarded, wait};

/// A program to start.
#[derive(Clone, Debug)]
pub struct Command {
    /// Its path.
    pub program: CString,
    /// Its arguments.
    pub arguments: Vec<CString>,
    /// Its working folder.
    pub folder: CString,
}

/// What a resize needs of MPI. Handles are those of the library.
pub trait Mpi: Send {
    /// This process's rank in a communicator.
    ///
    /// # Errors
    ///
    /// What MPI answers; and likewise below.
    fn rank(&self, comm: Handle) -> Result<usize>;
    /// How many ranks a communicator has.
    ///
    /// # Errors
    ///
    /// What MPI answers.
    fn size(&self, comm: Handle) -> Result<usize>;
    /// The communicator of those that have spawned this process, if it was spawned.
    ///
    /// # Errors
    ///
    /// What MPI answers.
    fn parent(&self) -> Result<Option<Handle>>;
    /// Whether the program has ended MPI, after which nothing else may be called.
    fn is_over(&self) -> bool;
    /// A communicator of all that MPI has started together with this process.
    fn world(&self) -> Handle;
    /// Whether it is MPICH itself, whose launcher a guard can take leave of.
    fn has_guards(&self) -> bool;
    /// A communicator of the same ranks; all of them call it.
    ///
    /// # Errors
    ///
    /// What MPI answers.
    fn duplicate(&self, comm: Handle) -> Result<Handle>;
    /// A communicator of those who give a key, in the order of the keys; all ranks call it.
    ///
    /// # Errors
    ///
    /// What MPI answers.
    fn split(&self, comm: Handle, key: Option<usize>) -> Result<Option<Handle>>;
    /// Gives a communicator back; all ranks call it.
    ///
    /// # Errors
    ///
    /// What MPI answers.
    fn free(&self, comm: Handle) -> Result<()>;
    /// Starts processes; all ranks call it. What it returns has them on its other side.
    ///
    /// # Errors
    ///
    /// What MPI answers.
    fn spawn(&self, comm: Handle, command: &Command, count: usize) -> Result<Handle>;
    /// One communicator of both sides; those that say `high` come last.
    ///
    /// # Errors
    ///
    /// What MPI answers.
    fn merge(&self, sides: Handle, high: bool) -> Result<Handle>;
    /// Begins to send.
    ///
    /// # Safety
    ///
    /// The bytes stay until the request is done.
    ///
    /// # Errors
    ///
    /// What MPI answers.
    unsafe fn send(
        &self,
        comm: Handle,
        to: usize,
        tag: i32,
        bytes: *const u8,
        nbytes: usize,
    ) -> Result<Handle>;
    /// Begins to receive.
    ///
    /// # Safety
    ///
    /// The bytes stay, and nobody uses them until the request is done.
    ///
    /// # Errors
    ///
    /// What MPI answers.
    unsafe fn receive(
        &self,
        comm: Handle,
        from: usize,
        tag: i32,
        bytes: *mut u8,
        nbytes: usize,
    ) -> Result<Handle>;
    /// Whether a message has come that can be received, from one rank or any.
    ///
    /// # Errors
    ///
    /// What MPI answers.
    fn has_message(&self, comm: Handle, from: Option<usize>, tag: i32) -> Result<bool>;
    /// Begins to find the largest of each number of all ranks.
    ///
    /// # Safety
    ///
    /// The numbers stay, and nobody uses `into` until the request is done.
    ///
    /// # Errors
    ///
    /// What MPI answers.
    unsafe fn largest(
        &self,
        comm: Handle,
        own: *const i64,
        into: *mut i64,
        count: usize,
    ) -> Result<Handle>;
    /// Begins to copy the bytes of one rank to all.
    ///
    /// # Safety
    ///
    /// As for [`Self::receive`].
    ///
    /// # Errors
    ///
    /// What MPI answers.
    unsafe fn broadcast(
        &self,
        comm: Handle,
        root: usize,
        bytes: *mut u8,
        nbytes: usize,
    ) -> Result<Handle>;
    /// Begins to wait for all ranks.
    ///
    /// # Errors
    ///
    /// What MPI answers.
    fn barrier(&self, comm: Handle) -> Result<Handle>;
    /// Whether a request is done; it is given back then.
    ///
    /// # Errors
    ///
    /// What MPI answers.
    fn test(&self, request: &mut Handle) -> Result<bool>;
}
