//! Ranks that connect by TCP.

use super::memory::check_ranks;
use super::rank::{EventRank, Settings};
use crate::access;
use crate::durations::seconds;
use freestone_events::transport::TransportError;
use freestone_events::transport::tcp::{Invitation, Meeting, Tcp};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

/// Where the ranks of a run meet.
#[pyclass(frozen, module = "freestone._native")]
pub struct EventMeeting {
    meeting: Meeting,
}

#[allow(clippy::needless_pass_by_value)] // as `map_err` wants it
fn failed(error: TransportError) -> PyErr {
    PyOSError::new_err(error.to_string())
}

#[pymethods]
impl EventMeeting {
    #[new]
    fn new(address: &str, identity: (String, String)) -> PyResult<Self> {
        let access = access::read(identity)?;
        Ok(Self { meeting: Meeting::new(address, &access).map_err(failed)? })
    }

    /// Where it is, as `HOST:PORT`.
    #[getter]
    fn address(&self) -> PyResult<String> {
        Ok(self.meeting.address().map_err(failed)?.to_string())
    }

    /// Waits for all ranks and tells each where the others are.
    fn hold(&self, py: Python<'_>, ranks: u32, patience_s: f64) -> PyResult<()> {
        let patience = seconds(patience_s)?;
        check_ranks(ranks)?;
        py.detach(|| self.meeting.hold(ranks, ranks, patience)).map(drop).map_err(failed)
    }
}

/// Meets all other ranks, and is one of them.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)] // as Python gives them
pub fn meet_ranks(
    py: Python<'_>,
    address: &str,
    identity: (String, String),
    rank: u32,
    ranks: u32,
    patience_s: f64,
    settings: Settings,
) -> PyResult<EventRank> {
    let (access, patience) = (access::read(identity)?, seconds(patience_s)?);
    check_ranks(ranks)?;
    let tcp = py.detach(|| Tcp::meet(address, rank, ranks, &access, patience)).map_err(failed)?;
    EventRank::start(Box::new(tcp), &settings)
}

/// What this process's environment says of a run that is to be joined.
#[pyclass(frozen, module = "freestone._native")]
pub struct EventInvitation {
    invitation: Invitation,
}

#[pymethods]
impl EventInvitation {
    /// None, if the environment names no meeting.
    #[staticmethod]
    fn from_environment() -> PyResult<Option<Self>> {
        let invitation = Invitation::from_environment();
        let invitation = invitation.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(invitation.map(|invitation| Self { invitation }))
    }

    /// How many ranks there are, as far as this process knows.
    #[getter]
    fn ranks(&self) -> u32 {
        self.invitation.ranks()
    }

    /// Meets the other ranks, or joins them.
    #[allow(clippy::needless_pass_by_value)] // as Python gives them
    fn accept(&self, py: Python<'_>, patience_s: f64, settings: Settings) -> PyResult<EventRank> {
        let patience = seconds(patience_s)?;
        let tcp = py.detach(|| self.invitation.accept(patience)).map_err(failed)?;
        EventRank::start(Box::new(tcp), &settings)
    }
}
