//! A CSR matrix, as its kernels take it.

use std::ops::Range;

use crate::error::Error;
use crate::kernels::{check_length, check_positions};

/// A CSR matrix.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a, T> {
    /// Where each row begins, and where the last ends.
    pub offsets: &'a [i64],
    /// The column of each stored cell.
    pub columns: &'a [u32],
    /// The cells.
    pub cells: &'a [T],
}

impl<T> Rows<'_, T> {
    /// Where the stored cells of a row are.
    pub fn range(&self, row: usize) -> Range<usize> {
        self.offsets[row] as usize..self.offsets[row + 1] as usize
    }

    /// How many rows there are.
    pub fn count(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Checks that all rows lie in what is stored, and all columns below `width`.
    ///
    /// # Errors
    ///
    /// If they do not.
    pub fn check(&self, width: usize) -> Result<(), Error> {
        check_length("cells of a CSR matrix", self.cells.len(), self.columns.len())?;
        check_offsets(self.offsets, self.columns.len())?;
        check_positions("column", self.used_columns(), width)
    }

    /// The columns of all rows: what is stored before and behind them is nobody's.
    pub fn used_columns(&self) -> &[u32] {
        let ends = self.offsets.first().zip(self.offsets.last());
        ends.and_then(|(first, last)| self.columns.get(*first as usize..*last as usize))
            .unwrap_or_default()
    }
}

/// Checks that offsets ascend from 0 at least to `stored` at most.
///
/// # Errors
///
/// If they do not, or if there is not one.
pub fn check_offsets(offsets: &[i64], stored: usize) -> Result<(), Error> {
    let Some(last) = offsets.last() else {
        return Err(Error::Length { what: "offsets of a CSR matrix", found: 0, needed: 1 });
    };
    let is_inside = |end: i64| usize::try_from(end).is_ok_and(|end| end <= stored);
    if offsets.is_sorted() && is_inside(offsets[0]) && is_inside(*last) {
        return Ok(());
    }
    let wrong = |pair: &[i64]| pair[0] > pair[1] || !is_inside(pair[0]) || !is_inside(pair[1]);
    let row = offsets.windows(2).position(wrong).unwrap_or(0);
    let (begin, end) = (offsets[row], offsets[(row + 1).min(offsets.len() - 1)]);
    Err(Error::Offsets { row, begin, end, stored })
}
