//! Rows or columns of stored cells, each reduced to one number.

use crate::cell::Number;
use crate::error::Error;
use crate::kernels::dense::reduce::Reduce;
use crate::kernels::{check_length, check_positions};

/// Reduces the cells of each place into `out`: `places` are the cells' rows, or their columns.
///
/// `across` is how many cells a row, or a column, has: where fewer are stored, 0 counts as well.
///
/// # Errors
///
/// If a place is not below the length of `out`, or there are more or less places than cells.
pub fn scatter<T: Number>(
    how: Reduce,
    places: &[u32],
    cells: &[T],
    across: usize,
    out: &mut [T],
) -> Result<(), Error> {
    check_length("places", places.len(), cells.len())?;
    check_positions("place", places, out.len())?;
    if how == Reduce::Sum {
        out.fill(T::ZERO);
        for (place, cell) in places.iter().zip(cells) {
            let at = *place as usize;
            out[at] = out[at].plus(*cell);
        }
        return Ok(());
    }
    let mut counts = vec![0_usize; out.len()];
    out.fill(how.start());
    for (place, cell) in places.iter().zip(cells) {
        let at = *place as usize;
        out[at] = how.both(out[at], *cell);
        counts[at] += 1;
    }
    for (out, _) in out.iter_mut().zip(counts).filter(|(_, count)| *count < across) {
        *out = how.both(*out, T::ZERO);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_stored_counts_as_zero() {
        let (places, cells) = ([0, 0, 2, 2], [-1.0, -2.0, 3.0, 4.0]);
        let found = |how, across| {
            let mut out = [9.0; 3];
            scatter(how, &places, &cells, across, &mut out).expect("they fit");
            out
        };
        assert_eq!(found(Reduce::Sum, 5), [-3.0, 0.0, 7.0]);
        assert_eq!(found(Reduce::Max, 2), [-1.0, 0.0, 4.0]);
        assert_eq!(found(Reduce::Max, 3), [0.0, 0.0, 4.0]);
        assert_eq!(found(Reduce::Min, 3), [-2.0, 0.0, 0.0]);
    }
}
