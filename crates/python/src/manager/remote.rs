//! A manager in another process, and what outlives the programs that use it.

use super::{Manager, Thread, unexpected};
use crate::access;
use crate::blocks::open_home;
use crate::durations::microseconds;
use crate::executor;
use crate::future::names_of;
use crate::link::Link;
use freestone_base::{Name, WorkerId};
use freestone_core::manager::{Outcome, Publication, Request};
use freestone_core::net::remote::{OnPrinted, RemoteOptions, RemoteThread};
use freestone_core::net::{HomeWorker, boot_id};
use freestone_core::session::HomeCache;
use freestone_core::store::random_name;
use freestone_core::wire::{Address, PrintedOf, Stream};
use pyo3::exceptions::{PyConnectionError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyType};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

/// Passes on where the program's blocks go, also what came before there was a link.
#[derive(Default)]
struct Homes {
    link: OnceLock<Weak<Link>>,
    early: Mutex<Option<HomeWorker>>,
}

impl Homes {
    /// The manager's home is this program's if they share a machine and its files.
    fn on_home(&self, home: &HomeCache, boot: &str) {
        if boot != boot_id() {
            return;
        }
        let HomeCache { worker, memory, disk } = home;
        let Ok(home) = open_home(*worker, [(&memory.0, memory.1), (&disk.0, disk.1)]) else {
            return;
        };
        match self.link.get() {
            Some(link) => {
                if let Some(link) = link.upgrade() {
                    link.offer_home(home);
                }
            }
            None => *self.early.lock().unwrap_or_else(PoisonError::into_inner) = Some(home),
        }
    }

    /// The program's own worker has reconnected: its cache is where it was.
    fn on_renumbered(&self, former: WorkerId, worker: WorkerId) {
        if let Some(link) = self.link.get().and_then(Weak::upgrade) {
            link.renumber_home(former, worker);
        }
    }
}

/// Prints what a task has printed.
fn print_here(piece: &PrintedOf) {
    let text = piece.printed.text.as_slice();
    // Where nobody reads, nobody misses it.
    let _ = match piece.printed.stream {
        Stream::Error => io::stderr().write_all(text),
        Stream::Output => {
            let mut output = io::stdout().lock();
            output.write_all(text).and_then(|()| output.flush())
        }
        // The manager's program has it as well.
        Stream::Profile => Ok(()),
    };
}

impl Manager {
    /// Connects to the manager at an address.
    pub(super) fn connected(
        py: Python<'_>,
        (address, key, identity): (&str, String, Option<(String, String)>),
        (owner, future): (Py<PyAny>, Py<PyType>),
        (spin_us, reconnect): (u64, Duration),
        inline_nbytes: usize,
    ) -> PyResult<Self> {
        let address: Address =
            address.parse().map_err(|error| PyValueError::new_err(format!("{error}")))?;
        let access = identity.map(access::read).transpose()?;
        let homes = Arc::new(Homes::default());
        let of_thread = Arc::clone(&homes);
        let on_home = Box::new(move |home: &HomeCache, boot: &str| of_thread.on_home(home, boot));
        let of_thread = Arc::clone(&homes);
        let on_renumbered = Box::new(move |former, worker| of_thread.on_renumbered(former, worker));
        // In an executor, what tasks print that a task has submitted is what that task prints.
        let on_printed = executor::outbox().map(|_| Box::new(print_here) as OnPrinted);
        let options = RemoteOptions {
            address: address.clone(),
            access,
            key,
            reconnect,
            spin_us,
            on_renumbered,
            on_home,
            on_printed,
        };
        let thread = py
            .detach(|| RemoteThread::connect(options))
            .map_err(|error| PyConnectionError::new_err(error.to_string()))?;
        let spin = microseconds(spin_us);
        let link = Arc::new(Link::new(thread.client.clone(), owner, spin, inline_nbytes));
        let _ = homes.link.set(Arc::downgrade(&link));
        if let Some(home) = homes.early.lock().unwrap_or_else(PoisonError::into_inner).take() {
            link.offer_home(home);
        }
        let salt = random_name().map_err(crate::blocks::store_error)?;
        Ok(Self::with(link, future, Thread::Remote(thread), salt, address))
    }

    pub(super) fn watched<'py>(
        &self,
        py: Python<'py>,
        name: [u8; 16],
        label: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let name = Name(name);
        let cell = self.link.client.ask(|ticket| Request::Watch { name, ticket });
        self.future(py, name, label.into(), cell)
    }

    pub(super) fn accepted(
        &self,
        py: Python<'_>,
        request: impl FnOnce(freestone_base::Ticket) -> Request,
    ) -> PyResult<bool> {
        match self.ask(py, request)? {
            Outcome::Accepted(accepted) => Ok(accepted),
            other => Err(unexpected(&other)),
        }
    }

    pub(super) fn listed(&self, py: Python<'_>) -> PyResult<Vec<(String, [u8; 16], String)>> {
        match self.ask(py, |ticket| Request::Publications { ticket })? {
            Outcome::Publications(all) => Ok(all
                .into_iter()
                .map(|Publication { title, name, label }| (title, name.0, label))
                .collect()),
            other => Err(unexpected(&other)),
        }
    }

    pub(super) fn detached(&self, futures: &Bound<'_, PyList>) -> PyResult<()> {
        self.link.client.request(Request::Detach(names_of(futures)?));
        Ok(())
    }
}
