//! Starting ranks, and what their root says to them.

use super::together::are_done;
use crate::blueprint::Blueprint;
use crate::error::{MalleableError, Result};
use crate::guard;
use crate::mpi::{Deadline, Handle, Mpi, wait};
use crate::resize::Word;
use std::time::Duration;

const TAG_LENGTH: i32 = 71;
const TAG_BLUEPRINT: i32 = 72;
const TAG_REPORT: i32 = 73;
const TAG_TEXT: i32 = 74;
const TAG_WORD: i32 = 75;
/// The word that is `Cancel` to who has no guard.
const LEAVE: u8 = 3;

/// Messages that are on their way, with their bytes.
#[derive(Debug, Default)]
struct Outbox(Vec<(Handle, Box<[u8]>)>);

impl Outbox {
    fn send(
        &mut self,
        mpi: &dyn Mpi,
        comm: Handle,
        to: usize,
        tag: i32,
        bytes: &[u8],
    ) -> Result<()> {
        let bytes: Box<[u8]> = bytes.into();
        // SAFETY: the bytes are kept beside the request.
        let request = unsafe { mpi.send(comm, to, tag, bytes.as_ptr(), bytes.len())? };
        self.0.push((request, bytes));
        Ok(())
    }

    /// Lets go of what has been taken.
    fn clear(&mut self, mpi: &dyn Mpi) {
        self.0.retain_mut(|(request, _)| !mpi.test(request).unwrap_or(false));
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        // MPI may read them yet.
        self.0.drain(..).for_each(|(_, bytes)| std::mem::forget(bytes));
    }
}

fn receive(mpi: &dyn Mpi, comm: Handle, from: usize, tag: i32, bytes: &mut [u8]) -> Result<()> {
    // SAFETY: waited for below without end: the message is there, or the job ends with its sender.
    let request = unsafe { mpi.receive(comm, from, tag, bytes.as_mut_ptr(), bytes.len())? };
    let mut requests = vec![request];
    wait(Deadline::after(Duration::MAX), || are_done(mpi, &mut requests, |request| request))
        .map(|_| ())
}

/// Sends bytes with their length before them.
fn send_sized(
    outbox: &mut Outbox,
    mpi: &dyn Mpi,
    comm: Handle,
    to: usize,
    tags: (i32, i32),
    bytes: &[u8],
) -> Result<()> {
    outbox.send(mpi, comm, to, tags.0, &(bytes.len() as u64).to_le_bytes())?;
    outbox.send(mpi, comm, to, tags.1, bytes)
}

fn receive_sized(mpi: &dyn Mpi, comm: Handle, from: usize, tags: (i32, i32)) -> Result<Vec<u8>> {
    let mut length = [0; 8];
    receive(mpi, comm, from, tags.0, &mut length)?;
    let mut bytes = vec![0; u64::from_le_bytes(length) as usize];
    receive(mpi, comm, from, tags.1, &mut bytes)?;
    Ok(bytes)
}

/// Joining ranks, as the sources see them; only the root, rank 0, talks to them.
#[derive(Debug)]
pub struct Spawned {
    /// The sources, and the joining ranks on its other side, if this source could spawn them.
    pub sides: Option<Handle>,
    is_root: bool,
    silent: Vec<usize>,
    /// Why they can't join.
    pub problem: Option<String>,
    deadline: Deadline,
    timeout: Duration,
    outbox: Outbox,
}

impl Spawned {
    /// Sends them the plan, unless a source could not spawn them, which is the `problem` then.
    ///
    /// # Errors
    ///
    /// What MPI answers.
    pub fn new(
        mpi: &dyn Mpi,
        sides: Option<Handle>,
        is_root: bool,
        blueprint: &Blueprint,
        timeout: Duration,
        problem: Option<String>,
    ) -> Result<Self> {
        let silent: Vec<_> = if is_root { (0..blueprint.joining).collect() } else { Vec::new() };
        let mut outbox = Outbox::default();
        let bytes = postcard::to_stdvec(blueprint)?;
        if let Some(sides) = sides {
            for joining in &silent {
                send_sized(&mut outbox, mpi, sides, *joining, (TAG_LENGTH, TAG_BLUEPRINT), &bytes)?;
            }
        }
        let deadline = Deadline::after(timeout);
        Ok(Self { sides, is_root, silent, problem, deadline, timeout, outbox })
    }

