//! Loops over cells that are chosen once: by type, operation and processor, before the first cell.
//!
//! A chain of operations goes over some hundred cells at a time. A kernel that looks at its arguments
//! first would spend as long on that as on the cells, so these look at nothing: all sides have a number
//! for every cell, and what they are is in the function.

use std::marker::PhantomData;
use std::slice;

use super::binary::{self, BINARIES, Binary};
use super::reduce::{self, REDUCTIONS, Reduce};
use super::side::Side;
use super::unary::{self, UNARIES, Unary};
use super::{divide, select, stream};
use crate::cell::{Cell, Number};
#[cfg(target_arch = "x86_64")]
use crate::kernels::{has_wide_vectors, has_widest_vectors};

/// A loop: it makes so many cells of those of up to three sides, and tells whether it could: whole
/// numbers are not divided by zero.
///
/// # Safety
///
/// `out` and all sides that the operation has begin at cells of its types, as many as the count, which
/// nobody else uses meanwhile; no side has cells of `out`.
pub type Loop =
    unsafe fn(one: *const u8, two: *const u8, three: *const u8, out: *mut u8, count: usize) -> bool;

/// What a loop does, whatever vectors it is compiled for.
trait Body {
    /// # Safety
    ///
    /// As for [`Loop`].
    unsafe fn run(
        one: *const u8,
        two: *const u8,
        three: *const u8,
        out: *mut u8,
        count: usize,
    ) -> bool;
}

