//! Conversions of cells.

use crate::cell::Number;

#[inline(always)]
fn all<S: Number, T: Number>(cells: &[S], out: &mut [T]) {
    if S::WHOLE && T::WHOLE {
        for (out, cell) in out.iter_mut().zip(cells) {
            *out = T::from_i64(cell.to_i64());
        }
        return;
    }
    // By way of f64, which unsigned 64-bit numbers reach without a sign.
    for (out, cell) in out.iter_mut().zip(cells) {
        *out = T::from_f64(cell.to_f64());
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn wide<S: Number, T: Number>(cells: &[S], out: &mut [T]) {
    all(cells, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
fn widest<S: Number, T: Number>(cells: &[S], out: &mut [T]) {
    all(cells, out);
}

/// Converts cells as compiled code does: floats are truncated, whole numbers wrap around.
pub fn run<S: Number, T: Number>(cells: &[S], out: &mut [T]) {
    #[cfg(target_arch = "x86_64")]
    if crate::kernels::has_widest_vectors() {
        // SAFETY: the processor has what the function was compiled for.
        return unsafe { widest(cells, out) };
    }
    #[cfg(target_arch = "x86_64")]
    if crate::kernels::has_wide_vectors() {
        // SAFETY: the processor has what the function was compiled for.
        return unsafe { wide(cells, out) };
    }
    all(cells, out);
}
