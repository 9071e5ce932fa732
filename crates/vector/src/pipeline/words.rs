//! Numbers of any type as words: what a task has reduced so far.

use crate::cell::{Cell, Number};
use crate::kernels::dense::reduce::Reduce;
use crate::with_cell;

/// What a reduction of no cells of this type gives.
pub fn start(how: Reduce, cell: Cell) -> u64 {
    with_cell!(cell, T => bits(how.start::<T>()))
}

/// The word of a number.
pub fn bits<T: Number>(value: T) -> u64 {
    let mut word = 0_u64;
    // SAFETY: a number has at most eight bytes.
    unsafe { std::ptr::from_mut(&mut word).cast::<T>().write(value) };
    word
}

/// The number of a word, which was made of one of this type.
pub fn number<T: Number>(word: u64) -> T {
    // SAFETY: a word has as many bytes as any number, and numbers are of any bits.
    unsafe { std::ptr::from_ref(&word).cast::<T>().read() }
}
