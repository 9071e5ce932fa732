//! A job that can be resized, as one of its ranks takes part in it: carries out what the state
//! machine says, with MPI.

mod acting;
mod command;
mod dealing;
mod faults;
mod moving;
mod packed;
mod replacing;
mod replicas;
mod saving;
mod settings;
mod spawning;
mod together;
mod transfer;
#[cfg(test)]
mod transfer_tests;

use crate::blueprint::{Blueprint, Layouts};
use crate::data::{Array, Content, Description, Form, Kind, UserRows, difference, fingerprint};
use crate::error::{Fault, MalleableError, Problem, Result};
use crate::guard;
use crate::mpi::{Handle, Mpi};
use crate::resize::{Machine, Outcome, State};
use settings::{Texts, other_setting};
use spawning::Spawned;
use std::ops::Range;
use transfer::Transfer;

pub use dealing::Layout;
pub use settings::Settings;
pub use spawning::outlive_connecting;

/// What a process is in a resize, or since the last one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Role {
    /// It was there before, and is there afterwards.
    Staying,
    /// It was spawned, and has no rows of its own yet, or has them since the last resize.
    Joining,
    /// It has no rows afterwards.
    Leaving,
}

/// Where a process is in the resize that is to be committed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Resize {
    /// A communicator of all sources, in the order of their ranks, then of all joining ranks.
    pub bridge: Handle,
    /// How many have the data.
    pub sources: usize,
    /// How many shall have it.
    pub targets: usize,
    /// The rank before, if there is one.
    pub old_rank: Option<usize>,
    /// The rank afterwards, if there is one.
    pub new_rank: Option<usize>,
}

/// A job, as one of its ranks takes part in it.
pub struct Job {
    mpi: Box<dyn Mpi>,
    settings: Settings,
    /// The same, as ranks compare them.
    texts: Texts,
    machine: Machine,
    /// What the program uses, and what this crate does.
    comm: Option<Handle>,
    control: Option<Handle>,
    parent: Option<Handle>,
    bridge: Option<Handle>,
    rank: usize,
    size: usize,
    arrays: Vec<Array>,
    layouts: Layouts,
    groups: Vec<u32>,
    blueprint: Option<Blueprint>,
    spawned: Option<Spawned>,
    transfer: Transfer,
    role: Role,
    requested: u64,
    resizes: u64,
    replacements: u64,
    sent_nbytes: u64,
    problem: Option<Problem>,
    /// What the target file had when it was reported that it has no size.
    unread: Option<String>,
    /// Whether rows were replaced since the plan was drawn.
    is_stale: bool,
    cancelled: Option<String>,
    cancelled_size: u64,
    checkpoint: Option<i64>,
    /// Checksums of replicated data, by number, while ranks meet at their first checkpoint.
    values: Vec<u64>,
    /// A call besides checkpoints that all ranks make together, while they meet for it.
    call: Option<String>,
}

impl Job {
    /// A job of the ranks of a communicator, or a rank that such a job has spawned.
    ///
    /// # Errors
    ///
    /// What MPI answers, or if a spawned rank gets no plan.
    pub fn new(mpi: Box<dyn Mpi>, comm: Handle, settings: Settings) -> Result<Self> {
        let (overlapped, has_user_phase) = (settings.is_overlapped, settings.has_user_phase);
        let parent = mpi.parent()?;
        let blueprint = match parent {
            None => None,
            Some(parent) => {
                Some(spawning::receive_blueprint(&*mpi, parent, settings.spawn_timeout)?)
            }
        };
        let machine = match &blueprint {
            None => Machine::new(overlapped, has_user_phase),
            Some(plan) => Machine::joining(plan.step, overlapped, has_user_phase),
        };
        let mut job = Self {
            machine,
            comm: None,
            control: None,
            parent,
            bridge: None,
            rank: 0,
            size: 0,
            arrays: Vec::new(),
            layouts: blueprint.as_ref().map(|plan| plan.before.clone()).unwrap_or_default(),
            groups: Vec::new(),
            role: if blueprint.is_some() { Role::Joining } else { Role::Staying },
            blueprint,
            spawned: None,
            transfer: Transfer::default(),
            requested: 0,
            resizes: 0,
            replacements: 0,
            sent_nbytes: 0,
            problem: None,
            unread: None,
            is_stale: false,
            cancelled: None,
            cancelled_size: 0,
            checkpoint: None,
            values: Vec::new(),
            call: None,
            mpi,
            texts: settings.texts(),
            settings,
        };
        if job.parent.is_none() {
            job.control = Some(job.mpi.duplicate(comm)?);
            job.comm = Some(job.mpi.duplicate(comm)?);
            (job.rank, job.size) = (job.mpi.rank(comm)?, job.mpi.size(comm)?);
            job.groups = vec![0; job.size];
        }
        Ok(job)
    }

