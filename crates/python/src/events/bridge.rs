//! A process outside of a run, for `freestone.events.Bridge`.

use super::arguments::{Id, Seconds, flag};
use super::event::Event;
use super::failing;
use super::host::PythonHost;
use super::mpi::failed;
use super::rank::caller;
use super::words::{self, Numbers};
use crate::durations::seconds;
use freestone_events::transport::TransportError;
use freestone_events::transport::mpi::{Handle, Role, World};
use freestone_events::{Bridge, EventId, EventsError, Host, Lasting};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// A process outside of a run.
#[pyclass(frozen, module = "freestone._native.events")]
pub struct EventBridge {
    bridge: Bridge,
    world: Arc<World>,
}

impl EventBridge {
    fn numbers(&self) -> Numbers {
        let bridge = &self.bridge;
        Numbers { own: bridge.number(), ranks: bridge.ranks(), clients: bridge.clients() }
    }
}

#[pymethods]
impl EventBridge {
    /// Attaches this process to the ranks of a communicator.
    #[new]
    #[pyo3(signature = (folders, comm, timeout_s, send_timeout_s=None))]
    #[allow(clippy::needless_pass_by_value)] // as Python gives them
    fn new(
        py: Python<'_>,
        folders: Vec<PathBuf>,
        comm: Option<Handle>,
        timeout_s: f64,
        send_timeout_s: Option<f64>,
    ) -> PyResult<Self> {
        let timeout = seconds(timeout_s)?;
        let send_timeout = send_timeout_s.map(seconds).transpose()?;
        let attach = || {
            let world = Arc::new(World::begin(&folders, comm, timeout, Role::Client)?);
            Ok::<_, TransportError>((Bridge::attach(Arc::clone(&world), send_timeout)?, world))
        };
        let (bridge, world) = py.detach(attach).map_err(failed)?;
        Ok(Self { bridge, world })
    }

    /// The number of this process: those of the ranks are below it.
    #[getter]
    fn number(&self) -> u32 {
        self.bridge.number()
    }

    #[getter]
    fn ranks(&self) -> u32 {
        self.bridge.ranks()
    }

    fn fire(
        &self,
        py: Python<'_>,
        target: &Bound<'_, PyAny>,
        id: Id<'_>,
        data: &Bound<'_, PyAny>,
        persistent: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let target = words::target(target, self.numbers())?;
        let (id, encoded) = (EventId::from(id.0), words::encode(data, id.0)?);
        let lasting =
            if flag(persistent, "persistent")? { Lasting::Persistent } else { Lasting::Once };
        let fired = encoded.with_parts(|kind, parts| {
            py.detach(|| self.bridge.fire(&target, &id, lasting, kind, parts))
        });
        fired.map_err(|error| failing::raised(py, &error))
    }

    #[pyo3(signature = (on, timeout_s=None, frame=None))]
    fn wait(
        &self,
        py: Python<'_>,
        on: &Bound<'_, PyAny>,
        timeout_s: Option<Seconds>,
        frame: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Event>> {
        let on = words::dependencies(on, self.numbers())?;
        let (label, timeout) = (caller(frame), timeout_s.map(|timeout| timeout.0));
        let host = PythonHost::default();
        let waited = py.detach(|| {
            self.bridge.wait(&label, on, timeout, &|| host.hears_signals() && host.is_interrupted())
        });
        match waited {
            Ok(events) => Ok(events.into_iter().map(Event::new).collect()),
            Err(EventsError::Timeout { lacking, .. }) => {
                let waited = timeout.unwrap_or_default();
                Err(failing::raised(py, &EventsError::Timeout { lacking, waited }))
            }
            Err(error) => Err(host.take_signal().unwrap_or_else(|| failing::raised(py, &error))),
        }
    }

    fn retrieve_any(&self, py: Python<'_>, on: &Bound<'_, PyAny>) -> PyResult<Vec<(usize, Event)>> {
        let on = words::dependencies(on, self.numbers())?;
        let found = py.detach(|| self.bridge.retrieve_any(&on));
        let found = found.map_err(|error| failing::raised(py, &error))?;
        Ok(found.into_iter().map(|(index, event)| (index, Event::new(event))).collect())
    }

    /// Whether the run has ended with an error, of which this process has heard.
    #[getter]
    fn is_over(&self) -> bool {
        self.bridge.is_over()
    }

    fn detach(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.bridge.detach()).map_err(|error| failing::raised(py, &error))
    }

    /// Ends MPI, if it was begun here.
    fn end(&self, py: Python<'_>) {
        py.detach(|| self.world.end());
    }
}
