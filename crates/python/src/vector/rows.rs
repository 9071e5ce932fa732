//! Copies of rows, from Python.

use freestone_vector::kernels::dense::rows::{Rows, copy, triangle};
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

/// Copies one side of the diagonal of a square matrix, with it or, if `inner`, without, and makes all
/// else 0; `shape` is a cell's bytes and how many rows there are.
#[pyfunction]
pub fn copy_triangle(
    py: Python<'_>,
    source: (usize, isize),
    target: (usize, isize),
    shape: (usize, usize),
    lower: bool,
    inner: bool,
    workers: usize,
) {
    let [from, to] = [source, target].map(|(begin, step)| Rows { begin, step });
    // SAFETY: the module's arrays are as it says.
    py.detach(|| unsafe { triangle((from, to), shape.0, shape.1, lower, inner, workers) });
}
