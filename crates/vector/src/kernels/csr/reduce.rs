//! Rows of a CSR matrix, each reduced to one number.

use crate::cell::Number;
use crate::kernels::dense::reduce::Reduce;
use crate::widened;

/// Rows of CSR matrices are short: more parts would take longer to put together than they save.
const LANES: usize = 4;

#[inline(always)]
fn each<T: Number>(
    cells: &[T],
    offsets: &[i64],
    out: &mut [T],
    start: T,
    both: impl Fn(T, T) -> T + Copy,
) {
    for (out, ends) in out.iter_mut().zip(offsets.windows(2)) {
        let row = &cells[(ends[0] - offsets[0]) as usize..(ends[1] - offsets[0]) as usize];
        let mut parts = [start; LANES];
        let (chunks, rest) = row.as_chunks::<LANES>();
        for chunk in chunks {
            for (part, cell) in parts.iter_mut().zip(chunk) {
                *part = both(*part, *cell);
            }
        }
        for (part, cell) in parts.iter_mut().zip(rest) {
            *part = both(*part, *cell);
        }
        *out = both(both(parts[0], parts[1]), both(parts[2], parts[3]));
    }
}

widened! {
    /// Reduces what each row stores; `cells` begin with those of the first row.
    pub fn rows<T: Number>(reduce: Reduce, cells: &[T], offsets: &[i64], out: &mut [T]) {
        match reduce {
            Reduce::Sum => each(cells, offsets, out, T::ZERO, T::plus),
            Reduce::Min => each(cells, offsets, out, T::MOST, |x, y| Reduce::Min.both(x, y)),
            Reduce::Max => each(cells, offsets, out, T::LEAST, |x, y| Reduce::Max.both(x, y)),
        }
    }
}
