//! A copy that goes past the caches.

use crate::numa::last_cache;

const LINE: usize = 64;

/// From how many bytes on a result goes past the caches, however much they hold: less is read again soon.
pub const LARGE: usize = 32 << 20;

/// Whether an operation that reads and writes `all` bytes writes so many of them past the caches.
pub fn pays(written: usize, all: usize) -> bool {
    written >= LARGE || last_cache().is_some_and(|cache| overflows(written, all, cache))
}

/// Whether a cache that others have a part of no longer has the first of these bytes when the last one is
/// written: who reads the result gains nothing from lines that were loaded to be written.
fn overflows(written: usize, all: usize, cache: usize) -> bool {
    written >= cache / 4 && all >= cache - cache / 8
}

/// Copies bytes to where nobody reads them soon: the lines are not loaded before they are written,
/// which is a third of a plain store's traffic. Others may see them only after [`fence`].
///
/// # Panics
///
/// If the lengths differ.
pub fn copy(from: &[u8], to: &mut [u8]) {
    assert_eq!(from.len(), to.len(), "a copy keeps its length");
    let head = to.as_ptr().align_offset(LINE).min(to.len());
    let (first, from) = from.split_at(head);
    let (start, to) = to.split_at_mut(head);
    start.copy_from_slice(first);
    let (sources, rest) = from.as_chunks::<LINE>();
    let (lines, end) = to.as_chunks_mut::<LINE>();
    whole(sources, lines);
    end.copy_from_slice(rest);
}

/// Waits until what was copied is where it went.
pub fn fence() {
    #[cfg(target_arch = "x86_64")]
    // Stores past the caches are seen by others in any order, unless fenced.
    // SAFETY: all processors of this kind have the instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Copies lines to aligned ones.
fn whole(sources: &[[u8; LINE]], lines: &mut [[u8; LINE]]) {
    #[cfg(target_arch = "x86_64")]
    {
        if crate::kernels::has_widest_vectors() {
            // SAFETY: the processor has what the function was compiled for.
            return unsafe { widest(sources, lines) };
        }
        if crate::kernels::has_wide_vectors() {
            // SAFETY: the processor has what the function was compiled for.
            return unsafe { wide(sources, lines) };
        }
    }
    lines.copy_from_slice(sources);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn widest(sources: &[[u8; LINE]], lines: &mut [[u8; LINE]]) {
    use std::arch::x86_64::{_mm512_loadu_si512, _mm512_stream_si512};
    for (line, source) in lines.iter_mut().zip(sources) {
        // SAFETY: both have 64 bytes, and lines are aligned.
        unsafe {
            let cells = _mm512_loadu_si512(source.as_ptr().cast());
            _mm512_stream_si512(line.as_mut_ptr().cast(), cells);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn wide(sources: &[[u8; LINE]], lines: &mut [[u8; LINE]]) {
    use std::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_stream_si256};
    for (line, source) in lines.iter_mut().zip(sources) {
        // SAFETY: both have 64 bytes, and lines are aligned.
        unsafe {
            let (one, two) =
                (source.as_ptr().cast::<__m256i>(), line.as_mut_ptr().cast::<__m256i>());
            _mm256_stream_si256(two, _mm256_loadu_si256(one));
            _mm256_stream_si256(two.add(1), _mm256_loadu_si256(one.add(1)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_cache_does_not_hold_goes_past_it() {
        let cache = 32 << 20;
        assert!(overflows(16_000_000, 32_000_000, cache));
        assert!(!overflows(8_000_000, 16_000_000, cache));
        // A small result of much that is read is read again.
        assert!(!overflows(1 << 20, 1 << 30, cache));
        assert!(pays(LARGE, LARGE));
        assert!(!pays(1 << 10, 1 << 11));
    }

    #[test]
    fn all_bytes_arrive_wherever_they_go() {
        let from: Vec<u8> = (0..400_u32).map(|at| at as u8).collect();
        for begin in 0..70 {
            for length in [0, 1, 63, 64, 65, 200] {
                let mut to = vec![0_u8; 400];
                copy(&from[7..7 + length], &mut to[begin..begin + length]);
                fence();
                assert_eq!(to[begin..begin + length], from[7..7 + length]);
                assert!(to[..begin].iter().chain(&to[begin + length..]).all(|byte| *byte == 0));
            }
        }
    }
}
