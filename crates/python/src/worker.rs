//! The process of a worker.
use pyo3::prelude::*;
#[pyfunction]
pub fn run_worker() {}
