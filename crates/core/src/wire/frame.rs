//! Frames: a little-endian `u32` length, then that many bytes of postcard.

use serde::{Serialize, de::DeserializeOwned};

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

/// Appends `message` as a frame to `out`, or leaves `out` as it was.
///
/// # Errors
/// [`FrameError::TooLarge`].
pub fn encode<T: Serialize>(message: &T, out: &mut Vec<u8>) -> Result<(), FrameError> {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER]);
    let taken = std::mem::take(out);
    *out = postcard::to_extend(message, taken)
        .map_err(|error| FrameError::Malformed { nbytes: 0, reason: error.to_string() })?;
    let nbytes = out.len() - start - HEADER;
    if nbytes > MAX_FRAME {
        out.truncate(start);
        return Err(FrameError::TooLarge { nbytes });
    }
    out[start..start + HEADER].copy_from_slice(&(nbytes as u32).to_le_bytes());
    Ok(())
}

/// Takes the body of a frame apart.
///
/// # Errors
/// [`FrameError::Malformed`], also when bytes are left over.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, FrameError> {
    let malformed = |reason: String| FrameError::Malformed { nbytes: body.len(), reason };
    match postcard::take_from_bytes(body) {
        Ok((message, [])) => Ok(message),
        Ok((_, rest)) => Err(malformed(format!("{} bytes are left over", rest.len()))),
        Err(error) => Err(malformed(error.to_string())),
    }
}

/// Bytes as they come from a stream, cut into frames.
#[derive(Debug, Default)]
pub struct Frames {
    buffer: Vec<u8>,
    read: usize,
}

impl Frames {
    /// Adds what was read from the stream.
    pub fn extend(&mut self, bytes: &[u8]) {
        if self.read > 0 && self.read == self.buffer.len() {
            self.buffer.clear();
            self.read = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole message, if there is one.
    ///
    /// # Errors
    /// The stream is of no further use after an error.
    pub fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, FrameError> {
        let waiting = &self.buffer[self.read..];
        let Some(header) = waiting.first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let nbytes = u32::from_le_bytes(*header) as usize;
        if nbytes > MAX_FRAME {
            return Err(FrameError::TooLarge { nbytes });
        }
        let Some(body) = waiting[HEADER..].get(..nbytes) else {
            self.make_room();
            return Ok(None);
        };
        let message = decode(body)?;
        self.read += HEADER + nbytes;
        Ok(Some(message))
    }

    /// Bytes that were added and not yet taken; for a stream that goes on with raw bytes.
    pub fn take_rest(&mut self) -> Vec<u8> {
        let rest = self.buffer.split_off(self.read);
        self.buffer.clear();
        self.read = 0;
        rest
    }

    fn make_room(&mut self) {
        if self.read > self.buffer.len() / 2 {
            self.buffer.drain(..self.read);
            self.read = 0;
        }
    }
}
