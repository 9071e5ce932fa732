//! Whole rows, read in pieces of bounded memory.

use super::QUOTE;
use crate::{IoError, Result, Source};

/// Bytes that are read at once.
const STEP: usize = 512 << 10;

/// Some whole rows, as they are in the file.
pub struct Rows<'a, S: ?Sized> {
    source: &'a S,
    position: u64,
    stop: u64,
    quoted: bool,
    buffer: Vec<u8>,
    /// Bytes in the buffer, of which those before `given` were given out.
    filled: usize,
    given: usize,
}

/// A range of bytes that begins and ends with a row.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The first byte.
    pub start: u64,
    /// The byte behind the last.
    pub stop: u64,
    /// The number of its first row, for messages.
    pub row: u64,
    /// How many rows it has.
    pub rows: u64,
    /// Whether a line end may be inside of quotes.
    pub quoted: bool,
}

impl<'a, S: Source + ?Sized> Rows<'a, S> {
    /// The rows of a part.
    pub fn new(source: &'a S, part: &Part) -> Self {
        let Part { start, stop, quoted, .. } = *part;
        Self { source, position: start, stop, quoted, buffer: Vec::new(), filled: 0, given: 0 }
    }

    /// The next whole rows; the last byte is a line end. None at the end.
    ///
    /// # Errors
    /// What the source says.
    pub fn next_rows(&mut self) -> Result<Option<&[u8]>> {
        self.buffer.copy_within(self.given..self.filled, 0);
        self.filled -= self.given;
        self.given = 0;
        // One long row is read until it ends; each time twice as much, so that it takes
        // linear time.
        loop {
            let rest = self.stop.saturating_sub(self.position);
            if rest == 0 {
                return Ok(self.last());
            }
            // To a multiple of `STEP` in the file, so that no call crosses from one stripe of a
            // parallel file system into the next.
            let end = self.position + STEP.max(self.filled) as u64;
            let step = (end - end % STEP as u64 - self.position).min(rest) as usize;
            // One more byte, for the line end that the last row may lack.
            if self.buffer.len() < self.filled + step + 1 {
                self.buffer.resize(self.filled + step + 1, 0);
            }
            let target = &mut self.buffer[self.filled..self.filled + step];
            let found = self.source.fill_at(target, self.position)?;
            if found < step {
                let offset = self.position + found as u64;
                let reason = "the file ends here, and was longer when it was opened";
                return Err(IoError::format(offset, reason));
            }
            self.position += step as u64;
            self.filled += step;
            if let Some(end) = self.last_end() {
                self.given = end;
                return Ok(Some(&self.buffer[..end]));
            }
        }
    }

    /// What is left when all bytes are read, its line end added if it lacks one.
    fn last(&mut self) -> Option<&[u8]> {
        if self.filled == 0 {
            return None;
        }
        if self.buffer[self.filled - 1] != b'\n' || self.last_end() != Some(self.filled) {
            if self.buffer.len() == self.filled {
                self.buffer.push(0);
            }
            self.buffer[self.filled] = b'\n';
            self.filled += 1;
        }
        self.given = self.filled;
        Some(&self.buffer[..self.filled])
    }

    /// The place behind the last line end that ends a row.
    fn last_end(&self) -> Option<usize> {
        let bytes = &self.buffer[..self.filled];
        if !self.quoted {
            return memchr::memrchr(b'\n', bytes).map(|at| at + 1);
        }
        let mut is_inside = false;
        let mut end = None;
        for at in memchr::memchr2_iter(QUOTE, b'\n', bytes) {
            if bytes[at] == QUOTE {
                is_inside = !is_inside;
            } else if !is_inside {
                end = Some(at + 1);
            }
        }
        end
    }
}
