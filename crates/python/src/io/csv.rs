//! Comma-separated values.

use super::buffers::{OwnedBuffer, values, values_mut, with_type};
use super::failing::raised;
use super::source::Input;
use freestone_io::Source;
use freestone_io::csv::format::{self, Style};
use freestone_io::csv::{CHUNK, Index, dense, scan, write_parallel};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::fs::OpenOptions;
use std::path::PathBuf;

/// Where the rows of a file begin.
#[pyclass(frozen, module = "freestone._native.io")]
pub struct CsvIndex {
    /// The index itself.
    pub index: Index,
}

#[pymethods]
impl CsvIndex {
    #[staticmethod]
    fn scan(
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        delimiter: u8,
        threads: usize,
    ) -> PyResult<Self> {
        let input = Input::open(source)?;
        let index = py.detach(|| {
            let count = input.nbytes()?.div_ceil(CHUNK);
            let summaries = scan::scan(&input, delimiter, 0, count, threads)?;
            Index::new(&input, &summaries)
        });
        Ok(Self { index: index.map_err(raised)? })
    }

    #[staticmethod]
    fn decode(bytes: &[u8]) -> Option<Self> {
        Index::decode(bytes).map(|index| Self { index })
    }

    fn encode<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.index.encode())
    }

    #[getter]
    fn nbytes(&self) -> u64 {
        self.index.nbytes
    }

    #[getter]
    fn lines(&self) -> u64 {
        self.index.lines
    }

    #[getter]
    fn kinds(&self) -> u8 {
        self.index.kinds
    }

    #[getter]
    fn blanks(&self) -> u64 {
        self.index.blanks
    }

    fn offset_of(&self, py: Python<'_>, source: &Bound<'_, PyAny>, line: u64) -> PyResult<u64> {
        let input = Input::open(source)?;
        py.detach(|| self.index.offset_of(&input, line)).map_err(raised)
    }
}

/// Reads rows of numbers into an array of shape (rows, columns).
#[pyfunction]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // named in Python
#[pyo3(signature = (source, index, out, *, code, columns, delimiter, skip, start, threads))]
pub fn csv_read_dense(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    index: &CsvIndex,
    out: PyBuffer<u8>,
    code: &str,
    columns: usize,
    delimiter: u8,
    skip: u64,
    start: u64,
    threads: usize,
) -> PyResult<()> {
    let input = Input::open(source)?;
    with_type!(code, T => {
        let target = values_mut::<T>(&out)?;
        py.detach(|| {
            dense::read(&input, &index.index, delimiter, skip, start, target, columns, threads)
        })
        .map_err(raised)
    })
}

/// How rows are written.
pub fn style(delimiter: u8, decimals: Option<usize>, width: Option<usize>) -> PyResult<Style> {
    Style::new(delimiter, decimals, width).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Returns the text of an array of shape (rows, columns), whose first row is number `first`.
#[pyfunction]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // named in Python
#[pyo3(signature = (data, *, code, columns, first = 0, delimiter, decimals = None, width = None))]
pub fn csv_format_dense(
    py: Python<'_>,
    data: PyBuffer<u8>,
    code: &str,
    columns: usize,
    first: u64,
    delimiter: u8,
    decimals: Option<usize>,
    width: Option<usize>,
) -> PyResult<OwnedBuffer> {
    let style = style(delimiter, decimals, width)?;
    with_type!(code, T => {
        let data = values::<T>(&data)?;
        // More than most need; pages that nothing is written to cost nothing.
        let nbytes = data.len().saturating_mul(style.cell_nbytes(20));
        let mut text = Vec::new();
        text.try_reserve(nbytes).map_err(|error| PyMemoryError::new_err(error.to_string()))?;
        py.detach(|| format::dense(data, columns, &style, &mut text))
            .map_err(|error| raised(error.below(first)))?;
        Ok(OwnedBuffer::new(text))
    })
}

/// Writes an array of shape (rows, columns), whose first row is number `first`, into a file from an
/// offset on; the offset behind it.
#[pyfunction]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // named in Python
#[pyo3(signature = (path, offset, data, *, code, columns, first = 0, delimiter, threads, unit = 1,
                    decimals = None, width = None))]
pub fn csv_write_dense(
    py: Python<'_>,
    path: PathBuf,
    offset: u64,
    data: PyBuffer<u8>,
    code: &str,
    columns: usize,
    first: u64,
    delimiter: u8,
    threads: usize,
    unit: u64,
    decimals: Option<usize>,
    width: Option<usize>,
) -> PyResult<u64> {
    let style = style(delimiter, decimals, width)?;
    let file = OpenOptions::new().write(true).open(path)?;
    with_type!(code, T => {
        let data = values::<T>(&data)?;
        let columns = columns.max(1);
        let step = style.rows_of_piece(columns);
        py.detach(|| {
            let rows = data.len() / columns;
            write_parallel(&file, offset, rows, step, threads, unit, |rows, text| {
                let data = &data[rows.start * columns..rows.end * columns];
                format::dense(data, columns, &style, text)
            })
        })
        .map_err(|error| raised(error.below(first)))
    })
}
