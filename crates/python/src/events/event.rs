//! An event, as a task gets it.

use super::buffer::EventBuffer;
use super::words::{self, Held};
use crate::pickling::cached;
use freestone_events::{Data, Event as CoreEvent, Lasting, Payload};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyString};

/// An event, as a task gets it.
#[pyclass(frozen, module = "freestone._native.events")]
pub struct Event {
    event: CoreEvent<Payload>,
    data: PyOnceLock<Py<PyAny>>,
}

impl Event {
    /// What the core delivered.
    pub fn new(event: CoreEvent<Payload>) -> Self {
        Self { event, data: PyOnceLock::new() }
    }

    fn decode(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let payload = &self.event.payload;
        if let Data::Value(value) = &payload.data {
            return match value.downcast_ref::<Held>() {
                Some(Held(value)) => Ok(value.clone_ref(py)),
                None => Ok(py.None()),
            };
        }
        let bytes = payload.bytes();
        match (payload.kind, bytes.len()) {
            (words::NONE, _) => Ok(py.None()),
            (words::LONG, 8) => i64::from_le_bytes(word(bytes)).into_py_any(py),
            (words::DOUBLE, 8) => f64::from_le_bytes(word(bytes)).into_py_any(py),
            (words::BOOL, 1) => (bytes[0] != 0).into_py_any(py),
            (words::BYTE, _) => PyBytes::new(py, bytes).into_py_any(py),
            (kind, _) => {
                static CELL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
                if let (words::TEXT, Ok(text)) = (kind, str::from_utf8(bytes)) {
                    return PyString::new(py, text).into_py_any(py);
                }
                let decode = cached(py, &CELL, "freestone.events.payload", "decode")?;
                let buffer = Py::new(py, EventBuffer::new(payload.clone()))?;
                Ok(decode.call1((kind, buffer, self.id(), self.source()))?.unbind())
            }
        }
    }
}

fn word(bytes: &[u8]) -> [u8; 8] {
    bytes.try_into().expect("eight bytes were asked for")
}

#[pymethods]
impl Event {
    /// The rank that fired it.
    #[getter]
    fn source(&self) -> u32 {
        self.event.source
    }

    /// Its identifier.
    #[getter]
    fn id(&self) -> String {
        self.event.id.to_string()
    }

    /// Whether it is fired again each time it is consumed.
    #[getter]
    fn persistent(&self) -> bool {
        self.event.lasting == Lasting::Persistent
    }

    /// The bytes that it carries.
    #[getter]
    fn nbytes(&self) -> usize {
        self.event.payload.bytes().len()
    }

    /// What it carries; decoded when it is first asked for.
    #[getter]
    fn data(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let data = self.data.get_or_try_init(py, || self.decode(py))?;
        Ok(data.clone_ref(py))
    }

    fn __repr__(&self) -> String {
        let CoreEvent { source, id, payload, .. } = &self.event;
        format!("<Event '{id}' from rank {source}: {:?}>", payload.data)
    }
}
