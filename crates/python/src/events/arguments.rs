//! Arguments of calls that may be of a wrong type: the error says which value it was, and what to give.

use crate::durations::seconds;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::time::Duration;

/// More of a value than people read.
const MAX_SHOWN: usize = 80;

/// The identifier of an event.
#[derive(Clone, Copy)]
pub struct Id<'a>(pub &'a str);

impl<'a, 'py> FromPyObject<'a, 'py> for Id<'a> {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let must = "an event's identifier is a str, such as 'field'";
        value.extract().map(Self).map_err(|_| wrong(&value, "id", must))
    }
}

/// The name of a lock or of a task.
#[derive(Clone, Copy)]
pub struct Name<'a>(pub &'a str);

impl<'a, 'py> FromPyObject<'a, 'py> for Name<'a> {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let must = "a name is a str, such as 'table'";
        value.extract().map(Self).map_err(|_| wrong(&value, "name", must))
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
