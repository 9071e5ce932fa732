//! The native half of the Python package: conversions only.

use pyo3::prelude::*;

#[pymodule]
mod _native {}
