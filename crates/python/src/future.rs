//! The base of `freestone.Future`: a reference to a block and the cell that says how it fares.

use crate::link::Link;
use crate::waiting::wait;
use crate::{decoding, figures, pickling};
use freestone_base::{FunctionId, Name};
use freestone_core::manager::{Failure, Outcome, SHOWN_NBYTES, Why};
use freestone_core::net::Cell;
use freestone_core::wire::{Output, Payload, TaskFailure};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyType};
use smallvec::SmallVec;

use std::cell::RefCell;
use std::sync::Arc;

/// A reference to a block; the block is needed for as long as it lives.
///
/// A program may have a million of them: what those of one `map` have in common is in memory once.
pub struct Reference {
    /// The block.
    pub name: Name,
    /// Where its outcome comes.
    pub cell: Cell,
    /// Where it comes from.
    pub origin: Arc<Origin>,
    /// The encoded arguments of the call that makes it, if one does.
    pub arguments: Option<Payload>,
}

/// Where a block comes from.
pub struct Origin {
    /// The function that makes it, for people.
    pub label: Arc<str>,
    /// The cluster that it belongs to.
    pub link: Arc<Link>,
    /// The function's number, if a call makes it.
    pub function: Option<FunctionId>,
    /// The blocks that the call's arguments stand on.
    pub inputs: SmallVec<[Name; 2]>,
}

impl Reference {
    /// The cluster that it belongs to.
    pub fn link(&self) -> &Arc<Link> {
        &self.origin.link
    }

    /// Bytes of the block, if they are known.
    pub fn nbytes(&self) -> Option<u64> {
        let nbytes = self.cell.inspect(|outcome| match outcome {
            Outcome::Ready(Output::Inline(bytes)) => Some(bytes.len() as u64),
            Outcome::Ready(Output::Stored(block)) => Some(block.nbytes),
            _ => None,
        });
        nbytes.flatten()
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        self.link().client.release(self.name);
    }
}

/// What `freestone.Future` stands on. Made by a cluster only.
#[pyclass(subclass, frozen, weakref, module = "freestone._native.manager")]
pub struct FutureBase {
    reference: Option<Reference>,
}

thread_local! {
    /// What the next future is made of. Python makes the object, since its class is Python's, and a
    /// reference that came later would need room for a lock in each.
    static NEXT: RefCell<Option<Reference>> = const { RefCell::new(None) };
}

impl FutureBase {
    /// A new object of `class`, which derives this one.
    pub fn create<'py>(
        class: &Bound<'py, PyType>,
        reference: Reference,
    ) -> PyResult<Bound<'py, PyAny>> {
        NEXT.set(Some(reference));
        let future = class.call0();
        // If no object could be made, nobody has taken it.
        drop(NEXT.take());
        future
    }

    /// What it refers to.
    pub fn reference(&self) -> PyResult<&Reference> {
        self.reference
            .as_ref()
            .ok_or_else(|| PyRuntimeError::new_err("a Future is made by a cluster, not by hand"))
    }
}

fn was_cancelled(failure: &Failure) -> bool {
    matches!(failure.why, Why::Cancelled | Why::Attempt(TaskFailure::Cancelled))
}

#[pymethods]
impl FutureBase {
    #[new]
    #[pyo3(signature = ())]
    fn new() -> Self {
        Self { reference: NEXT.take() }
    }

    /// The name of the block: 32 hex digits.
    #[getter]
    fn name(&self) -> PyResult<String> {
        Ok(self.reference()?.name.to_string())
    }

    /// The name of the function that makes the block, for people.
    #[getter]
    fn label(&self) -> PyResult<&str> {
        Ok(&self.reference()?.origin.label)
    }

    /// `pending`, `done`, `failed` or `cancelled`.
    #[getter]
    fn status(&self) -> PyResult<&'static str> {
        let status = self.reference()?.cell.inspect(|outcome| match outcome {
            Outcome::Failed(failure) if was_cancelled(failure) => "cancelled",
            Outcome::Failed(_) => "failed",
            _ => "done",
        });
        Ok(status.unwrap_or("pending"))
    }

    /// Bytes of the block; None while they are not known.
    #[getter]
    fn nbytes(&self) -> PyResult<Option<u64>> {
        Ok(self.reference()?.nbytes())
    }

    /// Whether there is a result or an error.
    fn done(&self) -> PyResult<bool> {
        Ok(self.reference()?.cell.is_resolved())
    }

    /// Waits for the block; False when `timeout_s` ends first.
    #[pyo3(signature = (timeout_s=None))]
    fn _wait(&self, py: Python<'_>, timeout_s: Option<f64>) -> PyResult<bool> {
        let reference = self.reference()?;
        wait(py, &reference.cell, reference.link().spin, timeout_s)
    }

    /// The failure as a dict, or None if there is none (yet).
    fn _failure(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        match self.reference()?.cell.outcome() {
            Some(Outcome::Failed(failure)) => Ok(Some(figures::failure(py, &failure)?)),
            _ => Ok(None),
        }
    }

    /// The value of a block that is there; to gather it first may take until `timeout_s`.
    #[pyo3(signature = (timeout_s=None))]
    fn _value(&self, py: Python<'_>, timeout_s: Option<f64>) -> PyResult<Py<PyAny>> {
        let reference = self.reference()?;
        let inline = reference.cell.inspect(|outcome| match outcome {
            Outcome::Ready(Output::Inline(bytes)) => Some(bytes.clone()),
            _ => None,
        });
        match inline.flatten() {
            Some(bytes) => Ok(decoding::decode_inline(py, bytes.as_slice())?.unbind()),
            None => reference.link().gather(py, reference.name, timeout_s),
        }
    }

    /// Whether its value came with the news that it is there.
    fn _is_inline(&self) -> PyResult<bool> {
        let is_inline = |outcome: &Outcome| matches!(outcome, Outcome::Ready(Output::Inline(_)));
        Ok(self.reference()?.cell.inspect(is_inline).unwrap_or(false))
    }

    /// The encoded arguments of the call that makes it, if they are short enough to be shown.
    fn _arguments<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let arguments = self.reference()?.arguments.as_ref().map(Payload::as_slice);
        let short = arguments.filter(|arguments| arguments.len() <= SHOWN_NBYTES);
        Ok(short.map(|arguments| PyBytes::new(py, arguments)))
    }

    /// A weak reference to its cluster.
    fn _owner(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(self.reference()?.link().owner.clone_ref(py))
    }

    /// Inside the arguments of a call: the position of the block among its inputs.
    fn __reduce__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let reference = self.reference()?;
        let owner = pickling::encoding_owner(py);
        if owner.is_some_and(|owner| owner.is(&reference.link().owner)) {
            return pickling::reference(py, reference.name);
        }
        let in_call = pickling::encoding_owner(py).is_some();
        Err(figures::foreign(py, &reference.origin.label, &reference.name.to_string(), in_call)?)
    }
}

/// The names of the blocks of futures.
pub fn names_of(futures: &Bound<'_, PyList>) -> PyResult<Vec<Name>> {
    futures.iter().map(|future| Ok(future.cast::<FutureBase>()?.get().reference()?.name)).collect()
}
