//! Rows and columns beside matrices: repeated for the cells of a piece.

use crate::pipeline::{Class, Input, Operand};
use crate::with_cell;

/// A row or a column, written once for every cell of a piece before its first operation.
pub struct Spread {
    /// Where it is.
    pub input: Input,
    /// A worker's own memory, of a piece.
    pub to: *mut u8,
}

impl Spread {
    /// Writes it for a piece of a matrix of so many columns.
    pub fn run(&self, at: usize, count: usize, columns: usize) {
        let Operand::Memory(cells) = self.input.place else { return };
        with_cell!(self.input.cell, T => {
            let cells = cells.cast::<T>();
            let (row, column) = (at / columns, at % columns);
            // SAFETY: a row has a cell for each column, a column one for each row, the piece's too;
            // a worker's own memory has room for a piece.
            unsafe {
                let out = std::slice::from_raw_parts_mut(self.to.cast::<T>(), count);
                if self.input.class == Class::Row {
                    spread_row(std::slice::from_raw_parts(cells, columns), column, out);
                } else {
                    let rows = (column + count).div_ceil(columns);
                    let cells = std::slice::from_raw_parts(cells.add(row), rows);
                    spread_column(cells, columns, column, out);
                }
            }
        });
    }
}

/// Repeats a row, from one of its columns on.
pub fn spread_row<T: Copy>(row: &[T], column: usize, out: &mut [T]) {
    let first = (row.len() - column).min(out.len());
    let second = column.min(out.len() - first);
    out[..first].copy_from_slice(&row[column..column + first]);
    out[first..first + second].copy_from_slice(&row[..second]);
    // All of the row is there if anything is left: then twice as much each time.
    let mut done = first + second;
    while done < out.len() {
        let more = done.min(out.len() - done);
        out.copy_within(..more, done);
        done += more;
    }
}

/// Repeats each cell of a column for all columns, the first one from one of them on.
pub fn spread_column<T: Copy>(cells: &[T], columns: usize, column: usize, out: &mut [T]) {
    let (first, rest) = out.split_at_mut((columns - column).min(out.len()));
    first.fill(cells[0]);
    for (part, cell) in rest.chunks_mut(columns).zip(&cells[1..]) {
        part.fill(*cell);
    }
}
