//! The memory that the ranks of a node share, for who starts them.

use freestone_events::transport::{Layout, Node, Region};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

/// More ranks than a run can have, and more bytes than a node can address.
const MAX_RANKS: u32 = 1 << 16;
const MAX_ARENA: usize = 1 << 40;

/// Refuses numbers of ranks for which no process has the memory.
pub(super) fn check_ranks(ranks: u32) -> PyResult<()> {
    if (1..=MAX_RANKS).contains(&ranks) {
        return Ok(());
    }
    let problem = format!("a run has 1 to {MAX_RANKS} ranks, not {ranks}");
    Err(PyValueError::new_err(problem))
}

/// What lies where, for numbers that can be.
pub(super) fn layout_of(ranks: u32, arena: usize) -> PyResult<Layout> {
    check_ranks(ranks)?;
    if arena > MAX_ARENA {
        let problem = format!("the arena of a rank has at most {MAX_ARENA} bytes, not {arena}");
        return Err(PyValueError::new_err(problem));
    }
    Ok(Layout::new(ranks, arena))
}

/// The memory that the ranks of a node share; it goes when all have let go of it.
#[pyclass(frozen, module = "freestone._native.events")]
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
        let layout = layout_of(ranks, arena)?;
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

    /// Whether the run is over for a rank because another is lost.
    fn has_given_up(&self, rank: u32) -> PyResult<bool> {
        if rank >= self.ranks {
            return Err(PyValueError::new_err(format!("there is no rank {rank}")));
        }
        Ok(Node::has_given_up(&self.region, rank))
    }
}
