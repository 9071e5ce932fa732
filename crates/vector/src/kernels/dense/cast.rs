//! Conversions of cells.

use crate::cell::Number;

/// Converts cells as compiled code does: floats are truncated, whole numbers wrap around.
#[inline]
pub fn run<S: Number, T: Number>(cells: &[S], out: &mut [T]) {
    if S::WHOLE {
        if T::WHOLE {
            for (out, cell) in out.iter_mut().zip(cells) {
                *out = T::from_i64(cell.to_i64());
            }
            return;
        }
        // By way of f64, which unsigned 64-bit numbers reach without a sign.
        for (out, cell) in out.iter_mut().zip(cells) {
            *out = T::from_f64(cell.to_f64());
        }
        return;
    }
    for (out, cell) in out.iter_mut().zip(cells) {
        *out = T::from_f64(cell.to_f64());
    }
}
