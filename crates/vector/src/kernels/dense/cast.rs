//! Conversions of cells.

use super::each;
use crate::cell::Number;

/// Converts cells as compiled code does: floats are truncated, whole numbers wrap around.
///
/// # Panics
///
/// If there are fewer cells than `out` has.
pub fn run<S: Number, T: Number>(cells: &[S], out: &mut [T]) {
    let (count, none) = (out.len(), std::ptr::null());
    let cells = &cells[..count];
    // SAFETY: both have so many cells, of these types, and no cell is in both.
    unsafe {
        each::cast::<S, T>()(cells.as_ptr().cast(), none, none, out.as_mut_ptr().cast(), count);
    }
}
