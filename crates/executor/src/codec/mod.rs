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
    /// A length or an integer has more bits than one can have.
    #[error("a number is too large")]
    TooLarge,
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

/// How many bits of a number a byte has.
const BITS: u32 = 7;
/// The bit of a byte that says that more of the number follow.
const MORE: u8 = 1 << BITS;

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

    /// A length, which has 32 bits at most.
    #[inline]
    pub fn number(&mut self) -> Result<usize, CodecError> {
        let value = u32::try_from(self.varint()?).map_err(|_| CodecError::TooLarge)?;
        Ok(value as usize)
    }

    #[inline]
    pub fn varint(&mut self) -> Result<u64, CodecError> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(BITS as usize) {
            let byte = self.byte()?;
            let bits = u64::from(byte & !MORE);
            if bits << shift >> shift != bits {
                return Err(CodecError::TooLarge);
            }
            value |= bits << shift;
            if byte < MORE {
                return Ok(value);
            }
        }
        Err(CodecError::TooLarge)
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
