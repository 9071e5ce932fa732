//! What is wrong with a file, as a Python exception.

use freestone_io::IoError;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::io;

/// The exception for an error: the operating system's as it is, all others as `FormatError`.
pub fn raised(error: IoError) -> PyErr {
    match error {
        IoError::Io(source) => source
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<PyErr>())
            .map_or_else(|| os_error(&source), |inner| Python::attach(|py| inner.clone_ref(py))),
        other => Python::attach(|py| {
            let row = other.row().map(|row| row + 1);
            let column = other.column().map(|column| column + 1);
            let made = py
                .import("freestone.errors.failures")
                .and_then(|module| module.getattr("bad_format"))
                .and_then(|maker| maker.call1((other.to_string(), row, column)));
            made.map_or_else(|error| error, PyErr::from_value)
        }),
    }
}

/// What the operating system says.
fn os_error(error: &io::Error) -> PyErr {
    match error.raw_os_error() {
        Some(code) => PyOSError::new_err((code, error.to_string())),
        None => PyOSError::new_err(error.to_string()),
    }
}
