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
const MAGIC: f64 = 6_755_399_441_055_744.0;
/// ln 2 in two parts, the first with zeros at its end: products with whole numbers are exact.
const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Half of pi in three parts, likewise.
const HALF_PI: [f64; 3] =
    [1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_795_950_7e-21];
/// Beyond this, the parts of pi are not enough, and the system's functions are called.
pub const FAR: f64 = 1e5;

/// The sum of `terms[n] * z^n`.
#[inline(always)]
fn series<const N: usize>(z: f64, terms: [f64; N]) -> f64 {
    let mut sum = terms[N - 1];
    for at in (0..N - 1).rev() {
        sum = sum * z + terms[at];
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
/// `(sinh(x) / x - 1) / z` by `z = x^2`, of x up to 1.
const HYPERBOLIC: [f64; 7] = [
    0.166_666_666_666_666_66,
    0.008_333_333_333_333_299,
    0.000_198_412_698_413_241_98,
    2.755_731_919_138_181_6e-6,
    2.505_211_769_590_782_3e-8,
    1.605_767_962_380_163_8e-10,
    7.746_178_593_018_827e-13,
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
fn two_to(magic: f64) -> f64 {
    f64::from_bits(magic.to_bits().wrapping_add(1023) << 52)
}

/// e to the power x.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    // Comparisons that NaN fails keep it.
    let x = if x < -746.0 { -746.0 } else { x };
    let x = if x > 710.0 { 710.0 } else { x };
    let power = (x * LOG2_E + MAGIC) - MAGIC;
    let rest = (x - power * LN_2_HIGH) - power * LN_2_LOW;
    let value = 1.0 + (rest + rest * rest * series(rest, POWERS));
    // Two factors: the power may be beyond what one exponent holds.
    let half = power * 0.5 + MAGIC;
    let other = power - (half - MAGIC) + MAGIC;
    value * two_to(half) * two_to(other)
}

/// The natural logarithm of x.
#[inline(always)]
pub fn ln(x: f64) -> f64 {
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
    let tail = s * (2.0 * z * series(z, LOGARITHM) - over);
    let value = power * LN_2_HIGH + (over + (tail + power * LN_2_LOW));
    let value = if x == 0.0 { f64::NEG_INFINITY } else { value };
    let value = if x == f64::INFINITY { x } else { value };
    // The sign is that of processors, which printing shows.
    let value = if x < 0.0 { -f64::NAN } else { value };
    if x.is_nan() { x } else { value }
}

/// The sine and the cosine of what is left of x, and which quarter it is in.
#[inline(always)]
fn quarters(x: f64) -> (f64, f64, u64) {
    let magic = x * FRAC_2_PI + MAGIC;
    let times = magic - MAGIC;
    let rest = ((x - times * HALF_PI[0]) - times * HALF_PI[1]) - times * HALF_PI[2];
    let z = rest * rest;
    let sine = rest - rest * z * series(z, SINES);
    let half = 0.5 * z;
    let whole = 1.0 - half;
    let cosine = whole + (((1.0 - whole) - half) + z * z * series(z, COSINES));
    (sine, cosine, magic.to_bits())
}

#[inline(always)]
fn negated(value: f64, when: bool) -> f64 {
    if when { -value } else { value }
}

/// The sine of x, of at most `FAR`.
#[inline(always)]
pub fn sin(x: f64) -> f64 {
    let (sine, cosine, quarter) = quarters(x);
    negated(if quarter & 1 == 0 { sine } else { cosine }, quarter & 2 != 0)
}

/// The cosine of x, of at most `FAR`.
#[inline(always)]
pub fn cos(x: f64) -> f64 {
    let (sine, cosine, quarter) = quarters(x);
    negated(if quarter & 1 == 0 { cosine } else { sine }, quarter.wrapping_add(1) & 2 != 0)
}

/// The tangent of x, of at most `FAR`.
#[inline(always)]
pub fn tan(x: f64) -> f64 {
    let (sine, cosine, quarter) = quarters(x);
    if quarter & 1 == 0 { sine / cosine } else { -cosine / sine }
}

/// The hyperbolic sine of x, if it is small.
#[inline(always)]
fn near_sinh(x: f64) -> f64 {
    let z = x * x;
    x + x * z * series(z, HYPERBOLIC)
}

/// The hyperbolic sine of x.
#[inline(always)]
pub fn sinh(x: f64) -> f64 {
    let size = x.abs();
    let root = exp(0.5 * size);
    let all = root * root;
    let value = choose(size > 20.0, (0.5 * root) * root, 0.5 * (all - 1.0 / all));
    choose(size < 1.0, near_sinh(x), value.copysign(x))
}

/// The hyperbolic cosine of x.
#[inline(always)]
pub fn cosh(x: f64) -> f64 {
    let size = x.abs();
    let root = exp(0.5 * size);
    let all = root * root;
    choose(size > 20.0, (0.5 * root) * root, 0.5 * (all + 1.0 / all))
}

/// The hyperbolic tangent of x.
#[inline(always)]
pub fn tanh(x: f64) -> f64 {
    let size = x.abs();
    let far = (1.0 - 2.0 / (exp(2.0 * size) + 1.0)).copysign(x);
    let straight = near_sinh(x);
    let near = straight / (1.0 + straight * straight).sqrt();
    choose(size < 1.0, near, far)
}

/// The angle whose tangent is x.
#[inline(always)]
pub fn atan(x: f64) -> f64 {
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
    (start + (left - left * z * series(z, ANGLE))).copysign(x)
}

/// The angle whose sine is at most a half.
#[inline(always)]
fn near_asin(x: f64) -> f64 {
    let z = x * x;
    x + x * z * series(z, ARC)
}

/// The angle whose sine is x.
#[inline(always)]
pub fn asin(x: f64) -> f64 {
    let size = x.abs();
    let near = size < 0.5;
    // Beyond a half: what is left to a right angle, by half of that angle.
    let angle = near_asin(choose(near, size, (0.5 * (1.0 - size)).sqrt()));
    choose(near, angle, FRAC_PI_2 - 2.0 * angle).copysign(x)
}

/// The angle whose cosine is x.
#[inline(always)]
pub fn acos(x: f64) -> f64 {
    let size = x.abs();
    let near = size < 0.5;
    let angle = near_asin(choose(near, x, (0.5 * (1.0 - size)).sqrt()));
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
        check("exp", exp, f64::exp, -700.0, 709.7);
        check("exp", exp, f64::exp, -1.0, 1.0);
        check("ln", ln, f64::ln, 1e-3, 3.0);
        check("ln", ln, f64::ln, 1.0, 1e12);
        for (name, own, system) in [
            ("sin", sin as fn(f64) -> f64, f64::sin as fn(f64) -> f64),
            ("cos", cos, f64::cos),
            ("atan", atan, f64::atan),
        ] {
            check(name, own, system, -10.0, 10.0);
            check(name, own, system, -1e4, 1e4);
        }
        check("tan", tan, f64::tan, -1.5, 1.5);
        check("sinh", sinh, f64::sinh, -3.0, 3.0);
        check("sinh", sinh, f64::sinh, -700.0, 700.0);
        check("cosh", cosh, f64::cosh, -30.0, 30.0);
        check("tanh", tanh, f64::tanh, -25.0, 25.0);
        check("asin", asin, f64::asin, -1.0, 1.0);
        check("acos", acos, f64::acos, -1.0, 1.0);
    }

    #[test]
    fn what_is_not_an_ordinary_number_gives_what_it_should() {
        let odd = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324, 1e-310, 1e308];
        for (name, own, system) in [
            ("exp", exp as fn(f64) -> f64, f64::exp as fn(f64) -> f64),
            ("ln", ln, f64::ln),
            ("sinh", sinh, f64::sinh),
            ("cosh", cosh, f64::cosh),
            ("tanh", tanh, f64::tanh),
            ("atan", atan, f64::atan),
            ("asin", asin, f64::asin),
            ("acos", acos, f64::acos),
        ] {
            for x in odd.into_iter().chain([-1.0, 1.0, -745.0, 709.0, 710.4, 2.0, 0.7]) {
                let (found, expected) = (own(x), system(x));
                assert!(apart(found, expected) <= 4, "{name}({x:e}) = {found:e}, not {expected:e}");
            }
        }
    }
}
