//! A dense matrix times a vector.

use std::hint::black_box;

use crate::cell::Number;
use crate::kernels::prefetch;
use crate::widened;

const LANES: usize = 8;

/// How many cells ahead of a row's loop its memory is asked for: the processor's own prefetching
/// ends at each page, and so at each half row of a thousand cells.
const AHEAD: usize = 128;

/// Rows of so many cells are long: what is between a row's loop and its sum costs little.
const LONG: usize = 32;

#[inline(always)]
fn step<T: Number>(parts: &mut [T; LANES], cells: &[T], vector: &[T]) {
    prefetch(cells.as_ptr().wrapping_add(AHEAD));
    for lane in 0..LANES {
        parts[lane] = parts[lane].plus(cells[lane].times(vector[lane]));
    }
}

#[inline(always)]
fn ended<T: Number>(parts: &[T; LANES], cells: &[T], vector: &[T]) -> T {
    let sum = parts.iter().fold(T::ZERO, |sum, part| sum.plus(*part));
    let rest = cells.len() / LANES * LANES;
    let pairs = cells[rest..].iter().zip(&vector[rest..]);
    pairs.fold(sum, |sum, (cell, other)| sum.plus(cell.times(*other)))
}

/// The products of four rows with a vector.
///
/// Sums of long rows are in memory between their loop and their end: otherwise the compiler makes
/// vectors of four rows' sums, and puts together what the loop loads of them, number by number.
#[inline(always)]
fn four<T: Number, const IS_LONG: bool>(rows: [&[T]; 4], vector: &[T], out: &mut [T]) {
    let [a, b, c, d] = rows;
    let mut parts = [[T::ZERO; LANES]; 4];
    let pairs = a.chunks_exact(LANES).zip(b.chunks_exact(LANES));
    let others = c.chunks_exact(LANES).zip(d.chunks_exact(LANES));
    for (((a, b), (c, d)), x) in pairs.zip(others).zip(vector.chunks_exact(LANES)) {
        step(&mut parts[0], a, x);
        step(&mut parts[1], b, x);
        step(&mut parts[2], c, x);
        step(&mut parts[3], d, x);
    }
    let parts = if IS_LONG { black_box(parts) } else { parts };
    for (row, (out, parts)) in rows.into_iter().zip(out.iter_mut().zip(&parts)) {
        *out = ended(parts, row, vector);
    }
}

widened! {
    /// Computes `out[r] = cells[r, :] @ vector`, of rows as long as the vector.
    ///
    /// Four rows at a time, so that four streams of memory are read at once and the vector's cells
    /// are loaded once for all of them.
    pub fn rows<T: Number>(cells: &[T], vector: &[T], out: &mut [T]) {
        let width = vector.len();
        let mut fours = out.chunks_exact_mut(4);
        let mut blocks = cells.chunks_exact((4 * width).max(1));
        for (out, block) in (&mut fours).zip(&mut blocks) {
            let (top, bottom) = block.split_at(2 * width);
            let ((a, b), (c, d)) = (top.split_at(width), bottom.split_at(width));
            if width < LONG {
                four::<T, false>([a, b, c, d], vector, out);
            } else {
                four::<T, true>([a, b, c, d], vector, out);
            }
        }
        let rest = fours.into_remainder();
        for (out, row) in rest.iter_mut().zip(blocks.remainder().chunks_exact(width.max(1))) {
            let mut parts = [T::ZERO; LANES];
            for (cells, x) in row.chunks_exact(LANES).zip(vector.chunks_exact(LANES)) {
                step(&mut parts, cells, x);
            }
            *out = ended(&parts, row, vector);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_all_lengths_are_multiplied() {
        for width in [1, 7, 8, 9, 40] {
            for count in 0..10 {
                let cells: Vec<i64> = (0..(count * width) as i64).collect();
                let vector: Vec<i64> = (1..=width as i64).collect();
                let mut out = vec![-1; count];
                rows(&cells, &vector, &mut out);
                for (row, out) in cells.chunks_exact(width).zip(&out) {
                    let expected: i64 = row.iter().zip(&vector).map(|(x, y)| x * y).sum();
                    assert_eq!(*out, expected);
                }
            }
        }
    }
}
