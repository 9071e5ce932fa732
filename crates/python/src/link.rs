//! What futures hold of their cluster.

use crate::blocks;
use crate::waiting::{wait, wait_until};
use crate::{decoding, figures};
use freestone_base::{Name, WorkerId};
use freestone_core::manager::{Outcome, Request};
use freestone_core::net::{Client, CurrentHome, HomeWorker};
use freestone_core::wire::Output;
use freestone_executor::block::{Mapped, Use};
use pyo3::exceptions::{PyFileNotFoundError, PyRuntimeError, PyTimeoutError};
use pyo3::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// How long a home that has died is waited for: longer than a worker takes to start.
const MAX_TIMEOUT_S: f64 = 60.0;

/// What futures hold of their cluster.
pub struct Link {
    /// For requests.
    pub client: Client,
    /// A weak reference to the `Cluster`, by which futures of two clusters are told apart.
    pub owner: Py<PyAny>,
    /// How long a wait looks before it sleeps.
    pub spin: Duration,
    /// Values up to this size travel in messages.
    pub inline_nbytes: usize,
    /// Where the program's own blocks are written and mapped.
    home: CurrentHome,
}

impl Link {
    /// What futures of a cluster hold, before it has a home.
    pub fn new(client: Client, owner: Py<PyAny>, spin: Duration, inline_nbytes: usize) -> Self {
        Self { client, owner, spin, inline_nbytes, home: CurrentHome::default() }
    }

    /// The worker on this machine.
    pub fn home(&self) -> PyResult<Arc<HomeWorker>> {
        self.home.get().ok_or_else(|| PyRuntimeError::new_err("the cluster has no worker yet"))
    }

    /// The program has a worker of its own, or a new one.
    pub fn set_home(&self, home: HomeWorker) {
        self.home.set(home);
    }

    /// The cluster's home is on this machine: a program without a worker of its own shares it.
    pub fn offer_home(&self, home: HomeWorker) {
        self.home.offer(home);
    }

    /// The worker on this machine, if it had that number, has another.
    pub fn renumber_home(&self, former: WorkerId, worker: WorkerId) {
        self.home.renumber(former, worker);
    }

    /// Waits for another home than a worker that is gone; whether there is one in time.
    fn wait_for_other_home(
        &self,
        py: Python<'_>,
        gone: WorkerId,
        timeout_s: Option<f64>,
    ) -> PyResult<bool> {
        let timeout_s = timeout_s.map_or(MAX_TIMEOUT_S, |timeout_s| timeout_s.min(MAX_TIMEOUT_S));
        let came = |timeout| self.home.wait_for_other(gone, timeout) || self.client.is_closed();
        wait_until(py, Some(timeout_s), came)?;
        Ok(self.home.get().is_some_and(|home| home.worker != gone))
    }

    /// Fetches a block to this machine and decodes it. If the home has died, its successor is
    /// waited for.
    pub fn gather(
        self: &Arc<Self>,
        py: Python<'_>,
        name: Name,
        timeout_s: Option<f64>,
    ) -> PyResult<Py<PyAny>> {
        loop {
            let worker = self.home()?.worker;
            let cell = self.client.ask(|ticket| Request::Gather { name, worker, ticket });
            if !wait(py, &cell, self.spin, timeout_s)? {
                let problem = format!("block {name} was not gathered in time");
                return Err(PyTimeoutError::new_err(problem));
            }
            let outcome = cell.outcome();
            let is_gone = outcome.as_ref().is_some_and(|outcome| outcome.lacks(worker));
            if is_gone && self.wait_for_other_home(py, worker, timeout_s)? {
                continue;
            }
            let taken = self.take(py, name, worker, outcome);
            let is_swept = |error: &PyErr| error.is_instance_of::<PyFileNotFoundError>(py);
            // The file was there until the home died, and its successor has removed it.
            if !taken.as_ref().is_err_and(is_swept)
                || !self.wait_for_other_home(py, worker, timeout_s)?
            {
                return taken;
            }
        }
    }

    /// Decodes what a gather has given.
    fn take(
        self: &Arc<Self>,
        py: Python<'_>,
        name: Name,
        worker: WorkerId,
        outcome: Option<Outcome>,
    ) -> PyResult<Py<PyAny>> {
        match outcome {
            Some(Outcome::Ready(Output::Inline(bytes))) => {
                Ok(decoding::decode_inline(py, bytes.as_slice())?.unbind())
            }
            Some(Outcome::Pinned { block, path }) => {
                let client = self.client.clone();
                let unpin = move || client.request(Request::Unpin { name, worker });
                let mapped = Mapped::new(path, block.form, name, Box::new(unpin));
                blocks::load(py, &mapped, Use::Long)
            }
            Some(Outcome::Failed(failure)) => {
                let maker = py.import("freestone.errors.failures")?.getattr("error_of")?;
                Err(PyErr::from_value(maker.call1((figures::failure(py, &failure)?,))?))
            }
            other => Err(PyRuntimeError::new_err(format!("gathering {name} gave {other:?}"))),
        }
    }
}
