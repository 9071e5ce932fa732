//! Matrix Market.

use super::buffers::{OwnedBuffer, with_type};
use super::failing::raised;
use super::source::Input;
use super::tables::raw;
use freestone_io::mtx::{Entries, Entry, line_from, read_part};
use freestone_io::{Source, parallel};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::Mutex;

/// Bytes that a thread parses before it asks for more.
const PARSED: u64 = 4 << 20;

/// Reads the lines between two offsets: rows, columns and values of each part of the file.
#[pyfunction]
#[pyo3(signature = (source, start, stop, *, code, positions, values, shape, threads))]
#[allow(clippy::too_many_arguments)] // named in Python
pub fn mtx_read(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    start: u64,
    stop: u64,
    code: &str,
    positions: bool,
    values: usize,
    shape: (u64, u64),
    threads: usize,
) -> PyResult<Vec<(OwnedBuffer, OwnedBuffer, OwnedBuffer)>> {
    let input = Input::open(source)?;
    let nbytes = py.detach(|| input.nbytes())?;
    if stop > nbytes {
        let problem = format!("lines end at byte {stop} of a file of {nbytes} bytes");
        return Err(PyValueError::new_err(problem));
    }
    let entry = Entry { positions, values, shape };
    with_type!(code, T => {
        let parts: Mutex<Vec<(u64, Entries<T>)>> = Mutex::new(Vec::new());
        let read = |begin: u64| {
            let end = begin.saturating_add(PARSED).min(stop);
            let first = if begin == start { start } else { line_from(&input, begin, stop)? };
            let last = line_from(&input, end, stop)?;
            let found = read_part::<T, _>(&input, (first, last), &entry)?;
            if let Ok(mut parts) = parts.lock() {
                parts.push((begin, found));
            }
            Ok(())
        };
        let begins = (start..stop).step_by(PARSED as usize).collect();
        py.detach(|| parallel::for_each(begins, threads, read)).map_err(raised)?;
        let mut parts = parts.into_inner().unwrap_or_default();
        parts.sort_by_key(|(begin, _)| *begin);
        let give = |(_, part): (u64, Entries<T>)| (raw(&part.rows), raw(&part.columns), raw(&part.values));
        Ok(parts.into_iter().map(give).collect())
    })
}
