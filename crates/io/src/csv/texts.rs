//! Columns of an Arrow table as rows.

use super::format::{Style, end_row, text};
use crate::Number;

/// Writes the number of a row.
pub type Print<'a> = dyn Fn(usize, &Style, &mut Vec<u8>) + Sync + 'a;

/// Where the values of a column are, as Arrow has them.
pub enum Values<'a> {
    /// Numbers, each written by the function from its place.
    Numbers(Box<Print<'a>>),
    /// Bits, lowest first, of which the first few belong to no row.
    Bools(&'a [u8], usize),
    /// Bytes of all texts, and where each begins and the last one ends.
    Texts(&'a [u8], &'a [i64]),
}

impl<'a> Values<'a> {
    /// A column of numbers.
    pub fn numbers<T: Number>(values: &'a [T]) -> Self {
        Self::Numbers(Box::new(|row, style, out| values[row].print(style.floats, out)))
    }
}

/// A column, and which of its values are there.
pub struct Field<'a> {
    /// The values.
    pub values: Values<'a>,
    /// A bit for each value, lowest first, and how many belong to no row; None when all are there.
    pub validity: Option<(&'a [u8], usize)>,
}

fn bit(bytes: &[u8], at: usize) -> bool {
    bytes.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1)
}

impl Field<'_> {
    fn print(&self, row: usize, style: &Style, out: &mut Vec<u8>) {
        if self.validity.is_some_and(|(bytes, first)| !bit(bytes, first + row)) {
            return;
        }
        match &self.values {
            Values::Numbers(print) => print(row, style, out),
            Values::Bools(bytes, first) => {
                out.extend_from_slice(if bit(bytes, first + row) { b"true" } else { b"false" });
            }
            Values::Texts(bytes, offsets) => {
                let range = offsets[row] as usize..offsets[row + 1] as usize;
                text(bytes.get(range).unwrap_or_default(), style.delimiter, out);
            }
        }
    }
}

/// Writes rows of a table.
pub fn rows(fields: &[Field<'_>], range: std::ops::Range<usize>, style: &Style, out: &mut Vec<u8>) {
    for row in range {
        for field in fields {
            field.print(row, style, out);
            out.push(style.delimiter);
        }
        end_row(out);
    }
}
