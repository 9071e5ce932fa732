//! Matrix Market: the lines behind the header.

use crate::csv::{Part, Rows};
use crate::{IoError, Number, Result, Source};

/// What a line has.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Whether row and column stand in front, counted from 1.
    pub positions: bool,
    /// How many numbers a value has: none of a pattern, two of a complex one.
    pub values: usize,
    /// Rows and columns of the matrix.
    pub shape: (u64, u64),
}

/// Entries of a part, in its order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entries<T> {
    /// Rows, from 0.
    pub rows: Vec<i64>,
    /// Columns, from 0.
    pub columns: Vec<i64>,
    /// Numbers of the values, one after the other.
    pub values: Vec<T>,
}

/// The beginning of the first line at `offset` or behind it.
///
/// # Errors
/// What the source says.
pub fn line_from<S: Source + ?Sized>(source: &S, offset: u64, stop: u64) -> Result<u64> {
    const STEP: u64 = 1 << 12;
    let mut at = offset.saturating_sub(1);
    let mut buffer = [0; STEP as usize];
    while at < stop {
        let wanted = STEP.min(stop - at) as usize;
        let found = source.fill_at(&mut buffer[..wanted], at)?;
        if let Some(end) = memchr::memchr(b'\n', &buffer[..found]) {
            return Ok(at + end as u64 + 1);
        }
        if found < wanted {
            break;
        }
        at += found as u64;
    }
    Ok(stop)
}

/// Reads the lines between two offsets at which lines begin.
///
/// # Errors
/// [`IoError::Format`] with the byte at which a line is wrong.
pub fn read_part<T: Number, S: Source + ?Sized>(
    source: &S,
    (start, stop): (u64, u64),
    entry: &Entry,
) -> Result<Entries<T>> {
    let mut found = Entries { rows: Vec::new(), columns: Vec::new(), values: Vec::new() };
    let part = Part { start, stop, row: 0, rows: 0, quoted: false };
    let mut rows = Rows::new(source, &part);
    let mut offset = start;
    while let Some(bytes) = rows.next_rows()? {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = line.trim_ascii();
            if !text.is_empty() && text[0] != b'%' {
                read_line(text, entry, &mut found).map_err(|reason| {
                    let shown = String::from_utf8_lossy(&text[..text.len().min(40)]);
                    IoError::format(offset, format!("{shown:?} {reason}"))
                })?;
            }
            offset += line.len() as u64;
        }
    }
    Ok(found)
}

fn read_line<T: Number>(
    text: &[u8],
    entry: &Entry,
    found: &mut Entries<T>,
) -> std::result::Result<(), String> {
    let mut words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    if entry.positions {
        found.rows.push(position(words.next(), entry.shape.0, "row")?);
        found.columns.push(position(words.next(), entry.shape.1, "column")?);
    }
    for _ in 0..entry.values {
        let word = words.next().ok_or("ends before its value does")?;
        let scanned = T::scan(word).filter(|(_, used)| *used == word.len());
        let value = scanned.map(|(value, _)| value).or_else(|| T::parse(word));
        found.values.push(value.ok_or_else(|| format!("has a value that is not {}", T::WANTED))?);
    }
    if words.next().is_some() {
        return Err("has more than an entry".into());
    }
    Ok(())
}

fn position(word: Option<&[u8]>, count: u64, what: &str) -> std::result::Result<i64, String> {
    let value = word.and_then(u64::parse);
    match value {
        Some(value) if value >= 1 && value <= count => Ok(value.cast_signed() - 1),
        _ => Err(format!("has no {what} from 1 to {count}")),
    }
}
