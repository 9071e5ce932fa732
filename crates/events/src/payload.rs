//! What events carry.

use crate::event::Event;
use crate::transport::arena::Block;
use smallvec::SmallVec;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// What an event carries: a type, and bytes or a value of this process.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    /// Of which type; what the numbers mean is up to who fires and who consumes. 0 is nothing.
    pub kind: u32,
    /// The content.
    pub data: Data,
}

/// The content of a payload. Clones share it.
#[derive(Clone, Default)]
pub enum Data {
    /// None.
    #[default]
    None,
    /// A few bytes, in place.
    Small(SmallVec<[u8; 32]>),
    /// Bytes on the heap.
    Bytes(Arc<Vec<u8>>),
    /// Bytes in memory that ranks share, where they were fired.
    Block(Arc<Block>),
    /// A value of this process, passed by reference.
    Value(Arc<dyn Any + Send + Sync>),
}

/// The events that a task is given.
pub type Events = Vec<Event<Payload>>;

impl Payload {
    /// A copy of these bytes.
    pub fn copy(kind: u32, bytes: &[u8]) -> Self {
        let data = match bytes.len() {
            0 => Data::None,
            1..=32 => Data::Small(SmallVec::from_slice(bytes)),
            _ => Data::Bytes(Arc::new(bytes.to_vec())),
        };
        Self { kind, data }
    }

    /// A value that stays in this process.
    pub fn value(kind: u32, value: Arc<dyn Any + Send + Sync>) -> Self {
        Self { kind, data: Data::Value(value) }
    }

    /// Its bytes; none for a value.
    pub fn bytes(&self) -> &[u8] {
        match &self.data {
            Data::None | Data::Value(_) => &[],
            Data::Small(bytes) => bytes,
            Data::Bytes(bytes) => bytes,
            Data::Block(block) => block,
        }
    }
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("nothing"),
            Self::Small(bytes) => write!(f, "{} bytes", bytes.len()),
            Self::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
            Self::Block(block) => write!(f, "{} shared bytes", block.len()),
            Self::Value(_) => f.write_str("a value"),
        }
    }
}
