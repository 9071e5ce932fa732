//! Arguments of calls that may be of a wrong type: the error says which value it was, and what to give.

use crate::durations::seconds;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::time::Duration;

/// More of a value than people read.
const MAX_SHOWN: usize = 80;

/// The identifier of an event.
#[derive(Clone, Copy)]
pub struct Id<'a>(pub &'a str);

impl<'a, 'py> FromPyObject<'a, 'py> for Id<'a> {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        identifier(value, "id").map(Self)
    }
}

/// The name of a lock or of a task.
#[derive(Clone, Copy)]
pub struct Name<'a>(pub &'a str);

impl<'a, 'py> FromPyObject<'a, 'py> for Name<'a> {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        text(value, "name", "a name is a str, such as 'table'").map(Self)
    }
}

/// A time, given in seconds.
#[derive(Clone, Copy)]
pub struct Seconds(pub Duration);

impl<'a, 'py> FromPyObject<'a, 'py> for Seconds {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let must = "a time is a number of seconds, such as 0.5";
        let given = value.extract().map_err(|_| wrong(&value, "time", must))?;
        seconds(given).map(Self)
    }
}

/// How busy a machine is.
#[derive(Clone, Copy)]
pub struct Load(pub f64);

impl<'a, 'py> FromPyObject<'a, 'py> for Load {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let must = "a load is a number of processes, such as 2.0";
        let load: f64 = value.extract().map_err(|_| wrong(&value, "load", must))?;
        if load.is_nan() {
            return Err(PyValueError::new_err(format!("load={load}: {must}")));
        }
        Ok(Self(load))
    }
}

/// The number of an open file.
#[derive(Clone, Copy)]
pub struct Descriptor(pub i32);

impl<'a, 'py> FromPyObject<'a, 'py> for Descriptor {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let must = "give a descriptor, or an open file, socket or pipe";
        let number = integer(&value).ok_or_else(|| wrong(&value, "file", must))?;
        let descriptor = number.ok().and_then(|number| i32::try_from(number).ok());
        let none = || PyValueError::new_err(format!("file={}: {must}", shown(&value)));
        descriptor.map(Self).ok_or_else(none)
    }
}

/// Whether something is so, as `what` of a call.
pub fn flag(value: &Bound<'_, PyAny>, what: &str) -> PyResult<bool> {
    value.extract().map_err(|_| wrong(value, what, "give True or False"))
}

/// An integer that is too large for any use.
#[derive(Clone, Copy, Debug)]
pub struct TooLarge;

/// What has `__index__`, as a number; none of anything else.
pub fn integer(value: &Bound<'_, PyAny>) -> Option<Result<i64, TooLarge>> {
    match value.extract() {
        Ok(number) => Some(Ok(number)),
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => Some(Err(TooLarge)),
        Err(_) => None,
    }
}

/// An event's identifier, as `what` of a call.
pub fn identifier<'a>(value: Borrowed<'a, '_, PyAny>, what: &str) -> PyResult<&'a str> {
    text(value, what, "an event's identifier is a str, such as 'field'")
}

/// Refuses what is no identifier, as `what` of a call.
#[pyfunction]
pub fn check_id(value: &Bound<'_, PyAny>, what: &str) -> PyResult<()> {
    identifier(value.as_borrowed(), what).map(drop)
}

fn text<'a>(value: Borrowed<'a, '_, PyAny>, what: &str, must: &str) -> PyResult<&'a str> {
    value.extract().map_err(|_| {
        if value.is_instance_of::<PyString>() {
            let shown = shown(&value);
            return PyValueError::new_err(format!("{what}={shown} can't be written in UTF-8"));
        }
        wrong(&value, what, must)
    })
}

/// The error for a value of a wrong type.
pub fn wrong(value: &Bound<'_, PyAny>, what: &str, must: &str) -> PyErr {
    PyTypeError::new_err(format!("{what}={} is of type {}: {must}", shown(value), kind(value)))
}

/// A value, for people.
pub fn shown(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
    if text.chars().count() <= MAX_SHOWN {
        return text;
    }
    let first: String = text.chars().take(MAX_SHOWN).collect();
    format!("{first}...")
}

fn kind(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string())
}
