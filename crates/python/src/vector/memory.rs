//! Memory for large results, as a buffer that arrays are views of.

use std::ffi::c_int;

use freestone_vector::memory::Memory;
use freestone_vector::numa::{Nodes, Policy};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;

use crate::view;

/// Writable memory of the vector engine; it is kept for another result when no array has it.
#[pyclass(frozen, module = "freestone._native.vector")]
pub struct VectorMemory {
    memory: Memory,
}

#[pymethods]
impl VectorMemory {
    /// Takes memory of some bytes, of any content.
    #[new]
    fn new(nbytes: usize, policy: &str, node: usize) -> PyResult<Self> {
        let unknown = || PyValueError::new_err(format!("there is no NUMA policy {policy:?}"));
        let policy = Policy::named(policy, node).ok_or_else(unknown)?;
        let refused = || PyMemoryError::new_err(format!("no memory for {nbytes} bytes"));
        Ok(Self { memory: Memory::new(nbytes, policy).ok_or_else(refused)? })
    }

    #[allow(clippy::needless_pass_by_value)] // as the protocol wants it
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut pyo3::ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let memory = &slf.get().memory;
        // SAFETY: `view` is valid by the protocol; the memory lives as long as `slf`.
        unsafe { view::fill(&slf, memory.address(), memory.len(), false, view, flags) }
    }

    fn __len__(&self) -> usize {
        self.memory.len()
    }
}

/// The numbers of the machine's memory nodes.
#[pyfunction]
pub fn memory_nodes() -> Vec<usize> {
    Nodes::here().ids().to_vec()
}
