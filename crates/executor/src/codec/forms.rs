//! The forms that arguments and inline values have: their first byte says which.

use super::direct::Reader;
use super::{CodecError, Cursor};

/// The first byte of arguments, or of an inline value, that are written without pickle.
pub const DIRECT: u8 = 2;
/// The first byte of pickled arguments: positional ones alone, or with keywords.
const POSITIONAL: u8 = 0;
const WITH_KEYWORDS: u8 = 1;
/// The first byte of an inline value: a pickle alone, or buffers and a pickle.
const PLAIN: u8 = 0;
const BUFFERED: u8 = 1;

/// A call's arguments.
#[derive(Debug)]
pub enum Arguments<'a> {
    /// Values, their number before them; then keys and values, likewise.
    Direct(Reader<'a>),
    /// The pickle of a tuple.
    Positional(&'a [u8]),
    /// The pickle of a tuple and a dict.
    WithKeywords(&'a [u8]),
}

impl<'a> Arguments<'a> {
    /// Takes encoded arguments apart.
    ///
    /// # Errors
    /// [`CodecError::NoArguments`], [`CodecError::UnknownForm`].
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, CodecError> {
        match bytes.split_first().ok_or(CodecError::NoArguments)? {
            (&DIRECT, values) => Ok(Self::Direct(Reader::new(values))),
            (&POSITIONAL, pickle) => Ok(Self::Positional(pickle)),
            (&WITH_KEYWORDS, pickle) => Ok(Self::WithKeywords(pickle)),
            (form, _) => Err(CodecError::UnknownForm(*form)),
        }
    }

    /// Encodes a pickle of arguments.
    pub fn of_pickle(pickle: &[u8], has_keywords: bool) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(pickle.len() + 1);
        bytes.push(if has_keywords { WITH_KEYWORDS } else { POSITIONAL });
        bytes.extend_from_slice(pickle);
        bytes
    }
}

/// A value that is small enough for messages.
#[derive(Debug)]
pub enum Inline<'a> {
    /// One value.
    Direct(Reader<'a>),
    /// A pickle and its out-of-band buffers.
    Pickle {
        /// The stream.
        stream: &'a [u8],
        /// The buffers, in order.
        buffers: Vec<&'a [u8]>,
    },
}

impl<'a> Inline<'a> {
    /// Takes an inline value apart.
    ///
    /// # Errors
    /// [`CodecError::CutShort`], [`CodecError::UnknownForm`].
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, CodecError> {
        match bytes.split_first().ok_or(CodecError::CutShort)? {
            (&DIRECT, value) => Ok(Self::Direct(Reader::new(value))),
            (&PLAIN, stream) => Ok(Self::Pickle { stream, buffers: Vec::new() }),
            (&BUFFERED, rest) => Self::parse_buffered(Cursor(rest)),
            (form, _) => Err(CodecError::UnknownForm(*form)),
        }
    }

    fn parse_buffered(mut bytes: Cursor<'a>) -> Result<Self, CodecError> {
        let count = u32::from_le_bytes(bytes.fixed()?) as usize;
        let lengths = bytes.take(count.checked_mul(8).ok_or(CodecError::CutShort)?)?;
        let (lengths, _) = lengths.as_chunks();
        let taken = lengths.iter().map(|length| {
            let length = usize::try_from(u64::from_le_bytes(*length));
            bytes.take(length.map_err(|_| CodecError::CutShort)?)
        });
        let buffers = taken.collect::<Result<_, _>>()?;
        Ok(Self::Pickle { stream: bytes.0, buffers })
    }

    /// Encodes a pickle and its buffers.
    pub fn of_pickle(stream: &[u8], buffers: &[&[u8]]) -> Vec<u8> {
        let nbytes: usize = buffers.iter().map(|buffer| buffer.len()).sum();
        let mut bytes = Vec::with_capacity(stream.len() + nbytes + 16 + 8 * buffers.len());
        if buffers.is_empty() {
            bytes.push(PLAIN);
        } else {
            bytes.push(BUFFERED);
            bytes.extend_from_slice(&(buffers.len() as u32).to_le_bytes());
            for buffer in buffers {
                bytes.extend_from_slice(&(buffer.len() as u64).to_le_bytes());
            }
            for buffer in buffers {
                bytes.extend_from_slice(buffer);
            }
        }
        bytes.extend_from_slice(stream);
        bytes
    }
}
