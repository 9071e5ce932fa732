//! A CSR matrix times a CSR matrix.
//!
//! Row by row, as Gustavson does: a row of the product is the sum of rows of the right side, added
//! up in one dense row. First the places are counted, then computed, so that the result is written
//! where it stays.

use std::alloc::{Layout, alloc_zeroed};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::panel;
use super::rows::{Rows, check_offsets};
use crate::cell::Number;
use crate::error::Error;
use crate::kernels::check_length;
use crate::pool::Pool;

/// Rows that a worker takes at once.
const TAKEN: usize = 128;

/// Checks that two factors are CSR matrices that fit each other, and the product's width.
fn check_factors<T: Copy>(
    left: Rows<'_, T>,
    right: Rows<'_, T>,
    width: usize,
    offsets: usize,
) -> Result<(), Error> {
    right.check(width)?;
    left.check(right.count())?;
    check_length("offsets of the product", offsets, left.offsets.len())
}

/// One worker's row: sums, the columns that have one, and for which row they are, counted from 1.
struct Row<T> {
    sums: Vec<T>,
    of: Vec<u64>,
    touched: Vec<u32>,
}

impl<T: Number> Row<T> {
    /// None if there is no memory for so many columns.
    fn new(width: usize) -> Option<Self> {
        Some(Self { sums: zeroed(width)?, of: zeroed(width)?, touched: Vec::new() })
    }

    /// Finds the columns of a row of the product.
    fn find(&mut self, row: usize, left: Rows<'_, T>, right: Rows<'_, T>) {
        self.touched.clear();
        for at in left.range(row) {
            for column in &right.columns[right.range(left.columns[at] as usize)] {
                let mark = &mut self.of[*column as usize];
                if *mark != row as u64 + 1 {
                    *mark = row as u64 + 1;
                    self.touched.push(*column);
                }
            }
        }
    }

    /// Finds the columns of a row of the product, and their sums.
    fn add(&mut self, row: usize, left: Rows<'_, T>, right: Rows<'_, T>) {
        self.touched.clear();
        for at in left.range(row) {
            let (factor, range) = (left.cells[at], right.range(left.columns[at] as usize));
            for (column, cell) in right.columns[range.clone()].iter().zip(&right.cells[range]) {
                let (place, product) = (*column as usize, factor.times(*cell));
                if self.of[place] == row as u64 + 1 {
                    self.sums[place] = self.sums[place].plus(product);
                } else {
                    self.of[place] = row as u64 + 1;
                    self.touched.push(*column);
                    self.sums[place] = product;
                }
            }
        }
    }
}

/// So many zeros, in pages that the system makes when they are written to: a product touches few of
/// many columns. None if there is no memory for them.
#[expect(clippy::same_length_and_capacity, reason = "all of it is zeros")]
fn zeroed<T: Number>(count: usize) -> Option<Vec<T>> {
    let layout = Layout::array::<T>(count).ok()?;
    if layout.size() == 0 {
        return Some(Vec::new());
    }
    // SAFETY: the layout is that of `count` numbers, all bits 0 are a number's 0, and the vector
    // frees the memory with the same layout.
    unsafe {
        let begin = alloc_zeroed(layout).cast::<T>();
        (!begin.is_null()).then(|| Vec::from_raw_parts(begin, count, count))
    }
}

/// Calls `row` with all rows below `count` and memory of its worker's own.
fn each<T: Number>(
    count: usize,
    width: usize,
    workers: usize,
    row: impl Fn(&mut Row<T>, usize) + Sync,
) -> Result<(), Error> {
    let next = AtomicUsize::new(0);
    let workers = workers.clamp(1, count.div_ceil(TAKEN).max(1));
    let own: Option<Vec<_>> = (0..workers).map(|_| Row::new(width).map(Mutex::new)).collect();
    let needed = (size_of::<T>() + size_of::<u64>()).saturating_mul(width);
    let own = own.ok_or(Error::Memory(needed.saturating_mul(workers)))?;
    Pool::global().run(workers, None, &|worker| {
        let mut own = own[worker].lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            // Relaxed: rows are only counted; the pool publishes what was written.
            let begin = next.fetch_add(TAKEN, Ordering::Relaxed);
            if begin >= count {
                break;
            }
            (begin..(begin + TAKEN).min(count)).for_each(|at| row(&mut own, at));
        }
    });
    Ok(())
}

/// Memory of which every row is written by one worker.
struct Shared<T>(*mut T);

// SAFETY: no two workers write to the same place.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// The memory of some places.
    ///
    /// # Safety
    ///
    /// They have to be there, and nobody else may have them.
    #[allow(clippy::mut_from_ref, reason = "the caller keeps places apart")]
    unsafe fn part(&self, range: Range<usize>) -> &mut [T] {
        // SAFETY: the caller knows.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(range.start), range.len()) }
    }
}

