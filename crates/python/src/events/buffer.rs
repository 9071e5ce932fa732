//! The bytes of a payload, where they are.

use crate::view::buffer_class;
use freestone_events::Payload;
use pyo3::prelude::*;

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

buffer_class!(
    EventBuffer,
    read_only: "what an event carries is read-only: copy to change",
    |this| this.payload.bytes()
);
