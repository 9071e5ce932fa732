//! Events and what tells them apart.

use smallvec::SmallVec;
use std::fmt;
use std::hash::{Hash, Hasher};
use xxhash_rust::xxh3::xxh3_64;

/// The number of a rank, from 0.
pub type Rank = u32;

/// The identifier of an event: any bytes, most often a word. Short ones are kept in place.
#[derive(Clone, Eq)]
pub struct EventId {
    hash: u64,
    bytes: SmallVec<[u8; 24]>,
}

impl EventId {
    /// The identifier that these bytes are.
    pub fn new(bytes: &[u8]) -> Self {
        Self { hash: xxh3_64(bytes), bytes: SmallVec::from_slice(bytes) }
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A hash of its bytes, found once.
    pub fn hash(&self) -> u64 {
        self.hash
    }
}

impl PartialEq for EventId {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.bytes == other.bytes
    }
}

impl Hash for EventId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl From<&str> for EventId {
    fn from(word: &str) -> Self {
        Self::new(word.as_bytes())
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.bytes))
    }
}

impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.bytes))
    }
}

/// How long an event lasts, and whether a run waits for it to be consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    /// Consumed once; a run does not end before it is.
    Once,
    /// Fired again, at its target, each time it is consumed; no run waits for it.
    Persistent,
    /// Consumed once, but no run waits for it: the tick of a clock, the loss of a rank.
    Weak,
}

/// A labelled message from one rank to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event<P> {
    /// Who fired it.
    pub source: Rank,
    /// Its identifier.
    pub id: EventId,
    /// How long it lasts.
    pub lasting: Lasting,
    /// What it carries.
    pub payload: P,
}

/// From whom a task wants an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// From this rank.
    Rank(Rank),
    /// From any rank, whichever is first.
    Any,
}

/// An event that a task waits for. An event of every rank is one dependency for each of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Dependency {
    /// From whom.
    pub source: Source,
    /// With which identifier.
    pub id: EventId,
}

impl Dependency {
    /// An event with `id` from `source`.
    pub fn new(source: Source, id: impl Into<EventId>) -> Self {
        Self { source, id: id.into() }
    }

    /// An event with `id` of every one of `ranks` ranks, in the order of the ranks.
    pub fn all(ranks: u32, id: &EventId) -> Vec<Self> {
        (0..ranks).map(|rank| Self { source: Source::Rank(rank), id: id.clone() }).collect()
    }
}

impl fmt::Display for Dependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            Source::Rank(rank) => write!(f, "'{}' from rank {rank}", self.id),
            Source::Any => write!(f, "'{}' from any rank", self.id),
        }
    }
}
