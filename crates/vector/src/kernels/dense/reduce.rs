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
    let mut chunks = cells.chunks_exact(LANES);
    for chunk in &mut chunks {
        for lane in 0..LANES {
            parts[lane] = both(parts[lane], chunk[lane]);
        }
    }
    for (lane, cell) in chunks.remainder().iter().enumerate() {
        parts[lane] = both(parts[lane], *cell);
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

widened! {
    /// Reduces `cells` into `out`, cell by cell.
    pub fn merge<T: Number>(reduce: Reduce, cells: &[T], out: &mut [T]) {
        match reduce {
            Reduce::Sum => for (out, cell) in out.iter_mut().zip(cells) { *out = out.plus(*cell) },
            other => for (out, cell) in out.iter_mut().zip(cells) { *out = other.both(*out, *cell) },
        }
    }
}
