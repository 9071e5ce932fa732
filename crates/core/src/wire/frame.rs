//! Frames: a little-endian `u32` length, then that many bytes of postcard.

use postcard::{Deserializer, de_flavors as de, ser_flavors as ser};
use serde::{Serialize, de::DeserializeOwned};
use std::io::{self, Read};

/// The largest frame that is sent or accepted: whatever is larger is a block, and travels as one.
pub const MAX_FRAME: usize = 64 << 20;

const HEADER: usize = 4;

/// A stream that does not hold frames.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Longer than [`MAX_FRAME`].
    #[error("a frame of {nbytes} bytes is larger than the {MAX_FRAME} that are allowed")]
    TooLarge {
        /// What the header says, or what was to be sent.
        nbytes: usize,
    },
    /// The body is not a message.
    #[error("a frame of {nbytes} bytes holds no message: {reason}")]
    Malformed {
        /// Its length.
        nbytes: usize,
        /// What the decoder says.
        reason: String,
    },
}

impl FrameError {
    /// Bytes of the frame that is none.
    pub fn nbytes(&self) -> usize {
        match self {
            Self::TooLarge { nbytes } | Self::Malformed { nbytes, .. } => *nbytes,
        }
    }
}

/// Appends `message` as a frame to `out`, or leaves `out` as it was.
///
/// # Errors
/// [`FrameError::TooLarge`].
pub fn encode<T: Serialize>(message: &T, out: &mut Vec<u8>) -> Result<(), FrameError> {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER]);
    let written = postcard::serialize_with_flavor(message, Append(out));
    let nbytes = out.len() - start - HEADER;
    let error = match written {
        Ok(()) if nbytes <= MAX_FRAME => {
            out[start..start + HEADER].copy_from_slice(&(nbytes as u32).to_le_bytes());
            return Ok(());
        }
        Ok(()) => FrameError::TooLarge { nbytes },
        Err(error) => FrameError::Malformed { nbytes, reason: error.to_string() },
    };
    out.truncate(start);
    Err(error)
}

/// Appends what a frame of `message` holds to `out`, or leaves `out` as it was: what [`decode`] reads.
///
/// # Errors
/// [`FrameError::TooLarge`].
pub fn encode_body<T: Serialize>(message: &T, out: &mut Vec<u8>) -> Result<(), FrameError> {
    let start = out.len();
    encode(message, out)?;
    out.drain(start..start + HEADER);
    Ok(())
}

/// How many bytes the first of several whole frames has.
pub fn first_nbytes(frames: &[u8]) -> usize {
    frames
        .first_chunk::<HEADER>()
        .map_or(frames.len(), |header| HEADER + u32::from_le_bytes(*header) as usize)
}

/// Writes to the end of a vector that stays with its owner, whatever happens.
struct Append<'a>(&'a mut Vec<u8>);

impl ser::Flavor for Append<'_> {
    type Output = ();

    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    #[inline]
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// Takes the body of a frame apart.
///
/// # Errors
/// [`FrameError::Malformed`], also when bytes are left over.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, FrameError> {
    let malformed = |reason: String| FrameError::Malformed { nbytes: body.len(), reason };
    let mut decoder = Deserializer::from_flavor(Bounded(body));
    let message = T::deserialize(&mut decoder).map_err(|error| malformed(error.to_string()))?;
    match decoder.finalize() {
        Ok([]) => Ok(message),
        Ok(rest) => Err(malformed(format!("{} bytes are left over", rest.len()))),
        Err(error) => Err(malformed(error.to_string())),
    }
}

/// Reads from a slice, and lets nothing be allocated on the word of a length prefix alone.
struct Bounded<'de>(&'de [u8]);

/// A sequence is allocated in one go only if this many bytes are left for each of its elements;
/// it is about what the largest element takes in memory, so a lying prefix gets no more memory
/// than the frame itself took. All other sequences grow as their elements are decoded.
const BYTES_PER_ELEMENT: usize = 256;

impl<'de> de::Flavor<'de> for Bounded<'de> {
    type Remainder = &'de [u8];
    type Source = &'de [u8];

    #[inline]
    fn pop(&mut self) -> postcard::Result<u8> {
        let (first, rest) =
            self.0.split_first().ok_or(postcard::Error::DeserializeUnexpectedEnd)?;
        self.0 = rest;
        Ok(*first)
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len() / BYTES_PER_ELEMENT)
    }

    #[inline]
    fn try_take_n(&mut self, count: usize) -> postcard::Result<&'de [u8]> {
        let (taken, rest) =
            self.0.split_at_checked(count).ok_or(postcard::Error::DeserializeUnexpectedEnd)?;
        self.0 = rest;
        Ok(taken)
    }

    fn finalize(self) -> postcard::Result<&'de [u8]> {
        Ok(self.0)
    }
}

/// Room for at least this much is offered to each read from a stream.
const READ: usize = 64 << 10;
/// A buffer that grew beyond this for a large frame is given back after it.
const RETAINED: usize = 1 << 20;

