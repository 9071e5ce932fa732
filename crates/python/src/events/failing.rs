//! Errors of the core as those of Python, and exceptions as failures that travel.

use super::host::PythonHost;
use crate::pickling::cached;
use freestone_events::transport::TransportError;
use freestone_events::{EventsError, Failure};
use pyo3::exceptions::{PyOSError, PyTimeoutError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict};

/// An exception, pickled with where it comes from.
const PICKLED: u32 = 1;

/// The exception for what a transport could not do.
pub fn not_done(error: &TransportError) -> PyErr {
    let key = match error {
        TransportError::Setting { name, .. } => (*name).to_owned(),
        TransportError::Disagreement { setting, .. } => setting.clone(),
        TransportError::OtherVersion { .. } => "version".to_owned(),
        TransportError::BadCommunicator { .. } => "comm".to_owned(),
        TransportError::NotAll { .. } => return PyTimeoutError::new_err(error.to_string()),
        _ => return PyOSError::new_err(error.to_string()),
    };
    let make = |py: Python<'_>| {
        let fields = PyDict::new(py);
        fields.set_item("key", &key)?;
        fields.set_item("origin", &key)?;
        let kind = py.import("freestone.errors")?.getattr("ConfigurationError")?;
        Ok(PyErr::from_value(kind.call((error.to_string(),), Some(&fields))?))
    };
    Python::attach(make).unwrap_or_else(|failed| failed)
}

/// Which of `freestone.errors` an error is.
fn slug(error: &EventsError) -> &'static str {
    match error {
        EventsError::TaskFailed { .. } => "rank-failed",
        EventsError::RankLost { .. } => "rank-lost",
        EventsError::Stuck { .. } => "run-stuck",
        EventsError::Over | EventsError::Interrupted => "run-over",
        EventsError::NoSuchRank { .. }
        | EventsError::NotGreedy { .. }
        | EventsError::LongId { .. }
        | EventsError::ShortPeriod { .. }
        | EventsError::NoDescriptor { .. } => "bad-event",
        EventsError::Removed { .. } => "task-removed",
        EventsError::TooLarge { .. } => "event-too-large",
        EventsError::InTask { .. } => "in-task",
        EventsError::Timeout { .. } | EventsError::NoRoom { .. } => "event-timeout",
        EventsError::NotHeld(_) => "lock-not-held",
        EventsError::Transport(_) | EventsError::NoThread(_) => "transport",
    }
}

/// The exception for an error.
pub fn exception(py: Python<'_>, error: &EventsError, host: &PythonHost) -> PyErr {
    if let (EventsError::Interrupted, Some(signal)) = (error, host.take_signal()) {
        return signal;
    }
    raised(py, error)
}

/// The exception for an error that no signal has caused.
pub fn raised(py: Python<'_>, error: &EventsError) -> PyErr {
    make(py, error).unwrap_or_else(|failed| failed)
}

fn make(py: Python<'_>, error: &EventsError) -> PyResult<PyErr> {
    static REMOTE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static LOCAL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if let EventsError::TaskFailed { rank, failure: Failure { kind: PICKLED, bytes } } = error {
        let decode = cached(py, &REMOTE, "freestone.events.failing", "decode")?;
        return Ok(PyErr::from_value(decode.call1((*rank, PyBytes::new(py, bytes)))?));
    }
    let fields = PyDict::new(py);
    if let EventsError::RankLost { rank } | EventsError::TaskFailed { rank, .. } = error {
        fields.set_item("rank", *rank)?;
    }
    if let EventsError::TooLarge { nbytes, limit, .. } = error {
        fields.set_item("nbytes", *nbytes)?;
        fields.set_item("limit", *limit)?;
    }
    if let EventsError::Stuck { report } = error {
        fields.set_item("report", report)?;
    }
    let make = cached(py, &LOCAL, "freestone.errors.events", "make")?;
    Ok(PyErr::from_value(make.call1((slug(error), error.to_string(), fields))?))
}

/// An exception that a task raised, as what ends the run on all ranks.
pub fn failure(py: Python<'_>, error: &PyErr, label: &str) -> Failure {
    static CELL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let encoded = cached(py, &CELL, "freestone.events.failing", "encode").and_then(|encode| {
        let bytes = encode.call1((error.clone_ref(py).into_value(py), label))?;
        Ok(bytes.cast::<PyBytes>()?.as_bytes().to_vec())
    });
    match encoded {
        Ok(bytes) => Failure { kind: PICKLED, bytes },
        Err(_) => Failure::text(&error.to_string()),
    }
}
