//! The bytes of a payload, where they are.

use crate::view::fill_read_only;
use freestone_events::Payload;
use pyo3::prelude::*;
use std::ffi::c_int;

/// The bytes of a payload, as a read-only buffer; they stay as long as it does.
#[pyclass(frozen, module = "freestone._native.events")]
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
        let bytes = slf.get().payload.bytes();
        // SAFETY: `view` is valid by the protocol; the bytes live as long as `slf`, and do not move
        // as the object does not.
        unsafe {
            fill_read_only(
                &slf,
                bytes,
                view,
                flags,
                "what an event carries is read-only: copy to change",
            )
        }
    }

    fn __len__(&self) -> usize {
        self.payload.bytes().len()
    }
}
