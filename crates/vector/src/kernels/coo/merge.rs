//! Two sides of which each stores some cells, cell by cell.

use std::cmp::Ordering;

use super::{Places, Target};
use crate::cell::Number;
use crate::error::Error;
use crate::kernels::dense::binary::{Binary, compute};
use crate::kernels::dense::side::Side;

/// Whether an operation gives 0 for two zeros, so that what neither side stores stays away.
pub fn keeps_zeros(binary: Binary) -> bool {
    use Binary::{Add, And, Gt, Lt, Max, Min, Mul, Neq, Or, Sub};
    matches!(binary, Add | Sub | Mul | Min | Max | Neq | Lt | Gt | And | Or)
}

/// Computes an operation that keeps zeros, and returns how many cells there are.
///
/// They are those that one side stores; of products, those that both do. `out` needs room for as
/// many as both sides together have.
///
/// # Errors
///
/// If the operation does not keep zeros, a cell has no place, or there is not as much room.
pub fn merge<T: Number>(
    binary: Binary,
    left: Places<'_, T>,
    right: Places<'_, T>,
    out: &mut Target<'_, T>,
) -> Result<usize, Error> {
    if !keeps_zeros(binary) {
        return Err(Error::Malformed(format!("{binary:?} of cells that are not stored")));
    }
    left.check()?;
    right.check()?;
    out.check(left.cells.len() + right.cells.len())?;
    let both_only = matches!(binary, Binary::Mul | Binary::And);
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    let (mut at, mut to) = (0, 0);
    while at < left.cells.len() || to < right.cells.len() {
        let order = ahead(left, at, right, to);
        let (row, column) = match order {
            Ordering::Greater => (right.rows[to], right.columns[to]),
            _ => (left.rows[at], left.columns[at]),
        };
        let one = if order == Ordering::Greater { T::ZERO } else { left.cells[at] };
        let other = if order == Ordering::Less { T::ZERO } else { right.cells[to] };
        if order == Ordering::Equal || !both_only {
            (out.rows[ones.len()], out.columns[ones.len()]) = (row, column);
            ones.push(one);
            others.push(other);
        }
        at += usize::from(order != Ordering::Greater);
        to += usize::from(order != Ordering::Less);
    }
    compute(binary, Side::Each(&ones), Side::Each(&others), &mut out.cells[..ones.len()])?;
    Ok(ones.len())
}

fn ahead<T: Number>(left: Places<'_, T>, at: usize, right: Places<'_, T>, to: usize) -> Ordering {
    match (left.cells.len() - at, right.cells.len() - to) {
        (0, _) => Ordering::Greater,
        (_, 0) => Ordering::Less,
        _ => (left.rows[at], left.columns[at]).cmp(&(right.rows[to], right.columns[to])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_take_all_cells_and_products_those_of_both() {
        let left = Places { rows: &[0, 0, 2], columns: &[1, 3, 0], cells: &[1, 2, 3] };
        let right = Places { rows: &[0, 1, 2], columns: &[3, 0, 0], cells: &[10, 20, 30] };
        let found = |binary| {
            let (mut rows, mut columns, mut cells) = (vec![0; 6], vec![0; 6], vec![0; 6]);
            let mut out = Target { rows: &mut rows, columns: &mut columns, cells: &mut cells };
            let count = merge(binary, left, right, &mut out).expect("it keeps zeros");
            let places = rows.into_iter().zip(columns).zip(cells).take(count);
            places.map(|((row, column), cell)| (row, column, cell)).collect::<Vec<_>>()
        };
        assert_eq!(found(Binary::Sub), [(0, 1, 1), (0, 3, -8), (1, 0, -20), (2, 0, -27)]);
        assert_eq!(found(Binary::Mul), [(0, 3, 20), (2, 0, 90)]);
        let mut out = Target { rows: &mut [], columns: &mut [], cells: &mut [] };
        assert!(merge(Binary::Eq, left, right, &mut out).is_err());
    }
}
