//! Functions of real numbers without branches or calls, so that loops of them become vectors.
//!
//! Polynomials after a reduction of the argument, through the points of Chebyshev's: with half of the
//! terms of a Taylor series, their error is below a fifth of the last digit's unit. All functions are
//! within four units of the last digit of what the system gives, as the tests check against its own.
//! Infinities, NaN and subnormal numbers give what they should.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2, FRAC_PI_4, LOG2_E, PI, SQRT_2};
// Both sides are computed: a branch would keep a loop from becoming vectors.
use std::hint::select_unpredictable as choose;

/// Added to a number below 2^51, this leaves its nearest whole number in the low bits.
pub(super) const MAGIC: f64 = 6_755_399_441_055_744.0;
/// ln 2 in two parts, the first with zeros at its end: products with whole numbers are exact.
pub(super) const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
pub(super) const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Half of pi in three parts, likewise.
const HALF_PI: [f64; 3] =
    [1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_795_950_7e-21];
/// Beyond this, the parts of pi are not enough, and the system's functions are called.
pub const FAR: f64 = 1e5;

/// `one * other + more`; where the processor does that in one step, rounded once.
#[inline(always)]
fn plus<const FUSED: bool>(one: f64, other: f64, more: f64) -> f64 {
    // In one step where there is none, it would be a call.
    if FUSED { one.mul_add(other, more) } else { one * other + more }
}

/// The sum of `terms[n] * z^n`.
#[inline(always)]
pub(super) fn series<const FUSED: bool, const N: usize>(z: f64, terms: [f64; N]) -> f64 {
    let mut sum = terms[N - 1];
    for at in (0..N - 1).rev() {
        sum = plus::<FUSED>(sum, z, terms[at]);
    }
    sum
}

/// `(exp(r) - 1 - r) / r^2`, of r up to half of ln 2.
const POWERS: [f64; 10] = [
    0.500_000_000_000_000_1,
    0.166_666_666_666_666_69,
    0.041_666_666_666_624_164,
    0.008_333_333_333_330_065,
    0.001_388_888_891_719_671_9,
    0.000_198_412_698_630_405_45,
    2.480_152_132_236_869_2e-5,
    2.755_726_848_031_002_4e-6,
    2.762_007_587_998_336_7e-7,
    2.510_037_583_256_123_4e-8,
];
/// `(atanh(s) / s - 1) / z` by `z = s^2`, of s up to 0.1716.
const LOGARITHM: [f64; 7] = [
    0.333_333_333_333_333_5,
    0.199_999_999_999_497_52,
    0.142_857_143_129_877_43,
    0.111_111_055_673_975_4,
    0.090_914_445_626_308_61,
    0.076_658_608_002_780_21,
    0.073_082_248_425_217_03,
];
/// `(1 - sin(r) / r) / z` by `z = r^2`, of r up to an eighth of a turn.
const SINES: [f64; 6] = [
    0.166_666_666_666_666_66,
    -0.008_333_333_333_330_929,
    0.000_198_412_698_367_292_97,
    -2.755_731_608_737_887_3e-6,
    2.505_112_868_515_550_3e-8,
    -1.591_790_182_459_687_7e-10,
];
/// `(cos(r) - 1 + z / 2) / z^2` by `z = r^2`, of r up to an eighth of a turn.
const COSINES: [f64; 6] = [
    0.041_666_666_666_666_664,
    -0.001_388_888_888_888_738_5,
    2.480_158_729_874_737_3e-5,
    -2.755_731_726_223_748e-7,
    2.087_614_429_164_219_7e-9,
    -1.138_249_012_200_027_9e-11,
];
/// `(cosh(r) - 1) / z` by `z = r^2`, of r up to half of ln 2.
const EVEN: [f64; 5] = [
    0.500_000_000_000_000_1,
    0.041_666_666_666_623_45,
    0.001_388_888_891_755_189_5,
    2.480_152_077_152_529e-5,
    2.762_033_740_090_568e-7,
];
/// `(sinh(r) / r - 1) / z` by `z = r^2`, of r up to half of ln 2.
const ODD: [f64; 5] = [
    0.166_666_666_666_666_69,
    0.008_333_333_333_330_01,
    0.000_198_412_698_633_136_8,
    2.755_726_805_670_438_3e-6,
    2.510_057_694_487_124e-8,
];
/// `(asin(x) / x - 1) / z` by `z = x^2`, of x up to a half.
const ARC: [f64; 13] = [
    0.166_666_666_666_666_69,
    0.074_999_999_999_984_33,
    0.044_642_857_146_355_43,
    0.030_381_944_138_531_247,
    0.022_372_172_942_149_89,
    0.017_352_392_720_869_973,
    0.013_971_212_973_552_933,
    0.011_479_177_415_184_906,
    0.010_322_814_350_185_78,
    0.005_457_506_718_640_357,
    0.017_400_879_442_694_025,
    -0.014_851_887_071_247_209,
    0.028_757_851_367_421_57,
];
/// `(1 - atan(x) / x) / z` by `z = x^2`, of x up to the tangent of a sixteenth of a turn.
const ANGLE: [f64; 11] = [
    0.333_333_333_333_333_3,
    -0.199_999_999_999_955_2,
    0.142_857_142_846_665_42,
    -0.111_111_110_152_563_61,
    0.090_909_045_781_239_03,
    -0.076_921_831_908_260_87,
    0.066_645_114_473_819_48,
    -0.058_581_489_128_022_1,
    0.050_854_497_379_402_6,
    -0.039_231_658_295_587_19,
    0.019_176_887_119_062_257,
];

