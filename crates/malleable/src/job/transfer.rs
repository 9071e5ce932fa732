//! Messages of a resize, as one process sends and receives them.

use super::together::{agree, are_done, finish};
use crate::blueprint::Blueprint;
use crate::error::Result;
use crate::mpi::{Handle, Mpi};
use std::time::Duration;

/// A look at a request may copy a whole message; the step in between should not notice.
const CHUNK: usize = 32 << 20;

/// Moves the data of one resize.
#[derive(Debug, Default)]
pub struct Transfer {
    requests: Vec<Handle>,
    /// Bytes that this process has sent, or is sending.
    pub sent_nbytes: u64,
}

/// One end of a message: who is at the other, and the bytes.
pub type End = (usize, *mut u8, usize);

/// What all steps of a transfer need.
#[derive(Clone, Copy)]
pub struct Between<'a> {
    /// The library.
    pub mpi: &'a dyn Mpi,
    /// Sources and joining ranks.
    pub bridge: Handle,
    /// This process's rank among them.
    pub process: usize,
    /// The plan.
    pub blueprint: &'a Blueprint,
    /// The program's step, as this process knows it.
    pub step: i64,
    /// How long a wait may take.
    pub timeout: Duration,
}

impl Between<'_> {
    /// What each process has come by, if all have; else the first one's error on all.
    ///
    /// # Errors
    ///
    /// [`MalleableError::Reported`](crate::MalleableError::Reported), with who has it and at which step; or what MPI answers.
    pub fn agree<T>(self, own: Result<T>, what: &str) -> Result<T> {
        let Self { mpi, bridge, timeout, step, .. } = self;
        let sources = self.blueprint.sources;
        let who = |process: usize| match process.checked_sub(sources) {
            None => format!("rank {process}"),
            Some(joining) => format!("joining rank {joining}"),
        };
        agree(mpi, bridge, own, step, who, timeout, what)
    }
}

impl Transfer {
    /// Begins to send or receive, in pieces.
    ///
    /// # Safety
    ///
    /// The bytes stay until the requests are done.
    ///
    /// # Errors
    ///
    /// What MPI answers.
    pub unsafe fn post(
        &mut self,
        Between { mpi, bridge, .. }: Between<'_>,
        tag: i32,
        (other, bytes, nbytes): End,
        sends: bool,
    ) -> Result<()> {
        for first in (0..nbytes).step_by(CHUNK) {
            let (bytes, nbytes) = (bytes.wrapping_add(first), CHUNK.min(nbytes - first));
            // SAFETY: as the caller says.
            self.requests.push(unsafe {
                if sends {
                    mpi.send(bridge, other, tag, bytes, nbytes)?
                } else {
                    mpi.receive(bridge, other, tag, bytes, nbytes)?
                }
            });
        }
        if sends {
            self.sent_nbytes += nbytes as u64;
        }
        Ok(())
    }

    /// Whether this process has sent and received what was begun.
    ///
    /// # Errors
    ///
    /// What MPI answers.
    pub fn is_done(&mut self, mpi: &dyn Mpi) -> Result<bool> {
        are_done(mpi, &mut self.requests)
    }

    /// Waits until this process has sent and received what was begun.
    ///
    /// # Errors
    ///
    /// If it takes too long, or what MPI answers.
    pub fn finish(&mut self, between: Between<'_>) -> Result<()> {
        finish(between.mpi, &mut self.requests, between.timeout, "moving rows")
    }
}
