//! Calls as they are submitted: arguments encoded, large ones made blocks, outputs named.

use super::Manager;
use crate::codec::{self, Arguments};
use crate::future::Call;
use crate::options::Options;
use freestone_base::{FunctionId, Name};
use freestone_core::manager::Submission;
use freestone_core::net::Cell;
use freestone_core::wire::MAX_FRAME;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Arguments that are larger become blocks, which are sent once and not with each call.
const HOIST_NBYTES: usize = 64 << 10;

impl Manager {
    /// The names of a call's outputs: the same call has the same, unless it is not pure.
    fn output_names(
        &self,
        function: Name,
        arguments: &Arguments,
        options: &Options,
    ) -> SmallVec<[Name; 1]> {
        let mut bytes = Vec::with_capacity(arguments.payload.len() + 64);
        if options.pure {
            bytes.extend_from_slice(b"call");
            bytes.extend_from_slice(&function.0);
            bytes.extend_from_slice(&(arguments.payload.len() as u64).to_le_bytes());
            bytes.extend_from_slice(&arguments.payload);
            arguments.inputs.iter().for_each(|input| bytes.extend_from_slice(&input.0));
        } else {
            bytes.extend_from_slice(b"once");
            bytes.extend_from_slice(&self.salt.0);
            let number = self.impure.fetch_add(1, Ordering::Relaxed);
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        (0..options.outputs)
            .map(|index| {
                bytes.push(index as u8);
                Name::of(&bytes)
            })
            .collect()
    }

    /// A call as the manager gets it, and where its outputs will be told.
    pub(super) fn submission(
        &self,
        function: (u32, Name),
        arguments: Arguments,
        options: &Options,
    ) -> (Submission, SmallVec<[Arc<Cell>; 1]>) {
        let outputs = self.output_names(function.1, &arguments, options);
        let cells: SmallVec<[Arc<Cell>; 1]> = outputs.iter().map(|_| Arc::default()).collect();
        let submission = Submission {
            tickets: cells.iter().map(|cell| self.link.client.ticket(cell)).collect(),
            outputs,
            function: FunctionId(function.0),
            arguments: arguments.payload.into(),
            inputs: arguments.inputs.into(),
            options: Arc::clone(&options.call),
            retries: options.retries,
            priority: options.priority,
            worker: options.worker,
            near: options.near,
        };
        (submission, cells)
    }

    /// Encodes a call's arguments. Large ones become blocks first; their futures must be held
    /// until the call is submitted.
    pub(super) fn encode<'py>(
        &self,
        py: Python<'py>,
        label: &str,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Arguments, Vec<Bound<'py, PyAny>>)> {
        let owner = self.link.owner.bind(py);
        let is_large = arguments.iter().any(|argument| codec::is_large(&argument, HOIST_NBYTES));
        if !is_large {
            let encoded = codec::encode_arguments(owner, arguments, keywords)?;
            if encoded.payload.len() <= HOIST_NBYTES {
                return Ok((encoded, Vec::new()));
            }
        }
        let mut held = Vec::new();
        let arguments = arguments
            .iter()
            .map(|argument| self.hoist(py, argument, &mut held))
            .collect::<PyResult<Vec<_>>>()?;
        let arguments = PyTuple::new(py, arguments)?;
        let hoisted = PyDict::new(py);
        for (key, value) in keywords.into_iter().flat_map(PyDictMethods::iter) {
            hoisted.set_item(key, self.hoist(py, value, &mut held)?)?;
        }
        let encoded = codec::encode_arguments(owner, &arguments, Some(&hoisted))?;
        require_sendable(py, "arguments", label, encoded.payload.len())?;
        Ok((encoded, held))
    }

    /// The argument, or the future of the block that it became because it is large.
    fn hoist<'py>(
        &self,
        py: Python<'py>,
        argument: Bound<'py, PyAny>,
        held: &mut Vec<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // Futures inside it belong to the call, so it can't be a block of its own.
        let plain = codec::encode_arguments(
            self.link.owner.bind(py),
            &PyTuple::new(py, [&argument])?,
            None,
        )?;
        if plain.payload.len() <= HOIST_NBYTES || !plain.inputs.is_empty() {
            return Ok(argument);
        }
        let block = self.put(py, &argument, "task", None)?;
        held.push(block.clone());
        Ok(block)
    }
}

/// What else a message holds besides a function or arguments, at most: their label, names, options.
const REST_NBYTES: usize = 1 << 20;

/// Refuses here what no message could carry to a worker.
pub(super) fn require_sendable(
    py: Python<'_>,
    part: &str,
    label: &str,
    nbytes: usize,
) -> PyResult<()> {
    if nbytes <= MAX_FRAME - REST_NBYTES {
        return Ok(());
    }
    let maker = py.import("freestone.errors.failures")?.getattr("too_large")?;
    Err(PyErr::from_value(maker.call1((part, label, nbytes, MAX_FRAME))?))
}

/// What a future remembers of the call that makes it.
pub(super) fn call_of(submission: &Submission) -> Call {
    Call {
        function: submission.function.0,
        arguments: submission.arguments.clone(),
        inputs: submission.inputs.clone(),
    }
}
