//! The bytes of arguments and of small values.
//!
//! - [`direct`]: plain values, without pickle.
//! - [`forms`]: which of the forms some bytes have: direct, or a pickle with its buffers.
//! - [`inputs`]: the positions of a call's inputs.

pub mod direct;
pub mod forms;
pub mod inputs;

pub use forms::{Arguments, Inline};
pub use inputs::Inputs;

/// Why bytes are no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// They end too early.
    #[error("a value is cut short")]
    CutShort,
    /// There are none.
    #[error("a call's arguments are empty")]
    NoArguments,
    /// A text that is none.
    #[error("a text is not UTF-8")]
    NoText,
    /// A value begins as none does.
    #[error("unknown tag {0} of a value")]
    UnknownTag(u8),
    /// Arguments, or an inline value, begin as none do.
    #[error("unknown form {0} of arguments or of an inline value")]
    UnknownForm(u8),
    /// Tuples in tuples beyond what is written.
    #[error("tuples are nested deeper than {}", direct::MAX_DEPTH)]
    TooDeep,
    /// A dtype that is not in the table.
    #[error("unknown dtype {0} of an array")]
    UnknownDtype(u8),
}

/// Takes bytes from the front of a slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    #[inline]
    pub fn byte(&mut self) -> Result<u8, CodecError> {
        let [byte] = self.fixed()?;
        Ok(byte)
    }

    #[inline]
    pub fn fixed<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(CodecError::CutShort)?;
        self.0 = rest;
        Ok(*taken)
    }

    #[inline]
    pub fn number(&mut self) -> Result<usize, CodecError> {
        Ok(u32::from_le_bytes(self.fixed()?) as usize)
    }

    #[inline]
    pub fn take(&mut self, nbytes: usize) -> Result<&'a [u8], CodecError> {
        let (taken, rest) = self.0.split_at_checked(nbytes).ok_or(CodecError::CutShort)?;
        self.0 = rest;
        Ok(taken)
    }

    #[inline]
    pub fn sized(&mut self) -> Result<&'a [u8], CodecError> {
        let nbytes = self.number()?;
        self.take(nbytes)
    }
}
