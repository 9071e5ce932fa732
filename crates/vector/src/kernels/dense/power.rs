//! Powers of real numbers, without branches or calls: within one unit of the last digit, and exact
//! where the power is a number.
//!
//! The power of x by y is e to the power of y times the logarithm of x. What that product is wrong by,
//! the power is wrong by as a share of itself, and the product goes up to 700: so the logarithm and the
//! product are sums of two numbers each, together with more than 64 bits. That leaves a power wrong by
//! a fifth of the last digit's unit before it is rounded, and numbers stay what they are. It takes the
//! processor's product and sum in one step; where there is none, and for what is not ordinary, the
//! system's function is called: zeros, infinities, NaN, subnormal numbers, results near the ends of the
//! range, powers by more than 2^31, and roots of negative numbers.

use std::f64::consts::{LOG2_E, SQRT_2};

use super::real::{LN_2_HIGH, LN_2_LOW, MAGIC, series, two_to};
use super::side::Side;
use crate::cell::Number;

/// Cells of which none, as a rule, is left to the system.
const CHUNK: usize = 64;

/// The largest product of y and the logarithm of x: beyond, a power is hardly a normal number.
const FARTHEST: f64 = 690.0;
/// Up to this, whole numbers are told from others, and odd ones from even ones.
const LARGEST: f64 = 2_147_483_648.0;

/// Two thirds, in two parts.
const TWO_THIRDS: Two = (0.666_666_666_666_666_6, 3.700_743_415_417_188e-17);
/// `((ln(m) / s - 2) / z - 2 / 3) / z` by `z = s^2`, of s up to 0.1716.
const LOGARITHM: [f64; 9] = [
    0.4,
    0.285_714_285_714_285_64,
    0.222_222_222_222_284_3,
    0.181_818_181_796_569_25,
    0.153_846_157_611_701_73,
    0.133_332_965_344_329_42,
    0.117_668_131_210_342_13,
    0.104_563_272_694_845_14,
    0.107_624_244_195_648,
];
/// `(exp(r) - 1 - r) / r^2`, of r up to half of ln 2.
const POWERS: [f64; 11] = [
    0.5,
    0.166_666_666_666_666_7,
    0.041_666_666_666_666_67,
    0.008_333_333_333_326_136,
    0.001_388_888_888_888_374_8,
    0.000_198_412_698_748_206_27,
    2.480_158_732_554_774_3e-5,
    2.755_725_540_020_642_2e-6,
    2.755_727_364_311_03e-7,
    2.510_521_700_472_074_5e-8,
    2.091_468_696_808_687_6e-9,
];

/// The sum of two numbers, of which the second is at most a unit of the first one's last digit.
type Two = (f64, f64);

/// The product, and what it was rounded by.
#[inline(always)]
fn product(one: f64, other: f64) -> Two {
    let high = one * other;
    (high, one.mul_add(other, -high))
}

/// The sum of two numbers, of which the first is larger or 0, and what it was rounded by.
#[inline(always)]
fn sum(large: f64, small: f64) -> Two {
    let high = large + small;
    (high, small - (high - large))
}

/// The natural logarithm of a normal, positive number.
///
/// By `s = (m - 1) / (m + 1)`, m being the number without its power of 2: `ln(m) = 2s + 2/3 s^3 + ...`.
#[inline(always)]
fn ln(size: f64) -> Two {
    let bits = size.to_bits();
    let part = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | 0x3ff0_0000_0000_0000);
    let high = part > SQRT_2;
    let part = if high { part * 0.5 } else { part };
    // A whole number below 2^52, put behind the exponent of 2^52.
    let exponent = f64::from_bits(bits >> 52 | 0x4330_0000_0000_0000) - 4_503_599_627_370_496.0;
    let power = exponent - if high { 1022.0 } else { 1023.0 };

    let over = part - 1.0;
    let (under, under_low) = sum(1.0, part);
    let share = 1.0 / under;
    let s = over * share;
    let left = (-s).mul_add(under_low, (-s).mul_add(under, over));
    let s_low = left * share;
    let (z, z_low) = product(s, s);
    let z_low = (s + s).mul_add(s_low, z_low);
    let (cube, cube_low) = product(z, s);
    let cube_low = z.mul_add(s_low, z_low.mul_add(s, cube_low));

    let rest = series::<true, _>(z, LOGARITHM);
    let (more, more_low) = product(z, rest);
    let more_low = z_low.mul_add(rest, more_low);
    let (factor, factor_low) = sum(TWO_THIRDS.0, more);
    let factor_low = factor_low + (more_low + TWO_THIRDS.1);
    let (tail, tail_low) = product(cube, factor);
    let tail_low = cube.mul_add(factor_low, cube_low.mul_add(factor, tail_low));

    let (first, low) = sum(power * LN_2_HIGH, s + s);
    let (second, lower) = sum(first, tail);
    let rest = power.mul_add(LN_2_LOW, (s_low + s_low) + tail_low);
    sum(second, (low + lower) + rest)
}

