//! What is reported if a kernel of someone else's crashes the process.

use std::sync::{Mutex, PoisonError};

use freestone_vector::crashes::{Note, note};
use pyo3::prelude::*;

/// Has a crash of the process reported with a text, until its `with` block ends.
#[pyclass(frozen, module = "freestone._native.vector")]
pub struct CrashNote {
    note: Mutex<Option<Note>>,
}

#[pymethods]
impl CrashNote {
    #[new]
    fn new(text: &str) -> Self {
        Self { note: Mutex::new(Some(note(text))) }
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __exit__(&self, _kind: Py<PyAny>, _error: Py<PyAny>, _traceback: Py<PyAny>) {
        self.note.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
