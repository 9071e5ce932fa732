//! The one pass over all bytes: line ends, quotes, and what kinds of bytes there are.
//!
//! See docs/decisions/026-csv-chunks-are-summarised-for-both-quote-states.md

use super::{CHUNK, QUOTE};
use crate::{IoError, Result, Source, parallel};
use std::sync::Mutex;

/// Some byte is not one of a number, nor a blank in front of one: letters, signs other than `-` and
/// `.`, blanks behind or within.
pub const OTHER: u8 = 1;
/// Some byte is `.`, `e` or `E`.
pub const FLOAT: u8 = 2;
/// Some byte is a quote.
pub const QUOTED: u8 = 4;

/// Chunks that a thread sums up before it asks for more, at most.
const LONGEST_RUN: usize = 4;

/// Some byte is a blank.
const BLANK: u8 = 8;

/// A line end follows on another one, or half of it.
const EMPTY_LINE: u8 = 16;

/// What a byte is to one beside it: numbers are padded by blanks behind a delimiter or a line end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// A delimiter, a line end, or the end of the file.
    #[default]
    Edge,
    /// A blank.
    Blank,
    /// Any other byte.
    Inner,
}

impl Side {
    fn of(byte: u8, delimiter: u8) -> Self {
        if byte == delimiter || matches!(byte, b'\n' | b'\r') {
            Self::Edge
        } else if byte == b' ' {
            Self::Blank
        } else {
            Self::Inner
        }
    }

    /// Whether the byte that follows may do so if blanks are only in front of numbers.
    pub fn goes_before(self, next: Self) -> bool {
        !matches!((self, next), (Self::Inner, Self::Blank) | (Self::Blank, Self::Edge))
    }
}

/// What a chunk of bytes has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Line ends, if the chunk begins outside of quotes.
    pub outside: u64,
    /// Line ends, if it begins inside of quotes.
    pub inside: u64,
    /// Whether its end is inside of quotes if its beginning is not, and the other way round.
    pub turns: bool,
    /// The kinds of bytes: [`OTHER`], [`FLOAT`], [`QUOTED`].
    pub kinds: u8,
    /// What the first byte is, and the last.
    pub ends: (Side, Side),
    /// Lines of no bytes, in quotes or not, whose line end and the one before are both in it.
    pub blanks: u64,
    /// The first two bytes, and the last two.
    pub border: ([u8; 2], [u8; 2]),
}

impl Summary {
    /// Sums up some bytes.
    pub fn of(bytes: &[u8], delimiter: u8) -> Self {
        let Look { lines, kinds, has_blanks } = look(bytes, delimiter);
        let side = |byte: Option<&u8>| byte.map_or(Side::Edge, |byte| Side::of(*byte, delimiter));
        let ends = (side(bytes.first()), side(bytes.last()));
        let border = (
            [byte_at(bytes, 0), byte_at(bytes, 1)],
            [
                byte_at(bytes, bytes.len().wrapping_sub(2)),
                byte_at(bytes, bytes.len().wrapping_sub(1)),
            ],
        );
        let blanks = if has_blanks { blank_lines(bytes) } else { 0 };
        if kinds & QUOTED == 0 {
            return Self { outside: lines, inside: 0, turns: false, kinds, ends, blanks, border };
        }
        let mut found = [0_u64; 2];
        let mut side = 0;
        for at in memchr::memchr2_iter(QUOTE, b'\n', bytes) {
            if bytes[at] == QUOTE {
                side = 1 - side;
            } else {
                found[side] += 1;
            }
        }
        let turns = side == 1;
        Self { outside: found[0], inside: found[1], turns, kinds, ends, blanks, border }
    }
}

