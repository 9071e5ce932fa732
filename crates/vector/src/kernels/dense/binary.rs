//! Elementwise operations of two sides.

use super::side::Side;
use super::{divide, power};
use crate::cell::{Number, reals, reals_mut, singles, singles_mut};
use crate::error::Error;
use crate::widened;

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Pow,
    Log,
    Min,
    Max,
    Eq,
    Neq,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
}

/// All operations with their names.
pub const BINARIES: [(&str, Binary); 17] = [
    ("add", Binary::Add),
    ("sub", Binary::Sub),
    ("mul", Binary::Mul),
    ("div", Binary::Div),
    ("mod", Binary::Mod),
    ("pow", Binary::Pow),
    ("log", Binary::Log),
    ("min", Binary::Min),
    ("max", Binary::Max),
    ("eq", Binary::Eq),
    ("neq", Binary::Neq),
    ("lt", Binary::Lt),
    ("le", Binary::Le),
    ("gt", Binary::Gt),
    ("ge", Binary::Ge),
    ("and", Binary::And),
    ("or", Binary::Or),
];

impl Binary {
    /// The operation of this name.
    pub fn named(name: &str) -> Option<Self> {
        BINARIES.iter().find(|(known, _)| *known == name).map(|(_, binary)| *binary)
    }
}

/// Computes `out = left binary right`, as long as `out` is.
///
/// # Errors
///
/// If whole numbers are divided by zero.
pub fn compute<T: Number>(
    binary: Binary,
    left: Side<'_, T>,
    right: Side<'_, T>,
    out: &mut [T],
) -> Result<(), Error> {
    if T::WHOLE && matches!(binary, Binary::Div | Binary::Mod) {
        let zero = match right {
            Side::Each(cells) => cells[..out.len()].contains(&T::ZERO),
            Side::All(number) => number == T::ZERO,
        };
        if zero {
            return Err(Error::DivisionByZero);
        }
    }
    let done = match binary {
        Binary::Div => divided(left, right, out),
        Binary::Pow => power::run(left, right, out),
        _ => false,
    };
    if !done {
        run::<T>(binary, left, right, out);
    }
    Ok(())
}

/// Divides real numbers by one for all, if that goes faster than cell by cell.
fn divided<T: Number>(left: Side<'_, T>, right: Side<'_, T>, out: &mut [T]) -> bool {
    let (Side::Each(cells), Side::All(divisor)) = (left, right) else {
        return false;
    };
    match (reals(cells), singles(cells)) {
        (Some(cells), _) => {
            reals_mut(out).is_some_and(|out| divide::by_f64(cells, divisor.to_f64(), out))
        }
        (_, Some(cells)) => {
            singles_mut(out).is_some_and(|out| divide::by_f32(cells, divisor.to_f64() as f32, out))
        }
        _ => false,
    }
}

#[inline(always)]
fn truth<T: Number>(value: bool) -> T {
    if value { T::ONE } else { T::ZERO }
}

#[inline(always)]
fn each<T: Number>(
    left: Side<'_, T>,
    right: Side<'_, T>,
    out: &mut [T],
    function: impl Fn(T, T) -> T,
) {
    let count = out.len();
    match (left, right) {
        (Side::Each(one), Side::Each(two)) => {
            let (one, two) = (&one[..count], &two[..count]);
            for at in 0..count {
                out[at] = function(one[at], two[at]);
            }
        }
        (Side::Each(one), Side::All(two)) => {
            for (cell, one) in out.iter_mut().zip(one) {
                *cell = function(*one, two);
            }
        }
        (Side::All(one), Side::Each(two)) => {
            for (cell, two) in out.iter_mut().zip(two) {
                *cell = function(one, *two);
            }
        }
        (Side::All(one), Side::All(two)) => out.fill(function(one, two)),
    }
}

/// The operation on two numbers; whole ones are not divided by zero.
#[inline(always)]
pub fn one<T: Number>(binary: Binary, x: T, y: T) -> T {
    match binary {
        Binary::Add => x.plus(y),
        Binary::Sub => x.minus(y),
        Binary::Mul => x.times(y),
        Binary::Div => x.over(y),
        Binary::Mod => x.rest(y),
        Binary::Pow => x.power(y),
        Binary::Log => T::from_f64(x.to_f64().ln() / y.to_f64().ln()),
        Binary::Min => {
            if y < x {
                y
            } else {
                x
            }
        }
        Binary::Max => {
            if y > x {
                y
            } else {
                x
            }
        }
        Binary::Eq => truth(x == y),
        Binary::Neq => truth(x != y),
        Binary::Lt => truth(x < y),
        Binary::Le => truth(x <= y),
        Binary::Gt => truth(x > y),
        Binary::Ge => truth(x >= y),
        Binary::And => truth(x != T::ZERO && y != T::ZERO),
        Binary::Or => truth(x != T::ZERO || y != T::ZERO),
    }
}

/// A loop for each operation, known when it is compiled.
macro_rules! loops {
    ($binary:ident, $left:ident, $right:ident, $out:ident: $($name:ident)*) => {
        match $binary {
            $(Binary::$name => each($left, $right, $out, |x, y| one(Binary::$name, x, y)),)*
        }
    };
}

widened! {
    /// Computes without looking for zeros.
    pub fn run<T: Number>(binary: Binary, left: Side<'_, T>, right: Side<'_, T>, out: &mut [T]) {
        loops!(
            binary, left, right, out:
            Add Sub Mul Div Mod Pow Log Min Max Eq Neq Lt Le Gt Ge And Or
        );
    }
}
