//! Bytes that are not looked into.

use serde::{Deserialize, Serialize};
use triomphe::ThinArc;

/// Opaque bytes that are cheap to clone. Their length lies with them, so that who holds them needs one
/// word: each task and each future of a call does.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload(ThinArc<(), u8>);

impl Payload {
    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.0.slice
    }

    /// How many bytes.
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }
}

impl Default for Payload {
    fn default() -> Self {
        Self::from(&[][..])
    }
}

impl From<&[u8]> for Payload {
    fn from(bytes: &[u8]) -> Self {
        Self(ThinArc::from_header_and_slice((), bytes))
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from(&bytes[..])
    }
}

impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}

impl Serialize for Payload {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.as_slice())
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes: &serde_bytes::Bytes = Deserialize::deserialize(deserializer)?;
        Ok(Self::from(&bytes[..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_one_word_also_if_there_may_be_none() {
        assert_eq!(size_of::<Option<Payload>>(), size_of::<usize>());
        assert!(Payload::default().is_empty());
    }
}
