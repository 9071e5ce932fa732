//! A copy that goes past the caches.

/// Copies bytes to where nobody reads them soon: the lines are not loaded before they are written,
/// which is a third of a plain store's traffic.
///
/// # Panics
///
/// If the lengths differ.
pub fn copy(from: &[u8], to: &mut [u8]) {
    assert_eq!(from.len(), to.len(), "a copy keeps its length");
    #[cfg(target_arch = "x86_64")]
    if crate::kernels::has_wide_vectors() {
        // SAFETY: the processor has what the function was compiled for.
        return unsafe { wide(from, to) };
    }
    to.copy_from_slice(from);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[allow(clippy::cast_ptr_alignment, reason = "loads need none, and stores begin at a line")]
fn wide(from: &[u8], to: &mut [u8]) {
    use std::arch::x86_64::{__m256i, _mm_sfence, _mm256_loadu_si256, _mm256_stream_si256};
    const LINE: usize = 64;
    let head = to.as_ptr().align_offset(LINE).min(to.len());
    let (first, from) = from.split_at(head);
    let (start, to) = to.split_at_mut(head);
    start.copy_from_slice(first);
    let mut lines = to.chunks_exact_mut(LINE);
    let mut sources = from.chunks_exact(LINE);
    for (line, source) in (&mut lines).zip(&mut sources) {
        // SAFETY: both have 64 bytes, and lines are aligned.
        unsafe {
            let (one, two) =
                (source.as_ptr().cast::<__m256i>(), line.as_mut_ptr().cast::<__m256i>());
            _mm256_stream_si256(two, _mm256_loadu_si256(one));
            _mm256_stream_si256(two.add(1), _mm256_loadu_si256(one.add(1)));
        }
    }
    lines.into_remainder().copy_from_slice(sources.remainder());
    // Such stores are seen by others only in any order, unless fenced.
    _mm_sfence();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_arrive_wherever_they_go() {
        let from: Vec<u8> = (0..400_u32).map(|at| at as u8).collect();
        for begin in 0..70 {
            for length in [0, 1, 63, 64, 65, 200] {
                let mut to = vec![0_u8; 400];
                copy(&from[7..7 + length], &mut to[begin..begin + length]);
                assert_eq!(to[begin..begin + length], from[7..7 + length]);
                assert!(to[..begin].iter().chain(&to[begin + length..]).all(|byte| *byte == 0));
            }
        }
    }
}
