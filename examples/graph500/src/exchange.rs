//! What all ranks do together, in a rank's program: by events that everyone fires at everyone.

use freestone_events::{Dependency, Event, EventId, EventsError, Lasting, Payload, Rank, Target};

/// Gives each rank its part, and gets one of each, in the order of the ranks.
///
/// # Errors
///
/// If the run ends before.
pub fn exchange(
    rank: &Rank,
    id: &str,
    parts: &[Vec<u8>],
) -> Result<Vec<Event<Payload>>, EventsError> {
    for (target, part) in (0..).zip(parts) {
        rank.fire_bytes(target, id, part)?;
    }
    wait_for_all(rank, id)
}

/// Gives all ranks the same, and gets one of each, in the order of the ranks.
///
/// # Errors
///
/// If the run ends before.
pub fn share(rank: &Rank, id: &str, part: &[u8]) -> Result<Vec<Event<Payload>>, EventsError> {
    fire_at_all(rank, id, &[part])?;
    wait_for_all(rank, id)
}

/// Fires an event at all ranks, this one included.
///
/// # Errors
///
/// If the run is over.
pub fn fire_at_all(rank: &Rank, id: &str, parts: &[&[u8]]) -> Result<(), EventsError> {
    rank.fire(&Target::All, &id.into(), Lasting::Once, 1, parts)
}

/// One event of each rank.
pub fn of_all(rank: &Rank, id: &str) -> Vec<Dependency> {
    Dependency::all(rank.ranks(), &EventId::from(id))
}

fn wait_for_all(rank: &Rank, id: &str) -> Result<Vec<Event<Payload>>, EventsError> {
    rank.wait(of_all(rank, id), None)
}