/// The byte at a place, 0 where there is none.
fn byte_at(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// Lines of no bytes between two line ends.
fn blank_lines(bytes: &[u8]) -> u64 {
    let ends = [&b"\n\n"[..], b"\n\r\n"].map(memchr::memmem::Finder::new);
    let mut count = 0;
    for end in &ends {
        let mut at = 0;
        // The line end of one may be that before the next.
        while let Some(step) = end.find(&bytes[at..]) {
            count += 1;
            at += step + 1;
        }
    }
    count
}

/// Lines of no bytes that end behind a border between two chunks, and begin before it.
pub fn blanks_between(last: [u8; 2], first: [u8; 2]) -> u64 {
    let is_blank = matches!(
        (last, first),
        ([_, b'\n'], [b'\n', _] | [b'\r', b'\n']) | ([b'\n', b'\r'], [b'\n', _])
    );
    u64::from(is_blank)
}

/// What a pass over some bytes finds.
#[derive(Clone, Copy)]
struct Look {
    /// Line ends.
    lines: u64,
    kinds: u8,
    /// Whether a line end follows on another one, or half of it.
    has_blanks: bool,
}

/// Line ends, and kinds of bytes: by vectors of 32 bytes where the processor has them.
fn look(bytes: &[u8], delimiter: u8) -> Look {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn wide(bytes: &[u8], delimiter: u8) -> Look {
            look_plainly(bytes, delimiter)
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has what the function was compiled for.
            return unsafe { wide(bytes, delimiter) };
        }
    }
    look_plainly(bytes, delimiter)
}

// This, and what it calls, is compiled for each kind of processor.
#[allow(clippy::inline_always)]
#[inline(always)]
fn look_plainly(bytes: &[u8], delimiter: u8) -> Look {
    let (lines, kinds) = count(bytes, delimiter);
    let is_wrong = kinds & (BLANK | OTHER) == BLANK && !is_padded(bytes, delimiter);
    let has_blanks = kinds & EMPTY_LINE != 0;
    let kinds = (kinds | if is_wrong { OTHER } else { 0 }) & !(BLANK | EMPTY_LINE);
    Look { lines, kinds, has_blanks }
}

/// Whether each blank stands in front of a number or of another one.
#[allow(clippy::needless_bitwise_bool)] // a lazy operator is a branch
#[allow(clippy::inline_always)] // see `look_plainly`
#[inline(always)]
fn is_padded(bytes: &[u8], delimiter: u8) -> bool {
    let is_edge = |byte: u8| (byte == delimiter) | (byte == b'\n') | (byte == b'\r');
    let pairs = bytes.iter().zip(bytes.iter().skip(1));
    // No branches, as below: the rules of `Side::goes_before`.
    let wrong = pairs.fold(0, |wrong, (&byte, &next)| {
        let (is_blank, is_next) = (byte == b' ', next == b' ');
        let inside = !is_blank & !is_edge(byte) & is_next;
        wrong | u8::from(inside | (is_blank & is_edge(next)))
    });
    wrong == 0
}

/// Bytes that are looked at together.
const LANES: usize = 32;

/// What some bytes have, a counter and a flag for each place in a group of [`LANES`].
#[derive(Clone, Copy, Default)]
struct Lanes {
    ends: [u8; LANES],
    other: [u8; LANES],
    float: [u8; LANES],
    quote: [u8; LANES],
    blank: [u8; LANES],
    empty_line: [u8; LANES],
}

impl Lanes {
    /// Adds a byte to each lane, beside which is the one behind it: no branches, so that compilers
    /// make vectors of them.
    #[allow(clippy::needless_bitwise_bool)] // a lazy operator is a branch
    #[allow(clippy::inline_always)] // see `look_plainly`
    #[inline(always)]
    fn add(&mut self, bytes: &[u8; LANES], next: &[u8; LANES], delimiter: u8) {
        for (lane, (&byte, &next)) in bytes.iter().zip(next).enumerate() {
            let is_end = byte == b'\n';
            let is_float = (byte == b'.') | (byte | 0x20 == b'e');
            let is_plain = (byte.wrapping_sub(b'0') < 10)
                | (byte == delimiter)
                | (byte == b'-')
                | (byte == b'\r');
            let is_blank = byte == b' ';
            self.ends[lane] += u8::from(is_end);
            self.blank[lane] |= u8::from(is_blank & !is_plain);
            self.other[lane] |= u8::from(!(is_plain | is_end | is_float | is_blank));
            self.float[lane] |= u8::from(is_float);
            self.quote[lane] |= u8::from(byte == QUOTE);
            self.empty_line[lane] |= u8::from(is_end & ((next == b'\n') | (next == b'\r')));
        }
    }