/// e to a power of at most `FARTHEST`.
#[inline(always)]
fn exp((high, low): Two) -> f64 {
    let power = high.mul_add(LOG2_E, MAGIC) - MAGIC;
    // The first is exact; the second may be the larger one.
    let first = (-power).mul_add(LN_2_HIGH, high);
    let second = (-power).mul_add(LN_2_LOW, low);
    let r = first + second;
    let back = r - first;
    let r_low = (first - (r - back)) + (second - back);
    let (value, value_low) = sum(1.0, r);
    let tail = (r * r).mul_add(series::<true, _>(r, POWERS), r_low.mul_add(value, value_low));
    (value + tail) * two_to(power + MAGIC)
}

/// The power of x by y, and whether it is one: else it is left to the system.
#[inline(always)]
#[allow(clippy::needless_bitwise_bool, reason = "branches would keep a loop from becoming vectors")]
fn power(x: f64, y: f64) -> (f64, bool) {
    let size = x.abs();
    let (high, low) = ln(size);
    let (times, times_low) = product(y, high);
    let value = exp((times, y.mul_add(low, times_low)));
    let magic = y + MAGIC;
    let (is_whole, is_odd) = (magic - MAGIC == y, magic.to_bits() & 1 == 1);
    let ordinary = (f64::MIN_POSITIVE..=f64::MAX).contains(&size)
        & ((x > 0.0) | is_whole)
        & (y.abs() < LARGEST)
        & (times.abs() <= FARTHEST);
    (if (x < 0.0) & is_odd { -value } else { value }, ordinary)
}

#[inline(always)]
fn each<T: Number>(x: impl Fn(usize) -> T, y: impl Fn(usize) -> T, out: &mut [T]) {
    let mut ordinary = true;
    for (at, out) in out.iter_mut().enumerate() {
        let (value, is_one) = power(x(at).to_f64(), y(at).to_f64());
        *out = T::from_f64(value);
        ordinary &= is_one;
    }
    if !ordinary {
        // Each for itself: what a cell becomes depends on no other one.
        for (at, out) in out.iter_mut().enumerate() {
            if !power(x(at).to_f64(), y(at).to_f64()).1 {
                *out = x(at).power(y(at));
            }
        }
    }
}

