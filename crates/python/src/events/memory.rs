//! The memory that the ranks of a node share, for who starts them.

use crate::durations::seconds;
use freestone_events::limits;
use freestone_events::transport::{Layout, Node, Pulses, Region, is_traced};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

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

/// Refuses arenas that are larger than all memory.
pub(super) fn check_arena(arena: usize) -> PyResult<()> {
    if arena <= MAX_ARENA {
        return Ok(());
    }
    let problem = format!("the arena of a rank has at most {MAX_ARENA} bytes, not {arena}");
    Err(PyValueError::new_err(problem))
}

/// What lies where, for numbers that can be.
pub(super) fn layout_of(ranks: u32, arena: usize) -> PyResult<Layout> {
    check_ranks(ranks)?;
    check_arena(arena)?;
    Ok(Layout::new(ranks, arena))
}

/// Watches whether the processes of ranks run.
#[pyclass(frozen, module = "freestone._native.events")]
pub struct EventPulses {
    region: Arc<Region>,
    pulses: Mutex<Pulses>,
}

#[pymethods]
impl EventPulses {
    /// For how many seconds to wait until the next look.
    fn until_look_s(&self) -> f64 {
        let pulses = self.pulses.lock().unwrap_or_else(PoisonError::into_inner);
        pulses.until_look(Instant::now()).as_secs_f64()
    }

    /// The ranks whose processes do not run, if it is time to look: why each is taken to be lost.
    #[allow(clippy::needless_pass_by_value)] // as Python gives them
    fn look(&self, processes: Vec<u32>) -> Vec<(u32, String)> {
        let mut pulses = self.pulses.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if !pulses.until_look(now).is_zero() {
            return Vec::new();
        }
        let still = pulses.look(now, |rank| Node::beats(&self.region, rank));
        let is_held = |rank: u32| processes.get(rank as usize).is_some_and(|one| is_traced(*one));
        let still = still.into_iter().filter(|one| !is_held(one.rank));
        still.map(|one| (one.rank, one.to_string())).collect()
    }
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

    /// Has ranks that are processes show that they run: what watches them from now on, if they are to be.
    fn watch(&self, begin_s: f64) -> PyResult<Option<EventPulses>> {
        let begin = seconds(begin_s)?;
        Ok(limits::get().stopped_timeout.map(|stopped| {
            Node::watch(&self.region, self.layout, stopped);
            let pulses = Mutex::new(Pulses::new(self.ranks, begin, stopped, Instant::now()));
            EventPulses { region: Arc::clone(&self.region), pulses }
        }))
    }

    /// Whether the run is over for a rank because another is lost.
    fn has_given_up(&self, rank: u32) -> PyResult<bool> {
        if rank >= self.ranks {
            return Err(PyValueError::new_err(format!("there is no rank {rank}")));
        }
        Ok(Node::has_given_up(&self.region, rank))
    }
}