    fn kinds(&self) -> u8 {
        let any = |lanes: &[u8; LANES], kind: u8| lanes.iter().fold(0, |all, one| all | one) * kind;
        let known = any(&self.other, OTHER) | any(&self.float, FLOAT);
        let blank = any(&self.blank, BLANK) | any(&self.empty_line, EMPTY_LINE);
        known | any(&self.quote, QUOTED) | blank
    }
}

/// Line ends, and kinds of bytes.
#[allow(clippy::inline_always)] // see `look_plainly`
#[inline(always)]
fn count(bytes: &[u8], delimiter: u8) -> (u64, u8) {
    // So few groups that no counter of eight bits overflows.
    const BATCH: usize = 255;
    let mut ends = 0_u64;
    let mut kinds = 0_u8;
    let mut add = |lanes: &Lanes| {
        ends += lanes.ends.iter().map(|count| u64::from(*count)).sum::<u64>();
        kinds |= lanes.kinds();
    };
    // All groups behind which there is a byte: it is the next one of their last.
    let (groups, _) = bytes[..bytes.len().saturating_sub(1)].as_chunks::<LANES>();
    let (next, _) = bytes[bytes.len().min(1)..].as_chunks::<LANES>();
    for (groups, next) in groups.chunks(BATCH).zip(next.chunks(BATCH)) {
        let mut lanes = Lanes::default();
        for (group, next) in groups.iter().zip(next) {
            lanes.add(group, next, delimiter);
        }
        add(&lanes);
    }
    // The last few bytes, made up to a group with delimiters, which are nothing.
    let rest = &bytes[groups.len() * LANES..];
    let (mut group, mut next) = ([delimiter; LANES], [delimiter; LANES]);
    group[..rest.len()].copy_from_slice(rest);
    next[..rest.len().saturating_sub(1)].copy_from_slice(&rest[rest.len().min(1)..]);
    let mut last = Lanes::default();
    last.add(&group, &next, delimiter);
    add(&last);
    (ends, kinds)
}

/// Sums up a range of bytes, chunk by chunk, by so many threads.
///
/// `first` is the number of the chunk with which the range begins, `count` how many there are.
///
/// # Errors
/// What the source says, or that it ends before the range does.
pub fn scan<S: Source + ?Sized>(
    source: &S,
    delimiter: u8,
    first: u64,
    count: u64,
    threads: usize,
) -> Result<Vec<Summary>> {
    let nbytes = source.nbytes()?;
    let count = usize::try_from(count).unwrap_or(0);
    let mut summaries = vec![Summary::default(); count];
    // A thread has chunks that follow one another: a source that is far away reads ahead.
    let run = (count / threads.max(1).saturating_mul(4)).clamp(1, LONGEST_RUN);
    let runs = (first..).step_by(run).zip(summaries.chunks_mut(run)).collect();
    let buffers: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());
    parallel::for_each(runs, threads, |(first, summaries): (u64, &mut [Summary])| {
        let spare = buffers.lock().ok().and_then(|mut buffers| buffers.pop());
        let mut buffer = spare.unwrap_or_else(|| vec![0; CHUNK as usize]);
        for (chunk, summary) in (first..).zip(summaries) {
            let offset = chunk * CHUNK;
            let wanted = CHUNK.min(nbytes.saturating_sub(offset)) as usize;
            let found = source.fill_at(&mut buffer[..wanted], offset)?;
            if found < wanted {
                let reason = "the file ends here, and was longer when it was opened";
                return Err(IoError::format(offset + found as u64, reason));
            }
            *summary = Summary::of(&buffer[..found], delimiter);
        }
        if let Ok(mut buffers) = buffers.lock() {
            buffers.push(buffer);
        }
        Ok(())
    })?;
    Ok(summaries)
}
