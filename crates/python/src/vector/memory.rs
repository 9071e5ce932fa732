//! Memory for large results, as a buffer that arrays are views of.

use freestone_vector::memory::Memory;
use freestone_vector::numa::{Nodes, Policy};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;

use crate::view::buffer_class;

/// Writable memory of the vector engine; it is kept for another result when no array has it.
#[pyclass(frozen, module = "freestone._native.vector")]
pub struct VectorMemory {
    memory: Memory,
}

buffer_class! {
    VectorMemory, writable, |this| this.memory;

    /// Takes memory of some bytes, of any content.
    #[new]
    fn new(nbytes: usize, policy: &str, node: usize) -> PyResult<Self> {
        let unknown = || PyValueError::new_err(format!("there is no NUMA policy {policy:?}"));
        let policy = Policy::named(policy, node).ok_or_else(unknown)?;
        let refused = || PyMemoryError::new_err(format!("no memory for {nbytes} bytes"));
        Ok(Self { memory: Memory::new(nbytes, policy).ok_or_else(refused)? })
    }
}

/// The numbers of the machine's memory nodes.
#[pyfunction]
pub fn memory_nodes() -> Vec<usize> {
    Nodes::here().ids().to_vec()
}
