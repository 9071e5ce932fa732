//! Kernels of cells with their places: of matrices that store fewer cells than they have rows.
//!
//! Cells are in the order of their rows, and within a row of their columns.

use crate::cell::Number;

pub mod draw;
pub mod merge;
pub mod offsets;
pub mod reduce;
pub mod transpose;

/// Stored cells, with the row and the column of each.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a, T: Number> {
    /// Rows, ascending.
    pub rows: &'a [u32],
    /// Columns, ascending within a row.
    pub columns: &'a [u32],
    /// Cells.
    pub cells: &'a [T],
}

/// Where stored cells are written to, as many as may be.
#[derive(Debug)]
pub struct Target<'a, T: Number> {
    /// Rows.
    pub rows: &'a mut [u32],
    /// Columns.
    pub columns: &'a mut [u32],
    /// Cells.
    pub cells: &'a mut [T],
}
