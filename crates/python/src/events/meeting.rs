//! Ranks that connect by TCP.

use super::failing::raised;
use super::memory::{check_arena, check_ranks};
use super::mpi::failed;
use super::rank::{EventRank, Settings};
use crate::access;
use crate::durations::seconds;
use freestone_events::EventsError;
use freestone_events::transport::TransportError;
use freestone_events::transport::hybrid::{Met, Sharing};
use freestone_events::transport::tcp::{Invitation, Meeting};
use pyo3::prelude::*;

/// Where the ranks of a run meet.
#[pyclass(frozen, module = "freestone._native.events")]
pub struct EventMeeting {
    meeting: Meeting,
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
    fn hold(&self, py: Python<'_>, ranks: u32, timeout_s: f64) -> PyResult<()> {
        let timeout = seconds(timeout_s)?;
        check_ranks(ranks)?;
        py.detach(|| self.meeting.hold(ranks, ranks, timeout)).map(drop).map_err(failed)
    }

    /// Turns away ranks that come again, until the meeting is closed.
    fn guard(&self, py: Python<'_>) {
        py.detach(|| self.meeting.guard());
    }

    /// Ends `hold` and `guard`.
    fn close(&self) {
        self.meeting.close();
    }

    /// Reports to all ranks that one is lost, unless it has left; whether that was so.
    fn lose(&self, py: Python<'_>, rank: u32) -> bool {
        py.detach(|| self.meeting.watch().lose(rank))
    }

    /// Whether the run is over for a rank because another is lost.
    fn has_given_up(&self, rank: u32) -> bool {
        self.meeting.watch().has_given_up(rank)
    }
}

/// The exception for a rank that can't meet the others: one of them is lost, or not reached.
fn not_met(py: Python<'_>, error: TransportError) -> PyErr {
    match error {
        TransportError::Lost(rank) => raised(py, &EventsError::RankLost { rank }),
        other => failed(other),
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
    timeout_s: f64,
    arena: usize,
    settings: Settings,
) -> PyResult<EventRank> {
    let (access, timeout) = (access::read(identity)?, seconds(timeout_s)?);
    check_ranks(ranks)?;
    check_arena(arena)?;
    let met = py.detach(|| {
        let sharing = Sharing::from_environment(arena)?;
        Ok(Met::new(address, rank, ranks, &access, timeout, &sharing)?.transport())
    });
    EventRank::start(met.map_err(|error| not_met(py, error))?, &settings)
}

/// What this process's environment says of a run that is to be joined.
#[pyclass(frozen, module = "freestone._native.events")]
pub struct EventInvitation {
    invitation: Invitation,
}

#[pymethods]
impl EventInvitation {
    /// None, if the environment names no meeting.
    #[staticmethod]
    fn from_environment() -> PyResult<Option<Self>> {
        let invitation = Invitation::from_environment().map_err(failed)?;
        Ok(invitation.map(|invitation| Self { invitation }))
    }

    /// How many ranks there are, as far as this process knows.
    #[getter]
    fn ranks(&self) -> u32 {
        self.invitation.ranks()
    }

    /// Meets the other ranks, or joins them.
    #[allow(clippy::needless_pass_by_value)] // as Python gives them
    fn accept(
        &self,
        py: Python<'_>,
        timeout_s: f64,
        arena: usize,
        settings: Settings,
    ) -> PyResult<EventRank> {
        let timeout = seconds(timeout_s)?;
        check_arena(arena)?;
        let transport = py.detach(|| self.invitation.accept(timeout, arena)).map_err(failed)?;
        EventRank::start(transport, &settings)
    }
}
