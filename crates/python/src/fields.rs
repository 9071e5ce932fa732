//! What the records of a trace say, field by field.

use freestone_core::manager::Record;
use freestone_core::wire::WorkerStatus;
use std::fmt::Display;

/// What takes the fields of a record.
pub trait Fields {
    /// What can go wrong.
    type Error;

    /// Takes a word.
    fn text(&mut self, field: &'static str, value: impl Display) -> Result<(), Self::Error>;

    /// Takes a number.
    fn number(&mut self, field: &'static str, value: u64) -> Result<(), Self::Error>;

    /// Takes several.
    fn numbers(&mut self, values: &[(&'static str, u64)]) -> Result<(), Self::Error> {
        values.iter().try_for_each(|(field, value)| self.number(field, *value))
    }
}

/// Gives the fields of a record.
pub fn record<F: Fields>(record: &Record, fields: &mut F) -> Result<(), F::Error> {
    match record {
        Record::Task {
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
        } => {
            fields.text("kind", "task")?;
            fields.text("label", label)?;
            fields.text("name", name)?;
            fields.text("worker", worker)?;
            fields.text("ended", ended)?;
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
            ])
        }
        Record::Transfer { name, source, target, nbytes, end_ns, duration_ns } => {
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
        Record::Joined { worker, at_ns, slots } => {
            fields.text("kind", "joined")?;
            fields.text("worker", worker)?;
            fields.numbers(&[("at_ns", *at_ns), ("slots", u64::from(*slots))])
        }
        Record::Left { worker, at_ns } => {
            fields.text("kind", "left")?;
            fields.text("worker", worker)?;
            fields.number("at_ns", *at_ns)
        }
        Record::Cache { worker, at_ns, status: figures } => {
            fields.text("kind", "cache")?;
            fields.text("worker", worker)?;
            fields.number("at_ns", *at_ns)?;
            status(figures, fields)
        }
    }
}

/// Gives a worker's figures.
pub fn status<F: Fields>(status: &WorkerStatus, fields: &mut F) -> Result<(), F::Error> {
    fields.numbers(&[
        ("memory_nbytes", status.memory_nbytes),
        ("memory_quota", status.memory_quota),
        ("disk_nbytes", status.disk_nbytes),
        ("waiting", u64::from(status.waiting)),
        ("running", u64::from(status.running)),
        ("executors_restarted", u64::from(status.executors_restarted)),
        ("sent_nbytes", status.sent_nbytes),
        ("received_nbytes", status.received_nbytes),
    ])
}
