//! Children of an executor, which run one call each.

use crate::executor::{Outputs, Spent};
use crate::meter;
use freestone_core::wire::{CallResult, DISK_EXCEEDED, Frames, TaskFailure};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::io::ErrorKind;

/// The files of a child that made too many are in this executor's folder, which is removed with it.
pub fn leave_with(child: &TaskFailure) {
    if let TaskFailure::Killed { status: Some(DISK_EXCEEDED), .. } = child {
        meter::exit(DISK_EXCEEDED);
    }
}

/// What a child wrote before it ended; how it ended, if it wrote nothing.
pub fn answer_of_child(
    bytes: &[u8],
    status: TaskFailure,
    spent: &mut Spent,
) -> PyResult<Result<Outputs, TaskFailure>> {
    let mut frames = Frames::default();
    frames.extend(bytes);
    match frames.next::<CallResult>() {
        Ok(Some(report)) => {
            *spent = Spent::of(&report);
            Ok(report.result)
        }
        Ok(None) => Ok(Err(status)),
        Err(error) => Err(PyRuntimeError::new_err(error.to_string())),
    }
}

/// Waits for a child to end; how it did.
pub fn wait_for(child: i32) -> TaskFailure {
    let mut status = 0;
    // SAFETY: `status` is valid for writes; `child` is ours and was not waited for before.
    while unsafe { libc::waitpid(child, &raw mut status, 0) } < 0
        && std::io::Error::last_os_error().kind() == ErrorKind::Interrupted
    {}
    if libc::WIFSIGNALED(status) {
        TaskFailure::Killed { signal: Some(libc::WTERMSIG(status)), status: None }
    } else {
        TaskFailure::Killed { signal: None, status: Some(libc::WEXITSTATUS(status)) }
    }
}
