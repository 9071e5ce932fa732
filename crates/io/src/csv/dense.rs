//! Rows of numbers into a row-major matrix.

use super::{Cells, Index, Part, Rows};
use crate::{IoError, Number, Result, Source, parallel};

/// Bytes that a thread parses before it asks for more.
const PIECE: u64 = 4 << 20;

/// Reads rows `start..stop` of a file into a row-major matrix, by so many threads.
///
/// Lines before row 0, such as a heading, are `skip`. `out` has a whole number of rows.
///
/// # Errors
/// What is wrong with the file, and at which row and column of it.
#[allow(clippy::too_many_arguments)] // each is a thing of its own
pub fn read<T: Number, S: Source + ?Sized>(
    source: &S,
    index: &Index,
    delimiter: u8,
    skip: u64,
    start: u64,
    out: &mut [T],
    columns: usize,
    threads: usize,
) -> Result<()> {
    let rows = (out.len() / columns.max(1)) as u64;
    let first = start.saturating_add(skip);
    let lines = (first, first.saturating_add(rows));
    if lines.1 > index.lines {
        let found = index.lines.saturating_sub(lines.0);
        return Err(IoError::Rows { wanted: rows, found, start: 0, stop: index.nbytes });
    }
    let mut rest = out;
    let mut pieces = Vec::new();
    for (begin, end) in index.parts(lines.0, lines.1, PIECE) {
        let (piece, behind) = rest.split_at_mut((end - begin) as usize * columns);
        pieces.push((begin, end, piece));
        rest = behind;
    }
    parallel::for_each(pieces, threads, |(begin, end, piece)| {
        let part = Part {
            start: index.offset_of(source, begin)?,
            stop: index.offset_of(source, end)?,
            row: begin,
            rows: end - begin,
            quoted: index.is_quoted(),
        };
        read_part(source, &part, delimiter, piece, columns)
    })
}

/// Reads a part of a file into a row-major matrix.
///
/// # Errors
/// What is wrong with the file, and at which row and column of it.
pub fn read_part<T: Number, S: Source + ?Sized>(
    source: &S,
    part: &Part,
    delimiter: u8,
    out: &mut [T],
    columns: usize,
) -> Result<()> {
    let mut rows = Rows::new(source, part);
    let mut done = 0;
    let wanted = part.rows as usize;
    while let Some(bytes) = rows.next_rows()? {
        let found = parse(bytes, delimiter, &mut out[done * columns..], columns)
            .map_err(|error| error.below(part.row + done as u64))?;
        done += found.0;
        if !found.1 {
            done += 1;
            break;
        }
    }
    if done == wanted {
        return Ok(());
    }
    let Part { start, stop, .. } = *part;
    Err(IoError::Rows { wanted: part.rows, found: done as u64, start, stop })
}

/// Parses whole rows into a matrix; how many, and whether there was room for all.
fn parse<T: Number>(
    bytes: &[u8],
    delimiter: u8,
    out: &mut [T],
    columns: usize,
) -> Result<(usize, bool)> {
    let mut at = 0;
    let mut targets = out.chunks_exact_mut(columns.max(1));
    let mut row = 0;
    while at < bytes.len() {
        let Some(target) = targets.next() else { return Ok((row, false)) };
        at = parse_row(bytes, at, delimiter, target, row)?;
        row += 1;
    }
    Ok((row, true))
}

/// Parses the row at `at`; the place behind it.
#[inline]
fn parse_row<T: Number>(
    bytes: &[u8],
    mut at: usize,
    delimiter: u8,
    out: &mut [T],
    row: usize,
) -> Result<usize> {
    let columns = out.len();
    for (column, slot) in out.iter_mut().enumerate() {
        let is_last = column + 1 == columns;
        let end = if is_last { b'\n' } else { delimiter };
        let first = at + padding(&bytes[at..], delimiter);
        if let Some((value, used)) = T::scan(&bytes[first..]) {
            let behind = first + used;
            if bytes.get(behind) == Some(&end) {
                *slot = value;
                at = behind + 1;
                continue;
            }
            if is_last && bytes[behind..].starts_with(b"\r\n") {
                *slot = value;
                at = behind + 2;
                continue;
            }
        }
        (*slot, at) = parse_cell(bytes, at, delimiter, (row as u64, column), columns)?;
    }
    Ok(at)
}

/// Blanks in front of a cell of fixed width.
#[inline]
fn padding(cell: &[u8], delimiter: u8) -> usize {
    if cell.first() != Some(&b' ') || delimiter == b' ' {
        return 0;
    }
    cell.iter().take_while(|byte| **byte == b' ').count()
}

/// Parses a cell that is not plainly a number and what ends it: quoted, padded, or wrong.
#[cold]
fn parse_cell<T: Number>(
    bytes: &[u8],
    at: usize,
    delimiter: u8,
    (row, column): (u64, usize),
    columns: usize,
) -> Result<(T, usize)> {
    let mut cells = Cells::within(bytes, delimiter, at, row, column);
    let (cell, is_last) = cells.next_cell()?;
    if is_last != (column + 1 == columns) {
        let found = if is_last { column + 1 } else { column + 1 + rest_of_row(&mut cells)? };
        return Err(IoError::Ragged { row, found, wanted: columns });
    }
    let value = T::parse(cell.trimmed());
    let value = value.ok_or_else(|| IoError::cell(row, column, cell.trimmed(), T::WANTED))?;
    Ok((value, cells.at()))
}

/// How many cells are left in the row.
fn rest_of_row(cells: &mut Cells<'_>) -> Result<usize> {
    let mut count = 1;
    while !cells.is_done() && !cells.next_cell()?.1 {
        count += 1;
    }
    Ok(count)
}
