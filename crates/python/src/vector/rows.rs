//! Copies of rows, from Python.

use std::ops::Range;

use freestone_vector::kernels::dense::rows::{Rows, copy, triangle};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::arrays::{Array, workers_of};

/// A matrix whose rows have no gaps inside; the rows themselves are anywhere.
struct Matrix {
    rows: Rows,
    count: usize,
    columns: usize,
    size: usize,
}

impl Matrix {
    fn of(array: &Array) -> PyResult<Self> {
        let (buffer, size) = (array.buffer(), array.buffer().item_size());
        let (&[count, columns], &[step, inner]) = (buffer.shape(), buffer.strides()) else {
            let found = buffer.dimensions();
            return Err(PyValueError::new_err(format!(
                "rows are those of a matrix, not {found}-d"
            )));
        };
        let is_even = columns <= 1 || usize::try_from(inner) == Ok(size);
        // Objects have to be counted when they are copied.
        let is_plain = matches!(buffer.format().to_bytes(), [.., last] if *last != b'O')
            && buffer.format().count_bytes() <= 2;
        if !is_even || !is_plain || buffer.suboffsets().is_some() {
            let problem = "rows to copy have gaps, or elements that are no numbers";
            return Err(PyValueError::new_err(problem));
        }
        let begin = array.begin().expose_provenance();
        Ok(Self { rows: Rows { begin, step }, count, columns, size })
    }

    fn row_nbytes(&self) -> usize {
        self.columns * self.size
    }

    /// The addresses from its first byte to its last.
    fn range(&self) -> Range<usize> {
        if self.count == 0 || self.columns == 0 {
            return 0..0;
        }
        let first = self.rows.begin;
        let last = first.wrapping_add_signed(self.rows.step * (self.count.cast_signed() - 1));
        first.min(last)..first.max(last) + self.row_nbytes()
    }
}

/// Two matrices of one shape, of which the second can be written, apart from the first.
fn pair(source: &Array, target: &Array) -> PyResult<(Matrix, Matrix)> {
    target.check_writable()?;
    let (from, to) = (Matrix::of(source)?, Matrix::of(target)?);
    let shape = |matrix: &Matrix| (matrix.count, matrix.columns, matrix.size);
    if shape(&from) != shape(&to) || source.buffer().format() != target.buffer().format() {
        let problem = format!("{:?} are copied into {:?}", shape(&from), shape(&to));
        return Err(PyValueError::new_err(format!(
            "rows, columns and bytes an element: {problem}"
        )));
    }
    let (own, other) = (to.range(), from.range());
    let is_apart = to.count <= 1 || to.rows.step.unsigned_abs() >= to.row_nbytes();
    if !is_apart || (own.start < other.end && other.start < own.end) {
        let problem = "rows to write into share memory with each other, or with those to read";
        return Err(PyValueError::new_err(problem));
    }
    Ok((from, to))
}

/// Copies the rows of a matrix into another one's, on at most so many threads.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as PyO3 extracts it
pub fn copy_rows(py: Python<'_>, source: Array, target: Array, workers: usize) -> PyResult<()> {
    let workers = workers_of(workers)?;
    let (from, to) = pair(&source, &target)?;
    if to.range().is_empty() {
        return Ok(());
    }
    // SAFETY: all rows are there, and apart; the buffers hold them.
    py.detach(|| unsafe { copy(from.rows, to.rows, to.row_nbytes(), to.count, workers) });
    Ok(())
}

/// Copies one side of the diagonal of a square matrix, with it or, if `inner`, without, and makes all
/// else 0.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as PyO3 extracts it
pub fn copy_triangle(
    py: Python<'_>,
    source: Array,
    target: Array,
    lower: bool,
    inner: bool,
    workers: usize,
) -> PyResult<()> {
    let workers = workers_of(workers)?;
    let (from, to) = pair(&source, &target)?;
    if to.count != to.columns {
        let shape = (to.count, to.columns);
        return Err(PyValueError::new_err(format!("a matrix of {shape:?} has no diagonal")));
    }
    if to.range().is_empty() {
        return Ok(());
    }
    let both = (from.rows, to.rows);
    // SAFETY: all rows are there, and apart; the buffers hold them.
    py.detach(|| unsafe { triangle(both, to.size, to.count, lower, inner, workers) });
    Ok(())
}