/// Counts the stored cells of each row of the product, which has `width` columns.
///
/// # Errors
///
/// If a column of the left side is no row of the right one, or one of the right side is none of the
/// product's; if rows do not lie in what is stored; or if there is no memory for a row of sums.
pub fn sizes<T: Number>(
    left: Rows<'_, T>,
    right: Rows<'_, T>,
    width: usize,
    workers: usize,
    out: &mut [i64],
) -> Result<(), Error> {
    check_factors(left, right, width, out.len() + 1)?;
    let (count, shared) = (out.len(), Shared(out.as_mut_ptr()));
    each(count, width, workers, |own, row| {
        own.find(row, left, right);
        // SAFETY: each row is taken once, and has a place.
        unsafe { shared.part(row..row + 1)[0] = own.touched.len() as i64 };
    })
}

/// Computes the product with a dense matrix of `width` columns.
///
/// # Errors
///
/// If a column of the left side is no row of the right one, or if rows do not lie in what is stored.
pub fn multiply_dense<T: Number>(
    left: Rows<'_, T>,
    right: &[T],
    width: usize,
    workers: usize,
    out: &mut [T],
) -> Result<(), Error> {
    // Without columns, the right side may have any number of rows.
    let height = right.len().checked_div(width).unwrap_or(usize::MAX);
    left.check(height)?;
    let count = left.count();
    let needed = count.checked_mul(width).ok_or(Error::Shape(count, width))?;
    check_length("the product", out.len(), needed)?;
    let shared = Shared(out.as_mut_ptr());
    each(count, 0, workers, |_: &mut Row<T>, row| {
        // SAFETY: each row is taken once, and was counted.
        let part = unsafe { shared.part(row * width..(row + 1) * width) };
        panel::rows(left, row, right, width, part);
    })
}

/// Computes the product into columns and cells that `offsets`, made of the sizes, has room for.
///
/// # Errors
///
/// For the reasons of [`sizes`], or if the offsets are not those of the product.
pub fn multiply<T: Number>(
    left: Rows<'_, T>,
    right: Rows<'_, T>,
    width: usize,
    workers: usize,
    offsets: &[i64],
    columns: &mut [u32],
    cells: &mut [T],
) -> Result<(), Error> {
    check_factors(left, right, width, offsets.len())?;
    let room = columns.len().min(cells.len());
    check_offsets(offsets, room)?;
    let wrong = AtomicUsize::new(usize::MAX);
    let (to_columns, to_cells) = (Shared(columns.as_mut_ptr()), Shared(cells.as_mut_ptr()));
    each(offsets.len() - 1, width, workers, |own: &mut Row<T>, row| {
        own.add(row, left, right);
        own.touched.sort_unstable();
        let range = offsets[row] as usize..offsets[row + 1] as usize;
        if range.len() != own.touched.len() || range.start > range.end || range.end > room {
            // Relaxed: the pool publishes it.
            wrong.store(row, Ordering::Relaxed);
            return;
        }
        // SAFETY: each row is taken once, and its places were checked just now.
        let (columns, cells) = unsafe { (to_columns.part(range.clone()), to_cells.part(range)) };
        columns.copy_from_slice(&own.touched);
        for (cell, column) in cells.iter_mut().zip(columns) {
            *cell = own.sums[*column as usize];
        }
    })?;
    match wrong.into_inner() {
        usize::MAX => Ok(()),
        row => {
            let (begin, end) = (offsets[row], offsets[row + 1]);
            Err(Error::Offsets { row, begin, end, stored: room })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_what_dense_matrices_give() {
        // 300 rows of 0 to 3 cells, times 5 rows of 7 columns.
        let mut offsets = vec![0_i64];
        let (mut columns, mut cells) = (Vec::new(), Vec::new());
        for row in 0..300_i64 {
            for at in 0..row % 4 {
                columns.push((at + row % 2) as u32);
                cells.push(row + at);
            }
            offsets.push(cells.len() as i64);
        }
        let left = Rows { offsets: &offsets, columns: &columns, cells: &cells };
        let right = Rows {
            offsets: &[0, 2, 2, 4, 5, 7],
            columns: &[1, 6, 1, 2, 0, 3, 6],
            cells: &[1, 2, 3, 4, 5, 6, 7],
        };
        for workers in [1, 3] {
            let mut places = vec![0; 301];
            sizes(left, right, 7, workers, &mut places[1..]).expect("they fit");
            (1..301).for_each(|row| places[row] += places[row - 1]);
            let stored = places[300] as usize;
            let (mut found, mut sums) = (vec![0; stored], vec![0; stored]);
            multiply(left, right, 7, workers, &places, &mut found, &mut sums).expect("they fit");
            for row in 0..300 {
                let mut expected = [0_i64; 7];
                for at in left.range(row) {
                    for to in right.range(columns[at] as usize) {
                        expected[right.columns[to] as usize] += cells[at] * right.cells[to];
                    }
                }
                let mut dense = [0_i64; 7];
                let range = places[row] as usize..places[row + 1] as usize;
                assert!(found[range.clone()].is_sorted());
                range.for_each(|at| dense[found[at] as usize] = sums[at]);
                assert_eq!(dense, expected);
            }
        }
    }
}
