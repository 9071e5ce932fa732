//! Comma-separated values of several types: frames, and sparse matrices as triples.

use super::buffers::{OwnedBuffer, values, with_type};
use super::csv::{CsvIndex, style};
use super::failing::raised;
use super::source::Input;
use freestone_io::csv::columns::{self, Column, Kind};
use freestone_io::csv::texts::{self, Field, Values};
use freestone_io::csv::triples;
use freestone_io::csv::{Cells, Index, Part, infer, write_parallel};
use freestone_io::{IoError, parallel};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use std::fs::OpenOptions;
use std::path::PathBuf;
use std::sync::Mutex;

/// Bytes that a thread parses before it asks for more.
const PARSED: u64 = 4 << 20;

/// Calls a function with each part of some lines, by threads; the results in the order of the file.
fn each_part<T: Send>(
    input: &Input,
    index: &Index,
    (start, stop): (u64, u64),
    threads: usize,
    function: impl Fn(&Part) -> freestone_io::Result<T> + Sync,
) -> freestone_io::Result<Vec<T>> {
    if start > stop || stop > index.lines {
        let found = index.lines.saturating_sub(start);
        let wanted = stop.saturating_sub(start);
        return Err(IoError::Rows { wanted, found, start: 0, stop: index.nbytes });
    }
    let found: Mutex<Vec<(u64, T)>> = Mutex::new(Vec::new());
    parallel::for_each(index.parts(start, stop, PARSED), threads, |(begin, end)| {
        let part = Part {
            start: index.offset_of(input, begin)?,
            stop: index.offset_of(input, end)?,
            row: begin,
            rows: end - begin,
            quoted: index.is_quoted(),
        };
        let made = function(&part)?;
        if let Ok(mut found) = found.lock() {
            found.push((begin, made));
        }
        Ok(())
    })?;
    let mut found = found.into_inner().unwrap_or_default();
    found.sort_by_key(|(begin, _)| *begin);
    Ok(found.into_iter().map(|(_, made)| made).collect())
}

/// Splits whole rows into the texts of their cells, and whether each stood in quotes.
#[pyfunction]
pub fn csv_cells<'py>(py: Python<'py>, rows: &[u8], delimiter: u8) -> PyResult<Bound<'py, PyList>> {
    let found = PyList::empty(py);
    let mut cells = Cells::new(rows, delimiter);
    let mut row = PyList::empty(py);
    while !cells.is_done() {
        let (cell, is_last) = cells.next_cell().map_err(raised)?;
        row.append((PyBytes::new(py, &cell.text), cell.quoted))?;
        if is_last {
            found.append(std::mem::replace(&mut row, PyList::empty(py)))?;
        }
    }
    Ok(found)
}

/// What the cells of each column are: a union of kinds for each.
#[pyfunction]
#[pyo3(signature = (source, index, *, columns, delimiter, start, stop, threads))]
#[allow(clippy::too_many_arguments)] // named in Python
pub fn csv_infer(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    index: &CsvIndex,
    columns: usize,
    delimiter: u8,
    start: u64,
    stop: u64,
    threads: usize,
) -> PyResult<Vec<u16>> {
    let input = Input::open(source)?;
    if columns as u64 > index.index.nbytes.saturating_add(1) {
        let problem = format!("{} bytes have no {columns} columns", index.index.nbytes);
        return Err(PyValueError::new_err(problem));
    }
    let parts = py
        .detach(|| {
            each_part(&input, &index.index, (start, stop), threads, |part| {
                infer::infer(&input, part, delimiter, columns)
            })
        })
        .map_err(raised)?;
    let mut kinds = vec![0; columns];
    for part in parts {
        kinds.iter_mut().zip(part).for_each(|(all, some)| *all |= u16::from(some));
    }
    Ok(kinds)
}

fn kind_of(code: &str) -> PyResult<Kind> {
    Ok(match code {
        "f8" => Kind::F64,
        "f4" => Kind::F32,
        "i8" => Kind::I64,
        "i4" => Kind::I32,
        "i2" => Kind::I16,
        "i1" => Kind::I8,
        "u8" => Kind::U64,
        "u4" => Kind::U32,
        "u2" => Kind::U16,
        "u1" => Kind::U8,
        "b1" => Kind::Bool,
        "str" => Kind::Text,
        other => return Err(PyValueError::new_err(format!("no column is of the type {other:?}"))),
    })
}

/// A column in the layout of Arrow: data, offsets, validity, and how many values are missing.
type Parts = (OwnedBuffer, OwnedBuffer, OwnedBuffer, usize);

fn given(column: Column) -> Parts {
    let Column { data, offsets, validity, missing } = column;
    (OwnedBuffer::new(data), OwnedBuffer::new(offsets), OwnedBuffer::new(validity), missing)
}

/// Reads rows into columns: for each part of the file its rows and its columns.
#[pyfunction]
#[pyo3(signature = (source, index, *, codes, delimiter, start, stop, threads))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // named in Python
pub fn csv_read_columns(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    index: &CsvIndex,
    codes: Vec<String>,
    delimiter: u8,
    start: u64,
    stop: u64,
    threads: usize,
) -> PyResult<Vec<(u64, Vec<Parts>)>> {
    let input = Input::open(source)?;
    let kinds: Vec<Kind> = codes.iter().map(|code| kind_of(code)).collect::<PyResult<_>>()?;
    let parts = py
        .detach(|| {
            each_part(&input, &index.index, (start, stop), threads, |part| {
                Ok((part.rows, columns::read_part(&input, part, delimiter, &kinds)?))
            })
        })
        .map_err(raised)?;
    let give =
        |(rows, columns): (u64, Vec<Column>)| (rows, columns.into_iter().map(given).collect());
    Ok(parts.into_iter().map(give).collect())
}

