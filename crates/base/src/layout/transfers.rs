//! Who sends which rows to whom.

use super::rows::{LayoutError, RowBlocks, check_offsets};
use std::ops::Range;

/// Rows that one place has and another one shall have; the same one, when they stay.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Transfer {
    /// The place that has them.
    pub source: usize,
    /// The place that shall have them.
    pub target: usize,
    /// Which they are.
    pub rows: Range<u64>,
}

impl Transfer {
    /// How many rows.
    pub fn count(&self) -> u64 {
        self.rows.end - self.rows.start
    }
}

/// All common rows of an old and a new place, in the order of the rows; none is empty.
///
/// Linear in the number of places. Sources and targets never cross: a later transfer has no
/// earlier source and no earlier target.
///
/// # Errors
/// [`LayoutError::Rows`] if the layouts are not of the same rows.
pub fn transfers(from: &RowBlocks, to: &RowBlocks) -> Result<Vec<Transfer>, LayoutError> {
    overlaps(from.runs(), to.runs(), (from.rows(), to.rows()))
}

/// The common rows of old and new runs, given with their places, and how many rows those are.
pub(super) fn overlaps(
    from: impl Iterator<Item = (Range<u64>, usize)>,
    to: impl Iterator<Item = (Range<u64>, usize)>,
    rows: (u64, u64),
) -> Result<Vec<Transfer>, LayoutError> {
    if rows.0 != rows.1 {
        return Err(LayoutError::Rows { from: rows.0, to: rows.1 });
    }
    let (mut from, mut to) = (from.peekable(), to.peekable());
    let (mut found, mut row) = (Vec::new(), 0);
    while let (Some((old, source)), Some((new, target))) = (from.peek(), to.peek()) {
        let (old_end, new_end) = (old.end, new.end);
        let end = old_end.min(new_end);
        if end > row {
            found.push(Transfer { source: *source, target: *target, rows: row..end });
            row = end;
        }
        if old_end == end {
            from.next();
        }
        if new_end == end {
            to.next();
        }
    }
    Ok(found)
}

/// What the transfers weigh whose source and target differ, by a table of what all rows before
/// each one weigh: in a CSR matrix the row pointers, for instance. Without one a row weighs 1.
///
/// # Errors
/// [`LayoutError::Outside`] if rows are not in the table, or end before they begin.
pub fn moved_weight(transfers: &[Transfer], offsets: Option<&[u64]>) -> Result<u64, LayoutError> {
    check_rows(transfers, offsets)?;
    let moving = transfers.iter().filter(|transfer| transfer.source != transfer.target);
    Ok(moving.map(|transfer| weight(transfer, offsets)).sum())
}

/// Whether all rows that move have weights in the table.
pub(super) fn check_rows(
    transfers: &[Transfer],
    offsets: Option<&[u64]>,
) -> Result<(), LayoutError> {
    let rows = offsets.map_or(u64::MAX, |offsets| offsets.len().saturating_sub(1) as u64);
    let is_outside = |of: &&Range<u64>| of.start > of.end || of.end > rows;
    match transfers.iter().map(|transfer| &transfer.rows).find(is_outside) {
        Some(of) => Err(LayoutError::Outside { start: of.start, end: of.end, rows }),
        None => Ok(()),
    }
}

/// Whether a table weighs each row of a layout.
pub(super) fn check_table(layout: &RowBlocks, offsets: Option<&[u64]>) -> Result<(), LayoutError> {
    let Some(offsets) = offsets else { return Ok(()) };
    check_offsets(offsets)?;
    let given = offsets.len().saturating_sub(1) as u64;
    if given == layout.rows() {
        Ok(())
    } else {
        Err(LayoutError::Table { given, rows: layout.rows() })
    }
}

/// What the rows of one transfer weigh.
pub(super) fn weight(transfer: &Transfer, offsets: Option<&[u64]>) -> u64 {
    offsets.map_or(transfer.count(), |offsets| {
        offsets[transfer.rows.end as usize] - offsets[transfer.rows.start as usize]
    })
}
