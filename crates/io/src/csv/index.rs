//! Where rows begin.

use super::scan::{OTHER, QUOTED, Side, Summary, blanks_between};
use super::{CHUNK, MARK, QUOTE};
use crate::{IoError, Result, Source};

/// Bytes that are read at once to find a line end.
const STEP: usize = 64 << 10;

const MAGIC: &[u8; 16] = b"freestone rows 2";

/// Where rows begin in a file: the line ends before each chunk of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Bytes of the file.
    pub nbytes: u64,
    /// How many lines there are, a heading included.
    pub lines: u64,
    /// Kinds of bytes: see [`super::scan`].
    pub kinds: u8,
    /// Lines of no bytes, also those in quotes.
    pub blanks: u64,
    /// Bytes before the first line: a mark of UTF-8 or nothing.
    start: u64,
    /// Line ends before each chunk, and in the highest bit whether it begins inside of quotes.
    chunks: Vec<u64>,
}

const INSIDE: u64 = 1 << 63;

impl Index {
    /// Makes the index of a file from the summaries of all its chunks.
    ///
    /// # Errors
    /// What the source says; [`IoError::Format`] when the file ends inside of quotes.
    pub fn new<S: Source + ?Sized>(source: &S, summaries: &[Summary]) -> Result<Self> {
        let nbytes = source.nbytes()?;
        let mut head = [0; MARK.len()];
        let found = source.fill_at(&mut head, 0)?;
        let start = if &head[..found] == MARK { MARK.len() as u64 } else { 0 };
        let mut last = [b'\n'];
        source.fill_at(&mut last, nbytes.saturating_sub(1))?;
        let (mut ends, mut is_inside, mut kinds, mut last_side) = (0, false, 0, Side::Edge);
        let mut chunks = Vec::with_capacity(summaries.len());
        let (mut blanks, mut before) = (0, [0, b'\n']);
        for summary in summaries {
            blanks += summary.blanks + blanks_between(before, summary.border.0);
            before = summary.border.1;
            chunks.push(ends | if is_inside { INSIDE } else { 0 });
            ends += if is_inside { summary.inside } else { summary.outside };
            is_inside ^= summary.turns;
            kinds |= summary.kinds;
            if !last_side.goes_before(summary.ends.0) {
                kinds |= OTHER;
            }
            last_side = summary.ends.1;
        }
        if !last_side.goes_before(Side::Edge) {
            kinds |= OTHER;
        }
        if is_inside {
            return Err(IoError::format(nbytes, "the file ends inside of quotes; close them"));
        }
        let lines = ends + u64::from(nbytes > start && last != *b"\n");
        Ok(Self { nbytes, lines, kinds, blanks, start, chunks })
    }

    /// Whether some byte is a quote.
    pub fn is_quoted(&self) -> bool {
        self.kinds & QUOTED != 0
    }

    /// The offset at which a line begins; that of the end for the one behind the last.
    ///
    /// # Errors
    /// What the source says; [`IoError::Rows`] when the file is not the one of this index.
    pub fn offset_of<S: Source + ?Sized>(&self, source: &S, line: u64) -> Result<u64> {
        if line == 0 {
            return Ok(self.start);
        }
        if line >= self.lines {
            return Ok(self.nbytes);
        }
        let chunk = self.chunks.partition_point(|entry| entry & !INSIDE < line) - 1;
        let entry = self.chunks[chunk];
        let (mut offset, stop) =
            (chunk as u64 * CHUNK, self.nbytes.min((chunk as u64 + 1) * CHUNK));
        let mut is_inside = entry & INSIDE != 0;
        let mut ends = entry & !INSIDE;
        let mut buffer = vec![0; STEP];
        // Most often the first line end of the chunk is looked for, so little of it is read.
        while offset < stop {
            let wanted = (stop - offset).min(STEP as u64) as usize;
            let found = source.fill_at(&mut buffer[..wanted], offset)?;
            for at in memchr::memchr2_iter(QUOTE, b'\n', &buffer[..found]) {
                if buffer[at] == QUOTE {
                    is_inside = !is_inside;
                } else if !is_inside {
                    ends += 1;
                    if ends == line {
                        return Ok(offset + at as u64 + 1);
                    }
                }
            }
            if found < wanted {
                break;
            }
            offset += wanted as u64;
        }
        Err(IoError::Rows { wanted: line, found: ends, start: 0, stop: self.nbytes })
    }

    /// Cuts lines into parts at which chunks begin: line and line behind the last, of about
    /// `nbytes` each.
    pub fn parts(&self, start: u64, stop: u64, nbytes: u64) -> Vec<(u64, u64)> {
        let each = (nbytes / CHUNK).max(1) as usize;
        let stop = stop.min(self.lines);
        let mut parts = Vec::new();
        let mut begin = start;
        for entry in self.chunks.iter().step_by(each).skip(1) {
            let end = (entry & !INSIDE) + 1;
            if end > begin && end < stop {
                parts.push((begin, end));
                begin = end;
            }
        }
        if begin < stop {
            parts.push((begin, stop));
        }
        parts
    }

    /// The index as bytes, for a file beside the one that it is of.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        let numbers = [self.nbytes, self.lines, u64::from(self.kinds), self.start, self.blanks];
        for number in numbers.iter().chain(&self.chunks) {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out
    }

    /// Reads what [`Index::encode`] wrote; None if it is anything else.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let body = bytes.strip_prefix(MAGIC)?;
        if !body.len().is_multiple_of(8) || body.len() < 40 {
            return None;
        }
        let (words, _) = body.as_chunks::<8>();
        let numbers: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let chunks = numbers[5..].to_vec();
        let (nbytes, lines, start, blanks) = (numbers[0], numbers[1], numbers[3], numbers[4]);
        let kinds = u8::try_from(numbers[2]).ok()?;
        let rises = chunks.is_sorted_by_key(|entry| entry & !INSIDE);
        let fits = chunks.len() as u64 == nbytes.div_ceil(CHUNK)
            && chunks.first().map_or(lines == 0, |first| *first == 0)
            && chunks.last().is_none_or(|last| last & !INSIDE <= lines)
            && start <= nbytes;
        (rises && fits).then_some(Self { nbytes, lines, kinds, blanks, start, chunks })
    }
}
