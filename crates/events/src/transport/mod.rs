//! How events get from rank to rank: one small trait, and who implements it.

pub(crate) mod arena;
mod batch;
mod error;
mod frame;
pub(crate) mod futex;
pub mod hybrid;
mod late;
pub mod mpi;
mod node;
mod pipe;
pub(crate) mod pulse;
mod region;
mod ring;
#[cfg(test)]
mod ring_tests;
pub(crate) mod sleep;
#[cfg(test)]
mod sleep_tests;
pub mod tcp;

pub use arena::Block;
pub use error::TransportError;
pub use node::{Layout, Node};
pub use pulse::{Pulses, Still, is_traced};
pub use region::Region;
pub use sleep::Bell;

use crate::event::{Event, EventId, Lasting, Rank};
use crate::payload::{Data, Payload};
use arena::total;
use std::sync::Arc;
use std::time::Duration;

/// What a rank sends.
#[derive(Debug)]
pub enum Outgoing<'a> {
    /// An event with its bytes.
    Event {
        /// Its identifier.
        id: &'a EventId,
        /// How long it lasts.
        lasting: Lasting,
        /// The type of its payload.
        kind: u32,
        /// Its payload, in pieces.
        parts: &'a [&'a [u8]],
    },
    /// An event whose bytes lie where the target can read them, from [`Transport::place`].
    Placed {
        /// Its identifier.
        id: &'a EventId,
        /// How long it lasts.
        lasting: Lasting,
        /// The type of its payload.
        kind: u32,
        /// Its payload.
        block: &'a Arc<Block>,
    },
    /// A piece of an event that is too large for one; the pieces of a rank come one after the
    /// other.
    Piece {
        /// Its identifier.
        id: &'a EventId,
        /// How long it lasts.
        lasting: Lasting,
        /// The type of its payload.
        kind: u32,
        /// The bytes of all pieces.
        total: u64,
        /// Those of this one.
        bytes: &'a [u8],
    },
    /// An event whose bytes go apart, in a message of their own.
    Apart {
        /// Its identifier.
        id: &'a EventId,
        /// How long it lasts.
        lasting: Lasting,
        /// The type of its payload.
        kind: u32,
        /// Bytes of its payload.
        total: u64,
    },
    /// Something from runtime to runtime.
    Control(&'a [u8]),
    /// Something from transport to transport: bytes that were taken, as a word.
    Credit(&'a [u8; 8]),
    /// The process of this rank runs.
    Alive,
}

/// What arrives at a rank.
#[derive(Debug)]
pub enum Incoming {
    /// An event.
    Event(Event<Payload>),
    /// A piece of an event: what it has of the payload, and the bytes of all pieces.
    Piece(Event<Payload>, u64),
    /// An event whose bytes, so many, come apart; no transport hands it over.
    Apart(Event<Payload>, u64),
    /// Something from runtime to runtime.
    Control(Vec<u8>),
    /// Bytes that were taken; no transport hands it over.
    Credit(u64),
    /// The process of the rank runs; no transport hands it over.
    Alive,
    /// The rank is gone, and nothing comes from it any more.
    Lost,
    /// Somebody who is no rank yet; only where ranks can join, and only at rank 0.
    Joining(Joining),
}

impl Incoming {
    /// The bytes of memory that its payload takes here: none, if it lies where its sender put it.
    pub fn nbytes(&self) -> usize {
        match self {
            Self::Event(event) | Self::Piece(event, _) => match &event.payload.data {
                Data::Bytes(bytes) => bytes.len(),
                _ => 0,
            },
            _ => 0,
        }
    }
}

/// What a rank's process has shown of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// Grows with each sign that arrives, and with whatever else counts as one.
    pub signs: u64,
    /// Whether a sign would have arrived: false where so much waits to be taken in that none can.
    pub can_arrive: bool,
}

/// What somebody who is no rank yet is at. One comes after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joining {
    /// It asks to be let in: [`Transport::admit`] does that.
    Asks,
    /// It has been let in and can be reached by all ranks: [`Transport::grow`] makes it one.
    Came,
    /// It had been let in, and did not come.
    Gone,
}

