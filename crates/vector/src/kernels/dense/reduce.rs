//! Reductions of slices.

use crate::cell::Number;
use crate::widened;

/// What cells are reduced to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Reduce {
    Sum,
    Min,
    Max,
}

impl Reduce {
    /// The reduction of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "sum" => Some(Self::Sum),
            "min" => Some(Self::Min),
            "max" => Some(Self::Max),
            _ => None,
        }
    }

    /// What no cells give.
    pub fn start<T: Number>(self) -> T {
        match self {
            Self::Sum => T::ZERO,
            Self::Min => T::MOST,
            Self::Max => T::LEAST,
        }
    }

    /// Combines two results; NaN stays.
    #[inline(always)]
    #[allow(clippy::eq_op, reason = "only NaN differs from itself")]
    pub fn both<T: Number>(self, one: T, two: T) -> T {
        match self {
            Self::Sum => one.plus(two),
            Self::Min => {
                if two < one || two != two {
                    two
                } else {
                    one
                }
            }
            Self::Max => {
                if two > one || two != two {
                    two
                } else {
                    one
                }
            }
        }
    }
}

#[inline(always)]
fn lanes<T: Number>(cells: &[T], start: T, both: impl Fn(T, T) -> T + Copy) -> T {
    // As many parts as fill the registers; of few cells, their start and end would take longer.
    match (size_of::<T>(), cells.len()) {
        (_, ..32) => parts::<T, 4>(cells, start, both),
        (1, _) => parts::<T, 256>(cells, start, both),
        (4, _) => parts::<T, 64>(cells, start, both),
        _ => parts::<T, 32>(cells, start, both),
    }
}

#[inline(always)]
fn parts<T: Number, const LANES: usize>(
    cells: &[T],
    start: T,
    both: impl Fn(T, T) -> T + Copy,
) -> T {
    let mut parts = [start; LANES];
    let (chunks, rest) = cells.as_chunks::<LANES>();
    // Pairs, not indices: of those the compiler makes shuffles where a comparison decides.
    for chunk in chunks {
        for (part, cell) in parts.iter_mut().zip(chunk) {
            *part = both(*part, *cell);
        }
    }
    for (part, cell) in parts.iter_mut().zip(rest) {
        *part = both(*part, *cell);
    }
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for lane in 0..width {
            parts[lane] = both(parts[lane], parts[lane + width]);
        }
    }
    parts[0]
}

widened! {
    /// Reduces all cells, in parts that do not wait for one another.
    pub fn run<T: Number>(reduce: Reduce, cells: &[T]) -> T {
        match reduce {
            Reduce::Sum => lanes(cells, T::ZERO, T::plus),
            Reduce::Min => lanes(cells, T::MOST, |x, y| Reduce::Min.both(x, y)),
            Reduce::Max => lanes(cells, T::LEAST, |x, y| Reduce::Max.both(x, y)),
        }
    }
}

#[inline(always)]
fn merged<T: Number>(cells: &[T], out: &mut [T], both: impl Fn(T, T) -> T + Copy) {
    let width = out.len();
    // Four rows for each time that what they are reduced to is read and written.
    let mut rows = cells.chunks_exact(4 * width);
    for four in &mut rows {
        let (one, rest) = four.split_at(width);
        let (two, rest) = rest.split_at(width);
        let (three, last) = rest.split_at(width);
        for (at, out) in out.iter_mut().enumerate() {
            *out = both(both(both(both(*out, one[at]), two[at]), three[at]), last[at]);
        }
    }
    for row in rows.remainder().chunks_exact(width) {
        for (out, cell) in out.iter_mut().zip(row) {
            *out = both(*out, *cell);
        }
    }
}

widened! {
    /// Reduces rows, as wide as `out`, which may not be empty, into it: each column by itself.
    pub fn merge<T: Number>(reduce: Reduce, cells: &[T], out: &mut [T]) {
        match reduce {
            Reduce::Sum => merged(cells, out, T::plus),
            Reduce::Min => merged(cells, out, |x, y| Reduce::Min.both(x, y)),
            Reduce::Max => merged(cells, out, |x, y| Reduce::Max.both(x, y)),
        }
    }
}
