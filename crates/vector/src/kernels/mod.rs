//! Kernels: loops over slices, one kind for each file.
//!
//! Each is compiled twice, for every x86-64 processor and for those with AVX2, and chosen when it
//! runs.

pub mod binary;
pub mod cast;
pub mod gather;
pub mod reduce;
pub mod unary;

/// Whether the loops that were compiled for AVX2 can run here.
#[inline]
pub fn has_wide_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        // The standard library keeps the answer: this is one load.
        std::arch::is_x86_feature_detected!("avx2")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Defines a function that chooses between two compilations of a body.
#[macro_export]
macro_rules! widened {
    ($(#[$doc:meta])* pub fn $name:ident<T: Number>($($arg:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block) => {
        $(#[$doc])*
        pub fn $name<T: Number>($($arg: $type),*) $(-> $result)? {
            #[inline(always)]
            fn plain<T: Number>($($arg: $type),*) $(-> $result)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn wide<T: Number>($($arg: $type),*) $(-> $result)? { plain::<T>($($arg),*) }

            #[cfg(target_arch = "x86_64")]
            if $crate::kernels::has_wide_vectors() {
                // SAFETY: the processor has what the function was compiled for.
                return unsafe { wide::<T>($($arg),*) };
            }
            plain::<T>($($arg),*)
        }
    };
}
