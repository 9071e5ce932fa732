//! Bytes of Rust's, as the buffers of Python objects.

/// Gives a class the buffer protocol and a length, with its other methods behind a semicolon:
/// `read_only: REFUSAL` for bytes that stay as they are while the object lives, or `writable` for
/// those of a pointer and a length that are nobody else's.
macro_rules! buffer_class {
    ($class:ident, read_only: $refusal:literal, |$this:ident| $bytes:expr) => {
        buffer_class!(@methods $class, |$this| $bytes.len(), |slf, view, flags| {
            let $this = slf.get();
            // SAFETY: `view` is valid by the protocol; the bytes live as long as the object, and
            // neither change nor move.
            unsafe { $crate::view::fill_read_only(&slf, &$bytes, view, flags, $refusal) }
        };);
    };
    ($class:ident, writable, |$this:ident| $memory:expr; $($methods:tt)*) => {
        buffer_class!(@methods $class, |$this| $memory.len(), |slf, view, flags| {
            let $this = slf.get();
            let (start, length) = ($memory.address(), $memory.len());
            // SAFETY: `view` is valid by the protocol; the memory lives as long as the object.
            unsafe { $crate::view::fill(&slf, start, length, false, view, flags) }
        }; $($methods)*);
    };
    (
        @methods $class:ident, |$this:ident| $length:expr, |$slf:ident, $view:ident, $flags:ident|
        $fill:block; $($methods:tt)*
    ) => {
        // PyO3's own unsafe function calls ours, and lints take that for code of this crate.
        #[allow(unsafe_op_in_unsafe_fn)]
        const _: () = {
            #[pyo3::pymethods]
            impl $class {
                $($methods)*

                #[allow(clippy::needless_pass_by_value)] // as the protocol wants it
                unsafe fn __getbuffer__(
                    $slf: pyo3::Bound<'_, Self>,
                    $view: *mut pyo3::ffi::Py_buffer,
                    $flags: std::ffi::c_int,
                ) -> pyo3::PyResult<()> {
                    $fill
                }

                fn __len__(&self) -> usize {
                    let $this = self;
                    $length
                }
            }
        };
    };
}
pub(crate) use buffer_class;

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
