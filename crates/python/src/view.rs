//! Read-only bytes of Rust's, as the buffers of Python objects.

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
    let start = bytes.as_ptr() as *mut c_void;
    // SAFETY: as the caller promises.
    let filled = unsafe {
        PyBuffer_FillInfo(view, owner.as_ptr(), start, bytes.len().cast_signed(), 1, flags)
    };
    if filled == 0 { Ok(()) } else { Err(PyErr::fetch(owner.py())) }
}
