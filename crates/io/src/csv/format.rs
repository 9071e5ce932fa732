//! Numbers and text as rows.

use super::QUOTE;
use crate::{Floats, IoError, Number, Result};

/// How rows are written.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// What stands between two cells.
    pub delimiter: u8,
    /// How floats are written.
    pub floats: Floats,
    /// The characters of each cell, if all have the same; what is shorter is padded on the left.
    pub width: Option<usize>,
}

/// How rows can't be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StyleError {
    /// More decimals than a float has.
    #[error("a float has at most {MAX_DECIMALS} decimals, not {0}")]
    Decimals(usize),
    /// Wider than any number.
    #[error("a cell is at most {MAX_WIDTH} characters wide, not {0}")]
    Width(usize),
}

/// The smallest float needs more, and they say nothing.
const MAX_DECIMALS: usize = 300;
/// The largest float with all decimals has room in it; a row of many cells fits into memory.
const MAX_WIDTH: usize = 1000;
/// Bytes that a thread formats before it writes them.
const PIECE: usize = 1 << 20;

impl Style {
    /// A style with so many decimals of each float, or as many as tell it from all others.
    ///
    /// # Errors
    ///
    /// If no cell has so many decimals, or is so wide.
    pub fn new(
        delimiter: u8,
        decimals: Option<usize>,
        width: Option<usize>,
    ) -> std::result::Result<Self, StyleError> {
        if let Some(decimals) = decimals.filter(|decimals| *decimals > MAX_DECIMALS) {
            return Err(StyleError::Decimals(decimals));
        }
        if let Some(width) = width.filter(|width| *width > MAX_WIDTH) {
            return Err(StyleError::Width(width));
        }
        Ok(Self { delimiter, floats: decimals.map_or(Floats::Shortest, Floats::Decimals), width })
    }

    /// The bytes of a number and what follows it, if each needs `usual`.
    pub fn cell_nbytes(&self, usual: usize) -> usize {
        self.width.map_or(usual, |width| width + 1)
    }

    /// How many rows a thread formats before it writes them.
    pub fn rows_of_piece(&self, columns: usize) -> usize {
        let row = columns.max(1).saturating_mul(self.cell_nbytes(18));
        (PIECE / row).max(1)
    }
}

/// Writes rows of a row-major matrix.
///
/// # Errors
/// [`IoError::TooWide`] for a value that the fixed width has no room for.
pub fn dense<T: Number>(
    values: &[T],
    columns: usize,
    style: &Style,
    out: &mut Vec<u8>,
) -> Result<()> {
    for (row, cells) in values.chunks_exact(columns.max(1)).enumerate() {
        for (column, value) in cells.iter().enumerate() {
            let start = out.len();
            value.print(style.floats, out);
            if let Some(width) = style.width {
                pad(out, start, width, row, column)?;
            }
            out.push(style.delimiter);
        }
        end_row(out);
    }
    Ok(())
}

/// Turns the delimiter behind the last cell into a line end.
pub fn end_row(out: &mut [u8]) {
    if let Some(last) = out.last_mut() {
        *last = b'\n';
    }
}

/// Pads what was written from `start` on to a width.
fn pad(out: &mut Vec<u8>, start: usize, width: usize, row: usize, column: usize) -> Result<()> {
    let length = out.len() - start;
    if length > width {
        let text = String::from_utf8_lossy(&out[start..]).into_owned();
        out.truncate(start);
        return Err(IoError::TooWide { row: row as u64, column, text, width });
    }
    out.resize(start + width, b' ');
    out[start..].rotate_right(width - length);
    Ok(())
}

/// Writes a text, in quotes if it needs them.
///
/// It does when it holds the delimiter, a quote or a line end; and also when it would otherwise be
/// read as a missing value: an empty text is `""`, and nothing is nothing. A mark of byte order at
/// its beginning would be taken for that of the file.
pub fn text(cell: &[u8], delimiter: u8, out: &mut Vec<u8>) {
    let needs = cell.is_empty()
        || cell.starts_with("\u{feff}".as_bytes())
        || cell.iter().any(|byte| *byte == delimiter || matches!(byte, b'"' | b'\n' | b'\r'));
    if !needs {
        out.extend_from_slice(cell);
        return;
    }
    out.push(QUOTE);
    for &byte in cell {
        if byte == QUOTE {
            out.push(QUOTE);
        }
        out.push(byte);
    }
    out.push(QUOTE);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_at_the_beginning_is_no_mark_of_the_file() {
        let mut out = Vec::new();
        text("\u{feff}a".as_bytes(), b',', &mut out);
        assert_eq!(out, "\"\u{feff}a\"".as_bytes());
    }

    #[test]
    fn cells_that_no_number_needs_are_refused() {
        let refused = |decimals, width| Style::new(b',', decimals, width).unwrap_err().to_string();
        assert_eq!(refused(Some(301), None), "a float has at most 300 decimals, not 301");
        let wanted = format!("a cell is at most 1000 characters wide, not {}", usize::MAX);
        assert_eq!(refused(None, Some(usize::MAX)), wanted);
    }

    #[test]
    fn a_piece_has_a_row_whatever_a_row_takes() {
        let style = Style::new(b',', Some(300), Some(1000)).unwrap();
        for (columns, rows) in [(0, 1047), (1, 1047), (2, 523), (1 << 63, 1), (usize::MAX, 1)] {
            assert_eq!(style.rows_of_piece(columns), rows, "{columns} columns");
        }
    }

    #[test]
    fn the_widest_cell_has_room_for_all_decimals_of_the_largest_float() {
        let style = Style::new(b',', Some(MAX_DECIMALS), Some(MAX_WIDTH)).unwrap();
        let mut out = Vec::new();
        dense(&[f64::MIN], 1, &style, &mut out).unwrap();
        assert_eq!(out.len(), MAX_WIDTH + 1);
    }
}
