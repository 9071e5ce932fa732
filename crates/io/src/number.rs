//! Numbers as text.

use std::io::Write;

/// How floats are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floats {
    /// The shortest text that reads back as the same bits.
    Shortest,
    /// So many decimals, as C's `%.6f`: shorter or longer, and not always the same number.
    Decimals(usize),
}

/// A number that can be read from text and written as text.
pub trait Number: Copy + Default + PartialEq + Send + Sync + 'static {
    /// What messages call it.
    const WANTED: &'static str;
    /// One.
    const ONE: Self;

    /// Reads the number at the beginning of some bytes that end in no digit; how long it is.
    ///
    /// Only what is common: for anything else there is [`Number::parse`].
    fn scan(text: &[u8]) -> Option<(Self, usize)>;

    /// Reads a text that is nothing but a number.
    fn parse(text: &[u8]) -> Option<Self>;

    /// Writes the number.
    fn print(self, floats: Floats, out: &mut Vec<u8>);
}

/// Powers of ten that are exact as a double.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// The value of a digit; more than 9 for any other byte.
#[inline]
fn digit(byte: u8) -> u64 {
    u64::from(byte.wrapping_sub(b'0'))
}

/// The value of eight digits at once, or None if one is not a digit.
#[inline]
fn eight_digits(bytes: [u8; 8]) -> Option<u64> {
    let chunk = u64::from_le_bytes(bytes);
    let values = chunk.wrapping_sub(0x3030_3030_3030_3030);
    let above = chunk.wrapping_add(0x4646_4646_4646_4646);
    if (values | above) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    let pairs = values.wrapping_mul(10).wrapping_add(values >> 8);
    let low = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let high = ((pairs >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    Some(low.wrapping_add(high) >> 32)
}

/// Reads digits from `at` on into `mantissa`; the place behind them.
#[inline]
fn digits(text: &[u8], mut at: usize, mantissa: &mut u64) -> usize {
    while let Some(chunk) = text.get(at..at + 8) {
        let Some(value) = chunk.try_into().ok().and_then(eight_digits) else { break };
        *mantissa = mantissa.wrapping_mul(100_000_000).wrapping_add(value);
        at += 8;
    }
    while let Some(value) = text.get(at).map(|byte| digit(*byte))
        && value < 10
    {
        *mantissa = mantissa.wrapping_mul(10).wrapping_add(value);
        at += 1;
    }
    at
}

/// Digits that always fit into 64 bits, and so the most decimals that [`divided`] meets.
const DECIMALS: usize = 19;

/// For each k the first 128 bits of 1 / 5^k, plus one in the last place; and by how many bits 5^k
/// is below the next power of two.
const FIFTHS: [(u128, u32); DECIMALS + 1] = {
    let mut table = [(0, 0); DECIMALS + 1];
    let mut k = 0;
    let mut five: u128 = 1;
    while k <= DECIMALS {
        table[k] = reciprocal(five);
        five *= 5;
        k += 1;
    }
    table
};

/// The first 128 bits of 1 / `divisor`, plus one, and how many zeros stand before them: long
/// division, bit by bit.
const fn reciprocal(divisor: u128) -> (u128, u32) {
    let mut remainder = 1;
    let mut zeros = 0;
    while remainder < divisor {
        remainder <<= 1;
        zeros += 1;
    }
    let mut quotient: u128 = 0;
    let mut bits = 0;
    while bits < 128 {
        quotient <<= 1;
        if remainder >= divisor {
            remainder -= divisor;
            quotient |= 1;
        }
        remainder <<= 1;
        bits += 1;
    }
    (quotient + 1, zeros)
}

/// The double nearest to `mantissa` / 10^`decimals`, by one or two multiplications; None where it
/// may be a tie.
///
/// After Lemire, "Number parsing at a gigabyte per second" (2021): a reciprocal of 128 bits is
/// enough for any mantissa of 64, and ties have at most four decimals.
#[inline]
fn divided(mantissa: u64, decimals: usize) -> Option<f64> {
    // One bit more than a double has, to round by; and one that may be lost at the top.
    const KEPT: u32 = f64::MANTISSA_DIGITS + 2;
    const BIAS: u32 = 1023;
    let zeros = mantissa.leading_zeros();
    let scaled = u128::from(mantissa << zeros);
    let (factor, power) = FIFTHS[decimals];
    let mut product = scaled * (factor >> 64);
    let undecided = u64::MAX >> KEPT;
    if (product >> 64) as u64 & undecided == undecided {
        product += (scaled * (factor & u128::from(u64::MAX))) >> 64;
    }
    let (high, low) = ((product >> 64) as u64, product as u64);
    let shift = (high >> 63) as u32 + 64 - KEPT;
    let kept = high >> shift;
    if decimals <= 4 && low <= 1 && kept & 1 == 1 && kept << shift == high {
        return None;
    }
    let rounded = (kept + (kept & 1)) >> 1;
    let exponent = u64::from(BIAS + shift + 2 - zeros - power) - decimals as u64;
    Some(rounded as f64 * f64::from_bits(exponent << 52))
}

/// Reads a decimal number without an exponent: by one exact division (Clinger), or by [`divided`].
#[inline]
fn scan_decimal(text: &[u8]) -> Option<(f64, usize)> {
    let negative = *text.first()? == b'-';
    let start = usize::from(negative);
    let mut mantissa = 0;
    let mut at = digits(text, start, &mut mantissa);
    let mut count = at - start;
    let mut decimals = 0;
    if text.get(at) == Some(&b'.') {
        let point = at + 1;
        at = digits(text, point, &mut mantissa);
        decimals = at - point;
        count += decimals;
    }
    // Nineteen digits cannot overflow.
    if !(1..=DECIMALS).contains(&count) || matches!(text.get(at), Some(b'e' | b'E')) {
        return None;
    }
    // 2^53 is the last integer up to which a double has every one.
    let value = if mantissa <= 1 << 53 {
        mantissa as f64 / POWERS[decimals]
    } else {
        divided(mantissa, decimals)?
    };
    Some((if negative { -value } else { value }, at))
}

/// Reads what is not finite, in the spellings of C, Python, R and JavaScript.
fn parse_special(text: &[u8]) -> Option<f64> {
    let (negative, name) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let magnitude = if name.eq_ignore_ascii_case(b"nan") {
        f64::NAN
    } else if name.eq_ignore_ascii_case(b"inf") || name.eq_ignore_ascii_case(b"infinity") {
        f64::INFINITY
    } else {
        return None;
    };
    Some(if negative { -magnitude } else { magnitude })
}

/// Writes a float that is not finite as C does.
fn print_special(value: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(match (value.is_nan(), value.is_sign_negative()) {
        (true, _) => b"nan",
        (false, false) => b"inf",
        (false, true) => b"-inf",
    });
}

/// Writes a fixed number of decimals.
fn print_decimals(value: f64, decimals: usize, out: &mut Vec<u8>) {
    // 2^52, from which on doubles have no halves.
    const LARGEST: f64 = 4_503_599_627_370_496.0;
    let scaled = value.abs() * POWERS[decimals.min(22)];
    let whole = scaled.trunc();
    let rest = scaled - whole;
    // So much is the product off at most; so near a half, only all digits tell.
    let error = scaled * f64::EPSILON;
    if decimals <= DECIMALS && scaled < LARGEST && (rest - 0.5).abs() > error {
        let units = whole as u64 + u64::from(rest > 0.5);
        let power = POWERS[decimals] as u64;
        if value.is_sign_negative() {
            out.push(b'-');
        }
        let mut buffer = itoa::Buffer::new();
        out.extend_from_slice(buffer.format(units / power).as_bytes());
        if decimals > 0 {
            out.push(b'.');
            let digits = buffer.format(units % power).as_bytes();
            out.resize(out.len() + decimals - digits.len(), b'0');
            out.extend_from_slice(digits);
        }
        return;
    }
    // Writing to memory does not fail.
    let _ = write!(out, "{value:.decimals$}");
}

macro_rules! float {
    ($type:ty, $wanted:literal, $scan:expr, $narrow:expr, $widen:expr) => {
        impl Number for $type {
            const WANTED: &'static str = $wanted;
            const ONE: Self = 1.0;

            #[inline]
            fn scan(text: &[u8]) -> Option<(Self, usize)> {
                $scan(text)
            }

            fn parse(text: &[u8]) -> Option<Self> {
                match fast_float2::parse::<$type, _>(text) {
                    Ok(value) if text.iter().any(u8::is_ascii_digit) => Some(value),
                    _ => parse_special(text).map($narrow),
                }
            }

            #[inline]
            fn print(self, floats: Floats, out: &mut Vec<u8>) {
                if !self.is_finite() {
                    return print_special($widen(self), out);
                }
                match floats {
                    Floats::Shortest => {
                        let mut buffer = zmij::Buffer::new();
                        out.extend_from_slice(buffer.format_finite(self).as_bytes());
                    }
                    Floats::Decimals(decimals) => print_decimals($widen(self), decimals, out),
                }
            }
        }
    };
}

float!(
    f64,
    "a number",
    |text| scan_decimal(text).or_else(|| scan_long::<f64>(text)),
    |value| value,
    |value| value
);
// Rounding twice, to double and to single, is not rounding once.
float!(f32, "a number", scan_long::<f32>, |value| value as f32, f64::from);

#[inline]
fn scan_long<T: fast_float2::FastFloat>(text: &[u8]) -> Option<(T, usize)> {
    // Names of what is not finite are left to `parse`, which knows all spellings.
    let first = text.iter().find(|byte| **byte != b'-')?;
    if !first.is_ascii_digit() && *first != b'.' {
        return None;
    }
    fast_float2::parse_partial(text).ok()
}

macro_rules! integer {
    ($($type:ty, $wanted:literal);*) => {$(
        impl Number for $type {
            const WANTED: &'static str = $wanted;
            const ONE: Self = 1;

            #[inline]
            fn scan(text: &[u8]) -> Option<(Self, usize)> {
                let negative = *text.first()? == b'-';
                let start = usize::from(negative);
                let mut mantissa = 0;
                let at = digits(text, start, &mut mantissa);
                if !(1..=19).contains(&(at - start)) {
                    return None;
                }
                let value = i128::from(mantissa);
                let value = if negative { -value } else { value };
                <$type>::try_from(value).ok().map(|value| (value, at))
            }

            fn parse(text: &[u8]) -> Option<Self> {
                std::str::from_utf8(text).ok()?.parse().ok()
            }

            #[inline]
            fn print(self, _floats: Floats, out: &mut Vec<u8>) {
                out.extend_from_slice(itoa::Buffer::new().format(self).as_bytes());
            }
        }
    )*};
}

integer! {
    i8, "an integer from -128 to 127";
    i16, "an integer of 16 bits";
    i32, "an integer of 32 bits";
    i64, "an integer of 64 bits";
    u8, "an integer from 0 to 255";
    u16, "an integer from 0 to 65535";
    u32, "an unsigned integer of 32 bits";
    u64, "an unsigned integer of 64 bits"
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn printed<T: Number>(value: T, floats: Floats) -> String {
        let mut out = Vec::new();
        value.print(floats, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn read<T: Number>(text: &str) -> Option<T> {
        let scanned = T::scan(text.as_bytes()).filter(|(_, used)| *used == text.len());
        scanned.map(|(value, _)| value).or_else(|| T::parse(text.as_bytes()))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn the_shortest_text_gives_the_same_bits(bits: u64) {
            let value = f64::from_bits(bits);
            let back: f64 = read(&printed(value, Floats::Shortest)).unwrap();
            prop_assert!(back.to_bits() == bits || value.is_nan() && back.is_nan());
            let single = f32::from_bits(bits as u32);
            let back: f32 = read(&printed(single, Floats::Shortest)).unwrap();
            prop_assert!(back.to_bits() == single.to_bits() || single.is_nan() && back.is_nan());
        }

        #[test]
        fn decimals_are_those_of_c(value in -1e9_f64..1e9, decimals in 0_usize..22) {
            let near = (value * 1e6_f64).round() / 1e6;
            let tie = (value * 64.0_f64).round() / 64.0;
            for value in [value, near, tie, value / 1e9, near / 1e9] {
                let wanted = format!("{value:.decimals$}");
                prop_assert_eq!(printed(value, Floats::Decimals(decimals)), wanted);
            }
        }

        #[test]
        fn decimal_texts_are_those_of_the_standard_library(text in "-?[0-9]{1,22}(\\.[0-9]{0,22})?([eE][-+]?[0-9]{1,3})?") {
            let wanted: f64 = text.parse().unwrap();
            prop_assert_eq!(read::<f64>(&text).unwrap().to_bits(), wanted.to_bits());
            let wanted: f32 = text.parse().unwrap();
            prop_assert_eq!(read::<f32>(&text).unwrap().to_bits(), wanted.to_bits());
        }

        #[test]
        fn long_decimals_are_those_of_the_standard_library(
            digits in 1_u64 << 53..10_000_000_000_000_000_000,
            decimals in 1_usize..19,
            even in any::<bool>(),
        ) {
            // Numbers between two doubles, and next to those.
            let half = (digits >> 10 << 10) | 1 << (digits.ilog2() - 53).max(1);
            for mantissa in [digits, half, half + 1, half - 1 + u64::from(even)] {
                let text = mantissa.to_string();
                let (whole, rest) = text.split_at(text.len().saturating_sub(decimals));
                let text = format!("{}.{rest}", if whole.is_empty() { "0" } else { whole });
                let wanted: f64 = text.parse().unwrap();
                prop_assert_eq!(read::<f64>(&text).unwrap().to_bits(), wanted.to_bits(), "{}", text);
            }
        }

        #[test]
        fn integers_come_back_or_are_refused(value: i64, small: u8) {
            prop_assert_eq!(read::<i64>(&value.to_string()), Some(value));
            prop_assert_eq!(read::<u64>(&value.to_string()), u64::try_from(value).ok());
            prop_assert_eq!(read::<i8>(&small.to_string()), i8::try_from(small).ok());
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", "-", ".", "e5", "1e", "1..2", "0x10", "1_000", "--1", "1 2", "nan0", "in"]
        {
            assert_eq!(read::<f64>(text), None, "{text:?}");
        }
        for text in ["1.0", "99999999999999999999", "-", "", "1e3"] {
            assert_eq!(read::<i64>(text), None, "{text:?}");
        }
        assert_eq!(read::<u64>("18446744073709551615"), Some(u64::MAX));
    }

    #[test]
    fn not_a_number_in_its_spellings() {
        for text in ["nan", "NaN", "NAN", "Nan", "-nan", "+nan", "-NaN", "nAn"] {
            assert!(read::<f64>(text).unwrap().is_nan(), "{text:?}");
        }
        for text in ["inf", "Inf", "INF", "+inf", "infinity", "Infinity"] {
            assert_eq!(read::<f64>(text), Some(f64::INFINITY), "{text:?}");
        }
        assert_eq!(read::<f32>("-Infinity"), Some(f32::NEG_INFINITY));
    }
}
