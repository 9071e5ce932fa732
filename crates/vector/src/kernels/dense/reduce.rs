//! Reductions of slices.

use crate::cell::Number;
use crate::widened;

/// What cells are reduced to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Reduce {
    Sum,
    Min,
    Max,
}

/// All reductions.
pub const REDUCTIONS: [Reduce; 3] = [Reduce::Sum, Reduce::Min, Reduce::Max];

impl Reduce {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Min => "min",
            Self::Max => "max",
        }
    }

    /// The reduction of this name.
    pub fn named(name: &str) -> Option<Self> {
        REDUCTIONS.into_iter().find(|known| known.name() == name)
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

/// Bytes of the lanes that cells are reduced in, which do not wait for one another: as many as fill
/// the registers.
pub const LANE_BYTES: usize = 256;

/// How many lanes there are for cells of a size.
pub const fn lanes(size: usize) -> usize {
    LANE_BYTES / size
}

/// How many turns of lanes are taken at once.
pub const TURNS: usize = 4;

/// Reduces cells into lanes, in turns.
///
/// Several turns at once, lane by lane: a loop over lanes becomes vectors, where of one turn over all of
/// them the compiler takes extremes of 64 bits number by number.
#[inline(always)]
pub fn gather<T: Number, const LANES: usize>(
    lanes: &mut [T; LANES],
    cells: &[T],
    both: impl Fn(T, T) -> T + Copy,
) {
    let (chunks, rest) = cells.as_chunks::<LANES>();
    let (turns, left) = chunks.as_chunks::<TURNS>();
    for turns in turns {
        for (at, lane) in lanes.iter_mut().enumerate() {
            *lane = turns.iter().fold(*lane, |lane, chunk| both(lane, chunk[at]));
        }
    }
    for chunk in left {
        // Pairs, not indices: of those the compiler makes shuffles where a comparison decides.
        for (lane, cell) in lanes.iter_mut().zip(chunk) {
            *lane = both(*lane, *cell);
        }
    }
    for (lane, cell) in lanes.iter_mut().zip(rest) {
        *lane = both(*lane, *cell);
    }
}

/// Reduces lanes, a power of 2 of them, to one number: the second half into the first, and again.
///
/// How many there are is known when it is compiled: all of it is done in registers then.
#[inline(always)]
fn halve<T: Number, const LANES: usize>(
    mut lanes: [T; LANES],
    both: impl Fn(T, T) -> T + Copy,
) -> T {
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for lane in 0..width {
            lanes[lane] = both(lanes[lane], lanes[lane + width]);
        }
    }
    lanes[0]
}

#[inline(always)]
fn in_lanes<T: Number, const LANES: usize>(
    cells: &[T],
    start: T,
    both: impl Fn(T, T) -> T + Copy,
) -> T {
    let mut lanes = [start; LANES];
    gather(&mut lanes, cells, both);
    halve(lanes, both)
}

#[inline(always)]
fn all<T: Number>(cells: &[T], start: T, both: impl Fn(T, T) -> T + Copy) -> T {
    match (lanes(size_of::<T>()), cells.len()) {
        // Of few cells, the start and end of many lanes would take longer.
        (_, ..32) => in_lanes::<T, 4>(cells, start, both),
        (256, _) => in_lanes::<T, 256>(cells, start, both),
        (64, _) => in_lanes::<T, 64>(cells, start, both),
        _ => in_lanes::<T, 32>(cells, start, both),
    }
}

/// Reduces lanes, [`lanes`] of them, to one number.
pub fn fold_lanes<T: Number>(reduce: Reduce, lanes: &[T]) -> T {
    fn of<T: Number, const LANES: usize>(reduce: Reduce, lanes: &[T]) -> T {
        let own = std::array::from_fn::<T, LANES, _>(|lane| lanes[lane]);
        halve(own, |x, y| reduce.both(x, y))
    }
    match lanes.len() {
        256 => of::<T, 256>(reduce, lanes),
        64 => of::<T, 64>(reduce, lanes),
        _ => of::<T, 32>(reduce, lanes),
    }
}

widened! {
    /// Reduces all cells, in parts that do not wait for one another.
    pub fn run<T: Number>(reduce: Reduce, cells: &[T]) -> T {
        match reduce {
            Reduce::Sum => all(cells, T::ZERO, T::plus),
            Reduce::Min => all(cells, T::MOST, |x, y| Reduce::Min.both(x, y)),
            Reduce::Max => all(cells, T::LEAST, |x, y| Reduce::Max.both(x, y)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lane_takes_its_cells_in_their_order() {
        const LANES: usize = 4;
        let cells: Vec<f64> = (0..150).map(|at| (f64::from(at) * 0.7).sin() * 1e3).collect();
        for how in REDUCTIONS {
            for count in 0..=cells.len() {
                let mut lanes = [how.start::<f64>(); LANES];
                gather(&mut lanes, &cells[..count], |x, y| how.both(x, y));
                for (at, lane) in lanes.iter().enumerate() {
                    let own = cells[..count].iter().skip(at).step_by(LANES);
                    let expected = own.fold(how.start::<f64>(), |x, y| how.both(x, *y));
                    assert_eq!(lane.to_bits(), expected.to_bits());
                }
            }
        }
    }
}
