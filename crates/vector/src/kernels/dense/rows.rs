//! Rows of bytes, copied by several threads.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::stream;
use crate::pool::Pool;

/// Below this many bytes one thread copies as fast as two that have to be woken.
const BYTES_FOR_TWO: usize = 256 << 10;

/// Rows in memory: the first one, and how many bytes it is from one to the next, which may be back or,
/// to read the same row each time, none.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// The address of the first byte.
    pub begin: usize,
    /// From a row's first byte to the next one's.
    pub step: isize,
}

impl Rows {
    fn row(self, row: usize) -> usize {
        self.begin.wrapping_add_signed(self.step.wrapping_mul(row as isize))
    }
}

/// Copies `count` rows of `bytes` bytes, on at most so many threads.
///
/// # Safety
///
/// All rows are there, those of `to` are apart from each other and from those of `from`, and nobody else
/// uses them meanwhile.
pub unsafe fn copy(from: Rows, to: Rows, bytes: usize, count: usize, workers: usize) {
    let written = bytes * count;
    let read = if from.step == 0 { bytes } else { written };
    let past = stream::pays(written, read.saturating_add(written));
    each(bytes, count, workers, |row| {
        // SAFETY: as the caller says; this worker alone has the row.
        let (from, to) = unsafe { pair(from, to, bytes, row) };
        if past {
            stream::copy(from, to);
        } else {
            to.copy_from_slice(from);
        }
    });
}

/// Copies the cells of a square matrix up to its diagonal, or from there on, and makes all others 0:
/// `count` rows of as many cells of `size` bytes, on at most so many threads. With `inner`, the diagonal
/// is one of the others.
///
/// # Safety
///
/// As for [`copy`].
pub unsafe fn triangle(
    (from, to): (Rows, Rows),
    size: usize,
    count: usize,
    lower: bool,
    inner: bool,
    workers: usize,
) {
    each(size * count, count, workers, |row| {
        // SAFETY: as the caller says; this worker alone has the row.
        let (from, to) = unsafe { pair(from, to, size * count, row) };
        let kept = if lower {
            0..size * (row + usize::from(!inner))
        } else {
            size * (row + usize::from(inner))..size * count
        };
        to[..kept.start].fill(0);
        to[kept.clone()].copy_from_slice(&from[kept.clone()]);
        to[kept.end..].fill(0);
    });
}

/// Calls a function with each of `count` rows of so many bytes, on at most so many threads.
fn each(bytes: usize, count: usize, workers: usize, row: impl Fn(usize) + Sync) {
    let workers = if bytes * count < BYTES_FOR_TWO { 1 } else { workers.clamp(1, count) };
    // Parts are taken, not dealt: where the system has no thread for a worker, others take its part.
    let next = AtomicUsize::new(0);
    Pool::global().run(workers, None, &|_| {
        loop {
            // Relaxed: parts are only counted; the pool publishes what was written.
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part >= workers {
                break;
            }
            (count * part / workers..count * (part + 1) / workers).for_each(&row);
        }
        stream::fence();
    });
}

/// # Safety
///
/// The row is there, in both memories, and nobody else uses it.
unsafe fn pair<'a>(from: Rows, to: Rows, bytes: usize, row: usize) -> (&'a [u8], &'a mut [u8]) {
    let from = std::ptr::with_exposed_provenance(from.row(row));
    let to = std::ptr::with_exposed_provenance_mut(to.row(row));
    // SAFETY: as the caller says.
    unsafe { (std::slice::from_raw_parts(from, bytes), std::slice::from_raw_parts_mut(to, bytes)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at<T>(cells: &[T], step: isize) -> Rows {
        Rows { begin: cells.as_ptr().expose_provenance(), step }
    }

    #[test]
    fn rows_arrive_in_any_order_and_again() {
        let from: Vec<u8> = (0..60).collect();
        let mut to = [0_u8; 40];
        let target = Rows { begin: to.as_mut_ptr().expose_provenance(), step: 10 };
        // SAFETY: all rows are there, and apart.
        unsafe {
            copy(at(&from, 20), target, 5, 3, 2);
            copy(at(&from[40..], -20), Rows { begin: target.begin + 5, ..target }, 5, 3, 2);
            copy(at(&from[7..], 0), Rows { begin: target.begin + 30, step: 4 }, 4, 2, 2);
        }
        let rows: Vec<&[u8]> = to.chunks(10).collect();
        assert_eq!(rows[0], [0, 1, 2, 3, 4, 40, 41, 42, 43, 44]);
        assert_eq!(rows[1], [20, 21, 22, 23, 24, 20, 21, 22, 23, 24]);
        assert_eq!(rows[2], [40, 41, 42, 43, 44, 0, 1, 2, 3, 4]);
        assert_eq!(rows[3], [7, 8, 9, 10, 7, 8, 9, 10, 0, 0]);
    }

    #[test]
    fn many_rows_are_copied_by_all() {
        let count = stream::LARGE / 1000 + 2;
        let from: Vec<u8> = (0..1000 * count).map(|at| (at % 251) as u8).collect();
        let mut to = vec![0_u8; from.len()];
        let target = Rows { begin: to.as_mut_ptr().expose_provenance(), step: 1000 };
        // SAFETY: all rows are there, and apart.
        unsafe { copy(at(&from, 1000), target, 1000, count, 3) };
        assert!(to == from);
    }

    #[test]
    fn a_triangle_has_its_diagonal_or_not() {
        let from: Vec<u16> = (1..10).collect();
        let kept = |lower, inner| {
            let mut to = [7_u16; 9];
            let target = Rows { begin: to.as_mut_ptr().expose_provenance(), step: 6 };
            // SAFETY: all rows are there, and apart.
            unsafe { triangle((at(&from, 6), target), 2, 3, lower, inner, 2) };
            to
        };
        assert_eq!(kept(true, false), [1, 0, 0, 4, 5, 0, 7, 8, 9]);
        assert_eq!(kept(true, true), [0, 0, 0, 4, 0, 0, 7, 8, 0]);
        assert_eq!(kept(false, false), [1, 2, 3, 0, 5, 6, 0, 0, 9]);
        assert_eq!(kept(false, true), [0, 2, 3, 0, 0, 6, 0, 0, 0]);
    }
}
