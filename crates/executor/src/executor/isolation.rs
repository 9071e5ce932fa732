//! Calls that run in a process of their own: a forked child, or a new interpreter.

use super::{Attempt, Executor};
use crate::ExecutorError;
use crate::interpreter::{Ended, Interpreter};
use crate::meter::{self, Meter};
use freestone_core::wire::{
    Call, CallResult, DISK_EXCEEDED, Form, Frames, FromExecutor, Isolation, PlacedInput, Spent,
    TaskFailure, ToExecutor, frame,
};
use std::io::{ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::sync::PoisonError;

impl<I: Interpreter> Executor<I> {
    /// Runs a call in a child of this process, which ends with it.
    pub(super) fn run_forked(&mut self, call: &Call, spent: &mut Spent) -> Attempt<I::Error> {
        // Imports are hoisted here, where they stay, and so are inputs: only this process speaks
        // with the worker.
        self.functions.load(&self.interpreter, call.function)?;
        let inputs = match self.open_inputs(call, spent)? {
            Ok(inputs) => inputs,
            Err(failure) => return Ok(Err(failure)),
        };
        // The child, which may wait for others, has nothing to report but that.
        self.report()?;
        let (reader, writer) = std::io::pipe().map_err(ExecutorError::from)?;
        let child = self.interpreter.fork(inputs.first())?;
        if child == 0 {
            drop(reader);
            self.run_in_child(call, inputs, spent, writer);
        }
        drop(writer);
        let (bytes, ended) = self.interpreter.detach(|| wait_for(child, reader))?;
        exit_with(ended);
        Ok(answer_of_child(&bytes, ended, spent)?)
    }

    /// Runs a call in the child that was forked for it, writes the result and ends.
    fn run_in_child(
        &mut self,
        call: &Call,
        inputs: Vec<I::Value>,
        spent: &mut Spent,
        mut writer: PipeWriter,
    ) -> ! {
        self.pid = std::process::id();
        self.outbox.enter_child();
        self.meter = Meter::default();
        let attempt = self.run_with(call, inputs, spent);
        let result = self.described(attempt);
        let report = CallResult { sequence: call.sequence, spent: *spent, result };
        self.outbox.run_endings();
        let is_reported = writer.write_all(&encoded(report)).is_ok();
        self.interpreter.flush();
        // SAFETY: ends the process at once; nothing of the parent's is torn down twice.
        unsafe { libc::_exit(i32::from(!is_reported)) }
    }

    /// Runs a call in a new interpreter: an executor of this executor's.
    pub(super) fn run_separately(
        &mut self,
        mut call: Call,
        spent: &mut Spent,
    ) -> Attempt<I::Error> {
        call.isolation = Isolation::Shared;
        call.sequence = 1;
        let mut messages = vec![self.functions.message(call.function)?];
        for input in &call.inputs {
            if let PlacedInput::Mapped { name, path, form: Form::Group, .. } = input {
                if self.group(*name, path)?.is_none() {
                    return Ok(Err(TaskFailure::InputLost { name: *name }));
                }
                messages.extend(self.groups.message(*name));
            }
        }
        messages.extend([ToExecutor::Calls(vec![call.clone()]), ToExecutor::Shutdown]);
        let mut bytes = Vec::new();
        for message in &messages {
            frame::encode(message, &mut bytes).map_err(ExecutorError::from)?;
        }
        let (answer, ended) = self.interpreter.run_separately(&bytes)?;
        self.report_unmapped(&call);
        let mut frames = Frames::default();
        frames.extend(&answer);
        while let Ok(Some(message)) = frames.next::<FromExecutor>() {
            match message {
                FromExecutor::Profiled { samples, .. } => {
                    self.outbox.report_profile(samples).map_err(ExecutorError::from)?;
                }
                FromExecutor::Results { results, .. } => {
                    if let Some(report) = results.into_iter().next() {
                        *spent = report.spent;
                        return Ok(report.result);
                    }
                }
                _ => {}
            }
        }
        exit_with(ended);
        Ok(Err(killed(ended)))
    }

    /// Reports the blocks of a call as unmapped that another process mapped.
    fn report_unmapped(&self, call: &Call) {
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

/// How a call fails whose process ended without a result.
fn killed(ended: Ended) -> TaskFailure {
    match ended {
        Ended::Signal(signal) => TaskFailure::Killed { signal: Some(signal), status: None },
        Ended::Status(status) => TaskFailure::Killed { signal: None, status: Some(status) },
    }
}

/// Ends this process if a child of it made too many files: they are in this executor's folder, which
/// is removed with it.
fn exit_with(child: Ended) {
    if child == Ended::Status(DISK_EXCEEDED) {
        meter::exit(DISK_EXCEEDED);
    }
}

/// What a child wrote before it ended; how it ended, if it wrote nothing.
fn answer_of_child(
    bytes: &[u8],
    ended: Ended,
    spent: &mut Spent,
) -> Result<Result<super::Outputs, TaskFailure>, ExecutorError> {
    let mut frames = Frames::default();
    frames.extend(bytes);
    match frames.next::<CallResult>()? {
        Some(report) => {
            *spent = report.spent;
            Ok(report.result)
        }
        None => Ok(Err(killed(ended))),
    }
}

/// Reads what a child writes, until it has ended.
fn wait_for(child: i32, mut reader: PipeReader) -> Result<(Vec<u8>, Ended), ExecutorError> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    let mut status = 0;
    // SAFETY: `status` is valid for writes; `child` is ours and was not waited for before.
    while unsafe { libc::waitpid(child, &raw mut status, 0) } < 0
        && std::io::Error::last_os_error().kind() == ErrorKind::Interrupted
    {}
    let ended = if libc::WIFSIGNALED(status) {
        Ended::Signal(libc::WTERMSIG(status))
    } else {
        Ended::Status(libc::WEXITSTATUS(status))
    };
    Ok((bytes, ended))
}
