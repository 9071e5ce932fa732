//! A CSR matrix times a dense matrix.

use crate::cell::Number;
use crate::kernels::csr::rows::Rows;
use crate::widened;

widened! {
    /// Computes `out = left @ right` for rows from `first` on, as many as `out` has.
    ///
    /// # Panics
    ///
    /// If a column of the left side is no row of the right one.
    pub fn rows<T: Number>(
        left: Rows<'_, T>,
        first: usize,
        right: &[T],
        width: usize,
        out: &mut [T],
    ) {
        for (at, out) in out.chunks_exact_mut(width.max(1)).enumerate() {
            out.fill(T::ZERO);
            for stored in left.range(first + at) {
                let begin = left.columns[stored] as usize * width;
                let factor = left.cells[stored];
                for (sum, cell) in out.iter_mut().zip(&right[begin..begin + width]) {
                    *sum = sum.plus(factor.times(*cell));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sums_of_rows() {
        let left = Rows { offsets: &[0, 2, 2, 3], columns: &[0, 2, 1], cells: &[2, 3, 5] };
        let right = [1, 10, 2, 20, 3, 30];
        let mut out = [9; 6];
        rows(left, 0, &right, 2, &mut out);
        assert_eq!(out, [11, 110, 0, 0, 10, 100]);
        rows(left, 2, &right, 2, &mut out[..2]);
        assert_eq!(out[..2], [10, 100]);
    }
}