/// 2 to the power that `MAGIC` has in its low bits.
#[inline(always)]
pub(super) fn two_to(magic: f64) -> f64 {
    f64::from_bits(magic.to_bits().wrapping_add(1023) << 52)
}

/// The nearest whole number of ln 2 in x, and what is left.
#[inline(always)]
fn powers<const FUSED: bool>(x: f64) -> (f64, f64) {
    let power = plus::<FUSED>(x, LOG2_E, MAGIC) - MAGIC;
    (power, plus::<FUSED>(-power, LN_2_LOW, plus::<FUSED>(-power, LN_2_HIGH, x)))
}

/// e to the power x.
#[inline(always)]
pub fn exp<const FUSED: bool>(x: f64) -> f64 {
    // Comparisons that NaN fails keep it.
    let x = if x < -746.0 { -746.0 } else { x };
    let x = if x > 710.0 { 710.0 } else { x };
    let (power, rest) = powers::<FUSED>(x);
    let value = 1.0 + plus::<FUSED>(rest * rest, series::<FUSED, _>(rest, POWERS), rest);
    // Two factors: the power may be beyond what one exponent holds.
    let half = power * 0.5 + MAGIC;
    let other = power - (half - MAGIC) + MAGIC;
    value * two_to(half) * two_to(other)
}

/// The natural logarithm of x.
#[inline(always)]
pub fn ln<const FUSED: bool>(x: f64) -> f64 {
    let small = x < f64::MIN_POSITIVE;
    let (scaled, shift) = if small { (x * 18_014_398_509_481_984.0, 54.0) } else { (x, 0.0) };
    let bits = scaled.to_bits();
    let part = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | 0x3ff0_0000_0000_0000);
    let high = part > SQRT_2;
    let part = if high { part * 0.5 } else { part };
    // A whole number below 2^52, put behind the exponent of 2^52.
    let exponent = f64::from_bits(bits >> 52 | 0x4330_0000_0000_0000) - 4_503_599_627_370_496.0;
    let power = exponent - 1023.0 - shift + if high { 1.0 } else { 0.0 };
    let over = part - 1.0;
    let s = over / (2.0 + over);
    let z = s * s;
    // 2s = over - s * over, where the first is exact.
    let tail = s * plus::<FUSED>(2.0 * z, series::<FUSED, _>(z, LOGARITHM), -over);
    let value = plus::<FUSED>(power, LN_2_HIGH, over + plus::<FUSED>(power, LN_2_LOW, tail));
    let value = if x == 0.0 { f64::NEG_INFINITY } else { value };
    let value = if x == f64::INFINITY { x } else { value };
    // The sign is that of processors, which printing shows.
    let value = if x < 0.0 { -f64::NAN } else { value };
    if x.is_nan() { x } else { value }
}

/// The sine and the cosine of what is left of x, and which quarter it is in.
#[inline(always)]
fn quarters<const FUSED: bool>(x: f64) -> (f64, f64, u64) {
    let magic = plus::<FUSED>(x, FRAC_2_PI, MAGIC);
    let times = magic - MAGIC;
    let rest = plus::<FUSED>(-times, HALF_PI[0], x);
    let rest = plus::<FUSED>(-times, HALF_PI[1], rest);
    let rest = plus::<FUSED>(-times, HALF_PI[2], rest);
    let z = rest * rest;
    let sine = plus::<FUSED>(-(rest * z), series::<FUSED, _>(z, SINES), rest);
    let half = 0.5 * z;
    let whole = 1.0 - half;
    let left = (1.0 - whole) - half;
    let cosine = whole + plus::<FUSED>(z * z, series::<FUSED, _>(z, COSINES), left);
    (sine, cosine, magic.to_bits())
}

