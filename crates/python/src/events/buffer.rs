//! The bytes of a payload, where they are.

use freestone_events::Payload;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use std::ffi::{c_int, c_void};

/// The bytes of a payload, as a read-only buffer; they stay as long as it does.
#[pyclass(frozen, module = "freestone._native")]
pub struct EventBuffer {
    payload: Payload,
}

impl EventBuffer {
    /// The bytes of `payload`.
    pub fn new(payload: Payload) -> Self {
        Self { payload }
    }
}

#[pymethods]
impl EventBuffer {
    #[allow(clippy::needless_pass_by_value)] // as the protocol wants it
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut pyo3::ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        if flags & pyo3::ffi::PyBUF_WRITABLE != 0 {
            return Err(PyBufferError::new_err(
                "what an event carries is read-only: copy to change",
            ));
        }
        let bytes = slf.get().payload.bytes();
        // SAFETY: `view` is valid by the protocol; the bytes live as long as `slf`, which the
        // view holds, and do not move as the object does not.
        let filled = unsafe {
            pyo3::ffi::PyBuffer_FillInfo(
                view,
                slf.as_ptr(),
                bytes.as_ptr() as *mut c_void,
                bytes.len().cast_signed(),
                1,
                flags,
            )
        };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }

    fn __len__(&self) -> usize {
        self.payload.bytes().len()
    }
}
