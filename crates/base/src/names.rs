//! Names of blocks and functions: 128 bits of BLAKE3 over what the thing *is*.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The name of a block or a function, printed as 32 hex digits.
///
/// Equal contents (or equal calls) have equal names, today and tomorrow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Name(pub [u8; 16]);

/// A text that is not the name of anything.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a name has 32 hex digits, and {text:?} has not")]
pub struct NameError {
    /// What was given.
    pub text: String,
}

impl Name {
    /// The name of some bytes. Linear in `bytes`, several GB/s.
    pub fn of(bytes: &[u8]) -> Self {
        Self::truncate(&blake3::hash(bytes))
    }

    fn truncate(hash: &blake3::Hash) -> Self {
        let mut name = [0; 16];
        name.copy_from_slice(&hash.as_bytes()[..16]);
        Self(name)
    }

    /// The name of a small value that travels in messages, by its encoded bytes.
    pub fn of_inline(bytes: &[u8]) -> Self {
        NameHasher::new("inline").part(bytes).finish()
    }

    /// The name of a value that is a block, by its pickle stream and its buffers.
    pub fn of_value(stream: &[u8], buffers: &[&[u8]]) -> Self {
        let mut hasher = NameHasher::new("value");
        hasher.part(stream);
        for buffer in buffers {
            hasher.part(buffer);
        }
        hasher.finish()
    }

    /// The name of the result of a reduction of `inputs` by a function.
    pub fn of_reduction(function: Self, inputs: &[Self], commutes: bool) -> Self {
        let mut hasher = NameHasher::new("reduction");
        hasher.part(&function.0).part(&[u8::from(commutes)]);
        for input in inputs {
            hasher.piece(&input.0);
        }
        hasher.finish()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A trace has many of them.
        let digit = |half: u8| b"0123456789abcdef"[usize::from(half)];
        let mut text = [0; 32];
        for (digits, byte) in text.chunks_exact_mut(2).zip(self.0) {
            digits.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        }
        f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let fail = || NameError { text: text.chars().take(80).collect() };
        if text.len() != 32 || !text.is_ascii() {
            return Err(fail());
        }
        let mut name = [0; 16];
        for (byte, digits) in name.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let digits = std::str::from_utf8(digits).map_err(|_| fail())?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| fail())?;
        }
        Ok(Self(name))
    }
}

/// Names something made of several parts; each part is delimited, so `("ab", "c")` and
/// `("a", "bc")` differ.
#[derive(Debug, Clone, Default)]
pub struct NameHasher(blake3::Hasher);

impl NameHasher {
    /// A hasher for one kind of thing: two kinds never share a name.
    pub fn new(kind: &str) -> Self {
        let mut hasher = Self::default();
        hasher.part(kind.as_bytes());
        hasher
    }

    /// Adds a part.
    pub fn part(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// Adds bytes without a delimiter: for one part that comes in pieces.
    pub fn piece(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update(bytes);
        self
    }

    /// The name of all parts so far.
    pub fn finish(&self) -> Name {
        Name::truncate(&self.0.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_are_delimited() {
        let name = |parts: &[&str]| {
            let mut hasher = NameHasher::new("test");
            for part in parts {
                hasher.part(part.as_bytes());
            }
            hasher.finish()
        };
        assert_ne!(name(&["ab", "c"]), name(&["a", "bc"]));
        assert_eq!(name(&["ab", "c"]), name(&["ab", "c"]));
    }

    #[test]
    fn names_are_those_of_blake3() {
        assert_eq!(Name::of(b"").to_string(), "af1349b9f5f9a1a6a0404dea36dcc949");
    }

    proptest! {
        #[test]
        fn a_printed_name_is_read_back(bytes: [u8; 16]) {
            prop_assert_eq!(Name(bytes).to_string().parse(), Ok(Name(bytes)));
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            if let Ok(name) = text.parse::<Name>() {
                prop_assert_eq!(name.to_string(), text.to_lowercase());
            }
        }
    }
}