/// Carries events between the ranks of a run. What one rank sends to another arrives in order.
///
/// Any thread may send; one at a time polls or sleeps.
pub trait Transport: Send + Sync {
    /// Which rank this is.
    fn rank(&self) -> Rank;

    /// How many there were when this one began.
    fn ranks(&self) -> u32;

    /// How many there may be, with those that join later.
    fn room(&self) -> u32 {
        self.ranks()
    }

    /// How many processes are outside of the run and fire at its ranks; their numbers follow those
    /// of the ranks.
    fn clients(&self) -> u32 {
        0
    }

    /// Whether this rank is to tell another of the losses that it hears of: not all of them find out by
    /// themselves.
    fn is_informed_of_losses(&self, _other: Rank) -> bool {
        false
    }

    /// Whether ranks show each other that their processes run: nobody else looks, and any thread may send at any time.
    fn shows_life(&self) -> bool {
        false
    }

    /// Shows another rank that the process of this one runs. Who has no room for it gets the next sign.
    fn show_life(&self, _target: Rank) {}

    /// What is known of the process of another rank, whether or not what came from there has been taken in;
    /// nothing of one that has never given a sign. One thread asks.
    fn life(&self, _source: Rank) -> Option<Life> {
        None
    }

    /// Another rank has reported that this one is lost.
    fn lose(&self, _rank: Rank) {}

    /// A client has detached: what is on its way to it need not arrive, and nothing more is sent there.
    fn release(&self, _client: Rank) {}

    /// Whether this thread may poll.
    fn may_poll(&self) -> bool {
        true
    }

    /// Which ranks were lost before, if this one has joined a run that was on.
    fn lost_before(&self) -> Option<&[Rank]> {
        None
    }

    /// Lets in who asks to join, as the rank `number`, and tells it who is lost.
    fn admit(&self, _number: Rank, _lost: &[Rank]) {}

    /// There are so many ranks now: new ones are sent to, and what comes from them is handed over.
    fn grow(&self, _ranks: u32) {}

    /// Sends something to another rank, copying what it consists of.
    ///
    /// # Errors
    ///
    /// [`TransportError::Full`] if there is no room now; nothing was sent then.
    fn send(&self, target: Rank, message: &Outgoing<'_>) -> Result<(), TransportError>;

    /// The most bytes of a payload that [`Transport::send`] takes at once for this target.
    fn longest(&self, target: Rank) -> usize;

    /// Whether a rank can read what [`Transport::place`] gives.
    fn reads_blocks(&self, _target: Rank) -> bool {
        true
    }

    /// Copies a large payload to where ranks can read it; `None` if there is no such place,
    /// or the payload is too small for it to be worth it.
    ///
    /// # Errors
    ///
    /// [`TransportError::Full`] if there is no room now.
    fn place(&self, _parts: &[&[u8]]) -> Result<Option<Arc<Block>>, TransportError> {
        Ok(None)
    }

    /// Hands over what has arrived; how much that was. May hand over only some of it.
    ///
    /// # Errors
    ///
    /// If something came that no rank sends.
    fn poll(&self, take: &mut dyn FnMut(Rank, Incoming)) -> Result<usize, TransportError>;

    /// Sleeps until something may have arrived, [`Transport::wake`] was called, or `timeout` is
    /// over, unless `is_idle` says at the last moment that there is something to do.
    fn sleep(&self, is_idle: &dyn Fn() -> bool, timeout: Option<Duration>);

    /// Wakes who sleeps, if somebody does.
    fn wake(&self);

    /// Sees to it that whoever was sent something looks for it.
    fn flush(&self) {}

    /// The run is over for this rank because another is lost: tells who watches over the ranks.
    fn give_up(&self) {}

    /// This rank is done: tells the others that it is not lost.
    fn leave(&self) {}
}

/// Bytes in one piece, as a payload.
pub(crate) fn gathered(kind: u32, parts: &[&[u8]]) -> Payload {
    match parts {
        [part] => Payload::copy(kind, part),
        parts if total(parts) <= 32 => Payload::copy(kind, &parts.concat()),
        parts => Payload { kind, data: Data::Bytes(Arc::new(parts.concat())) },
    }
}
