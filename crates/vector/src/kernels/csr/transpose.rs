//! Compressed columns: the rows of the transpose.

use super::multiply::Rows;
use crate::cell::Number;

/// Exchanges rows and columns.
///
/// `offsets` has one more than there are columns; `rows` and `cells` are as many as are stored.
///
/// # Panics
///
/// If what is written to is too short.
pub fn transpose<T: Number>(
    from: Rows<'_, T>,
    offsets: &mut [i64],
    rows: &mut [u32],
    cells: &mut [T],
) {
    // Counted one place further, so that in the end each place has moved to its own begin.
    offsets.fill(0);
    for column in from.columns {
        if let Some(count) = offsets.get_mut(*column as usize + 2) {
            *count += 1;
        }
    }
    for at in 1..offsets.len() {
        offsets[at] += offsets[at - 1];
    }
    for row in 0..from.offsets.len() - 1 {
        for at in from.range(row) {
            let place = &mut offsets[from.columns[at] as usize + 1];
            let to = *place as usize;
            *place += 1;
            rows[to] = row as u32;
            cells[to] = from.cells[at];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_become_rows() {
        let from = Rows {
            offsets: &[0, 2, 2, 5],
            columns: &[1, 3, 0, 1, 3],
            cells: &[10, 20, 30, 40, 50],
        };
        let (mut offsets, mut rows, mut cells) = ([9; 5], [9; 5], [9; 5]);
        transpose(from, &mut offsets, &mut rows, &mut cells);
        assert_eq!(offsets, [0, 1, 3, 3, 5]);
        assert_eq!((rows, cells), ([2, 0, 2, 0, 2], [30, 10, 40, 20, 50]));
    }
}
