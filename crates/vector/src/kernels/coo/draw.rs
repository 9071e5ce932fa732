//! Random cells at random places.

use std::collections::HashSet;

use super::Target;
use crate::cell::Number;
use crate::error::Error;
use crate::random::{Drawn, Twister};

/// Draws as many different places of a matrix of `width` columns as `out` has room for, in order,
/// and a number other than 0 for each.
///
/// Values come from one twister, places from a second, seeded with three times the seed, as those
/// of zeros in dense matrices do. Time and memory: those of the cells alone.
///
/// # Errors
///
/// If there are fewer places than cells, more than can be numbered, or no number but 0.
pub fn draw<T: Number + Drawn>(
    shape: (usize, usize),
    (low, high): (T, T),
    seed: i64,
    out: &mut Target<'_, T>,
) -> Result<(), Error> {
    let count = out.cells.len();
    out.check(count)?;
    let all = all_places(shape)?;
    if count > all {
        return Err(Error::Length { what: "cells", found: count, needed: all });
    }
    if count > 0 && low == T::NOTHING && high == T::NOTHING {
        return Err(Error::OnlyZeros);
    }
    let (mut values, mut places) = (Twister::new(seed), Twister::new(seed.wrapping_mul(3)));
    let mut chosen: HashSet<usize> = HashSet::with_capacity(count);
    while chosen.len() < count {
        chosen.insert(places.whole(0, all as i64 - 1) as usize);
    }
    let mut order: Vec<usize> = chosen.into_iter().collect();
    order.sort_unstable();
    for (at, place) in order.into_iter().enumerate() {
        out.rows[at] = (place / shape.1) as u32;
        out.columns[at] = (place % shape.1) as u32;
        out.cells[at] = loop {
            let value = T::draw(&mut values, low, high);
            if value != T::NOTHING {
                break value;
            }
        };
    }
    Ok(())
}

/// How many places there are, if rows, columns and places can be numbered.
fn all_places((rows, columns): (usize, usize)) -> Result<usize, Error> {
    let is_numbered = |side: usize| side == 0 || u32::try_from(side - 1).is_ok();
    let all = rows.checked_mul(columns).filter(|all| i64::try_from(*all).is_ok());
    all.filter(|_| is_numbered(rows) && is_numbered(columns)).ok_or(Error::Shape(rows, columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_differ_and_are_in_order() {
        let (mut rows, mut columns, mut cells) = (vec![0; 50], vec![0; 50], vec![0.0_f64; 50]);
        let mut out = Target { rows: &mut rows, columns: &mut columns, cells: &mut cells };
        draw((20, 5), (-1.0, 1.0), 7, &mut out).expect("there is room");
        let places: Vec<(u32, u32)> = rows.iter().copied().zip(columns).collect();
        assert!(places.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(places.iter().all(|(row, column)| *row < 20 && *column < 5));
        assert!(cells.iter().all(|cell| *cell != 0.0 && cell.abs() <= 1.0));
    }
}
