//! Bytes of Rust's, as the buffers of Python objects.

use pyo3::exceptions::PyBufferError;
use pyo3::ffi::{Py_buffer, PyBUF_WRITABLE, PyBuffer_FillInfo};
use pyo3::prelude::*;
use std::ffi::{c_int, c_void};

/// Fills `view` with `bytes`; who asks for bytes to write into is told `refusal`.
///
/// # Safety
///
/// `view` is valid, as the buffer protocol has it, and `bytes` neither change nor move while `owner`
/// lives, which the view holds.
pub unsafe fn fill_read_only<T>(
    owner: &Bound<'_, T>,
    bytes: &[u8],
    view: *mut Py_buffer,
    flags: c_int,
    refusal: &'static str,
) -> PyResult<()> {
    if flags & PyBUF_WRITABLE != 0 {
        return Err(PyBufferError::new_err(refusal));
    }
    // SAFETY: as the caller promises.
    unsafe { fill(owner, bytes.as_ptr().cast_mut(), bytes.len(), true, view, flags) }
}

/// Fills `view` with the bytes from `start` on.
///
/// # Safety
///
/// As for [`fill_read_only`]; bytes that are not read-only are nobody else's.
pub unsafe fn fill<T>(
    owner: &Bound<'_, T>,
    start: *mut u8,
    length: usize,
    read_only: bool,
    view: *mut Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    let (start, length) = (start.cast::<c_void>(), length.cast_signed());
    // SAFETY: as the caller promises.
    let filled = unsafe {
        PyBuffer_FillInfo(view, owner.as_ptr(), start, length, c_int::from(read_only), flags)
    };
    if filled == 0 { Ok(()) } else { Err(PyErr::fetch(owner.py())) }
}
