//! Calls that run in a process of their own: a forked child, or a new interpreter.

use super::{Executor, Outputs, describe};
use crate::meter::{self, Meter};
use freestone_core::wire::{
    Call, CallResult, DISK_EXCEEDED, Form, Frames, FromExecutor, Isolation, PlacedInput, Spent,
    TaskFailure, ToExecutor, frame,
};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io::{ErrorKind, Read, Write};
use std::sync::PoisonError;

impl Executor {
    /// Runs a call in a child of this process, which ends with it.
    pub(super) fn run_forked(
        &mut self,
        py: Python<'_>,
        call: &Call,
        spent: &mut Spent,
    ) -> PyResult<Result<Outputs, TaskFailure>> {
        // Imports are hoisted here, where they stay, and so are inputs: only this process speaks
        // with the worker.
        self.load(py, call.function)?;
        let inputs = match self.open_inputs(py, call, spent)? {
            Ok(inputs) => inputs,
            Err(failure) => return Ok(Err(failure)),
        };
        let (mut reader, mut writer) = std::io::pipe().map_err(PyOSError::new_err)?;
        self.hooks.call_method1(py, "before_fork", (inputs.first(),))?;
        let child: i32 = py.import("os")?.getattr("fork")?.call0()?.extract()?;
        if child == 0 {
            drop(reader);
            self.pid = std::process::id();
            self.meter = Meter::default();
            let result = self.run_with(py, call, inputs, spent);
            let result =
                result.unwrap_or_else(|error| Err(describe(py, &self.hooks, &error, true)));
            let report = CallResult { sequence: call.sequence, spent: *spent, result };
            let told = writer.write_all(&encoded(report)).is_ok();
            let _ = self.hooks.call_method0(py, "after_fork");
            // SAFETY: ends the process at once; nothing of the parent's is torn down twice.
            unsafe { libc::_exit(i32::from(!told)) }
        }
        drop(writer);
        let mut bytes = Vec::new();
        py.detach(|| reader.read_to_end(&mut bytes)).map_err(PyOSError::new_err)?;
        let status = py.detach(|| wait_for(child));
        leave_with(&status);
        answer_of_child(&bytes, status, spent)
    }

    /// Runs a call in a new interpreter: an executor of this executor's.
    pub(super) fn run_apart(
        &mut self,
        py: Python<'_>,
        mut call: Call,
        spent: &mut Spent,
    ) -> PyResult<Result<Outputs, TaskFailure>> {
        let function = self
            .functions
            .get(&call.function)
            .ok_or_else(|| PyRuntimeError::new_err(format!("{} was not defined", call.function)))?;
        let define = ToExecutor::Define {
            function: call.function,
            label: function.label.clone(),
            definition: function.definition.clone().into(),
        };
        call.isolation = Isolation::Shared;
        call.sequence = 1;
        let mut bytes = Vec::new();
        let mut messages = vec![define];
        for input in &call.inputs {
            if let PlacedInput::Mapped { name, path, form: Form::Group, .. } = input {
                if self.group(py, *name, path)?.is_none() {
                    return Ok(Err(TaskFailure::InputLost { name: *name }));
                }
                messages.extend(self.groups.told(*name));
            }
        }
        messages.extend([ToExecutor::Calls(vec![call.clone()]), ToExecutor::Shutdown]);
        for message in &messages {
            frame::encode(message, &mut bytes)
                .map_err(|error| PyValueError::new_err(error.to_string()))?;
        }
        let (answer, signal, status): (Vec<u8>, Option<i32>, Option<i32>) =
            self.hooks.call_method1(py, "run_apart", (PyBytes::new(py, &bytes),))?.extract(py)?;
        self.unmap(&call);
        let mut frames = Frames::default();
        frames.extend(&answer);
        while let Ok(Some(message)) = frames.next::<FromExecutor>() {
            if let FromExecutor::Results { results, .. } = message
                && let Some(report) = results.into_iter().next()
            {
                *spent = report.spent;
                return Ok(report.result);
            }
        }
        let why = TaskFailure::Killed { signal, status };
        leave_with(&why);
        Ok(Err(why))
    }

    /// Tells the blocks of a call as unmapped that another process mapped.
    fn unmap(&self, call: &Call) {
        let mut unmapped = self.unmapped.lock().unwrap_or_else(PoisonError::into_inner);
        unmapped.extend(call.inputs.iter().filter_map(|input| match input {
            PlacedInput::Mapped { name, .. } => Some(*name),
            PlacedInput::Inline(_) => None,
        }));
    }
}

/// A child's result as a frame, or that it is too large for one.
fn encoded(report: CallResult) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Err(error) = frame::encode(&report, &mut bytes) {
        // A failure without texts always fits.
        let _ = frame::encode(&report.too_large(error.nbytes()), &mut bytes);
    }
    bytes
}

/// The files of a child that made too many are in this executor's folder, which is removed with it.
fn leave_with(child: &TaskFailure) {
    if let TaskFailure::Killed { status: Some(DISK_EXCEEDED), .. } = child {
        meter::exit(DISK_EXCEEDED);
    }
}

/// What a child wrote before it ended; how it ended, if it wrote nothing.
fn answer_of_child(
    bytes: &[u8],
    status: TaskFailure,
    spent: &mut Spent,
) -> PyResult<Result<Outputs, TaskFailure>> {
    let mut frames = Frames::default();
    frames.extend(bytes);
    match frames.next::<CallResult>() {
        Ok(Some(report)) => {
            *spent = report.spent;
            Ok(report.result)
        }
        Ok(None) => Ok(Err(status)),
        Err(error) => Err(PyRuntimeError::new_err(error.to_string())),
    }
}

fn wait_for(child: i32) -> TaskFailure {
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
