//! The bytes of what ranks send: eight of head, then the identifier, then the payload.

use super::arena::{ArenaMemory, Block};
use super::{Incoming, Outgoing, TransportError};
use crate::event::{Event, EventId, Lasting, Rank};
use crate::payload::{Data, Payload};
use std::sync::Arc;

const EVENT: u8 = 0;
const PLACED: u8 = 1;
const CONTROL: u8 = 2;
const PIECE: u8 = 3;
const CREDIT: u8 = 4;
const APART: u8 = 5;
const ALIVE: u8 = 6;
const HEAD: usize = 8;

/// The head and, for a placed payload, where it is.
pub struct Encoded {
    head: [u8; HEAD],
    place: [u8; 16],
    place_len: usize,
}

fn head(what: u8, lasting: Lasting, id: &EventId, kind: u32) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[0] = what;
    head[1] = lasting as u8;
    // Longer identifiers are refused where events are fired.
    head[2..4].copy_from_slice(&(id.as_bytes().len() as u16).to_le_bytes());
    head[4..].copy_from_slice(&kind.to_le_bytes());
    head
}

/// Encodes what is not passed on as it is.
pub fn encode(message: &Outgoing<'_>) -> Encoded {
    let mut place = [0; 16];
    let (head, place_len) = match message {
        Outgoing::Event { id, lasting, kind, .. } => (head(EVENT, *lasting, id, *kind), 0),
        Outgoing::Placed { id, lasting, kind, block } => {
            place[..8].copy_from_slice(&(block.at() as u64).to_le_bytes());
            place[8..].copy_from_slice(&(block.len() as u64).to_le_bytes());
            (head(PLACED, *lasting, id, *kind), 16)
        }
        Outgoing::Piece { id, lasting, kind, total, .. } => {
            place[..8].copy_from_slice(&total.to_le_bytes());
            (head(PIECE, *lasting, id, *kind), 8)
        }
        Outgoing::Apart { id, lasting, kind, total } => {
            place[..8].copy_from_slice(&total.to_le_bytes());
            (head(APART, *lasting, id, *kind), 8)
        }
        Outgoing::Control(_) => ([CONTROL, 0, 0, 0, 0, 0, 0, 0], 0),
        Outgoing::Credit(_) => ([CREDIT, 0, 0, 0, 0, 0, 0, 0], 0),
        Outgoing::Alive => ([ALIVE, 0, 0, 0, 0, 0, 0, 0], 0),
    };
    Encoded { head, place, place_len }
}

impl Encoded {
    /// Calls `send` with all pieces of a frame, in order.
    pub fn with_parts<R>(&self, message: &Outgoing<'_>, send: impl FnOnce(&[&[u8]]) -> R) -> R {
        match message {
            Outgoing::Event { id, parts: [part], .. } => send(&[&self.head, id.as_bytes(), part]),
            Outgoing::Event { id, parts: [], .. } => send(&[&self.head, id.as_bytes()]),
            Outgoing::Event { id, parts, .. } => {
                let mut all = Vec::with_capacity(parts.len() + 2);
                all.extend([&self.head[..], id.as_bytes()]);
                all.extend_from_slice(parts);
                send(&all)
            }
            Outgoing::Placed { id, .. } | Outgoing::Apart { id, .. } => {
                send(&[&self.head, id.as_bytes(), &self.place[..self.place_len]])
            }
            Outgoing::Piece { id, bytes, .. } => {
                send(&[&self.head, id.as_bytes(), &self.place[..self.place_len], bytes])
            }
            Outgoing::Control(bytes) => send(&[&self.head, bytes]),
            Outgoing::Credit(word) => send(&[&self.head, &word[..]]),
            Outgoing::Alive => send(&[&self.head]),
        }
    }
}

