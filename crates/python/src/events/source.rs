//! Where in the user's source a call comes from.

use freestone_events::rank::SourceLine;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Programs that make code as they run would fill the memory with it.
const MAX_LINES: usize = 10_000;

/// The lines of calls that were made before, by the address of the code and the instruction in it.
/// The code is kept, so that no other gets its address.
type Known = HashMap<(usize, i32), (Py<PyAny>, SourceLine)>;

/// The line that a frame is at, of the innermost function that is none of freestone's; none if there
/// is no such function.
///
/// Found when somebody calls, not when people ask: who asks may hold what a thread that holds the
/// interpreter's lock waits for.
pub fn line_of(frame: Option<Bound<'_, PyAny>>) -> Option<SourceLine> {
    // What can't be found out of a frame is not worth an error: it is for reports.
    find(&frame?).ok().flatten()
}

fn find(frame: &Bound<'_, PyAny>) -> PyResult<Option<SourceLine>> {
    static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
    let py = frame.py();
    let code = frame.getattr(intern!(py, "f_code"))?;
    let key = (code.as_ptr().addr(), frame.getattr(intern!(py, "f_lasti"))?.extract()?);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, line)) = known().get_or_insert_default().get(&key) {
        return Ok(Some(line.clone()));
    }
    if let Some(line) = own_line(frame, &code)? {
        let mut known = known();
        let lines = known.get_or_insert_default();
        if lines.len() >= MAX_LINES {
            lines.clear();
        }
        lines.insert(key, (code.unbind(), line.clone()));
        return Ok(Some(line));
    }
    // It is freestone's, which others call from elsewhere.
    let mut outer = frame.getattr(intern!(py, "f_back"))?;
    while !outer.is_none() {
        if let Some(line) = own_line(&outer, &outer.getattr(intern!(py, "f_code"))?)? {
            return Ok(Some(line));
        }
        outer = outer.getattr(intern!(py, "f_back"))?;
    }
    Ok(None)
}

/// The line that a frame is at, unless it is freestone's.
fn own_line(frame: &Bound<'_, PyAny>, code: &Bound<'_, PyAny>) -> PyResult<Option<SourceLine>> {
    let py = frame.py();
    let file = code.getattr(intern!(py, "co_filename"))?;
    let file = file.cast::<PyString>()?.to_string_lossy();
    if file.starts_with(package(py)?) {
        return Ok(None);
    }
    let line = frame.getattr(intern!(py, "f_lineno"))?.extract()?;
    Ok(Some(SourceLine { file: file.as_ref().into(), line }))
}

/// The folder of freestone's files, with a slash at its end.
fn package(py: Python<'_>) -> PyResult<&str> {
    static CELL: PyOnceLock<String> = PyOnceLock::new();
    let find = || {
        let folders: Vec<String> = py.import("freestone")?.getattr("__path__")?.extract()?;
        Ok::<_, PyErr>(format!("{}/", folders.concat()))
    };
    Ok(CELL.get_or_try_init(py, find)?)
}