#[inline(always)]
fn all<T: Number>(left: Side<'_, T>, right: Side<'_, T>, out: &mut [T]) {
    let count = out.len();
    if let (Side::Each(one), Side::All(y)) = (left, right)
        && y == T::ONE.plus(T::ONE)
    {
        out.iter_mut().zip(one).for_each(|(out, x)| *out = x.times(*x));
        return;
    }
    let (outs, rest) = out.as_chunks_mut::<CHUNK>();
    match (left, right) {
        (Side::Each(one), Side::Each(two)) => {
            let (ones, one) = one[..count].as_chunks::<CHUNK>();
            let (twos, two) = two[..count].as_chunks::<CHUNK>();
            for ((x, y), out) in ones.iter().zip(twos).zip(outs) {
                each(|at| x[at], |at| y[at], out);
            }
            each(|at| one[at], |at| two[at], rest);
        }
        (Side::Each(one), Side::All(y)) => {
            let (ones, one) = one[..count].as_chunks::<CHUNK>();
            for (x, out) in ones.iter().zip(outs) {
                each(|at| x[at], |_| y, out);
            }
            each(|at| one[at], |_| y, rest);
        }
        (Side::All(x), Side::Each(two)) => {
            let (twos, two) = two[..count].as_chunks::<CHUNK>();
            for (y, out) in twos.iter().zip(outs) {
                each(|_| x, |at| y[at], out);
            }
            each(|_| x, |at| two[at], rest);
        }
        (Side::All(x), Side::All(y)) => out.fill(x.power(y)),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn wide<T: Number>(left: Side<'_, T>, right: Side<'_, T>, out: &mut [T]) {
    all(left, right, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
fn widest<T: Number>(left: Side<'_, T>, right: Side<'_, T>, out: &mut [T]) {
    all(left, right, out);
}

/// Computes `out` = `left` to the power `right`, if the cells are real numbers and the processor can;
/// tells whether.
pub fn run<T: Number>(left: Side<'_, T>, right: Side<'_, T>, out: &mut [T]) -> bool {
    if T::WHOLE {
        return false;
    }
    #[cfg(target_arch = "x86_64")]
    if crate::kernels::has_widest_vectors() {
        // SAFETY: the processor has what the function was compiled for.
        unsafe { widest(left, right, out) };
        return true;
    }
    #[cfg(target_arch = "x86_64")]
    if crate::kernels::has_wide_vectors() {
        // SAFETY: the processor has what the function was compiled for.
        unsafe { wide(left, right, out) };
        return true;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn powers(x: &[f64], y: &[f64]) -> Option<Vec<f64>> {
        let mut out = vec![-7.0; x.len()];
        run(Side::Each(x), Side::Each(y), &mut out).then_some(out)
    }

    fn apart(one: f64, two: f64) -> u64 {
        (one.to_bits().cast_signed() - two.to_bits().cast_signed()).unsigned_abs()
    }

    #[test]
    fn powers_are_within_one_digit_of_the_systems() {
        let mut state = 88_172_645_463_325_252_u64;
        let mut draw = |low: f64, high: f64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            low + (high - low) * (state >> 11) as f64 / 9_007_199_254_740_992.0
        };
        // x as a power of 2, and y times that power: near 1, far away, large results.
        for (of_x, of_y) in [(1.0, 9.0), (1e-9, 1e9), (1000.0, 0.9), (30.0, 30.0), (1e-3, 9e5)] {
            let x: Vec<f64> = (0..20_001).map(|_| draw(-of_x, of_x).exp2()).collect();
            let y: Vec<f64> = (0..20_001).map(|_| draw(-of_y, of_y)).collect();
            let Some(found) = powers(&x, &y) else { return };
            for ((x, y), found) in x.iter().zip(&y).zip(found) {
                let expected = x.powf(*y);
                let near = apart(found, expected) <= 1;
                assert!(near, "{x:e} ^ {y:e} = {found:e}, not {expected:e}");
            }
        }
    }

    #[test]
    fn numbers_stay_numbers() {
        for base in 2..=99_i64 {
            for sign in [1, -1] {
                let exact: Vec<f64> = std::iter::successors(Some(1_i64), |last| {
                    last.checked_mul(sign * base).filter(|next| next.abs() < 1 << 53)
                })
                .map(|power| power as f64)
                .collect();
                let x = vec![(sign * base) as f64; exact.len()];
                let y: Vec<f64> = (0..exact.len()).map(|at| at as f64).collect();
                let Some(found) = powers(&x, &y) else { return };
                assert_eq!(found, exact);
                let shares: Vec<f64> = y.iter().map(|y| -y).collect();
                let found = powers(&x, &shares).expect("it could before");
                for (found, exact) in found.iter().zip(exact) {
                    assert!(apart(*found, 1.0 / exact) <= 1, "{found:e} * {exact:e}");
                }
            }
        }
    }

    #[test]
    fn what_is_not_ordinary_is_the_systems() {
        let odd =
            [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324, 1e-310];
        let more =
            [1e308, -2.5, 2.0, 3.0, 0.5, -0.5, 1e-300, 4e9, 3e9 + 1.0, -1e300, 1023.0, 1074.0];
        let all: Vec<f64> = odd.into_iter().chain(more).collect();
        let pairs: Vec<(f64, f64)> =
            all.iter().flat_map(|x| all.iter().map(move |y| (*x, *y))).collect();
        let (x, y): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let Some(found) = powers(&x, &y) else { return };
        for ((x, y), found) in x.iter().zip(&y).zip(found) {
            let expected = x.powf(*y);
            let same = if expected.is_nan() { found.is_nan() } else { apart(found, expected) <= 1 };
            assert!(same, "{x:e} ^ {y:e} = {found:e}, not {expected:e}");
            assert_eq!(found.is_sign_negative(), expected.is_sign_negative(), "{x:e} ^ {y:e}");
        }
    }

    #[test]
    fn a_side_may_be_one_number_and_cells_may_be_short() {
        let x: Vec<f32> = (1..200).map(|at| at as f32 / 8.0).collect();
        let mut out = vec![0.0; x.len()];
        if !run(Side::Each(&x), Side::All(1.5), &mut out) {
            return;
        }
        for (x, found) in x.iter().zip(&out) {
            assert_eq!(*found, f64::from(*x).powf(1.5) as f32);
        }
        run(Side::All(1.5), Side::Each(&x), &mut out);
        for (y, found) in x.iter().zip(&out) {
            assert_eq!(*found, 1.5_f64.powf(f64::from(*y)) as f32);
        }
        run(Side::All(2.0), Side::All(0.5), &mut out);
        assert!(out.iter().all(|found| *found == 2.0_f32.powf(0.5)));
    }
}