/// Decodes a frame from `source`; `arena` says where that one's arena is.
///
/// # Errors
///
/// If no rank would have sent it.
pub fn decode(
    source: Rank,
    frame: &[u8],
    arena: impl FnOnce() -> Option<ArenaMemory>,
) -> Result<Incoming, TransportError> {
    let bad = |what| TransportError::BadFrame { len: frame.len(), what };
    let (head, rest) = frame.split_first_chunk::<HEAD>().ok_or(bad("it has no head"))?;
    if head[0] == CONTROL {
        return Ok(Incoming::Control(rest.to_vec()));
    }
    if head[0] == ALIVE && rest.is_empty() {
        return Ok(Incoming::Alive);
    }
    if head[0] == CREDIT {
        let word = rest.try_into().map_err(|_| bad("it is no credit"))?;
        return Ok(Incoming::Credit(u64::from_le_bytes(word)));
    }
    let id_len = usize::from(u16::from_le_bytes([head[2], head[3]]));
    let (id, rest) = rest.split_at_checked(id_len).ok_or(bad("its identifier is cut off"))?;
    let kind = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
    let lasting = match head[1] {
        0 => Lasting::Once,
        1 => Lasting::Persistent,
        2 => Lasting::Weak,
        _ => return Err(bad("it lasts in an unknown way")),
    };
    let mut total = None;
    let payload = match head[0] {
        PIECE => {
            let (word, rest) = rest.split_first_chunk::<8>().ok_or(bad("it has no length"))?;
            total = Some(u64::from_le_bytes(*word));
            Payload::copy(kind, rest)
        }
        APART => {
            let word = rest.try_into().map_err(|_| bad("it has no length"))?;
            let event = Event {
                source,
                id: EventId::new(id),
                lasting,
                payload: Payload { kind, data: Data::None },
            };
            return Ok(Incoming::Apart(event, u64::from_le_bytes(word)));
        }
        EVENT => Payload::copy(kind, rest),
        PLACED => {
            let arena = arena().ok_or(bad("there is no arena"))?;
            let (at, len) = rest.split_first_chunk::<8>().ok_or(bad("its block is cut off"))?;
            let len: [u8; 8] = len.try_into().map_err(|_| bad("its block is cut off"))?;
            let (at, len) = (u64::from_le_bytes(*at) as usize, u64::from_le_bytes(len) as usize);
            let block = Block::received(arena, at, len)?;
            Payload { kind, data: Data::Block(Arc::new(block)) }
        }
        _ => return Err(bad("it is of an unknown sort")),
    };
    let event = Event { source, id: EventId::new(id), lasting, payload };
    Ok(match total {
        Some(total) => Incoming::Piece(event, total),
        None => Incoming::Event(event),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(message: &Outgoing<'_>) -> Vec<u8> {
        encode(message).with_parts(message, |parts| parts.concat())
    }

    #[test]
    fn an_event_comes_out_as_it_went_in() {
        let id = EventId::from("visit");
        let some: [&[&[u8]]; 3] = [&[], &[b"all"], &[b"in ", b"more than a few pieces ", b"of"]];
        for parts in some {
            let lasting = Lasting::Persistent;
            let message = Outgoing::Event { id: &id, lasting, kind: 7, parts };
            let Ok(Incoming::Event(event)) = decode(3, &frame(&message), || None) else {
                panic!("no event")
            };
            assert_eq!((event.source, &event.id, event.lasting), (3, &id, lasting));
            assert_eq!((event.payload.kind, event.payload.bytes()), (7, &parts.concat()[..]));
        }
    }

    #[test]
    fn no_frame_of_any_length_breaks_the_decoder() {
        let id = EventId::from("visit");
        let message = Outgoing::Event { id: &id, lasting: Lasting::Once, kind: 7, parts: &[b"x"] };
        let whole = frame(&message);
        let (mut good, mut bad) = (0, 0);
        for len in 0..whole.len() {
            for position in 0..len {
                for byte in [0, 1, 2, 3, 255] {
                    let mut frame = whole[..len].to_vec();
                    frame[position] = byte;
                    match decode(0, &frame, || None) {
                        Ok(_) => good += 1,
                        Err(_) => bad += 1,
                    }
                }
            }
        }
        assert!(good > 0 && bad > 0);
    }
}
