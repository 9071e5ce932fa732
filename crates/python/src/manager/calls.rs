//! Calls as they are submitted: arguments encoded, large ones made blocks, outputs named.

use super::{Manager, lock};
use crate::encoding::{self, Arguments};
use crate::executor;
use crate::future::{FutureBase, Origin, Reference};
use crate::options::Options;
use crate::pickling;
use freestone_base::{FunctionId, Name};
use freestone_core::manager::{Request, Submission};
use freestone_core::net::Cell;
use freestone_core::wire::{BlockDesc, Keep, MAX_FRAME, Payload};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Arguments that are larger become blocks, which are sent once and not with each call.
const HOIST_NBYTES: usize = 64 << 10;

/// The first batch of a map is small, so that workers begin at once, and each next one larger.
const FIRST_BATCH: usize = 16;
const LARGEST_BATCH: usize = 512;

impl Manager {
    /// A function's number at the manager, its name and its label.
    pub(super) fn function(&self, function: u32) -> PyResult<(FunctionId, Name, Arc<str>)> {
        let functions = lock(&self.functions);
        let known = functions
            .get(function as usize)
            .ok_or_else(|| PyValueError::new_err(format!("there is no function {function}")))?;
        Ok((known.id, known.name, Arc::clone(&known.label)))
    }

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
        function: (FunctionId, Name),
        arguments: Arguments,
        options: &Options,
    ) -> (Submission, SmallVec<[Cell; 1]>) {
        let outputs = self.output_names(function.1, &arguments, options);
        let cells: SmallVec<[Cell; 1]> = outputs.iter().map(|_| Cell::default()).collect();
        let submission = Submission {
            tickets: cells.iter().map(|cell| self.link.client.ticket(cell)).collect(),
            outputs,
            function: function.0,
            arguments: arguments.payload.into(),
            inputs: arguments.inputs.into(),
            options: Arc::clone(&options.call),
            retries: options.retries,
            priority: options.priority,
            tenant: executor::tenant(),
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
        let is_large = arguments.iter().any(|argument| encoding::is_large(&argument, HOIST_NBYTES));
        if !is_large {
            let encoded = encoding::encode_arguments(owner, arguments, keywords)?;
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
        let encoded = encoding::encode_arguments(owner, &arguments, Some(&hoisted))?;
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
        let plain = encoding::encode_arguments(
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

    /// Submits a call for each tuple of arguments; their futures.
    pub(super) fn mapped<'py>(
        &self,
        py: Python<'py>,
        function: u32,
        arguments: &Bound<'py, PyAny>,
        options: &Options,
    ) -> PyResult<Bound<'py, PyList>> {
        let (function, name, label) = self.function(function)?;
        let futures = PyList::empty(py);
        let mut held = Vec::new();
        let mut batch = Vec::with_capacity(FIRST_BATCH);
        let mut full = FIRST_BATCH;
        let mut first_error = None;
        let none = Submission::new(function, Payload::default());
        let mut origin = self.origin(&none, Arc::clone(&label));
        for item in arguments.try_iter()? {
            let encoded = item.and_then(|item| {
                let arguments = item.cast_into::<PyTuple>()?;
                self.encode(py, &label, &arguments, None).map_err(|error| {
                    pickling::refusal(py, "argument", (&arguments, py.None()), &label, &error)
                })
            });
            let encoded = match encoded {
                Ok((encoded, blocks)) => {
                    held.extend(blocks);
                    encoded
                }
                Err(error) => {
                    first_error = Some(error);
                    break;
                }
            };
            let (submission, cells) = self.submission((function, name), encoded, options);
            let cell = cells.into_iter().next().expect("a mapped call has one output");
            if submission.inputs != origin.inputs {
                origin = self.origin(&submission, Arc::clone(&label));
            }
            let (name, origin) = (submission.outputs[0], Arc::clone(&origin));
            let arguments = Some(submission.arguments.clone());
            let reference = Reference { name, cell, origin, arguments };
            futures.append(FutureBase::create(self.future.bind(py), reference)?)?;
            batch.push(submission);
            if batch.len() >= full {
                full = (2 * full).min(LARGEST_BATCH);
                let batch = std::mem::replace(&mut batch, Vec::with_capacity(full));
                self.link.client.request(Request::Submit(batch));
            }
        }
        self.link.client.request(Request::Submit(batch));
        first_error.map_or(Ok(futures), Err)
    }

    /// The future of a block that no call of this program makes.
    pub(super) fn future<'py>(
        &self,
        py: Python<'py>,
        name: Name,
        label: Arc<str>,
        cell: Cell,
    ) -> PyResult<Bound<'py, PyAny>> {
        let link = Arc::clone(&self.link);
        let (function, inputs) = (None, SmallVec::new());
        let origin = Arc::new(Origin { label, link, function, inputs });
        let reference = Reference { name, cell, origin, arguments: None };
        FutureBase::create(self.future.bind(py), reference)
    }

    /// What futures remember of the call that makes them, besides its arguments.
    pub(super) fn origin(&self, submission: &Submission, label: Arc<str>) -> Arc<Origin> {
        Arc::new(Origin {
            label,
            link: Arc::clone(&self.link),
            function: Some(submission.function),
            inputs: submission.inputs.clone(),
        })
    }

    /// A file in the home's cache, or of the user's, becomes a block.
    pub(super) fn adopted<'py>(
        &self,
        py: Python<'py>,
        block: BlockDesc,
        path: String,
        owned: bool,
        keep: Keep,
        label: Arc<str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let worker = self.link.home()?.worker;
        let name = block.name;
        let cell = self.link.client.ask(|ticket| Request::Put {
            block,
            path,
            owned,
            worker,
            keep,
            ticket,
        });
        self.future(py, name, label, cell)
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
