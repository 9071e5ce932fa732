//! The ranks that `mpiexec` started.

use super::rank::{EventRank, Settings};
use freestone_events::transport::TransportError;
use freestone_events::transport::mpi::{Mpi, World};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::Arc;

/// The ranks that `mpiexec` started.
#[pyclass(frozen, module = "freestone._native")]
pub struct EventWorld {
    world: Arc<World>,
}

#[allow(clippy::needless_pass_by_value)] // as `map_err` wants it
fn failed(error: TransportError) -> PyErr {
    PyOSError::new_err(error.to_string())
}

#[pymethods]
impl EventWorld {
    /// Begins MPI, or shares that of the program. All ranks have to call it.
    #[new]
    #[allow(clippy::needless_pass_by_value)] // as Python gives them
    fn new(py: Python<'_>, folders: Vec<PathBuf>) -> PyResult<Self> {
        let world = py.detach(|| World::begin(&folders)).map_err(failed)?;
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

    /// This process's rank, for one run.
    #[pyo3(signature = (*, workers, thread, spin_us, stuck_s))]
    fn start(
        &self,
        workers: usize,
        thread: bool,
        spin_us: u64,
        stuck_s: Option<f64>,
    ) -> PyResult<EventRank> {
        let settings = Settings { workers, thread, spin_us, stuck_s };
        let transport = Mpi::new(Arc::clone(&self.world)).map_err(failed)?;
        EventRank::start(Box::new(transport), &settings)
    }

    /// What every rank gives, for every rank. All have to call it.
    fn exchange<'py>(&self, py: Python<'py>, own: &[u8]) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let all = py.detach(|| self.world.exchange(own)).map_err(failed)?;
        Ok(all.iter().map(|bytes| PyBytes::new(py, bytes)).collect())
    }

    /// Ends MPI, if it was begun here.
    fn end(&self, py: Python<'_>) {
        py.detach(|| self.world.end());
    }
}