/// Bytes as they come from a stream, cut into frames.
#[derive(Debug, Default)]
pub struct Frames {
    /// `read..filled` waits to be taken; what is behind `filled` is room, zeroed or stale.
    buffer: Vec<u8>,
    read: usize,
    filled: usize,
}

impl Frames {
    /// Adds what was read from the stream.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.make_room(bytes.len());
        self.buffer[self.filled..self.filled + bytes.len()].copy_from_slice(bytes);
        self.filled += bytes.len();
    }

    /// Reads once from `stream`, without a copy, and says how many bytes came and how many
    /// could have come.
    ///
    /// # Errors
    /// Those of `stream`; what came before stays.
    pub fn read_from(&mut self, stream: &mut impl Read) -> io::Result<(usize, usize)> {
        self.make_room(READ);
        let room = &mut self.buffer[self.filled..];
        let offered = room.len();
        let nbytes = stream.read(room)?;
        self.filled += nbytes;
        Ok((nbytes, offered))
    }

    /// The next whole message, if there is one.
    ///
    /// # Errors
    /// The stream is of no further use after an error.
    // Not an `Iterator`: the kind of message is the caller's choice each time.
    #[allow(clippy::should_implement_trait)]
    pub fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, FrameError> {
        self.next_with(|message, _| message)
    }

    /// The next whole message, if there is one, as `take` makes it of the message and the bytes that
    /// it came as.
    ///
    /// # Errors
    /// The stream is of no further use after an error.
    pub fn next_with<T: DeserializeOwned, R>(
        &mut self,
        take: impl FnOnce(T, &[u8]) -> R,
    ) -> Result<Option<R>, FrameError> {
        let waiting = &self.buffer[self.read..self.filled];
        let Some(header) = waiting.first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let nbytes = u32::from_le_bytes(*header) as usize;
        if nbytes > MAX_FRAME {
            return Err(FrameError::TooLarge { nbytes });
        }
        let Some(body) = waiting[HEADER..].get(..nbytes) else {
            return Ok(None);
        };
        let taken = take(decode(body)?, body);
        self.read += HEADER + nbytes;
        if self.read == self.filled {
            self.clear();
        }
        Ok(Some(taken))
    }

    /// Bytes that were added and not yet taken.
    pub fn rest(&self) -> &[u8] {
        &self.buffer[self.read..self.filled]
    }

    /// Hands out bytes that were added and not yet taken; for a stream that goes on with raw bytes.
    pub fn take_rest(&mut self) -> Vec<u8> {
        let rest = self.rest().to_vec();
        self.clear();
        rest
    }

    fn clear(&mut self) {
        (self.read, self.filled) = (0, 0);
        if self.buffer.len() > RETAINED {
            self.buffer = Vec::new();
        }
    }

    /// Makes room for `nbytes` more. The buffer doubles with what really came, so that the
    /// header of a frame alone claims no memory.
    fn make_room(&mut self, nbytes: usize) {
        if self.buffer.len() - self.filled >= nbytes {
            return;
        }
        if self.read > 0 {
            self.buffer.copy_within(self.read..self.filled, 0);
            self.filled -= self.read;
            self.read = 0;
        }
        if self.buffer.len() - self.filled < nbytes {
            let least = self.filled + nbytes;
            self.buffer.resize(least.max(2 * self.filled), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_leaves_the_output_as_it_was() {
        let mut out = b"before".to_vec();
        let large = serde_bytes::ByteBuf::from(vec![0; MAX_FRAME]);
        assert!(matches!(encode(&large, &mut out), Err(FrameError::TooLarge { .. })));
        assert_eq!(out, b"before");
    }

    #[test]
    fn frames_come_out_however_the_stream_is_cut() {
        let mut stream = Vec::new();
        for number in 0..200_u64 {
            encode(&vec![number; number as usize], &mut stream).unwrap();
        }
        for step in [1, 3, 1000, stream.len()] {
            let mut frames = Frames::default();
            let mut number = 0;
            for piece in stream.chunks(step) {
                frames.extend(piece);
                while let Some(message) = frames.next::<Vec<u64>>().unwrap() {
                    assert_eq!(message, vec![number; number as usize]);
                    number += 1;
                }
            }
            assert_eq!((number, frames.take_rest().len()), (200, 0));
        }
    }

    #[test]
    fn read_from_reads_what_extend_would_add() {
        let mut stream = Vec::new();
        let value = serde_bytes::ByteBuf::from(vec![7; 300_000]);
        encode(&value, &mut stream).unwrap();
        let mut reader = stream.as_slice();
        let mut frames = Frames::default();
        while frames.read_from(&mut reader).unwrap().0 > 0 {}
        assert_eq!(frames.next::<serde_bytes::ByteBuf>().unwrap(), Some(value));
    }

    #[test]
    fn a_lying_prefix_is_refused_without_memory_for_it() {
        let mut body = Vec::new();
        encode(&u64::MAX, &mut body).unwrap();
        assert!(decode::<smallvec::SmallVec<[u128; 1]>>(&body[HEADER..]).is_err());
    }
}
