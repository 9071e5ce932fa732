//! The times and bounds of runs that only the environment sets.

use super::mpi::failed;
use freestone_events::limits;
use pyo3::prelude::*;

/// Raises `ConfigurationError` for a variable that makes no sense.
#[pyfunction]
pub fn renew_limits() -> PyResult<()> {
    limits::renew().map_err(failed)
}

/// How often it is looked whether a run goes on without a lost rank.
#[pyfunction]
pub fn loss_interval_s() -> f64 {
    limits::get().loss_interval.as_secs_f64()
}

/// Each limit: its variable, its unit, its default, what it is for, and whether all ranks need the same.
#[pyfunction]
pub fn limit_rows() -> Vec<(&'static str, &'static str, String, &'static str, bool)> {
    let row =
        |row: limits::Row| (row.variable, row.unit, row.default, row.about.trim(), row.is_shared);
    limits::rows().into_iter().map(row).collect()
}
