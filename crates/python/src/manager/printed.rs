//! What tasks have printed, for Python.

use super::Manager;
use crate::durations::seconds;
use freestone_core::wire::{PrintedOf, Stream};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::time::Duration;

/// How often a thread that waits looks for Ctrl-C.
const SIGNALS_INTERVAL: Duration = Duration::from_millis(500);

/// The name of the task's first output, its function, its worker, whether this program waits for it,
/// what it is of, the text or samples, and how many bytes before it were left out.
pub(super) type Piece<'py> =
    (Option<String>, String, u32, bool, &'static str, Bound<'py, PyBytes>, u64);

impl Manager {
    pub(super) fn await_printed(&self, py: Python<'_>, timeout_s: f64) -> PyResult<bool> {
        let mut left = seconds(timeout_s)?;
        loop {
            let slice = left.min(SIGNALS_INTERVAL);
            if py.detach(|| self.link.client.printed().wait(slice)) {
                return Ok(true);
            }
            left -= slice;
            if left.is_zero() {
                return Ok(false);
            }
            py.check_signals()?;
        }
    }

    pub(super) fn printed<'py>(&self, py: Python<'py>) -> (Vec<Piece<'py>>, u64) {
        let (pieces, left_out) = self.link.client.printed().take();
        let piece = |PrintedOf { name, label, worker, is_own, printed }: PrintedOf| {
            let text = PyBytes::new(py, printed.text.as_slice());
            let name = name.map(|name| name.to_string());
            let stream = match printed.stream {
                Stream::Output => "stdout",
                Stream::Error => "stderr",
                Stream::Profile => "profile",
            };
            (name, label, worker.0, is_own, stream, text, printed.left_out)
        };
        (pieces.into_iter().map(piece).collect(), left_out)
    }
}
