//! Rows of bytes, copied by several threads.

use super::stream;
use crate::pool::Pool;

/// From how many bytes on rows are written past the caches: less is read again soon.
pub const STREAMED_FROM: usize = 32 << 20;

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
    let all = bytes * count;
    let workers = if all < BYTES_FOR_TWO { 1 } else { workers.clamp(1, count) };
    Pool::global().run(workers, None, &|worker| {
        for row in count * worker / workers..count * (worker + 1) / workers {
            // SAFETY: as the caller says; this worker alone has the row.
            let (from, to) = unsafe {
                (
                    std::slice::from_raw_parts(
                        std::ptr::with_exposed_provenance(from.row(row)),
                        bytes,
                    ),
                    std::slice::from_raw_parts_mut(
                        std::ptr::with_exposed_provenance_mut(to.row(row)),
                        bytes,
                    ),
                )
            };
            if all < STREAMED_FROM {
                to.copy_from_slice(from);
            } else {
                stream::copy(from, to);
            }
        }
        stream::settle();
    });
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
        let count = STREAMED_FROM / 1000 + 2;
        let from: Vec<u8> = (0..1000 * count).map(|at| (at % 251) as u8).collect();
        let mut to = vec![0_u8; from.len()];
        let target = Rows { begin: to.as_mut_ptr().expose_provenance(), step: 1000 };
        // SAFETY: all rows are there, and apart.
        unsafe { copy(at(&from, 1000), target, 1000, count, 3) };
        assert!(to == from);
    }
}
