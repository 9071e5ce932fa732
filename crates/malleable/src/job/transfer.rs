//! Messages of a resize, as one process sends and receives them.

use super::together::{agree, are_done, late};
use crate::blueprint::Blueprint;
use crate::error::Result;
use crate::mpi::{Deadline, Handle, Mpi, wait};
use std::time::Duration;

/// A look at a request may copy a whole message; the step in between should not notice.
const CHUNK: usize = 32 << 20;

/// Moves the data of one resize.
#[derive(Debug, Default)]
pub struct Transfer {
    messages: Vec<Message>,
    /// Bytes that this process has sent, or is sending.
    pub sent_nbytes: u64,
}

/// A message that is not through yet.
#[derive(Debug)]
struct Message {
    request: Handle,
    /// The process at the other end.
    other: usize,
    sends: bool,
    /// The data of which it carries rows.
    name: String,
}

/// Of which data a message carries rows: its tag, and its name.
pub type Channel<'a> = (i32, &'a str);

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
    /// What users call a process of the bridge.
    fn name_of(self, process: usize) -> String {
        match process.checked_sub(self.blueprint.sources) {
            None => format!("rank {process}"),
            Some(joining) => format!("joining rank {joining}"),
        }
    }

    /// What each process has come by, if all have; else the first one's error on all.
    ///
    /// # Errors
    ///
    /// [`MalleableError::Reported`](crate::MalleableError::Reported), with who has it and at which step; or what MPI answers.
    pub fn agree<T>(self, own: Result<T>, what: &str) -> Result<T> {
        let Self { mpi, bridge, timeout, step, .. } = self;
        let who = |process: usize| self.name_of(process);
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
        (tag, name): Channel<'_>,
        (other, bytes, nbytes): End,
        sends: bool,
    ) -> Result<()> {
        for first in (0..nbytes).step_by(CHUNK) {
            let (bytes, nbytes) = (bytes.wrapping_add(first), CHUNK.min(nbytes - first));
            // SAFETY: as the caller says.
            let request = unsafe {
                if sends {
                    mpi.send(bridge, other, tag, bytes, nbytes)?
                } else {
                    mpi.receive(bridge, other, tag, bytes, nbytes)?
                }
            };
            self.messages.push(Message { request, other, sends, name: name.to_owned() });
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
        are_done(mpi, &mut self.messages, |message| &mut message.request)
    }

    /// Waits until this process has sent and received what was begun.
    ///
    /// # Errors
    ///
    /// If it takes too long, with a rank and its data that are missing, or what MPI answers.
    pub fn finish(&mut self, between: Between<'_>) -> Result<()> {
        let Between { mpi, timeout, .. } = between;
        if wait(Deadline::after(timeout), || self.is_done(mpi))? {
            return Ok(());
        }
        Err(late("moving rows", timeout, self.missing(between)))
    }

    /// What the first message waits for that is not through, and how many others do.
    fn missing(&self, between: Between<'_>) -> String {
        // What is not received says more: small messages count as sent before they are taken.
        let first = self.messages.iter().find(|one| !one.sends).or(self.messages.first());
        let Some(first) = first else { return String::new() };
        let (who, name) = (between.name_of(first.other), &first.name);
        let what = if first.sends { "has not taken" } else { "has not sent" };
        let others = match self.messages.len() - 1 {
            0 => String::new(),
            1 => ", and another message is missing".to_owned(),
            count => format!(", and {count} other messages are missing"),
        };
        format!(
            " at step {}: {who} {what} rows of {name:?}{others} (has it ended, or is it stopped?)",
            between.step
        )
    }
}
