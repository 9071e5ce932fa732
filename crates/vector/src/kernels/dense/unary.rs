//! Elementwise operations of one side.

use super::real as own;
use crate::cell::Number;
use crate::widened;

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Unary {
    Minus,
    Abs,
    Sign,
    Exp,
    Ln,
    Sqrt,
    Round,
    Floor,
    Ceil,
    Sin,
    Cos,
    Tan,
    Sinh,
    Cosh,
    Tanh,
    Asin,
    Acos,
    Atan,
    IsNan,
}

/// All operations with their names.
pub const UNARIES: [(&str, Unary); 19] = [
    ("minus", Unary::Minus),
    ("abs", Unary::Abs),
    ("sign", Unary::Sign),
    ("exp", Unary::Exp),
    ("ln", Unary::Ln),
    ("sqrt", Unary::Sqrt),
    ("round", Unary::Round),
    ("floor", Unary::Floor),
    ("ceil", Unary::Ceil),
    ("sin", Unary::Sin),
    ("cos", Unary::Cos),
    ("tan", Unary::Tan),
    ("sinh", Unary::Sinh),
    ("cosh", Unary::Cosh),
    ("tanh", Unary::Tanh),
    ("asin", Unary::Asin),
    ("acos", Unary::Acos),
    ("atan", Unary::Atan),
    ("isNan", Unary::IsNan),
];

impl Unary {
    /// The operation of this name.
    pub fn named(name: &str) -> Option<Self> {
        UNARIES.iter().find(|(known, _)| *known == name).map(|(_, unary)| *unary)
    }
}

/// The number before 0.5. It takes each half to the next whole number, as 0.5 would, and nothing else:
/// 0.5 takes itself, less one bit, to 1, and odd numbers beyond 2^52 to even ones.
pub(crate) const BELOW_HALF: f64 = 0.5_f64.next_down();

#[inline(always)]
fn each<T: Number>(cells: &[T], out: &mut [T], function: impl Fn(T) -> T) {
    for (out, cell) in out.iter_mut().zip(cells) {
        *out = function(*cell);
    }
}

#[inline(always)]
fn real<T: Number>(cells: &[T], out: &mut [T], function: impl Fn(f64) -> f64) {
    each(cells, out, |cell| T::from_f64(function(cell.to_f64())));
}

#[inline(always)]
fn turning<T: Number>(
    cells: &[T],
    out: &mut [T],
    near: impl Fn(f64) -> f64,
    system: impl Fn(f64) -> f64,
) {
    if cells.iter().all(|cell| cell.to_f64().abs() <= own::FAR) {
        real(cells, out, near);
    } else {
        real(cells, out, system);
    }
}

#[inline(always)]
fn whole_part<T: Number>(x: T, function: impl Fn(f64) -> f64) -> T {
    if T::WHOLE { x } else { T::from_f64(function(x.to_f64())) }
}

/// The operation on one number, if it takes a processor a few instructions.
///
/// # Panics
///
/// If it takes more.
#[inline(always)]
#[allow(clippy::eq_op, reason = "only NaN differs from itself")]
pub fn light<T: Number>(unary: Unary, x: T) -> T {
    match unary {
        Unary::Minus => x.negative(),
        Unary::Abs => x.magnitude(),
        Unary::Sign => x.signum(),
        Unary::Sqrt => T::from_f64(x.to_f64().sqrt()),
        Unary::Round => whole_part(x, |x| (x.abs() + BELOW_HALF).floor().copysign(x)),
        Unary::Floor => whole_part(x, f64::floor),
        Unary::Ceil => whole_part(x, f64::ceil),
        Unary::IsNan => {
            if x == x {
                T::ZERO
            } else {
                T::ONE
            }
        }
        _ => panic!("{unary:?} is not light"),
    }
}

widened! {
    /// Computes `out = unary(cells)`; functions of real numbers work in 64 bits.
    pub fn run<T: Number, const FUSED: bool>(unary: Unary, cells: &[T], out: &mut [T]) {
        match unary {
            Unary::Minus => each(cells, out, |x| light(Unary::Minus, x)),
            Unary::Abs => each(cells, out, |x| light(Unary::Abs, x)),
            Unary::Sign => each(cells, out, |x| light(Unary::Sign, x)),
            Unary::Exp => real(cells, out, own::exp::<FUSED>),
            Unary::Ln => real(cells, out, own::ln::<FUSED>),
            Unary::Sqrt => each(cells, out, |x| light(Unary::Sqrt, x)),
            Unary::Round => each(cells, out, |x| light(Unary::Round, x)),
            Unary::Floor => each(cells, out, |x| light(Unary::Floor, x)),
            Unary::Ceil => each(cells, out, |x| light(Unary::Ceil, x)),
            Unary::Sin => turning(cells, out, own::sin::<FUSED>, f64::sin),
            Unary::Cos => turning(cells, out, own::cos::<FUSED>, f64::cos),
            Unary::Tan => turning(cells, out, own::tan::<FUSED>, f64::tan),
            Unary::Sinh => real(cells, out, own::sinh::<FUSED>),
            Unary::Cosh => real(cells, out, own::cosh::<FUSED>),
            Unary::Tanh => real(cells, out, own::tanh::<FUSED>),
            Unary::Asin => real(cells, out, own::asin::<FUSED>),
            Unary::Acos => real(cells, out, own::acos::<FUSED>),
            Unary::Atan => real(cells, out, own::atan::<FUSED>),
            Unary::IsNan => each(cells, out, |x| light(Unary::IsNan, x)),
        }
    }
}
