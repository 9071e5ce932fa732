//! From cells with their rows to where rows begin, and back.

use crate::error::Error;
use crate::kernels::{check_length, check_positions};

/// Counts where each row begins, and where the last ends: `offsets` has one more than the rows.
///
/// # Errors
///
/// If a row is not below their number.
pub fn of_rows(rows: &[u32], offsets: &mut [i64]) -> Result<(), Error> {
    let count = offsets.len().saturating_sub(1);
    check_length("offsets", offsets.len(), count + 1)?;
    check_positions("row", rows, count)?;
    offsets.fill(0);
    for row in rows {
        offsets[*row as usize + 1] += 1;
    }
    for at in 1..offsets.len() {
        offsets[at] += offsets[at - 1];
    }
    Ok(())
}

/// Writes the row of each stored cell.
pub fn to_rows(offsets: &[i64], rows: &mut [u32]) {
    for (row, ends) in offsets.windows(2).enumerate() {
        rows[ends[0] as usize..ends[1] as usize].fill(row as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_offsets_are_one_another() {
        let rows = [0, 0, 3, 3, 3, 4];
        let (mut offsets, mut back) = ([9; 7], [9; 6]);
        of_rows(&rows, &mut offsets).expect("they fit");
        assert_eq!(offsets, [0, 2, 2, 2, 5, 6, 6]);
        to_rows(&offsets, &mut back);
        assert_eq!(back, rows);
    }
}
