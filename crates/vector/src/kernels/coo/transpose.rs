//! Stored cells in the order of their columns.

use super::{Places, Target};
use crate::cell::Number;
use crate::error::Error;

/// Exchanges rows and columns, and puts the cells in their new order.
///
/// `width` is how many columns there are. Time: that of a pass over cells and columns, or of a sort
/// where there are far more columns than cells.
///
/// # Errors
///
/// If `out` is shorter than the places, or a column is not below `width`.
pub fn transpose<T: Number>(
    from: Places<'_, T>,
    width: usize,
    out: &mut Target<'_, T>,
) -> Result<(), Error> {
    from.check_columns(width)?;
    out.check(from.cells.len())?;
    let count = from.cells.len();
    let mut put = |to: usize, at: usize| {
        out.rows[to] = from.columns[at];
        out.columns[to] = from.rows[at];
        out.cells[to] = from.cells[at];
    };
    if width > 4 * count {
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|at| from.columns[*at]);
        order.into_iter().enumerate().for_each(|(to, at)| put(to, at));
        return Ok(());
    }
    let mut begins = vec![0_usize; width + 1];
    for column in from.columns {
        begins[*column as usize + 1] += 1;
    }
    for at in 1..begins.len() {
        begins[at] += begins[at - 1];
    }
    for at in 0..count {
        let begin = &mut begins[from.columns[at] as usize];
        put(*begin, at);
        *begin += 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_give_the_same_order() {
        let from = Places { rows: &[0, 0, 1, 3], columns: &[2, 5, 0, 2], cells: &[1, 2, 3, 4] };
        for width in [6, 100] {
            let (mut rows, mut columns, mut cells) = ([9; 4], [9; 4], [9; 4]);
            let mut out = Target { rows: &mut rows, columns: &mut columns, cells: &mut cells };
            transpose(from, width, &mut out).expect("they fit");
            assert_eq!((rows, columns, cells), ([0, 2, 2, 5], [1, 0, 3, 0], [3, 1, 4, 2]));
        }
    }
}
