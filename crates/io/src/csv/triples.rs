//! Sparse matrices as lines of row, column and value; or of row and column, for values of 1.

use super::infer::ragged;
use super::{Cells, Part, Rows};
use crate::{IoError, Number, Result, Source};

/// Values and where they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Triples<T> {
    /// The row of each, from 0.
    pub rows: Vec<i64>,
    /// The column of each, from 0.
    pub columns: Vec<i64>,
    /// The values.
    pub values: Vec<T>,
}

/// Reads lines of `cells` cells each, 2 or 3, of a matrix of a shape.
///
/// # Errors
/// What is wrong with the file, and at which row and column of it.
pub fn read_part<T: Number, S: Source + ?Sized>(
    source: &S,
    part: &Part,
    delimiter: u8,
    cells: usize,
    shape: (u64, u64),
) -> Result<Triples<T>> {
    let mut found = Triples { rows: Vec::new(), columns: Vec::new(), values: Vec::new() };
    let mut rows = Rows::new(source, part);
    let mut done = part.row;
    while let Some(bytes) = rows.next_rows()? {
        let mut walk = Cells::new(bytes, delimiter);
        while !walk.is_done() {
            let (row, column) = (done + walk.row, walk.column);
            let (cell, is_last) = walk.next_cell().map_err(|error| error.below(done))?;
            if is_last != (column + 1 == cells) {
                return Err(ragged(&mut walk, row, column, is_last, cells));
            }
            let text = cell.trimmed();
            match column {
                0 => found.rows.push(position(text, shape.0, row, column)?),
                1 => found.columns.push(position(text, shape.1, row, column)?),
                _ => {
                    let value = T::parse(text);
                    let wrong = || IoError::cell(row, column, text, T::WANTED);
                    found.values.push(value.ok_or_else(wrong)?);
                }
            }
        }
        done += walk.row;
    }
    if cells == 2 {
        found.values.resize(found.rows.len(), T::ONE);
    }
    Ok(found)
}

fn position(text: &[u8], below: u64, row: u64, column: usize) -> Result<i64> {
    match i64::parse(text) {
        Some(value) if value >= 0 && value.cast_unsigned() < below => Ok(value),
        _ => {
            let wanted = format!("a position from 0 to {}", i128::from(below) - 1);
            Err(IoError::cell(row, column, text, &wanted))
        }
    }
}
