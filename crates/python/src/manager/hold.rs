//! An entry of a lock or semaphore, which ends at the latest with the task or program that has it.

use super::Manager;
use crate::executor::outbox;
use crate::waiting::wait;
use freestone_base::WorkerId;
use freestone_core::manager::{Entry, LockRequest, Outcome, SharedRequest};
use freestone_core::net::{Cell, Client};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Entries are numbered over all clusters of this process.
static HOLDS: AtomicU64 = AtomicU64::new(0);

/// The number of the next entry.
pub(super) fn next_hold() -> u64 {
    HOLDS.fetch_add(1, Ordering::Relaxed)
}

struct Inner {
    number: u64,
    client: Client,
    has_left: AtomicBool,
}

impl Inner {
    fn leave(&self) {
        if !self.has_left.swap(true, Ordering::AcqRel) {
            self.client.request(SharedRequest::Leave { hold: self.number }.into());
        }
    }
}

/// An entry of a lock or semaphore.
#[pyclass(frozen, weakref, module = "freestone._native.manager")]
pub struct LockHold {
    inner: Arc<Inner>,
    spin: Duration,
    entered: Cell,
}

impl LockHold {
    /// What is resolved when it is in, or never will be.
    pub(crate) fn awaited(&self) -> Cell {
        let hold = self.inner.number;
        self.inner.client.ask(|ticket| LockRequest::Await { hold, ticket }.into())
    }
}

#[pymethods]
impl LockHold {
    /// Lines up, or goes in at once if there is room: `entry` says which.
    #[new]
    #[pyo3(signature = (manager, title, limit, holder, worker))]
    fn new(
        py: Python<'_>,
        manager: &Manager,
        title: String,
        limit: Option<u32>,
        holder: String,
        worker: Option<u32>,
    ) -> PyResult<Self> {
        let limit = limit
            .map(|limit| {
                NonZeroU32::new(limit).ok_or_else(|| PyValueError::new_err("it lets nobody in"))
            })
            .transpose()?;
        let client = manager.link.client.clone();
        let hold = next_hold();
        let worker = worker.map(WorkerId);
        let entered = client
            .ask(|ticket| LockRequest::Enter { title, limit, hold, holder, worker, ticket }.into());
        let inner = Arc::new(Inner { number: hold, client, has_left: AtomicBool::new(false) });
        if let Some(outbox) = outbox() {
            let inner = Arc::clone(&inner);
            outbox.at_end(hold, Box::new(move || inner.leave()));
        }
        let hold = Self { inner, spin: manager.link.spin, entered };
        // An interrupted wait drops it, and leaves.
        wait(py, &hold.entered, hold.spin, None)?;
        Ok(hold)
    }

    /// `granted`, `queued` with some of those who are in, `other` with how many the name lets in
    /// (None for a lock), or `closed`.
    #[getter]
    fn entry(&self) -> (&'static str, Option<u32>, Vec<String>) {
        match self.entered.outcome() {
            Some(Outcome::Entered(Entry::Granted)) => ("granted", None, Vec::new()),
            Some(Outcome::Entered(Entry::Queued { holders })) => ("queued", None, holders),
            Some(Outcome::Entered(Entry::Other { limit })) => {
                ("other", limit.map(NonZeroU32::get), Vec::new())
            }
            _ => ("closed", None, Vec::new()),
        }
    }

    /// Waits until it is in: `granted`, `waiting` when the time is over, `ended` if it never will
    /// be, or `closed`.
    fn wait(&self, py: Python<'_>, timeout_s: f64) -> PyResult<&'static str> {
        let cell = self.awaited();
        if !wait(py, &cell, self.spin, Some(timeout_s))? {
            return Ok("waiting");
        }
        Ok(match cell.outcome() {
            Some(Outcome::Accepted(true)) => "granted",
            Some(Outcome::Accepted(false)) => "ended",
            _ => "closed",
        })
    }

    /// Whether it has ended, also with the task that had it.
    #[getter]
    fn has_left(&self) -> bool {
        self.inner.has_left.load(Ordering::Acquire)
    }

    /// Ends it, whether it is in or in line.
    fn leave(&self) {
        self.inner.leave();
        if let Some(outbox) = outbox() {
            outbox.forget_end(self.inner.number);
        }
    }
}

impl Drop for LockHold {
    fn drop(&mut self) {
        self.leave();
    }
}