#[inline(always)]
fn negated(value: f64, when: bool) -> f64 {
    if when { -value } else { value }
}

/// The sine of x, of at most `FAR`.
#[inline(always)]
pub fn sin<const FUSED: bool>(x: f64) -> f64 {
    let (sine, cosine, quarter) = quarters::<FUSED>(x);
    negated(if quarter & 1 == 0 { sine } else { cosine }, quarter & 2 != 0)
}

/// The cosine of x, of at most `FAR`.
#[inline(always)]
pub fn cos<const FUSED: bool>(x: f64) -> f64 {
    let (sine, cosine, quarter) = quarters::<FUSED>(x);
    negated(if quarter & 1 == 0 { cosine } else { sine }, quarter.wrapping_add(1) & 2 != 0)
}

/// The tangent of x, of at most `FAR`.
#[inline(always)]
pub fn tan<const FUSED: bool>(x: f64) -> f64 {
    let (sine, cosine, quarter) = quarters::<FUSED>(x);
    if quarter & 1 == 0 { sine / cosine } else { -cosine / sine }
}

/// Halves of the hyperbolic sine and cosine of x, which is not negative, and of how they differ.
///
/// Of what is left of x after k times ln 2, by `exp(x) = 2^k (cosh(r) + sinh(r))` and likewise of -x:
/// a small sine is that of r, without a difference of large numbers.
#[inline(always)]
fn halves<const FUSED: bool>(x: f64) -> (f64, f64, f64) {
    let (power, rest) = powers::<FUSED>(x);
    let z = rest * rest;
    let even = plus::<FUSED>(z, series::<FUSED, _>(z, EVEN), 1.0);
    let odd = plus::<FUSED>(rest * z, series::<FUSED, _>(z, ODD), rest);
    let large = two_to((power - 2.0) + MAGIC);
    // Beyond this it is nothing beside the other; its exponent has to be one.
    let low = if power > 1000.0 { 1000.0 } else { power };
    let small = two_to((-2.0 - low) + MAGIC);
    let (sum, rest) = (large + small, large - small);
    let sine = plus::<FUSED>(odd, sum, even * rest);
    let cosine = plus::<FUSED>(even, sum, odd * rest);
    (sine, cosine, (even - odd) * (small + small))
}

/// The hyperbolic sine of x.
#[inline(always)]
pub fn sinh<const FUSED: bool>(x: f64) -> f64 {
    let size = x.abs();
    // Comparisons that NaN fails keep it; beyond, the sine is infinite.
    let (half, ..) = halves::<FUSED>(if size > 710.6 { 710.6 } else { size });
    (half + half).copysign(x)
}

/// The hyperbolic cosine of x.
#[inline(always)]
pub fn cosh<const FUSED: bool>(x: f64) -> f64 {
    let size = x.abs();
    let (_, half, _) = halves::<FUSED>(if size > 710.6 { 710.6 } else { size });
    half + half
}

/// The hyperbolic tangent of x.
#[inline(always)]
pub fn tanh<const FUSED: bool>(x: f64) -> f64 {
    let size = x.abs();
    // Beyond this it is 1.
    let (over, under, less) = halves::<FUSED>(if size > 22.0 { 22.0 } else { size });
    let near = size < 0.5;
    // Far from 0, by what is left to 1: that is small, and so is what it is wrong by.
    let share = choose(near, over, less) / under;
    choose(near, share, 1.0 - share).copysign(x)
}

/// The angle whose tangent is x.
#[inline(always)]
pub fn atan<const FUSED: bool>(x: f64) -> f64 {
    let size = x.abs();
    let (flat, steep) = (size < SQRT_2 - 1.0, size > SQRT_2 + 1.0);
    // From half of a right angle, or from a whole one: at most an eighth of pi is left.
    let over = choose(flat, size, size - 1.0);
    let under = choose(flat, 1.0, size + 1.0);
    let over = choose(steep, -1.0, over);
    let under = choose(steep, size, under);
    let start = choose(flat, 0.0, FRAC_PI_4);
    let start = choose(steep, FRAC_PI_2, start);
    let left = over / under;
    let z = left * left;
    (start + plus::<FUSED>(-(left * z), series::<FUSED, _>(z, ANGLE), left)).copysign(x)
}

