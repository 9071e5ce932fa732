//! The cells of a row.

use super::QUOTE;
use crate::{IoError, Result};
use std::borrow::Cow;

/// A cell of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell<'a> {
    /// Its text, without the quotes around it.
    pub text: Cow<'a, [u8]>,
    /// Whether it stood in quotes.
    pub quoted: bool,
}

impl Cell<'_> {
    /// The text without blanks around it, in which numbers are padded.
    pub fn trimmed(&self) -> &[u8] {
        self.text.trim_ascii()
    }
}

/// Walks over the cells of whole rows, which end in a line end.
pub struct Cells<'a> {
    bytes: &'a [u8],
    at: usize,
    delimiter: u8,
    /// The number of the row that it is in, from 0 for the first of these bytes.
    pub row: u64,
    /// The number of the cell that comes next.
    pub column: usize,
}

impl<'a> Cells<'a> {
    /// Begins with the first row.
    pub fn new(bytes: &'a [u8], delimiter: u8) -> Self {
        Self { bytes, at: 0, delimiter, row: 0, column: 0 }
    }

    /// Begins in the middle: with cell `column` of row `row`, which starts at `at`.
    pub fn within(bytes: &'a [u8], delimiter: u8, at: usize, row: u64, column: usize) -> Self {
        Self { bytes, at, delimiter, row, column }
    }

    /// The place of the next cell.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Whether all rows were seen.
    pub fn is_done(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// The next cell, and whether it is the last of its row.
    ///
    /// # Errors
    /// [`IoError::Quote`] for quotes that are not where they can be.
    pub fn next_cell(&mut self) -> Result<(Cell<'a>, bool)> {
        let (cell, end) =
            if self.bytes.get(self.at) == Some(&QUOTE) { self.quoted()? } else { self.plain()? };
        let is_last = self.bytes.get(end).is_none_or(|byte| *byte == b'\n');
        self.at = end + 1;
        if is_last {
            self.row += 1;
            self.column = 0;
        } else {
            self.column += 1;
        }
        Ok((cell, is_last))
    }

    fn plain(&self) -> Result<(Cell<'a>, usize)> {
        let rest = &self.bytes[self.at..];
        let length = memchr::memchr2(self.delimiter, b'\n', rest).unwrap_or(rest.len());
        let mut text = &rest[..length];
        if rest.get(length) == Some(&b'\n') {
            text = text.strip_suffix(b"\r").unwrap_or(text);
        }
        if memchr::memchr(QUOTE, text).is_some() {
            return Err(self.quote(
                "a quote in the middle of a cell; put the cell in quotes and double those in it",
            ));
        }
        Ok((Cell { text: Cow::Borrowed(text), quoted: false }, self.at + length))
    }

    fn quoted(&self) -> Result<(Cell<'a>, usize)> {
        let start = self.at + 1;
        let mut at = start;
        let mut doubled = false;
        let close = loop {
            let Some(step) = memchr::memchr(QUOTE, &self.bytes[at..]) else {
                return Err(self.quote("its quotes are never closed"));
            };
            at += step;
            if self.bytes.get(at + 1) != Some(&QUOTE) {
                break at;
            }
            doubled = true;
            at += 2;
        };
        let mut end = close + 1;
        if self.bytes.get(end) == Some(&b'\r') && self.bytes.get(end + 1) == Some(&b'\n') {
            end += 1;
        }
        let behind = self.bytes.get(end).copied();
        if behind.is_some_and(|byte| byte != self.delimiter && byte != b'\n') {
            return Err(self.quote(
                "something stands behind the closing quote; double the quotes inside of a cell",
            ));
        }
        let text = &self.bytes[start..close];
        let text = if doubled { Cow::Owned(halved(text)) } else { Cow::Borrowed(text) };
        Ok((Cell { text, quoted: true }, end))
    }

    fn quote(&self, reason: &'static str) -> IoError {
        IoError::Quote { row: self.row, column: self.column, reason }
    }
}

/// The same text with one quote for two.
fn halved(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut skip = false;
    for &byte in text {
        skip = byte == QUOTE && !skip;
        if !skip {
            out.push(byte);
        }
    }
    out
}
