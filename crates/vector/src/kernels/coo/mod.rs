//! Kernels of COO matrices: those that store fewer cells than they have rows.
//!
//! Cells are in the order of their rows, and within a row of their columns.

use crate::cell::Number;
use crate::error::Error;
use crate::kernels::{check_length, check_positions};

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

impl<T: Number> Places<'_, T> {
    /// Checks that each cell has a row and a column.
    ///
    /// # Errors
    ///
    /// If there are more or less.
    pub fn check(&self) -> Result<(), Error> {
        check_length("rows", self.rows.len(), self.cells.len())?;
        check_length("columns", self.columns.len(), self.cells.len())
    }

    /// Checks that each cell has a row, and a column below `width`.
    ///
    /// # Errors
    ///
    /// If one has not.
    pub fn check_columns(&self, width: usize) -> Result<(), Error> {
        self.check()?;
        check_positions("column", self.columns, width)
    }
}

impl<T: Number> Target<'_, T> {
    /// Checks that there is room for so many cells, their rows and columns.
    ///
    /// # Errors
    ///
    /// If one is shorter.
    pub fn check(&self, needed: usize) -> Result<(), Error> {
        let room = [("rows", self.rows.len()), ("columns", self.columns.len())];
        let mut all = room.into_iter().chain([("cells", self.cells.len())]);
        all.try_for_each(|(what, found)| check_length(what, found.min(needed), needed))
    }
}