    /// Registers rows of the same size in memory of this crate. Those of this rank are zero, and
    /// there are none on joining ranks.
    ///
    /// # Errors
    ///
    /// If the layout does not cover them, there is no memory, or it is too late to register.
    pub fn register_rows(
        &mut self,
        name: &str,
        rows: u64,
        row_nbytes: u64,
        kind: Kind,
    ) -> Result<()> {
        if row_nbytes == 0 {
            let text = format!("{name:?}: rows of 0 bytes are no data: give at least 1");
            return Err(self.refused(MalleableError::BadCall(text)));
        }
        let nbytes = rows.checked_mul(row_nbytes).filter(|nbytes| isize::try_from(*nbytes).is_ok());
        if nbytes.is_none() {
            let text = format!("{name:?}: {rows} rows of {row_nbytes} bytes are too many");
            return Err(self.refused(MalleableError::BadCall(text)));
        }
        let form = Form::Rows { rows, row_nbytes, kind };
        self.register(name, form, Array::rows)
    }

    /// Registers bytes that are the same on all ranks. In each resize all get those of rank 0.
    ///
    /// # Safety
    ///
    /// There are so many bytes, until the job ends.
    ///
    /// # Errors
    ///
    /// If it is too late to register.
    pub unsafe fn register_replicated(
        &mut self,
        name: &str,
        bytes: *mut u8,
        nbytes: u64,
    ) -> Result<()> {
        let content = Content::Replicated(bytes);
        self.register(name, Form::Replicated { nbytes }, |description, held| {
            Ok(Array { description, content, held })
        })
    }

    /// Registers rows that functions of the program pack and unpack.
    ///
    /// # Errors
    ///
    /// If the layout does not cover them, or it is too late to register.
    pub fn register_user(
        &mut self,
        name: &str,
        rows: u64,
        functions: Box<dyn UserRows>,
    ) -> Result<()> {
        let form = Form::User { rows, has_runs: functions.has_runs() };
        self.register(name, form, |description, held| {
            Ok(Array { description, content: Content::User(functions), held })
        })
    }

    fn register(
        &mut self,
        name: &str,
        form: Form,
        make: impl FnOnce(Description, Vec<Range<u64>>) -> Result<Array>,
    ) -> Result<()> {
        let description = Description::new(name, form);
        if self.checkpoint.is_some() {
            return Err(MalleableError::BadCall(format!(
                "{description} is registered after the first checkpoint: register everything before"
            )));
        }
        if self.arrays.iter().any(|array| array.description.name == name) {
            let text = format!("{name:?} is registered already: give each its own name");
            return Err(self.refused(MalleableError::BadCall(text)));
        }
        let held = self.held_at_first(&description).map_err(|error| self.refused(error))?;
        let array = make(description, held).map_err(|error| self.refused(error))?;
        self.arrays.push(array);
        Ok(())
    }

    /// Requires that the program has not ended MPI.
    ///
    /// # Errors
    ///
    /// If it has: a call of MPI would end the process.
    pub fn require_mpi(&self) -> Result<()> {
        if self.mpi.is_over() {
            let text = "MPI_Finalize was called before: make the library's calls before it, and \
                        fsm_finalise last";
            return Err(MalleableError::BadCall(text.to_owned()));
        }
        Ok(())
    }

    /// Keeps an error in registering for the first checkpoint, where all ranks get it. After that
    /// nothing is registered, so that no rank lacks anything.
    pub fn refused(&mut self, error: MalleableError) -> MalleableError {
        if self.checkpoint.is_none() {
            self.problem.get_or_insert(error.problem());
        }
        error
    }

    fn held_at_first(&mut self, description: &Description) -> Result<Vec<Range<u64>>> {
        let (Some(rows), false) = (description.rows(), self.is_joining()) else {
            return Ok(Vec::new());
        };
        let layout = self.layout(description, self.size)?;
        let held = layout.of(self.rank);
        self.layouts.insert(rows, layout);
        Ok(held)
    }

    /// The program is at the head of a step, whose number is the same on all ranks. A joining rank
    /// does not know it yet.
    ///
    /// # Errors
    ///
    /// If the ranks do not agree, or what MPI answers: the job can't go on then.
    pub fn checkpoint(&mut self, step: i64) -> Result<Outcome> {
        // A call that is refused leaves no trace.
        if self.machine.state() != State::UserPhase {
            self.values = self.first_values();
            self.ask_for_target(step);
        }
        let facts = self.facts()?;
        let action = self.machine.on_checkpoint(step, facts);
        let done = self.act(action);
        self.values.clear();
        done
    }

    /// The program has moved what it has not registered.
    ///
    /// # Errors
    ///
    /// As for [`Self::checkpoint`].
    pub fn commit(&mut self) -> Result<Outcome> {
        let action = self.machine.on_commit();
        self.act(action)
    }

