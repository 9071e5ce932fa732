//! A CSR matrix times a CSR matrix.
//!
//! Row by row, as Gustavson does: a row of the product is the sum of rows of the right side, added
//! up in one dense row. First the places are counted, then computed, so that the result is written
//! where it stays.

use std::alloc::{Layout, alloc_zeroed};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::rows::{Rows, check_offsets};
use super::{order, panel};
use crate::cell::Number;
use crate::error::Error;
use crate::kernels::check_length;
use crate::pool::Pool;

/// Rows that a worker takes at once.
const TAKEN: usize = 128;

/// Up to so many entries are looked at for each column that a row of the product has: sorting takes longer.
const SCANNED: usize = 16;

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

/// A column in one worker's row: for which row it has a sum, counted from 1, and the sum.
///
/// Side by side, as both are looked at together.
#[derive(Clone, Copy)]
struct Entry<T> {
    row: u64,
    sum: T,
}

/// One worker's row: sums by column, and the columns that have one.
struct Row<T> {
    entries: Vec<Entry<T>>,
    touched: Vec<u32>,
}

impl<T: Number> Row<T> {
    /// Finds the sums of a row of the product, and how many there are.
    fn add(&mut self, row: usize, left: Rows<'_, T>, right: Rows<'_, T>) -> usize {
        let (id, mut found) = (row as u64 + 1, 0);
        for at in left.range(row) {
            let (factor, range) = (left.cells[at], right.range(left.columns[at] as usize));
            if self.touched.len() < found + range.len() {
                self.touched.resize(found + range.len(), 0);
            }
            let (entries, touched) = (&mut *self.entries, &mut *self.touched);
            for (column, cell) in right.columns[range.clone()].iter().zip(&right.cells[range]) {
                let (entry, product) = (&mut entries[*column as usize], factor.times(*cell));
                if entry.row == id {
                    entry.sum = entry.sum.plus(product);
                } else {
                    *entry = Entry { row: id, sum: product };
                    touched[found] = *column;
                    found += 1;
                }
            }
        }
        found
    }

    /// Writes the columns of a row in ascending order, and their sums.
    fn write(&mut self, row: usize, columns: &mut [u32], cells: &mut [T]) {
        let found = columns.len();
        if found <= order::RANKED || found < self.entries.len() / SCANNED {
            order::sort(&self.touched[..found], columns);
        } else {
            // What is no column is written behind the last one, too.
            self.touched.resize(self.touched.len().max(found + 1), 0);
            let (id, mut next) = (row as u64 + 1, 0);
            for (column, entry) in self.entries.iter().enumerate() {
                self.touched[next] = column as u32;
                next += usize::from(entry.row == id);
            }
            columns.copy_from_slice(&self.touched[..found]);
        }
        for (cell, column) in cells.iter_mut().zip(columns) {
            *cell = self.entries[*column as usize].sum;
        }
    }
}

/// Counts the columns of a row of the product.
///
/// Without a branch: where rows of the right side share columns, no processor predicts which are new.
fn counted<T: Number>(marks: &mut [u64], row: usize, left: Rows<'_, T>, right: Rows<'_, T>) -> i64 {
    let (id, mut found) = (row as u64 + 1, 0);
    for at in left.range(row) {
        for column in &right.columns[right.range(left.columns[at] as usize)] {
            let mark = &mut marks[*column as usize];
            found += i64::from(*mark != id);
            *mark = id;
        }
    }
    found
}

/// So many zeros, in pages that the system makes when they are written to: a product touches few of
/// many columns.
///
/// # Safety
///
/// All bits 0 have to be a value.
///
/// # Errors
///
/// If there is no memory for them.
#[expect(clippy::same_length_and_capacity, reason = "all of it is zeros")]
unsafe fn zeroed<V>(count: usize) -> Result<Vec<V>, Error> {
    let too_large = Error::Memory(size_of::<V>().saturating_mul(count));
    let Ok(layout) = Layout::array::<V>(count) else { return Err(too_large) };
    if layout.size() == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the layout is that of `count` values, the caller knows that zeros are some, and the
    // vector frees the memory with the same layout.
    unsafe {
        let begin = alloc_zeroed(layout).cast::<V>();
        if begin.is_null() {
            return Err(too_large);
        }
        Ok(Vec::from_raw_parts(begin, count, count))
    }
}

