//! Kernels: loops over slices, one kind for each file.
//!
//! Each is compiled three times, for every x86-64 processor, for those with AVX2 and for those with
//! AVX-512, and chosen when it runs.

use crate::cell::Number;
use crate::error::Error;
use crate::widened;

pub mod coo;
pub mod csr;
pub mod dense;

/// Checks that an array has as many elements as are needed.
///
/// # Errors
///
/// If it has more or less.
pub fn check_length(what: &'static str, found: usize, needed: usize) -> Result<(), Error> {
    if found == needed { Ok(()) } else { Err(Error::Length { what, found, needed }) }
}

widened! {
    fn highest<T: Number>(positions: &[T]) -> T {
        positions.iter().fold(T::LEAST, |most, at| if *at > most { *at } else { most })
    }
}

/// Checks that all rows, or columns, are below their number.
///
/// # Errors
///
/// If one is not.
pub fn check_positions(what: &'static str, positions: &[u32], count: usize) -> Result<(), Error> {
    let found = highest(positions);
    if positions.is_empty() || (found as usize) < count {
        return Ok(());
    }
    Err(Error::Outside { what, found, count })
}

/// Asks for the cache line at an address, which need not be anybody's, before it is read.
#[inline(always)]
pub fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing, and an address that is not mapped is passed over.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Asks for memory that is read a little later: no further than the second cache, as a core waits for few
/// lines of the nearest one at once, and loops need them.
#[inline(always)]
pub fn fetch_far(begin: *const u8, bytes: usize) {
    for line in 0..bytes.div_ceil(64) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch reads nothing, and an address that is not mapped is passed over.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T1>(begin.wrapping_add(64 * line).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = begin.wrapping_add(64 * line);
    }
}

/// Whether the loops that were compiled for AVX2 can run here.
#[inline]
pub fn has_wide_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        // The standard library keeps the answers: these are two loads.
        std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Asks for memory that is read soon.
#[inline]
pub fn fetch(bytes: &[u8]) {
    for line in 0..bytes.len().div_ceil(64) {
        prefetch(bytes.as_ptr().wrapping_add(64 * line));
    }
}

/// Whether the loops that were compiled for AVX-512 can run here.
#[inline]
pub fn has_widest_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        // What all processors with any of these have, but for the first ones.
        std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512vl")
            && std::arch::is_x86_feature_detected!("avx512dq")
            && std::arch::is_x86_feature_detected!("avx512bw")
            && std::arch::is_x86_feature_detected!("fma")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Defines a function that chooses between compilations of a body.
///
/// In one with `const FUSED: bool`, that tells whether the processor multiplies and adds in one step.
#[macro_export]
macro_rules! widened {
    ($(#[$doc:meta])* $vis:vis fn $name:ident<T: Number>($($arg:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block) => {
        $crate::widened! {
            [T: Number] [T] [T]
            $(#[$doc])* $vis fn $name($($arg: $type),*) $(-> $result)? $body
        }
    };
    ($(#[$doc:meta])* $vis:vis fn $name:ident<T: Number, const FUSED: bool>($($arg:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block) => {
        $crate::widened! {
            [T: Number, const FUSED: bool] [T, false] [T, true]
            $(#[$doc])* $vis fn $name($($arg: $type),*) $(-> $result)? $body
        }
    };
    ([$($given:tt)*] [$($narrow:tt)*] [$($broad:tt)*] $(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)? $body:block) => {
        $(#[$doc])*
        $vis fn $name<T: Number>($($arg: $type),*) $(-> $result)? {
            #[inline(always)]
            fn plain<$($given)*>($($arg: $type),*) $(-> $result)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn wide<T: Number>($($arg: $type),*) $(-> $result)? { plain::<$($broad)*>($($arg),*) }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
            fn widest<T: Number>($($arg: $type),*) $(-> $result)? { plain::<$($broad)*>($($arg),*) }

            #[cfg(target_arch = "x86_64")]
            if $crate::kernels::has_widest_vectors() {
                // SAFETY: the processor has what the function was compiled for.
                return unsafe { widest::<T>($($arg),*) };
            }
            #[cfg(target_arch = "x86_64")]
            if $crate::kernels::has_wide_vectors() {
                // SAFETY: the processor has what the function was compiled for.
                return unsafe { wide::<T>($($arg),*) };
            }
            plain::<$($narrow)*>($($arg),*)
        }
    };
}
