//! Waiting for many futures, and entries of shared state, at once.

use crate::future::FutureBase;
use crate::manager::{LockHold, SharedItem};
use freestone_core::net::Completions;
use pyo3::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// What can be waited for with others.
#[derive(FromPyObject)]
pub enum Awaited<'py> {
    /// A future.
    Future(PyRef<'py, FutureBase>),
    /// An entry of a queue or variable.
    Item(PyRef<'py, SharedItem>),
    /// An entry of a lock or semaphore.
    Hold(PyRef<'py, LockHold>),
}

/// Tells which of them are resolved, in the order in which they are.
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

    /// `take` tells `key` once what is awaited is resolved.
    fn add(&self, awaited: Awaited<'_>, key: u64) -> PyResult<()> {
        let completions = &self.completions;
        match awaited {
            Awaited::Future(future) => future.reference()?.cell.listen(completions, key),
            Awaited::Item(item) => item.awaited().listen(completions, key),
            Awaited::Hold(hold) => hold.awaited().listen(completions, key),
        }
        Ok(())
    }

    /// Makes `take` tell `key` now.
    fn push(&self, key: u64) {
        self.completions.push(key);
    }

    /// Keys of what was resolved since the last call, after waiting for one up to `timeout_s`.
    fn take(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Vec<u64>> {
        let timeout = Duration::try_from_secs_f64(timeout_s.clamp(0.0, 1e9)).unwrap_or_default();
        let keys = py.detach(|| self.completions.take(timeout));
        py.check_signals()?;
        Ok(keys)
    }
}