/// Calls `row` with all rows below `count` and what `make` makes for each worker.
fn each<W: Send>(
    count: usize,
    workers: usize,
    make: impl Fn() -> Result<W, Error>,
    row: impl Fn(&mut W, usize) + Sync,
) -> Result<(), Error> {
    let next = AtomicUsize::new(0);
    let workers = workers.clamp(1, count.div_ceil(TAKEN).max(1));
    let own: Result<Vec<_>, _> = (0..workers).map(|_| make().map(Mutex::new)).collect();
    let own = own?;
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
    // SAFETY: 0 is a row's number.
    let marks = || unsafe { zeroed(width) };
    each(count, workers, marks, |marks: &mut Vec<u64>, row| {
        let found = counted(marks, row, left, right);
        // SAFETY: each row is taken once, and has a place.
        unsafe { shared.part(row..row + 1)[0] = found };
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
    each(
        count,
        workers,
        || Ok(()),
        |(), row| {
            // SAFETY: each row is taken once, and was counted.
            let part = unsafe { shared.part(row * width..(row + 1) * width) };
            panel::rows(left, row, right, width, part);
        },
    )
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
    // SAFETY: all bits 0 are a number's 0, and no row's.
    let row = || Ok(Row { entries: unsafe { zeroed(width) }?, touched: Vec::new() });
    each(offsets.len() - 1, workers, row, |own: &mut Row<T>, row| {
        let found = own.add(row, left, right);
        let range = offsets[row] as usize..offsets[row + 1] as usize;
        if range.len() != found || range.start > range.end || range.end > room {
            // Relaxed: the pool publishes it.
            wrong.store(row, Ordering::Relaxed);
            return;
        }
        // SAFETY: each row is taken once, and its places were checked just now.
        let (columns, cells) = unsafe { (to_columns.part(range.clone()), to_cells.part(range)) };
        own.write(row, columns, cells);
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
            assert_product(left, right, 7, workers);
        }
    }

    #[test]
    fn rows_are_sorted_whether_they_have_few_or_many_of_all_columns() {
        // 40 rows of 0 to 199 cells, in columns that 6 rows share in part, out of order.
        let mut offsets = vec![0_i64];
        let mut columns = Vec::new();
        for row in 0..40_u32 {
            columns.extend((0..row * 5).map(|at| (at * 389 + row / 6) % 4000));
            offsets.push(columns.len() as i64);
        }
        let cells: Vec<i64> = (1..=columns.len() as i64).collect();
        let right = Rows { offsets: &offsets, columns: &columns, cells: &cells };
        let few: Vec<u32> = (0..120).map(|at| at * 7 % 40).collect();
        let (factors, ends) = (vec![3; 120], [0, 1, 3, 9, 40, 40, 120]);
        let left = Rows { offsets: &ends, columns: &few, cells: &factors };
        for width in [4000, 100_000] {
            assert_product(left, right, width, 2);
        }
    }

    fn assert_product(left: Rows<'_, i64>, right: Rows<'_, i64>, width: usize, workers: usize) {
        let mut places = vec![0; left.count() + 1];
        sizes(left, right, width, workers, &mut places[1..]).expect("they fit");
        (1..places.len()).for_each(|row| places[row] += places[row - 1]);
        let stored = places[left.count()] as usize;
        let (mut found, mut sums) = (vec![0; stored], vec![0; stored]);
        multiply(left, right, width, workers, &places, &mut found, &mut sums).expect("they fit");
        for row in 0..left.count() {
            let mut expected = vec![0; width];
            for at in left.range(row) {
                for to in right.range(left.columns[at] as usize) {
                    expected[right.columns[to] as usize] += left.cells[at] * right.cells[to];
                }
            }
            let mut dense = vec![0; width];
            let range = places[row] as usize..places[row + 1] as usize;
            assert!(found[range.clone()].is_sorted());
            range.for_each(|at| dense[found[at] as usize] = sums[at]);
            assert_eq!(dense, expected);
        }
    }
}
