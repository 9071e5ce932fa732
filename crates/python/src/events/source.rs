//! Where in the user's source a call comes from.

use freestone_events::rank::SourceLine;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;

/// The line that this thread is at, of the innermost function that is none of freestone's; none if
/// there is no such function.
///
/// Found when somebody calls, not when people ask: who asks may hold what a thread that holds the
/// interpreter's lock waits for.
pub fn caller(py: Python<'_>) -> Option<SourceLine> {
    // What can't be found out of a frame is not worth an error: it is for reports.
    find(py).ok().flatten()
}

fn find(py: Python<'_>) -> PyResult<Option<SourceLine>> {
    let package = package(py)?;
    let mut frame = current(py);
    while let Some(here) = frame {
        let code = here.getattr(intern!(py, "f_code"))?;
        let file = code.getattr(intern!(py, "co_filename"))?;
        let file = file.cast::<PyString>()?.to_string_lossy();
        if !file.starts_with(package) {
            let line = here.getattr(intern!(py, "f_lineno"))?.extract()?;
            return Ok(Some(SourceLine { file: file.as_ref().into(), line }));
        }
        frame = Some(here.getattr(intern!(py, "f_back"))?).filter(|back| !back.is_none());
    }
    Ok(None)
}

/// The innermost frame of Python of this thread.
fn current(py: Python<'_>) -> Option<Bound<'_, PyAny>> {
    // SAFETY: attached; the frame is borrowed, and this takes a reference of its own.
    unsafe { Bound::from_borrowed_ptr_or_opt(py, pyo3::ffi::PyEval_GetFrame().cast()) }
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
