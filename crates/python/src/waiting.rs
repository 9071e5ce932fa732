//! Waiting with the interpreter released.

use freestone_core::net::Cell;
use pyo3::prelude::*;
use std::time::{Duration, Instant};

/// How often a wait looks for Ctrl-C.
const SIGNALS: Duration = Duration::from_millis(50);

/// Waits for a cell with the interpreter released, looking for Ctrl-C. False on timeout.
pub fn wait(py: Python<'_>, cell: &Cell, spin: Duration, timeout_s: Option<f64>) -> PyResult<bool> {
    if cell.is_resolved() {
        return Ok(true);
    }
    wait_until(py, timeout_s, |timeout| cell.wait(spin, timeout))
}

/// Calls what waits for up to a while, with the interpreter released, until it has come to its end,
/// and looks for Ctrl-C between. False on timeout.
pub fn wait_until(
    py: Python<'_>,
    timeout_s: Option<f64>,
    wait: impl Fn(Duration) -> bool + Sync,
) -> PyResult<bool> {
    let end = timeout_s.map(|timeout_s| {
        Instant::now() + Duration::try_from_secs_f64(timeout_s.clamp(0.0, 1e9)).unwrap_or_default()
    });
    loop {
        let left =
            end.map_or(SIGNALS, |end| end.saturating_duration_since(Instant::now()).min(SIGNALS));
        if py.detach(|| wait(left)) {
            return Ok(true);
        }
        py.check_signals()?;
        if end.is_some_and(|end| Instant::now() >= end) {
            return Ok(false);
        }
    }
}
