//! The records of a trace, and their fields, whatever they are written into.

use super::clock::Now;
use crate::wire::{Spent, WorkerStatus};
use freestone_base::{Name, TaskId, WorkerId};
use std::fmt::{self, Display};

/// For the trace: something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// An attempt at a task ended.
    Task {
        /// The function's name.
        label: String,
        /// The output.
        name: Name,
        /// The task.
        task: TaskId,
        /// Which attempt.
        attempt: u32,
        /// Where.
        worker: WorkerId,
        /// When it became ready.
        ready_ns: Now,
        /// When it was sent.
        sent_ns: Now,
        /// What it took.
        spent: Spent,
        /// Bytes of its outputs.
        nbytes: u64,
        /// `done`, or what went wrong.
        ended: &'static str,
        /// The blocks that it waited for; of very many, the last.
        inputs: Names,
        /// Its outputs after the first.
        outputs: Names,
    },
    /// A block went from one worker to another.
    Transfer {
        /// The block.
        name: Name,
        /// From.
        source: WorkerId,
        /// To.
        target: WorkerId,
        /// Bytes.
        nbytes: u64,
        /// When it ended.
        end_ns: Now,
        /// How long it took.
        duration_ns: u64,
    },
    /// A worker joined.
    Joined {
        /// Which.
        worker: WorkerId,
        /// When.
        at_ns: Now,
        /// How many calls it runs at once.
        slots: u32,
    },
    /// A worker left.
    Left {
        /// Which.
        worker: WorkerId,
        /// When.
        at_ns: Now,
    },
    /// A worker's cache.
    Cache {
        /// Which worker.
        worker: WorkerId,
        /// When.
        at_ns: Now,
        /// Its figures.
        status: WorkerStatus,
    },
    /// There were never so many bytes of a function's outputs at workers at once.
    Peak {
        /// The function's name.
        label: String,
        /// When.
        at_ns: Now,
        /// How many, each block counted once.
        nbytes: u64,
    },
}

/// Names of blocks, in one text with spaces between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names(Box<[Name]>);

impl Names {
    /// So many fit into a text of 32 KiB: a column of 65,536 such texts has less than 2 GiB.
    pub const MAX: usize = 990;
}

impl FromIterator<Name> for Names {
    fn from_iter<I: IntoIterator<Item = Name>>(names: I) -> Self {
        let mut names: Vec<Name> = names.into_iter().collect();
        names.drain(..names.len().saturating_sub(Self::MAX));
        Self(names.into())
    }
}

impl Display for Names {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, name) in self.0.iter().enumerate() {
            let space = if place == 0 { "" } else { " " };
            write!(formatter, "{space}{name}")?;
        }
        Ok(())
    }
}

/// What takes the fields of a record.
pub trait Fields {
    /// What can go wrong.
    type Error;

    /// Takes a word.
    ///
    /// # Errors
    ///
    /// Its own.
    fn text(&mut self, field: &'static str, value: impl Display) -> Result<(), Self::Error>;

    /// Takes a number.
    ///
    /// # Errors
    ///
    /// Its own.
    fn number(&mut self, field: &'static str, value: u64) -> Result<(), Self::Error>;

    /// Takes names, unless there are none.
    ///
    /// # Errors
    ///
    /// Its own.
    fn names(&mut self, field: &'static str, names: &Names) -> Result<(), Self::Error> {
        if names.0.is_empty() { Ok(()) } else { self.text(field, names) }
    }

    /// Takes several.
    ///
    /// # Errors
    ///
    /// The first one.
    fn numbers(&mut self, values: &[(&'static str, u64)]) -> Result<(), Self::Error> {
        values.iter().try_for_each(|(field, value)| self.number(field, *value))
    }
}

impl Record {
    /// Gives the fields of a record, in the order in which a trace has them.
    ///
    /// # Errors
    ///
    /// The first one of `fields`.
    pub fn write_fields<F: Fields>(&self, fields: &mut F) -> Result<(), F::Error> {
        match self {
            Self::Task {
                label,
                name,
                task,
                attempt,
                worker,
                ready_ns,
                sent_ns,
                spent,
                nbytes,
                ended,
                inputs,
                outputs,
            } => {
                fields.text("kind", "task")?;
                fields.text("label", label)?;
                fields.text("name", name)?;
                fields.text("worker", worker)?;
                fields.text("ended", ended)?;
                fields.names("inputs", inputs)?;
                fields.names("outputs", outputs)?;
                fields.numbers(&[
                    ("task", task.0),
                    ("attempt", u64::from(*attempt)),
                    ("ready_ns", *ready_ns),
                    ("sent_ns", *sent_ns),
                    ("start_ns", spent.start_ns),
                    ("opening_ns", spent.opening_ns),
                    ("duration_ns", spent.duration_ns),
                    ("storing_ns", spent.storing_ns),
                    ("nbytes", *nbytes),
                    ("executor", u64::from(spent.pid)),
                    ("resident_nbytes", spent.resident),
                ])
            }
            Self::Transfer { name, source, target, nbytes, end_ns, duration_ns } => {
                fields.text("kind", "transfer")?;
                fields.text("name", name)?;
                fields.text("source", source)?;
                fields.text("target", target)?;
                fields.numbers(&[
                    ("nbytes", *nbytes),
                    ("end_ns", *end_ns),
                    ("duration_ns", *duration_ns),
                ])
            }
            Self::Joined { worker, at_ns, slots } => {
                fields.text("kind", "joined")?;
                fields.text("worker", worker)?;
                fields.numbers(&[("at_ns", *at_ns), ("slots", u64::from(*slots))])
            }
            Self::Left { worker, at_ns } => {
                fields.text("kind", "left")?;
                fields.text("worker", worker)?;
                fields.number("at_ns", *at_ns)
            }
            Self::Cache { worker, at_ns, status } => {
                fields.text("kind", "cache")?;
                fields.text("worker", worker)?;
                fields.number("at_ns", *at_ns)?;
                status.write_fields(fields)
            }
            Self::Peak { label, at_ns, nbytes } => {
                fields.text("kind", "peak")?;
                fields.text("label", label)?;
                fields.numbers(&[("at_ns", *at_ns), ("nbytes", *nbytes)])
            }
        }
    }
}

impl WorkerStatus {
    /// Gives a worker's figures.
    ///
    /// # Errors
    ///
    /// The first one of `fields`.
    pub fn write_fields<F: Fields>(&self, fields: &mut F) -> Result<(), F::Error> {
        fields.numbers(&[
            ("memory_nbytes", self.memory_nbytes),
            ("memory_quota", self.memory_quota),
            ("disk_nbytes", self.disk_nbytes),
            ("waiting", u64::from(self.waiting)),
            ("running", u64::from(self.running)),
            ("executors_restarted", u64::from(self.executors_restarted)),
            ("sent_nbytes", self.sent_nbytes),
            ("received_nbytes", self.received_nbytes),
        ])
    }
}