    /// The program's loop is over; all ranks that are in it call this.
    ///
    /// # Errors
    ///
    /// As for [`Self::checkpoint`].
    pub fn end(&mut self) -> Result<Outcome> {
        if self.machine.state() == State::Joining {
            let text = "its loop was over before its first checkpoint".to_owned();
            self.problem.get_or_insert(Problem { fault: Fault::Disagreement, text });
        }
        let facts = self.facts()?;
        let action = self.machine.on_end(facts);
        self.act(action)
    }

    /// The process ends, or ends MPI. The others wait for a rank that they have started and that
    /// has not come to its first checkpoint: they are sent word, and it stays until they have it.
    pub fn end_early(&mut self) {
        if self.machine.state() != State::Joining || self.mpi.is_over() {
            return;
        }
        let text = "its program ended before its first checkpoint".to_owned();
        self.problem.get_or_insert(Problem { fault: Fault::Disagreement, text });
        // Nobody is there any more who would look at an error.
        let _ = self.end();
        guard::dismiss();
    }

    /// Asks for a size; that of all ranks that is largest counts.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn request(&mut self, size: i64) -> Result<()> {
        let is_possible = size > 0 && i32::try_from(size).is_ok();
        self.requested = u64::try_from(size).ok().filter(|_| is_possible).ok_or_else(|| {
            MalleableError::BadCall(format!("a job can't have {size} ranks: ask for 1 or more"))
        })?;
        Ok(())
    }

    /// A number that is equal on ranks that have registered the same, with the same settings.
    fn fingerprint(&self) -> i64 {
        fingerprint(&(&self.texts, self.described(), &self.layouts, &self.values))
    }

    fn described(&self) -> Vec<Description> {
        self.arrays.iter().map(|array| array.description.clone()).collect()
    }

    /// In what this joining rank's settings or registrations differ from those of the others.
    fn unlike_others(&self) -> Option<String> {
        let (others, who_has) = (self.blueprint.as_ref()?, "the others have");
        other_setting(&self.texts, &others.settings, who_has)
            .or_else(|| difference(&self.described(), &others.data, who_has))
    }

    /// What the others have registered, as a joining rank knows it, by number.
    pub fn expected(&self, index: usize) -> Option<&Description> {
        self.blueprint.as_ref().filter(|_| self.is_joining())?.data.get(index)
    }

    /// The data of a name.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn array(&self, name: &str) -> Result<&Array> {
        self.arrays.iter().find(|array| array.description.name == name).ok_or_else(|| {
            let names: Vec<_> = self.arrays.iter().map(|array| &array.description.name).collect();
            MalleableError::BadCall(format!("nothing is registered as {name:?}, but {names:?}"))
        })
    }

    /// The rank that has a row of an array, as all ranks know it once they have come to a checkpoint.
    ///
    /// # Errors
    ///
    /// If there is no such array, or it has no such row.
    pub fn rank_of(&self, name: &str, row: u64) -> Result<usize> {
        let description = &self.array(name)?.description;
        let layout = description.deal().and_then(|deal| self.layouts.get(&deal));
        layout.and_then(|layout| layout.place_of(row)).ok_or_else(|| {
            MalleableError::BadCall(format!("{description} has no row {row} on any rank"))
        })
    }

    /// The communicator of the ranks that are in the job; none on a rank that is not.
    pub fn comm(&self) -> Option<Handle> {
        self.comm
    }

    /// The number of this rank.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many ranks there are.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The program's step.
    pub fn step(&self) -> i64 {
        self.machine.step()
    }

    /// How often the job was resized since this rank is in it.
    pub fn resizes(&self) -> u64 {
        self.resizes
    }

    /// How often rows have moved, or were replaced, since this rank is in the job.
    pub fn changes(&self) -> u64 {
        self.resizes + self.replacements
    }

    /// Bytes of rows that this rank has sent in resizes.
    pub fn sent_nbytes(&self) -> u64 {
        self.sent_nbytes
    }

    /// What this process is in the resize that goes on, or was in the last one.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Whether it has been spawned, and has not joined yet.
    pub fn is_joining(&self) -> bool {
        self.machine.is_joining()
    }

    /// Why the last resize was cancelled.
    pub fn cancelled(&self) -> Option<&str> {
        self.cancelled.as_deref()
    }

    /// The resize that is to be committed.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn resize(&self) -> Result<Resize> {
        let (Some(plan), State::UserPhase) = (&self.blueprint, self.machine.state()) else {
            return Err(MalleableError::BadCall(acting::NOTHING_TO_COMMIT.to_owned()));
        };
        let process = self.process()?;
        Ok(Resize {
            bridge: self.bridge()?,
            sources: plan.sources,
            targets: plan.process_of.len(),
            old_rank: (process < plan.sources).then_some(process),
            new_rank: plan.rank_of(process),
        })
    }
}
