//! Times to wait, as Python says them.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::time::Duration;

/// Longer than any run lasts, and short enough to be added to the time that it is.
const MAX: Duration = Duration::from_secs(1_000_000_000);

/// So many seconds; what is longer than any run lasts is cut off.
pub fn seconds(value: f64) -> PyResult<Duration> {
    match Duration::try_from_secs_f64(value.min(MAX.as_secs_f64())) {
        Ok(duration) if !value.is_nan() => Ok(duration),
        _ => Err(PyValueError::new_err(format!("{value} s is no time to wait"))),
    }
}

/// So many microseconds, cut off as well.
pub fn microseconds(value: u64) -> Duration {
    Duration::from_micros(value).min(MAX)
}
