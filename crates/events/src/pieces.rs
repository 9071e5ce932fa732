//! Events that come in pieces, as they are too large for one frame.

use crate::event::{Event, EventId, Rank};
use crate::payload::{Data, Payload};
use std::collections::{BTreeMap, TryReserveError};
use std::sync::Arc;

/// Events of which not all pieces are here, by source.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    begun: BTreeMap<Rank, Event<Vec<u8>>>,
}

/// There is no memory for an event.
#[derive(Debug, thiserror::Error)]
#[error("there is no memory for the event '{id}' of {total} bytes: {source}")]
pub(crate) struct NoMemory {
    id: EventId,
    total: u64,
    source: TryReserveError,
}

impl Pieces {
    /// Puts a piece to those that came before; the last one completes the event.
    pub fn add(
        &mut self,
        piece: Event<Payload>,
        total: u64,
    ) -> Result<Option<Event<Payload>>, NoMemory> {
        let Event { source, id, lasting, payload } = piece;
        let whole = self.begun.entry(source).or_insert_with(|| Event {
            source,
            id: id.clone(),
            lasting,
            payload: Vec::new(),
        });
        if whole.payload.is_empty() {
            let reserved = whole.payload.try_reserve_exact(total as usize);
            reserved.map_err(|source| NoMemory { id: id.clone(), total, source })?;
        }
        whole.payload.extend_from_slice(payload.bytes());
        if (whole.payload.len() as u64) < total {
            return Ok(None);
        }
        let whole = self.begun.remove(&source);
        Ok(whole.map(|whole| {
            let data = Data::Bytes(Arc::new(whole.payload));
            Event { source, id, lasting, payload: Payload { kind: payload.kind, data } }
        }))
    }
}
