//! Bytes read and written so far.

use freestone_io::meter;
use pyo3::prelude::*;

/// Adds bytes that Python has read and written.
#[pyfunction]
#[pyo3(signature = (*, read = 0, written = 0))]
pub fn io_count(read: u64, written: u64) {
    meter::count(read, written);
}

/// Bytes that this process has read and written.
#[pyfunction]
pub fn io_moved() -> (u64, u64) {
    meter::moved()
}
