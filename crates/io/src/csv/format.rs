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
/// read as a missing value: an empty text is `""`, and nothing is nothing.
pub fn text(cell: &[u8], delimiter: u8, out: &mut Vec<u8>) {
    let needs = cell.is_empty()
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