/// The angle whose sine is at most a half.
#[inline(always)]
fn near_asin<const FUSED: bool>(x: f64) -> f64 {
    let z = x * x;
    plus::<FUSED>(x * z, series::<FUSED, _>(z, ARC), x)
}

/// The angle whose sine is x.
#[inline(always)]
pub fn asin<const FUSED: bool>(x: f64) -> f64 {
    let size = x.abs();
    let near = size < 0.5;
    // Beyond a half: what is left to a right angle, by half of that angle.
    let angle = near_asin::<FUSED>(choose(near, size, (0.5 * (1.0 - size)).sqrt()));
    choose(near, angle, FRAC_PI_2 - 2.0 * angle).copysign(x)
}

/// The angle whose cosine is x.
#[inline(always)]
pub fn acos<const FUSED: bool>(x: f64) -> f64 {
    let size = x.abs();
    let near = size < 0.5;
    let angle = near_asin::<FUSED>(choose(near, x, (0.5 * (1.0 - size)).sqrt()));
    let far = choose(x < 0.0, PI - 2.0 * angle, 2.0 * angle);
    choose(near, FRAC_PI_2 - angle, far)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(one: f64, two: f64) -> u64 {
        if one.is_nan() && two.is_nan() {
            return 0;
        }
        (one.to_bits().cast_signed() - two.to_bits().cast_signed()).unsigned_abs()
    }

    fn check(name: &str, own: fn(f64) -> f64, system: fn(f64) -> f64, low: f64, high: f64) {
        let steps = 20_000;
        for at in 0..=steps {
            let x = low + (high - low) * f64::from(at) / f64::from(steps);
            let (found, expected) = (own(x), system(x));
            // Where a result is near 0 because its parts cancel, its distance counts.
            let close = apart(found, expected) <= 4 || (found - expected).abs() < 1e-16;
            assert!(close, "{name}({x:e}) = {found:e}, not {expected:e}");
        }
    }

    #[test]
    fn values_are_those_of_the_system() {
        check_values::<false>();
        check_values::<true>();
    }

    fn check_values<const FUSED: bool>() {
        check("exp", exp::<FUSED>, f64::exp, -700.0, 709.7);
        check("exp", exp::<FUSED>, f64::exp, -1.0, 1.0);
        check("ln", ln::<FUSED>, f64::ln, 1e-3, 3.0);
        check("ln", ln::<FUSED>, f64::ln, 1.0, 1e12);
        for (name, own, system) in [
            ("sin", sin::<FUSED> as fn(f64) -> f64, f64::sin as fn(f64) -> f64),
            ("cos", cos::<FUSED>, f64::cos),
            ("atan", atan::<FUSED>, f64::atan),
        ] {
            check(name, own, system, -10.0, 10.0);
            check(name, own, system, -1e4, 1e4);
        }
        check("tan", tan::<FUSED>, f64::tan, -1.5, 1.5);
        check("sinh", sinh::<FUSED>, f64::sinh, -3.0, 3.0);
        check("sinh", sinh::<FUSED>, f64::sinh, -700.0, 700.0);
        check("cosh", cosh::<FUSED>, f64::cosh, -30.0, 30.0);
        check("tanh", tanh::<FUSED>, f64::tanh, -25.0, 25.0);
        check("asin", asin::<FUSED>, f64::asin, -1.0, 1.0);
        check("acos", acos::<FUSED>, f64::acos, -1.0, 1.0);
    }

    #[test]
    fn what_is_not_an_ordinary_number_gives_what_it_should() {
        check_odd_values::<false>();
        check_odd_values::<true>();
    }

    fn check_odd_values<const FUSED: bool>() {
        let odd = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324, 1e-310, 1e308];
        for (name, own, system) in [
            ("exp", exp::<FUSED> as fn(f64) -> f64, f64::exp as fn(f64) -> f64),
            ("ln", ln::<FUSED>, f64::ln),
            ("sinh", sinh::<FUSED>, f64::sinh),
            ("cosh", cosh::<FUSED>, f64::cosh),
            ("tanh", tanh::<FUSED>, f64::tanh),
            ("atan", atan::<FUSED>, f64::atan),
            ("asin", asin::<FUSED>, f64::asin),
            ("acos", acos::<FUSED>, f64::acos),
        ] {
            for x in odd.into_iter().chain([-1.0, 1.0, -745.0, 709.0, 710.4, 2.0, 0.7]) {
                let (found, expected) = (own(x), system(x));
                assert!(apart(found, expected) <= 4, "{name}({x:e}) = {found:e}, not {expected:e}");
            }
        }
    }
}
