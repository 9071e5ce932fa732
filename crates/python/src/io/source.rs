//! Bytes that Python names: a file's path, a buffer, or an object that reads at an offset.

use freestone_io::Source;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::fs::File;
use std::io;
use std::path::PathBuf;

/// Where bytes come from.
pub enum Input {
    /// A file of this machine.
    File(File),
    /// Bytes in memory.
    Bytes(PyBuffer<u8>),
    /// An object with `nbytes` and `read_at(offset, nbytes)`.
    Object(Py<PyAny>),
}

impl Input {
    /// Opens what Python names.
    pub fn open(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if value.hasattr("read_at")? {
            return Ok(Self::Object(value.clone().unbind()));
        }
        if let Ok(path) = value.extract::<PathBuf>() {
            let file = File::open(&path).map_err(|error| {
                let code = error.raw_os_error().unwrap_or_default();
                let text = error.to_string();
                pyo3::exceptions::PyOSError::new_err((code, text, path.display().to_string()))
            })?;
            return Ok(Self::File(file));
        }
        let bytes = PyBuffer::get(value).map_err(|_| {
            PyTypeError::new_err("bytes come from a path, a buffer, or an object with read_at")
        })?;
        Ok(Self::Bytes(bytes))
    }
}

/// The bytes of a buffer that is contiguous.
fn bytes_of(buffer: &PyBuffer<u8>) -> &[u8] {
    crate::pickling::buffer_bytes(buffer)
}

impl Source for Input {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::File(file) => Source::read_at(file, buffer, offset),
            Self::Bytes(bytes) => bytes_of(bytes).read_at(buffer, offset),
            Self::Object(object) => Python::attach(|py| {
                let found = object.bind(py).call_method1("read_at", (offset, buffer.len()))?;
                let found = PyBuffer::<u8>::get(&found)?;
                let found = bytes_of(&found);
                let count = found.len().min(buffer.len());
                buffer[..count].copy_from_slice(&found[..count]);
                Ok(count)
            })
            .map_err(io::Error::other::<PyErr>),
        }
    }

    fn nbytes(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => Source::nbytes(file),
            Self::Bytes(bytes) => Ok(bytes.len_bytes() as u64),
            Self::Object(object) => {
                Python::attach(|py| object.bind(py).getattr("nbytes")?.extract())
                    .map_err(io::Error::other::<PyErr>)
            }
        }
    }
}
