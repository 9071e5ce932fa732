//! Arrays of Python by their address and length, and what is named by text or by number.

use freestone_vector::cell::Cell;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// An array: its address, and how many items it has.
pub type Raw = (usize, usize);
/// Three arrays.
pub type Raws = (Raw, Raw, Raw);

/// The error for a name that nothing has.
pub fn unknown(what: &str, name: &str) -> PyErr {
    PyValueError::new_err(format!("there is no {what} {name:?}"))
}

/// The type of cells of a code.
pub fn cell_of(code: u8) -> PyResult<Cell> {
    Cell::of_code(code).ok_or_else(|| unknown("cell type", &code.to_string()))
}

/// The items of an array.
///
/// # Safety
///
/// The array has to be there, with items of this type, and nobody may change it meanwhile.
pub unsafe fn items<'a, T>((address, length): Raw) -> &'a [T] {
    if length == 0 {
        return &[];
    }
    // SAFETY: the caller knows.
    unsafe { std::slice::from_raw_parts(address as *const T, length) }
}

/// The items of an array, to be written.
///
/// # Safety
///
/// As for [`items`], and nobody else may have it.
pub unsafe fn items_mut<'a, T>((address, length): Raw) -> &'a mut [T] {
    if length == 0 {
        return &mut [];
    }
    // SAFETY: the caller knows.
    unsafe { std::slice::from_raw_parts_mut(address as *mut T, length) }
}

/// Runs a kernel with the Rust type of a code's cells, while other threads of Python's go on.
///
/// The body is unsafe: the module's arrays are as it says.
macro_rules! with_code {
    ($py:expr, $code:expr, $type:ident => $body:expr) => {{
        let cell = $crate::vector::raw::cell_of($code)?;
        // SAFETY: the arrays are there, of these cells, until the call returns.
        $py.detach(|| freestone_vector::with_cell!(cell, $type => unsafe { $body }))
    }};
}
pub(super) use with_code;
