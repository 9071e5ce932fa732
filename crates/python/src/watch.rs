//! Waiting for many futures at once.

use crate::future::FutureBase;
use freestone_core::net::Completions;
use pyo3::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// Tells which futures are resolved, in the order in which they are.
#[pyclass(frozen, module = "freestone._native.manager")]
#[derive(Default)]
pub struct Watch {
    completions: Arc<Completions>,
}

#[pymethods]
impl Watch {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// `take` tells `key` once `future` is resolved.
    fn add(&self, future: &FutureBase, key: u64) -> PyResult<()> {
        future.reference()?.cell.listen(&self.completions, key);
        Ok(())
    }

    /// Makes `take` tell `key` now.
    fn push(&self, key: u64) {
        self.completions.push(key);
    }

    /// Keys of futures resolved since the last call, after waiting for one up to `timeout_s`.
    fn take(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Vec<u64>> {
        let timeout = Duration::try_from_secs_f64(timeout_s.clamp(0.0, 1e9)).unwrap_or_default();
        let keys = py.detach(|| self.completions.take(timeout));
        py.check_signals()?;
        Ok(keys)
    }
}
