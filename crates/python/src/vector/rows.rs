//! Copies of rows, from Python.

use freestone_vector::kernels::dense::rows::{Rows, copy};
use pyo3::prelude::*;

/// Copies so many rows of so many bytes, on at most so many threads.
///
/// Rows are given by the address of the first one and the bytes from one to the next.
#[pyfunction]
pub fn copy_rows(
    py: Python<'_>,
    source: (usize, isize),
    target: (usize, isize),
    nbytes: usize,
    count: usize,
    workers: usize,
) {
    let [from, to] = [source, target].map(|(begin, step)| Rows { begin, step });
    // SAFETY: the module's arrays are as it says.
    py.detach(|| unsafe { copy(from, to, nbytes, count, workers) });
}
