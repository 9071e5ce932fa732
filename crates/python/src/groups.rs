//! Results that are kept as the names of a call's inputs.

use crate::{decoding, pickling};
use pyo3::prelude::*;

/// A result that is kept as the names of the call's inputs, not as their bytes.
#[pyclass(frozen, module = "freestone._native.blocks")]
pub struct Group {
    /// The value, in this executor.
    #[pyo3(get)]
    pub value: Py<PyAny>,
    /// Makes it again from the call's arguments, in others.
    #[pyo3(get)]
    pub make: Py<PyAny>,
}

#[pymethods]
impl Group {
    #[new]
    fn new(value: Py<PyAny>, make: Py<PyAny>) -> Self {
        Self { value, make }
    }
}

/// Makes the value of a group from its pickled function and the call's arguments.
pub fn make(
    py: Python<'_>,
    make: &[u8],
    arguments: &[u8],
    members: Vec<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let make = pickling::unpickled(py, make)?;
    let (arguments, keywords) = decoding::decode_arguments(py, arguments, members)?;
    Ok(make.call(arguments, keywords.as_ref())?.unbind())
}
