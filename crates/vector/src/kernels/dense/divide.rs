//! Division by one number for all cells: exact, in a third of a division's time.
//!
//! The quotient is first taken by the reciprocal in two parts, which is within one unit of the last
//! digit, and then corrected by its remainder: with a correctly rounded reciprocal that gives the
//! correctly rounded quotient (Markstein), as long as nothing leaves the range of normal numbers.

use crate::cell::Number;

const CHUNK: usize = 64;

/// A type of numbers that are divided so.
pub trait Divided: Number {
    /// A divisor with its reciprocal, in two parts; none if it is too small or too large for that.
    fn parts(self) -> Option<[Self; 3]>;

    /// Computes `out = cells / divisor`, of a divisor's parts, where the processor multiplies and adds
    /// in one step.
    fn divide(cells: &[Self], parts: [Self; 3], out: &mut [Self]);
}

/// Defines the division of a type: its function, its bits, the sizes of cells, and of divisors,
/// between which no step overflows or loses digits.
macro_rules! division {
    ($name:ident $type:ident $bits:ident $cells:expr, $divisors:expr) => {
        mod $name {
            use super::CHUNK;

            const CELLS: ($type, $type) = $cells;
            const DIVISORS: ($type, $type) = $divisors;
            const SIGN: $bits = 1 << ($bits::BITS - 1);

            #[inline(always)]
            fn chunk(cells: &[$type], divisor: $type, high: $type, low: $type, out: &mut [$type]) {
                // By their bits, which are in the order of sizes: a minimum of floats is no vector's,
                // for NaN.
                let (least, most) = (CELLS.0.to_bits(), CELLS.1.to_bits());
                let mut outside = 0;
                for cell in cells {
                    let size = cell.to_bits() & !SIGN;
                    let inside = (size == 0) | (size.wrapping_sub(least) <= most - least);
                    outside |= $bits::from(!inside);
                }
                if outside != 0 {
                    for (out, cell) in out.iter_mut().zip(cells) {
                        *out = cell / divisor;
                    }
                    return;
                }
                for (out, cell) in out.iter_mut().zip(cells) {
                    let near = cell.mul_add(high, cell * low);
                    let rest = (-divisor).mul_add(near, *cell);
                    let exact = rest.mul_add(high, near);
                    // A zero keeps its sign only by a plain product.
                    *out = if *cell == 0.0 { cell * high } else { exact };
                }
            }

            #[inline(always)]
            fn ready(divisor: $type) -> [$type; 3] {
                let high = 1.0 / divisor;
                [divisor, high, (-divisor).mul_add(high, 1.0) / divisor]
            }

            fn fits(divisor: $type) -> bool {
                let size = divisor.abs();
                size >= DIVISORS.0 && size <= DIVISORS.1
            }

            impl super::Divided for $type {
                fn parts(self) -> Option<[Self; 3]> {
                    fits(self).then(|| ready(self))
                }

                #[inline(always)]
                fn divide(cells: &[Self], parts: [Self; 3], out: &mut [Self]) {
                    all(cells, parts, out);
                }
            }

            #[inline(always)]
            fn all(cells: &[$type], [divisor, high, low]: [$type; 3], out: &mut [$type]) {
                let (mut parts, mut outs) =
                    (cells.chunks_exact(CHUNK), out.chunks_exact_mut(CHUNK));
                for (cells, out) in (&mut parts).zip(&mut outs) {
                    chunk(cells, divisor, high, low, out);
                }
                for (out, cell) in outs.into_remainder().iter_mut().zip(parts.remainder()) {
                    *out = cell / divisor;
                }
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn wide(cells: &[$type], divisor: $type, out: &mut [$type]) {
                all(cells, ready(divisor), out);
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
            fn widest(cells: &[$type], divisor: $type, out: &mut [$type]) {
                all(cells, ready(divisor), out);
            }

            /// Computes `out = cells / divisor`, if the processor and the divisor allow; tells whether.
            pub fn by(cells: &[$type], divisor: $type, out: &mut [$type]) -> bool {
                if !fits(divisor) {
                    return false;
                }
                #[cfg(target_arch = "x86_64")]
                if crate::kernels::has_widest_vectors() {
                    // SAFETY: the processor has what the function was compiled for.
                    unsafe { widest(&cells[..out.len()], divisor, out) };
                    return true;
                }
                #[cfg(target_arch = "x86_64")]
                if crate::kernels::has_wide_vectors() {
                    // SAFETY: the processor has what the function was compiled for.
                    unsafe { wide(&cells[..out.len()], divisor, out) };
                    return true;
                }
                false
            }
        }
    };
}

division!(of_f64 f64 u64 (1e-180, 1e180), (1e-60, 1e60));
division!(of_f32 f32 u32 (1e-20, 1e20), (1e-7, 1e7));

pub use of_f32::by as by_f32;
pub use of_f64::by as by_f64;

#[cfg(test)]
mod tests {
    use super::*;

    /// Defines the test of a type: its function, its bits, and over how many powers of two cells
    /// and divisors are spread.
    macro_rules! quotients {
        ($test:ident $by:ident $type:ident $bits:ident $cells:expr, $divisors:expr) => {
            #[test]
            fn $test() {
                let mut state = 88_172_645_463_325_252_u64;
                let mut draw = || {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    state
                };
                // Any digits and signs, of exponents around 0.
                let mut number = |exponents: u64| {
                    let digits = $type::MANTISSA_DIGITS - 1;
                    let exponent = $type::MAX_EXP as u64 - 1 - exponents / 2 + draw() % exponents;
                    let sign = (draw() >> 63) << ($bits::BITS - 1);
                    let bits = sign | (exponent << digits) | (draw() >> (64 - digits));
                    $type::from_bits(bits as $bits)
                };
                for round in 0..1000_u64 {
                    let divisor = match round % 4 {
                        0 => (round / 4 + 1) as $type,
                        _ => number($divisors),
                    };
                    let exponents = if round % 3 == 0 { $cells } else { 20 };
                    let mut cells: Vec<$type> = (0..1000).map(|_| number(exponents)).collect();
                    if round % 5 == 0 {
                        let (least, most) = ($type::from_bits(1), $type::MAX);
                        let odd = [0.0, -0.0, $type::INFINITY, $type::NAN, least, most, 1.0];
                        cells[..7].copy_from_slice(&odd);
                        cells[70..72].copy_from_slice(&[0.0, -0.0]);
                    }
                    let mut out = vec![9.0; 1000];
                    if $by(&cells, divisor, &mut out) {
                        for (found, cell) in out.iter().zip(&cells) {
                            let expected = cell / divisor;
                            let same = found.to_bits() == expected.to_bits();
                            assert!(same || expected.is_nan(), "{cell:e} / {divisor:e}: {found:e}");
                        }
                    }
                }
                for divisor in [0.0, $type::NAN, $type::MIN_POSITIVE, $type::MAX] {
                    assert!(!$by(&[1.0], divisor, &mut [1.0]));
                }
            }
        };
    }

    quotients!(quotients_of_64_bits_are_those_of_a_division by_f64 f64 u64 600, 300);
    quotients!(quotients_of_32_bits_are_those_of_a_division by_f32 f32 u32 160, 40);
}
