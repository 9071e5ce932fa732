//! The memory that the ranks of a node share, for who starts them.

use freestone_events::transport::{Layout, Node, Region};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

/// The memory that the ranks of a node share; it goes when all have let go of it.
#[pyclass(frozen, module = "freestone._native")]
pub struct EventMemory {
    region: Arc<Region>,
    layout: Layout,
    fd: OwnedFd,
    ranks: u32,
}

#[pymethods]
impl EventMemory {
    #[new]
    #[pyo3(signature = (ranks, *, arena))]
    fn new(ranks: u32, arena: usize) -> PyResult<Self> {
        if ranks == 0 {
            return Err(PyValueError::new_err("a run has at least one rank, not 0"));
        }
        let layout = Layout::new(ranks, arena);
        let (region, fd) = Region::create(layout.nbytes())
            .map_err(|error| PyOSError::new_err(error.to_string()))?;
        Ok(Self { region, layout, fd, ranks })
    }

    /// The descriptor, for the processes to inherit.
    #[getter]
    fn fd(&self) -> i32 {
        self.fd.as_raw_fd()
    }

    /// Tells all ranks that one is lost, unless it has left; whether that was so.
    fn lose(&self, rank: u32) -> PyResult<bool> {
        if rank >= self.ranks {
            return Err(PyValueError::new_err(format!("there is no rank {rank}")));
        }
        Ok(Node::lose(&self.region, self.layout, rank))
    }
}
