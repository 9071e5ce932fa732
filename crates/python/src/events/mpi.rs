//! The ranks that `mpiexec` started.

use super::failing::{not_done, raised};
use super::rank::{EventRank, Settings};
use crate::durations::seconds;
use freestone_events::EventsError;
use freestone_events::locks::NotHeld;
use freestone_events::transport::TransportError;
use freestone_events::transport::mpi::{Handle, Mpi, Role, World, gate};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::Arc;

/// Waits until no thread of a rank is in MPI, and keeps them out.
#[pyfunction]
pub fn hold_mpi(py: Python<'_>) {
    py.detach(gate::hold);
}

/// Lets the ranks' threads into MPI again.
///
/// Raises `LockNotHeldError` if this thread does not hold it.
#[pyfunction]
pub fn release_mpi(py: Python<'_>) -> PyResult<()> {
    gate::release()
        .map_err(|_| raised(py, &EventsError::NotHeld(NotHeld { name: "MPI".to_owned() })))
}

/// The ranks that `mpiexec` started.
#[pyclass(frozen, module = "freestone._native.events")]
pub struct EventWorld {
    world: Arc<World>,
}

#[allow(clippy::needless_pass_by_value)] // as `map_err` wants it
pub(super) fn failed(error: TransportError) -> PyErr {
    not_done(&error)
}

#[pymethods]
impl EventWorld {
    /// Begins MPI, or shares that of the program. All ranks have to call it.
    #[new]
    #[pyo3(signature = (folders, comm, timeout_s))]
    #[allow(clippy::needless_pass_by_value)] // as Python gives them
    fn new(
        py: Python<'_>,
        folders: Vec<PathBuf>,
        comm: Option<Handle>,
        timeout_s: f64,
    ) -> PyResult<Self> {
        let timeout = seconds(timeout_s)?;
        // There are calls for it.
        gate::offer();
        let world = py.detach(|| World::begin(&folders, comm, timeout, Role::Rank));
        let world = world.map_err(failed)?;
        Ok(Self { world: Arc::new(world) })
    }

    /// Whether `mpiexec` started this process.
    #[staticmethod]
    fn is_here() -> bool {
        World::is_here()
    }

    #[getter]
    fn rank(&self) -> u32 {
        self.world.rank()
    }

    #[getter]
    fn ranks(&self) -> u32 {
        self.world.ranks()
    }

    /// Whether a rank was lost: nothing that all have to do together ends then.
    #[getter]
    fn has_loss(&self) -> bool {
        self.world.has_loss()
    }

    /// This process's rank, for one run.
    fn start(&self, settings: Settings) -> PyResult<EventRank> {
        let transport = Mpi::new(Arc::clone(&self.world)).map_err(failed)?;
        let is_funneled = gate::is_funneled();
        let settings = if is_funneled { settings.with_progress_by_program() } else { settings };
        EventRank::start(Box::new(transport), &settings)
    }

    /// What every rank gives, for every rank. All have to call it, with the same `round`: how many
    /// bytes go at a time.
    #[pyo3(signature = (own, round=None))]
    fn exchange<'py>(
        &self,
        py: Python<'py>,
        own: &[u8],
        round: Option<usize>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let exchange = || match round {
            Some(round) => self.world.exchange_in_rounds(own, round),
            None => self.world.exchange(own),
        };
        let all = py.detach(exchange).map_err(failed)?;
        Ok(all.iter().map(|bytes| PyBytes::new(py, bytes)).collect())
    }

    /// Ends MPI, if it was begun here.
    fn end(&self, py: Python<'_>) {
        py.detach(|| self.world.end());
    }
}
