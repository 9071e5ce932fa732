//! Compressed columns: the rows of the transpose.

use super::rows::Rows;
use crate::cell::Number;
use crate::error::Error;
use crate::kernels::check_length;

/// Exchanges rows and columns.
///
/// `offsets` has one more than there are columns; `rows` and `cells` are as many as are stored.
///
/// # Errors
///
/// If what is written to is not as long, or if rows or columns are not where they have to be.
pub fn transpose<T: Number>(
    from: Rows<'_, T>,
    offsets: &mut [i64],
    rows: &mut [u32],
    cells: &mut [T],
) -> Result<(), Error> {
    let width = offsets.len().saturating_sub(1);
    from.check(width)?;
    check_length("offsets", offsets.len(), width + 1)?;
    check_length("rows", rows.len(), from.columns.len())?;
    check_length("cells", cells.len(), from.columns.len())?;
    // Counted one place further, so that in the end each place has moved to its own begin.
    offsets.fill(0);
    for column in from.used_columns() {
        if let Some(count) = offsets.get_mut(*column as usize + 2) {
            *count += 1;
        }
    }
    for at in 1..offsets.len() {
        offsets[at] += offsets[at - 1];
    }
    for row in 0..from.count() {
        for at in from.range(row) {
            let place = &mut offsets[from.columns[at] as usize + 1];
            let to = *place as usize;
            *place += 1;
            rows[to] = row as u32;
            cells[to] = from.cells[at];
        }
    }
    Ok(())
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
        transpose(from, &mut offsets, &mut rows, &mut cells).expect("they fit");
        assert_eq!(offsets, [0, 1, 3, 3, 5]);
        assert_eq!((rows, cells), ([2, 0, 2, 0, 2], [30, 10, 40, 20, 50]));
    }
}