/// The bytes of numbers.
pub fn raw<T: super::buffers::Plain>(numbers: &[T]) -> OwnedBuffer {
    let nbytes = size_of_val(numbers);
    // SAFETY: numbers have no padding, and any bytes are bytes.
    let bytes = unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast::<u8>(), nbytes) };
    OwnedBuffer::new(bytes.to_vec())
}

/// Reads lines of row, column and value: three buffers for each part of the file.
#[pyfunction]
#[pyo3(signature = (source, index, *, code, cells, shape, delimiter, start, stop, threads))]
#[allow(clippy::too_many_arguments)] // named in Python
pub fn csv_read_triples(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    index: &CsvIndex,
    code: &str,
    cells: usize,
    shape: (u64, u64),
    delimiter: u8,
    start: u64,
    stop: u64,
    threads: usize,
) -> PyResult<Vec<(OwnedBuffer, OwnedBuffer, OwnedBuffer)>> {
    let input = Input::open(source)?;
    with_type!(code, T => {
        let parts = py.detach(|| {
            each_part(&input, &index.index, (start, stop), threads, |part| {
                triples::read_part::<T, _>(&input, part, delimiter, cells, shape)
            })
        });
        let give = |part: triples::Triples<T>| (raw(&part.rows), raw(&part.columns), raw(&part.values));
        Ok(parts.map_err(raised)?.into_iter().map(give).collect())
    })
}

/// A column as Python gives it: code, values, offsets of texts, validity, and the first bits of
/// values and of validity that belong to a row.
type Given = (String, PyBuffer<u8>, Option<PyBuffer<u8>>, Option<PyBuffer<u8>>, usize, usize);

/// How many rows a column has a value for.
fn rows_of(given: &Given, values: &Values<'_>) -> usize {
    let (code, data, offsets, _, first, _) = given;
    match values {
        Values::Bools(bytes, _) => (8 * bytes.len()).saturating_sub(*first),
        Values::Texts(..) => {
            offsets.as_ref().map_or(0, |offsets| (offsets.len_bytes() / 8).saturating_sub(1))
        }
        Values::Numbers(_) => {
            let size = code.as_bytes().last().map_or(1, |digit| usize::from(digit - b'0'));
            data.len_bytes() / size.max(1)
        }
    }
}

fn field(given: &Given, rows: usize) -> PyResult<Field<'_>> {
    let (code, data, offsets, validity, first, first_valid) = given;
    let validity = validity.as_ref().map(values::<u8>).transpose()?;
    let validity = validity.map(|bytes| (bytes, *first_valid));
    let values = match code.as_str() {
        "b1" => Values::Bools(values::<u8>(data)?, *first),
        "str" => {
            let offsets = offsets.as_ref().ok_or_else(|| PyValueError::new_err("no offsets"))?;
            Values::Texts(values::<u8>(data)?, values::<i64>(offsets)?)
        }
        code => with_type!(code, T => PyResult::Ok(Values::numbers(values::<T>(data)?)))?,
    };
    let found = rows_of(given, &values);
    if found < rows {
        let problem = format!("a column of {code:?} has values for {found} rows, not {rows}");
        return Err(PyValueError::new_err(problem));
    }
    Ok(Field { values, validity })
}

fn fields(given: &[Given], rows: usize) -> PyResult<Vec<Field<'_>>> {
    if given.is_empty() && rows > 0 {
        return Err(PyValueError::new_err(format!("{rows} rows of no columns have no text")));
    }
    given.iter().map(|given| field(given, rows)).collect()
}

/// Returns the text of rows that columns make.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as PyO3 extracts it
#[pyo3(signature = (columns, rows, *, delimiter, decimals = None))]
pub fn csv_format_columns(
    py: Python<'_>,
    columns: Vec<Given>,
    rows: usize,
    delimiter: u8,
    decimals: Option<usize>,
) -> PyResult<OwnedBuffer> {
    let style = style(delimiter, decimals, None)?;
    let fields = fields(&columns, rows)?;
    let mut text = Vec::new();
    py.detach(|| texts::rows(&fields, 0..rows, &style, &mut text));
    Ok(OwnedBuffer::new(text))
}

/// Writes rows that columns make into a file from an offset on; the offset behind them.
#[pyfunction]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // named in Python
#[pyo3(signature = (path, offset, columns, rows, *, delimiter, threads, unit = 1, decimals = None))]
pub fn csv_write_columns(
    py: Python<'_>,
    path: PathBuf,
    offset: u64,
    columns: Vec<Given>,
    rows: usize,
    delimiter: u8,
    threads: usize,
    unit: u64,
    decimals: Option<usize>,
) -> PyResult<u64> {
    let style = style(delimiter, decimals, None)?;
    let file = OpenOptions::new().write(true).open(path)?;
    let fields = fields(&columns, rows)?;
    let step = style.rows_of_piece(fields.len());
    py.detach(|| {
        write_parallel(&file, offset, rows, step, threads, unit, |range, text| {
            texts::rows(&fields, range, &style, text);
            Ok(())
        })
    })
    .map_err(raised)
}
