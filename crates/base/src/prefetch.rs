//! Memory on its way to the processor before it is used.

/// Bytes that the processor loads at once.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Begins to load a record into the processor's caches.
///
/// Of use for one of several cache lines that has not been used for a while: they come side by side, not
/// one after the other as the fields are read. Elsewhere than on x86-64 nothing happens.
#[inline]
pub fn prefetch<T>(record: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = (&raw const *record).cast::<i8>();
        for offset in (0..size_of::<T>()).step_by(LINE) {
            // SAFETY: it is a hint, which every x86-64 has, and which may name any address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(offset)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = record;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_stays_as_it_is() {
        let record = [7_u8; 1000];
        prefetch(&record);
        prefetch(&());
        assert_eq!(record, [7; 1000]);
    }
}