unsafe fn plain<B: Body>(
    one: *const u8,
    two: *const u8,
    three: *const u8,
    out: *mut u8,
    count: usize,
) -> bool {
    // SAFETY: as the caller says.
    unsafe { B::run(one, two, three, out, count) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn wide<B: Body>(
    one: *const u8,
    two: *const u8,
    three: *const u8,
    out: *mut u8,
    count: usize,
) -> bool {
    // SAFETY: as the caller says.
    unsafe { B::run(one, two, three, out, count) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
unsafe fn widest<B: Body>(
    one: *const u8,
    two: *const u8,
    three: *const u8,
    out: *mut u8,
    count: usize,
) -> bool {
    // SAFETY: as the caller says.
    unsafe { B::run(one, two, three, out, count) }
}

/// The compilation of a loop that this processor can run.
fn compiled<B: Body>() -> Loop {
    #[cfg(target_arch = "x86_64")]
    {
        if has_widest_vectors() {
            return widest::<B>;
        }
        if has_wide_vectors() {
            return wide::<B>;
        }
    }
    plain::<B>
}

/// # Safety
///
/// Memory has so many cells of this type.
#[inline(always)]
unsafe fn cells<'a, T>(begin: *const u8, count: usize) -> &'a [T] {
    // SAFETY: as the caller says.
    unsafe { slice::from_raw_parts(begin.cast(), count) }
}

/// # Safety
///
/// Memory has so many cells of this type, and nobody else uses them.
#[inline(always)]
unsafe fn cells_mut<'a, T>(begin: *mut u8, count: usize) -> &'a mut [T] {
    // SAFETY: as the caller says.
    unsafe { slice::from_raw_parts_mut(begin.cast(), count) }
}

/// Two sides; the operation is at this place of `BINARIES`.
struct Two<T, const AT: usize>(PhantomData<T>);

impl<T: Number, const AT: usize> Body for Two<T, AT> {
    #[inline(always)]
    unsafe fn run(
        one: *const u8,
        two: *const u8,
        _: *const u8,
        out: *mut u8,
        count: usize,
    ) -> bool {
        // SAFETY: as the caller says.
        let (one, two, out) =
            unsafe { (cells::<T>(one, count), cells::<T>(two, count), cells_mut(out, count)) };
        for at in 0..count {
            out[at] = binary::one(const { BINARIES[AT].1 }, one[at], two[at]);
        }
        true
    }
}

/// Two operations at once: of the first two sides, and of that and the third.
struct Then<T, const ONE: usize, const TWO: usize>(PhantomData<T>);

impl<T: Number, const ONE: usize, const TWO: usize> Body for Then<T, ONE, TWO> {
    #[inline(always)]
    unsafe fn run(
        one: *const u8,
        two: *const u8,
        three: *const u8,
        out: *mut u8,
        count: usize,
    ) -> bool {
        // SAFETY: as the caller says.
        let (one, two, three, out) = unsafe {
            (
                cells::<T>(one, count),
                cells::<T>(two, count),
                cells::<T>(three, count),
                cells_mut(out, count),
            )
        };
        for at in 0..count {
            let first = binary::one(const { BINARIES[ONE].1 }, one[at], two[at]);
            out[at] = binary::one(const { BINARIES[TWO].1 }, first, three[at]);
        }
        true
    }
}

/// One side; the operation is at this place of `UNARIES`.
struct One<T, const AT: usize>(PhantomData<T>);

impl<T: Number, const AT: usize> Body for One<T, AT> {
    #[inline(always)]
    unsafe fn run(one: *const u8, _: *const u8, _: *const u8, out: *mut u8, count: usize) -> bool {
        // SAFETY: as the caller says.
        let (one, out) = unsafe { (cells::<T>(one, count), cells_mut(out, count)) };
        for at in 0..count {
            out[at] = unary::light(const { UNARIES[AT].1 }, one[at]);
        }
        true
    }
}

/// Two sides, by the kernel that chooses its vectors itself, since it takes much longer than that.
struct HeavyTwo<T, const AT: usize>(PhantomData<T>);

impl<T: Number, const AT: usize> Body for HeavyTwo<T, AT> {
    unsafe fn run(
        one: *const u8,
        two: *const u8,
        _: *const u8,
        out: *mut u8,
        count: usize,
    ) -> bool {
        // SAFETY: as the caller says.
        let (one, two, out) =
            unsafe { (cells::<T>(one, count), cells::<T>(two, count), cells_mut(out, count)) };
        binary::compute(BINARIES[AT].1, Side::Each(one), Side::Each(two), out).is_ok()
    }
}

/// One side, by the kernel that chooses its vectors itself, since it takes much longer than that.
struct HeavyOne<T, const AT: usize>(PhantomData<T>);

impl<T: Number, const AT: usize> Body for HeavyOne<T, AT> {
    unsafe fn run(one: *const u8, _: *const u8, _: *const u8, out: *mut u8, count: usize) -> bool {
        // SAFETY: as the caller says.
        let (one, out) = unsafe { (cells::<T>(one, count), cells_mut(out, count)) };
        unary::run(UNARIES[AT].1, one, out);
        true
    }
}

/// A choice: where the first side is not 0 the second, and the third elsewhere.
struct Choice<T>(PhantomData<T>);

impl<T: Number> Body for Choice<T> {
    #[inline(always)]
    unsafe fn run(
        one: *const u8,
        two: *const u8,
        three: *const u8,
        out: *mut u8,
        count: usize,
    ) -> bool {
        // SAFETY: as the caller says.
        let (mask, yes, no, out) = unsafe {
            (
                cells::<T>(one, count),
                cells::<T>(two, count),
                cells::<T>(three, count),
                cells_mut(out, count),
            )
        };
        select::each(mask, out, |at| yes[at], |at| no[at]);
        true
    }
}

/// A conversion.
struct Cast<S, T>(PhantomData<(S, T)>);

impl<S: Number, T: Number> Body for Cast<S, T> {
    #[inline(always)]
    unsafe fn run(one: *const u8, _: *const u8, _: *const u8, out: *mut u8, count: usize) -> bool {
        // SAFETY: as the caller says.
        let (one, out) = unsafe { (cells::<S>(one, count), cells_mut::<T>(out, count)) };
        for at in 0..count {
            // By way of f64, which unsigned 64-bit numbers reach without a sign.
            out[at] = if S::WHOLE && T::WHOLE {
                T::from_i64(one[at].to_i64())
            } else {
                T::from_f64(one[at].to_f64())
            };
        }
        true
    }
}

/// A division by one number, of which the second side has the parts.
struct Division<T>(PhantomData<T>);

impl<T: divide::Divided> Body for Division<T> {
    #[inline(always)]
    unsafe fn run(
        one: *const u8,
        two: *const u8,
        _: *const u8,
        out: *mut u8,
        count: usize,
    ) -> bool {
        // SAFETY: as the caller says; a divisor has three parts.
        let (one, parts, out) =
            unsafe { (cells::<T>(one, count), *two.cast::<[T; 3]>(), cells_mut(out, count)) };
        T::divide(one, parts, out);
        true
    }
}

/// A reduction of one side into lanes, [`reduce::lanes`] of them; it is at this place of `REDUCTIONS`.
struct Fold<T, const AT: usize>(PhantomData<T>);

impl<T: Number, const AT: usize> Body for Fold<T, AT> {
    #[inline(always)]
    unsafe fn run(one: *const u8, _: *const u8, _: *const u8, out: *mut u8, count: usize) -> bool {
        // SAFETY: as the caller says.
        let one = unsafe { cells::<T>(one, count) };
        let both = |x: T, y: T| const { REDUCTIONS[AT] }.both(x, y);
        // SAFETY: there are as many lanes as the size of a cell has.
        unsafe {
            match reduce::lanes(size_of::<T>()) {
                256 => reduce::gather::<T, 256>(&mut *out.cast(), one, both),
                64 => reduce::gather::<T, 64>(&mut *out.cast(), one, both),
                _ => reduce::gather::<T, 32>(&mut *out.cast(), one, both),
            }
        }
        true
    }
}

/// A sum of what an operation makes of two sides, into lanes.
struct Summed<T, const AT: usize>(PhantomData<T>);

impl<T: Number, const AT: usize> Summed<T, AT> {
    #[inline(always)]
    fn gather<const LANES: usize>(lanes: &mut [T; LANES], one: &[T], two: &[T]) {
        let made = |one: T, two: T| binary::one(const { BINARIES[AT].1 }, one, two);
        let (ones, rest) = one.as_chunks::<LANES>();
        let (twos, other) = two.as_chunks::<LANES>();
        let (left_turns, ones) = ones.as_chunks::<{ reduce::TURNS }>();
        let (right_turns, twos) = twos.as_chunks::<{ reduce::TURNS }>();
        for (left, right) in left_turns.iter().zip(right_turns) {
            for (at, lane) in lanes.iter_mut().enumerate() {
                let pairs = left.iter().zip(right);
                *lane = pairs.fold(*lane, |sum, (one, two)| sum.plus(made(one[at], two[at])));
            }
        }
        for (one, two) in ones.iter().zip(twos) {
            for ((lane, one), two) in lanes.iter_mut().zip(one).zip(two) {
                *lane = lane.plus(made(*one, *two));
            }
        }
        for ((lane, one), two) in lanes.iter_mut().zip(rest).zip(other) {
            *lane = lane.plus(made(*one, *two));
        }
    }
}

impl<T: Number, const AT: usize> Body for Summed<T, AT> {
    #[inline(always)]
    unsafe fn run(
        one: *const u8,
        two: *const u8,
        _: *const u8,
        out: *mut u8,
        count: usize,
    ) -> bool {
        // SAFETY: as the caller says; there are as many lanes as the size of a cell has.
        unsafe {
            let (one, two) = (cells::<T>(one, count), cells::<T>(two, count));
            match reduce::lanes(size_of::<T>()) {
                64 => Self::gather::<64>(&mut *out.cast(), one, two),
                _ => Self::gather::<32>(&mut *out.cast(), one, two),
            }
        }
        true
    }
}

/// A copy that goes past the caches.
struct Past<T>(PhantomData<T>);

impl<T: Number> Body for Past<T> {
    #[inline(always)]
    unsafe fn run(one: *const u8, _: *const u8, _: *const u8, out: *mut u8, count: usize) -> bool {
        let count = count * size_of::<T>();
        // SAFETY: as the caller says; numbers have no padding.
        unsafe { stream::copy(cells(one, count), cells_mut(out, count)) };
        true
    }
}

/// The loops of names: of those that take some instructions, and of others.
macro_rules! of_names {
    ($names:ident, $given:ident: $light:ident<$t:ident> $($name:ident)*; $heavy:ident $($other:ident)*) => {
        match $given {
            $($names::$name => compiled::<$light<$t, { $names::$name as usize }>>(),)*
            $($names::$other => plain::<$heavy<$t, { $names::$other as usize }>>,)*
        }
    };
}

/// The loop of an operation of two sides.
pub fn binary<T: Number>(binary: Binary) -> Loop {
    if T::WHOLE && binary == Binary::Div {
        return plain::<HeavyTwo<T, { Binary::Div as usize }>>;
    }
    of_names!(
        Binary, binary:
        Two<T> Add Sub Mul Div Min Max Eq Neq Lt Le Gt Ge And Or;
        HeavyTwo Mod Pow Log
    )
}

/// The loop of two operations at once, the second one of what the first makes and a third side; none for
/// operations that are seldom seen together.
pub fn then(cell: Cell, first: Binary, second: Binary) -> Option<Loop> {
    match cell {
        Cell::F64 => then_of::<f64>(first, second),
        Cell::F32 => then_of::<f32>(first, second),
        _ => None,
    }
}

fn then_of<T: Number>(first: Binary, second: Binary) -> Option<Loop> {
    macro_rules! pairs {
        ($($one:ident $two:ident,)*) => {
            match (first, second) {
                $((Binary::$one, Binary::$two) => Some(compiled::<
                    Then<T, { Binary::$one as usize }, { Binary::$two as usize }>,
                >()),)*
                _ => None,
            }
        };
    }
    pairs!(
        Mul Add, Mul Sub, Mul Mul,
        Add Add, Add Sub, Add Mul,
        Sub Add, Sub Sub, Sub Mul,
    )
}

/// The loop that sums what an operation makes of two sides; none for one that is seldom summed.
pub fn summed(cell: Cell, binary: Binary) -> Option<Loop> {
    match cell {
        Cell::F64 => summed_of::<f64>(binary),
        Cell::F32 => summed_of::<f32>(binary),
        _ => None,
    }
}

fn summed_of<T: Number>(binary: Binary) -> Option<Loop> {
    macro_rules! sums {
        ($($name:ident)*) => {
            match binary {
                $(Binary::$name => Some(compiled::<Summed<T, { Binary::$name as usize }>>()),)*
                _ => None,
            }
        };
    }
    sums!(Add Sub Mul Eq Neq Lt Le Gt Ge)
}

/// The loop of an operation of one side.
pub fn unary<T: Number>(unary: Unary) -> Loop {
    of_names!(
        Unary, unary:
        One<T> Minus Abs Sign Sqrt Round Floor Ceil IsNan;
        HeavyOne Exp Ln Sin Cos Tan Sinh Cosh Tanh Asin Acos Atan
    )
}

/// The loop of a choice.
pub fn choice<T: Number>() -> Loop {
    compiled::<Choice<T>>()
}

/// The loop of a conversion.
pub fn cast<S: Number, T: Number>() -> Loop {
    compiled::<Cast<S, T>>()
}

/// The loop of a division of real numbers by one number, of which [`divide::Divided`] makes its second
/// side; none if this processor divides as fast.
pub fn division(cell: Cell) -> Option<Loop> {
    if !crate::kernels::has_wide_vectors() {
        return None;
    }
    match cell {
        Cell::F64 => Some(compiled::<Division<f64>>()),
        Cell::F32 => Some(compiled::<Division<f32>>()),
        _ => None,
    }
}

/// The loop of a reduction into lanes.
pub fn fold<T: Number>(how: Reduce) -> Loop {
    match how {
        Reduce::Sum => compiled::<Fold<T, 0>>(),
        Reduce::Min => compiled::<Fold<T, 1>>(),
        Reduce::Max => compiled::<Fold<T, 2>>(),
    }
}

/// The loop that writes past the caches; [`stream::fence`] is called when all has been written.
pub fn past<T: Number>() -> Loop {
    compiled::<Past<T>>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_at_their_places() {
        assert!(BINARIES.iter().enumerate().all(|(at, (_, binary))| *binary as usize == at));
        assert!(UNARIES.iter().enumerate().all(|(at, (_, unary))| *unary as usize == at));
        assert!(REDUCTIONS.iter().enumerate().all(|(at, how)| *how as usize == at));
    }
}
