//! A choice between two sides, cell by cell.
//!
//! See docs/decisions/043-comparisons-keep-booleans-at-their-operands-width.md

use super::side::Side;
use crate::cell::Number;
use crate::widened;

/// Computes the cells of `out` of one side or the other, by a mask that is as long.
#[inline(always)]
pub fn each<T: Number>(
    mask: &[T],
    out: &mut [T],
    yes: impl Fn(usize) -> T,
    no: impl Fn(usize) -> T,
) {
    let mask = &mask[..out.len()];
    for at in 0..out.len() {
        // Both sides are read: a loop with a branch would not become vectors.
        let (one, two) = (yes(at), no(at));
        out[at] = if mask[at] == T::ZERO { two } else { one };
    }
}

fn copied<T: Number>(side: Side<'_, T>, out: &mut [T]) {
    match side {
        Side::Each(cells) => out.copy_from_slice(&cells[..out.len()]),
        Side::All(number) => out.fill(number),
    }
}

widened! {
    /// Computes `out = yes` where `mask` is not 0, and `no` elsewhere; NaN is not 0.
    ///
    /// # Panics
    ///
    /// If a side is shorter than `out`.
    pub fn run<T: Number>(mask: Side<'_, T>, yes: Side<'_, T>, no: Side<'_, T>, out: &mut [T]) {
        let mask = match mask {
            Side::Each(mask) => mask,
            Side::All(mask) => return copied(if mask == T::ZERO { no } else { yes }, out),
        };
        let count = out.len();
        match (yes, no) {
            (Side::Each(yes), Side::Each(no)) => {
                let (yes, no) = (&yes[..count], &no[..count]);
                each(mask, out, |at| yes[at], |at| no[at]);
            }
            (Side::Each(yes), Side::All(no)) => {
                let yes = &yes[..count];
                each(mask, out, |at| yes[at], |_| no);
            }
            (Side::All(yes), Side::Each(no)) => {
                let no = &no[..count];
                each(mask, out, |_| yes, |at| no[at]);
            }
            (Side::All(yes), Side::All(no)) => each(mask, out, |_| yes, |_| no),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cell_is_from_one_side() {
        let mask = [0.0, 1.0, -0.0, f64::NAN, 0.5];
        let (yes, no) = ([1.0, 2.0, 3.0, 4.0, 5.0], [-1.0, -2.0, -3.0, -4.0, -5.0]);
        let selected = |mask, yes, no| {
            let mut out = [9.0; 5];
            run(mask, yes, no, &mut out);
            out
        };
        let (all, each) = (Side::Each(&mask), Side::Each(&no));
        assert_eq!(selected(all, Side::Each(&yes), each), [-1.0, 2.0, -3.0, 4.0, 5.0]);
        assert_eq!(selected(all, Side::All(7.0), each), [-1.0, 7.0, -3.0, 7.0, 7.0]);
        assert_eq!(selected(all, Side::Each(&yes), Side::All(7.0)), [7.0, 2.0, 7.0, 4.0, 5.0]);
        assert_eq!(selected(all, Side::All(1.0), Side::All(0.0)), [0.0, 1.0, 0.0, 1.0, 1.0]);
        assert_eq!(selected(Side::All(2.0), Side::Each(&yes), each), yes);
        assert_eq!(selected(Side::All(0.0), Side::Each(&yes), each), no);
    }

    #[test]
    fn all_lengths_are_filled() {
        for count in 0..70 {
            let yes: Vec<i32> = (0..count).collect();
            let mask: Vec<i32> = yes.iter().map(|at| at % 3 - 1).collect();
            let mut out = vec![-9; yes.len()];
            run(Side::Each(&mask), Side::Each(&yes), Side::All(-1), &mut out);
            let expected: Vec<i32> =
                yes.iter().map(|at| if at % 3 == 1 { -1 } else { *at }).collect();
            assert_eq!(out, expected);
        }
    }
}