    /// Whether the root knows of all of them that they are at their loop, or that one can't join.
    ///
    /// # Errors
    ///
    /// What MPI answers.
    pub fn has_heard(&mut self, mpi: &dyn Mpi) -> Result<bool> {
        self.outbox.clear(mpi);
        let Some(sides) = self.sides else { return Ok(true) };
        let mut silent = Vec::new();
        for joining in std::mem::take(&mut self.silent) {
            if mpi.has_message(sides, Some(joining), TAG_REPORT)? {
                let text = receive_sized(mpi, sides, joining, (TAG_REPORT, TAG_TEXT))?;
                if !text.is_empty() {
                    let text = String::from_utf8_lossy(&text);
                    self.problem.get_or_insert(format!("joining rank {joining}: {text}"));
                }
            } else {
                silent.push(joining);
            }
        }
        self.silent = silent;
        if !self.silent.is_empty() && self.problem.is_none() && self.deadline.is_over() {
            self.problem = Some(format!(
                "joining rank {} has not come to its first checkpoint in {} s (spawn_timeout)",
                self.silent[0],
                self.timeout.as_secs_f64()
            ));
        }
        Ok(self.silent.is_empty() || self.problem.is_some())
    }

    /// Sends a word to all joining ranks.
    ///
    /// # Errors
    ///
    /// What MPI answers.
    pub fn say(&mut self, mpi: &dyn Mpi, word: Word, joining: usize) -> Result<()> {
        self.send(mpi, word as u8, joining)
    }

    /// Sends joining ranks home; at once, if some have not come, for which the others would wait.
    ///
    /// # Errors
    ///
    /// What MPI answers.
    pub fn dismiss(&mut self, mpi: &dyn Mpi, joining: usize) -> Result<()> {
        let word = if self.silent.is_empty() { Word::Cancel as u8 } else { LEAVE };
        self.send(mpi, word, joining)
    }

    fn send(&mut self, mpi: &dyn Mpi, word: u8, joining: usize) -> Result<()> {
        let Some(sides) = self.sides.filter(|_| self.is_root) else { return Ok(()) };
        (0..joining).try_for_each(|to| self.outbox.send(mpi, sides, to, TAG_WORD, &[word]))
    }
}

/// The plan that the root sends to a rank that it has started.
///
/// # Errors
///
/// If it does not come in time, or can't be read.
pub fn receive_blueprint(mpi: &dyn Mpi, parent: Handle, timeout: Duration) -> Result<Blueprint> {
    let is_there = wait(Deadline::after(timeout), || mpi.has_message(parent, Some(0), TAG_LENGTH))?;
    if !is_there {
        return Err(MalleableError::Timeout {
            what: "receiving the plan of the resize".to_owned(),
            timeout_s: timeout.as_secs_f64(),
            missing: ": was this process spawned by a program that does not resize itself?"
                .to_owned(),
        });
    }
    Ok(postcard::from_bytes(&receive_sized(mpi, parent, 0, (TAG_LENGTH, TAG_BLUEPRINT))?)?)
}

/// Waits until all sources have connected to this process, if it was spawned and has no plan yet,
/// which they send then: MPICH crashes in a source that connects to a process that is gone.
pub fn outlive_connecting(mpi: &dyn Mpi, timeout: Duration) {
    if let Ok(Some(parent)) = mpi.parent() {
        // Whether it has come or not, this process ends.
        let _ = wait(Deadline::after(timeout), || mpi.has_message(parent, Some(0), TAG_LENGTH));
    }
}

/// Reports to the root that this joining rank is at its loop, or why it can't join.
///
/// # Errors
///
/// What MPI answers.
pub fn report(mpi: &dyn Mpi, parent: Handle, problem: &str) -> Result<()> {
    let mut outbox = Outbox::default();
    send_sized(&mut outbox, mpi, parent, 0, (TAG_REPORT, TAG_TEXT), problem.as_bytes())
}

/// The root's next word, if it has come.
///
/// # Errors
///
/// What MPI answers.
pub fn heard(mpi: &dyn Mpi, parent: Handle) -> Result<Option<Word>> {
    if !mpi.has_message(parent, Some(0), TAG_WORD)? {
        return Ok(None);
    }
    let mut word = [0];
    receive(mpi, parent, 0, TAG_WORD, &mut word)?;
    if word[0] == LEAVE {
        guard::leave();
    }
    Ok(Some([Word::Go, Word::Switch, Word::Cancel][usize::from(word[0]).min(2)]))
}
