//! What futures hold of their cluster.

use crate::blocks::{self, Home, Mapped};
use crate::future::wait;
use crate::{codec, figures};
use freestone_base::Name;
use freestone_core::manager::{Outcome, Request};
use freestone_core::net::Client;
use freestone_core::wire::Output;
use pyo3::exceptions::{PyRuntimeError, PyTimeoutError};
use pyo3::prelude::*;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

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
    pub home: RwLock<Option<Arc<Home>>>,
}

impl Link {
    /// The worker on this machine.
    pub fn home(&self) -> PyResult<Arc<Home>> {
        let home = self.home.read().unwrap_or_else(PoisonError::into_inner);
        home.clone().ok_or_else(|| PyRuntimeError::new_err("the cluster has no worker yet"))
    }

    /// Fetches a block to this machine and decodes it.
    pub fn gather(
        self: &Arc<Self>,
        py: Python<'_>,
        name: Name,
        timeout_s: Option<f64>,
    ) -> PyResult<Py<PyAny>> {
        let home = self.home()?;
        let worker = home.worker;
        let cell = self.client.ask(|ticket| Request::Gather { name, worker, ticket });
        if !wait(py, &cell, self.spin, timeout_s)? {
            return Err(PyTimeoutError::new_err(format!("block {name} was not gathered in time")));
        }
        match cell.outcome() {
            Some(Outcome::Ready(Output::Inline(bytes))) => {
                Ok(codec::decode_inline(py, bytes.as_slice())?.unbind())
            }
            Some(Outcome::Pinned { block, path }) => {
                let client = self.client.clone();
                let unpin = move || client.request(Request::Unpin { name, worker });
                blocks::load(py, &Mapped::new(path, block.form, name, Box::new(unpin)))
            }
            Some(Outcome::Failed(failure)) => {
                let maker = py.import("freestone.failures")?.getattr("error_of")?;
                Err(PyErr::from_value(maker.call1((figures::failure(py, &failure)?,))?))
            }
            other => Err(PyRuntimeError::new_err(format!("gathering {name} gave {other:?}"))),
        }
    }
}
