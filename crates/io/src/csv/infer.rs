//! What the cells of each column are, when nobody says it.

use super::{Cell, Cells, Part, Rows};
use crate::{IoError, Number, Result, Source};

/// Some cell is empty, and not in quotes.
pub const EMPTY: u8 = 1;
/// Some cell is `true` or `false`, in any case.
pub const BOOL: u8 = 2;
/// Some cell is a negative integer of 64 bits.
pub const NEGATIVE: u8 = 4;
/// Some cell is an integer from 0 on that signed 64 bits have.
pub const SMALL: u8 = 8;
/// Some cell is an integer that only unsigned 64 bits have.
pub const BIG: u8 = 16;
/// Some cell is a float, or a name of what is not finite.
pub const FLOAT: u8 = 32;
/// Some cell is none of these.
pub const TEXT: u8 = 64;

/// What a cell is.
pub fn kind_of(cell: &Cell<'_>) -> u8 {
    let text = cell.trimmed();
    if text.is_empty() {
        return if cell.quoted { TEXT } else { EMPTY };
    }
    if let Some(value) = i64::parse(text) {
        return if value < 0 { NEGATIVE } else { SMALL };
    }
    if u64::parse(text).is_some() {
        return BIG;
    }
    let is_integer = text.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+'));
    if !is_integer && f64::parse(text).is_some() {
        return FLOAT;
    }
    if text.eq_ignore_ascii_case(b"true") || text.eq_ignore_ascii_case(b"false") {
        return BOOL;
    }
    TEXT
}

/// What the cells of each column of a part are: a union of the above for each.
///
/// # Errors
/// For ragged rows and misplaced quotes, with the place.
pub fn infer<S: Source + ?Sized>(
    source: &S,
    part: &Part,
    delimiter: u8,
    columns: usize,
) -> Result<Vec<u8>> {
    let mut kinds = vec![0; columns];
    let mut rows = Rows::new(source, part);
    let mut done = part.row;
    while let Some(bytes) = rows.next_rows()? {
        let mut cells = Cells::new(bytes, delimiter);
        while !cells.is_done() {
            let (row, column) = (cells.row, cells.column);
            let (cell, is_last) = cells.next_cell().map_err(|error| error.below(done))?;
            if column >= columns || is_last != (column + 1 == columns) {
                return Err(ragged(&mut cells, row + done, column, is_last, columns));
            }
            kinds[column] |= kind_of(&cell);
        }
        done += cells.row;
    }
    Ok(kinds)
}

/// The error for a row that ends too early, or not in time.
pub(super) fn ragged(
    cells: &mut Cells<'_>,
    row: u64,
    column: usize,
    is_last: bool,
    wanted: usize,
) -> IoError {
    let mut found = column + 1;
    let mut ended = is_last;
    while !ended && !cells.is_done() {
        match cells.next_cell() {
            Ok((_, is_last)) => ended = is_last,
            Err(error) => return error,
        }
        found += 1;
    }
    IoError::Ragged { row, found, wanted }
}
