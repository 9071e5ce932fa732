//! Queues and variables, as tasks and programs use them.

use super::hold::next_hold;
use super::{Manager, lock, unexpected};
use crate::executor::outbox;
use crate::future::FutureBase;
use crate::waiting::wait;
use freestone_base::{Name, Ticket, WorkerId};
use freestone_core::manager::{
    Given, Item, Outcome, QueueRequest, Request, SharedRequest, VariableRequest, Waiter,
};
use freestone_core::net::{Cell, Client};
use freestone_core::wire::{RaisedException, TaskFailure};
use freestone_executor::executor::Outbox;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

struct Inner {
    number: u64,
    client: Client,
    has_ended: AtomicBool,
}

impl Inner {
    /// Ends the entry, once; the answer, if there is to be one.
    fn end(&self, is_done: bool) -> Option<Cell> {
        if self.has_ended.swap(true, Ordering::AcqRel) {
            return None;
        }
        let hold = self.number;
        if is_done {
            return Some(self.client.ask(|ticket| SharedRequest::Finish { hold, ticket }.into()));
        }
        self.client.request(SharedRequest::Leave { hold }.into());
        None
    }

    /// What a call has taken is done with when it ends.
    fn finish_with_call(self: &Arc<Self>, outbox: &Outbox, spin: Duration) {
        let inner = Arc::clone(self);
        let end = move || {
            if let Some(cell) = inner.end(true) {
                *lock(&LAST) = Some(cell);
            }
        };
        outbox.at_end(self.number, Box::new(end));
        // Keys are in order: this one is last, and the manager answers in order.
        outbox.at_end(u64::MAX, Box::new(move || wait_for_last(spin)));
    }
}

/// The answer to the last item that the call was done with.
static LAST: Mutex<Option<Cell>> = Mutex::new(None);

/// Returns once the manager knows what the call was done with, or the connection is lost: if this
/// process ended before, that would go back.
fn wait_for_last(spin: Duration) {
    if let Some(cell) = lock(&LAST).take() {
        Python::attach(|py| py.detach(|| while !cell.wait(spin, Duration::from_secs(1)) {}));
    }
}

/// An item to be put, taken or read: an entry that ends at the latest with its task or program.
#[pyclass(frozen, module = "freestone._native.manager")]
pub struct SharedItem {
    inner: Arc<Inner>,
    spin: Duration,
    answer: Cell,
}

impl SharedItem {
    fn ask(
        manager: &Manager,
        worker: Option<u32>,
        request: impl FnOnce(Waiter) -> Request,
    ) -> Self {
        let client = manager.link.client.clone();
        let (hold, worker) = (next_hold(), worker.map(WorkerId));
        let answer = client.ask(|ticket| request(Waiter { hold, owner: 0, worker, ticket }));
        let inner = Arc::new(Inner { number: hold, client, has_ended: AtomicBool::new(false) });
        Self { inner, spin: manager.link.spin, answer }
    }

    /// What is resolved by the answer.
    pub(crate) fn awaited(&self) -> Cell {
        self.answer.clone()
    }
}

#[pymethods]
impl SharedItem {
    /// Makes a queue, which ends with this entry.
    #[staticmethod]
    fn open(manager: &Manager, title: String, capacity: u32, worker: Option<u32>) -> Self {
        let opened =
            Self::ask(manager, worker, |by| QueueRequest::Open { title, capacity, by }.into());
        if let Some(outbox) = outbox() {
            let inner = Arc::clone(&opened.inner);
            outbox.at_end(inner.number, Box::new(move || _ = inner.end(false)));
        }
        opened
    }

    /// Appends a block to a queue once there is room; its label is what made it by default.
    #[staticmethod]
    #[pyo3(signature = (manager, title, capacity, future, worker, label=None))]
    fn put(
        manager: &Manager,
        title: String,
        capacity: Option<u32>,
        future: &FutureBase,
        worker: Option<u32>,
        label: Option<String>,
    ) -> PyResult<Self> {
        let mut item = item_of(future)?;
        item.label = label.unwrap_or(item.label);
        Ok(Self::ask(manager, worker, |by| QueueRequest::Put { title, capacity, item, by }.into()))
    }

    /// Takes the first item of a queue. In a call it is done with when the call ends.
    #[staticmethod]
    #[pyo3(signature = (manager, title, capacity, worker, moves=false))]
    fn take(
        manager: &Manager,
        title: String,
        capacity: Option<u32>,
        worker: Option<u32>,
        moves: bool,
    ) -> Self {
        let taken = Self::ask(manager, worker, |by| {
            QueueRequest::Take { title, capacity, by, moves }.into()
        });
        if let Some(outbox) = outbox() {
            taken.inner.finish_with_call(outbox, taken.spin);
        }
        taken
    }

    /// Reads a variable.
    #[staticmethod]
    fn read(manager: &Manager, title: String, waits: bool, worker: Option<u32>) -> Self {
        Self::ask(manager, worker, |by| VariableRequest::Get { title, waits, by }.into())
    }

    /// Waits for the answer; whether there is one.
    #[pyo3(signature = (timeout_s=None))]
    fn wait(&self, py: Python<'_>, timeout_s: Option<f64>) -> PyResult<bool> {
        wait(py, &self.answer, self.spin, timeout_s)
    }

    /// No longer waits, unless there is an answer already: then there is one soon.
    fn withdraw(&self) {
        self.inner.client.request(SharedRequest::Withdraw { hold: self.inner.number }.into());
    }

    /// What became of it: `item`, `stored`, `nothing`, `closed_queue`, `ended`, `unknown`, `other`,
    /// or `closed` if the cluster was; and the version, or the room of the queue.
    #[getter]
    fn state(&self) -> (&'static str, u64) {
        self.answer.inspect(state_of).unwrap_or(("waiting", 0))
    }

    /// The block, and the label of what made it.
    #[getter]
    fn item(&self) -> Option<([u8; 16], String)> {
        let item = self.answer.inspect(|outcome| match outcome {
            Outcome::Given(Given::Item { item, .. }) => Some((item.name.0, item.label.clone())),
            _ => None,
        });
        item.flatten()
    }

    /// Whether it is the call's that runs, until that ends.
    #[getter]
    fn is_calls(&self) -> bool {
        outbox().is_some_and(|outbox| outbox.ends(self.inner.number))
    }

    /// What was taken is done with; returns once the manager knows, if it `waits`.
    #[pyo3(signature = (waits=true))]
    fn finish(&self, py: Python<'_>, waits: bool) -> PyResult<()> {
        if let Some(outbox) = outbox() {
            outbox.forget_end(self.inner.number);
        }
        if let Some(cell) = self.inner.end(true)
            && waits
        {
            wait(py, &cell, self.spin, None)?;
        }
        Ok(())
    }

    /// What was taken goes back; what was read is no longer needed.
    fn leave(&self) {
        if let Some(outbox) = outbox() {
            outbox.forget_end(self.inner.number);
        }
        self.inner.end(false);
    }
}

impl Drop for SharedItem {
    fn drop(&mut self) {
        // What a call has taken is the call's until it ends.
        if !self.is_calls() {
            self.inner.end(false);
        }
    }
}

fn item_of(future: &FutureBase) -> PyResult<Item> {
    let reference = future.reference()?;
    Ok(Item { name: reference.name, label: reference.origin.label.to_string() })
}

fn state_of(outcome: &Outcome) -> (&'static str, u64) {
    match outcome {
        Outcome::Given(Given::Item { version, .. }) => ("item", *version),
        Outcome::Given(Given::Stored) => ("stored", 0),
        Outcome::Given(Given::Nothing) => ("nothing", 0),
        Outcome::Given(Given::Closed) => ("closed_queue", 0),
        Outcome::Given(Given::Ended) => ("ended", 0),
        Outcome::Given(Given::Unknown) => ("unknown", 0),
        Outcome::Given(Given::Other { capacity }) => ("other", u64::from(*capacity)),
        Outcome::Given(Given::Count { items }) => ("count", *items),
        _ => ("closed", 0),
    }
}

/// What the manager answers; see [`SharedItem::state`].
type State = (&'static str, u64);

fn state(
    py: Python<'_>,
    manager: &Manager,
    request: impl FnOnce(Ticket) -> Request,
) -> PyResult<State> {
    Ok(state_of(&manager.ask(py, request)?))
}

/// Gives a variable a value, if it has the version that is expected.
#[pyfunction]
#[pyo3(signature = (manager, title, future, expected=None))]
pub fn set_variable(
    py: Python<'_>,
    manager: &Manager,
    title: String,
    future: &FutureBase,
    expected: Option<u64>,
) -> PyResult<State> {
    let item = item_of(future)?;
    state(py, manager, |ticket| VariableRequest::Set { title, item, expected, ticket }.into())
}

/// Takes a variable's value away.
#[pyfunction]
pub fn delete_variable(py: Python<'_>, manager: &Manager, title: String) -> PyResult<State> {
    state(py, manager, |ticket| VariableRequest::Delete { title, ticket }.into())
}

/// Ends what may be put into a queue.
#[pyfunction]
pub fn close_queue(
    py: Python<'_>,
    manager: &Manager,
    title: String,
    capacity: Option<u32>,
) -> PyResult<State> {
    state(py, manager, |ticket| QueueRequest::Close { title, capacity, ticket }.into())
}

/// Forgets a queue and its items.
#[pyfunction]
pub fn delete_queue(py: Python<'_>, manager: &Manager, title: String) -> PyResult<State> {
    state(py, manager, |ticket| QueueRequest::Delete { title, ticket }.into())
}

/// Replaces the executors of all workers, and cancels what this program alone waits for.
#[pyfunction]
pub fn restart_executors(manager: &Manager) {
    manager.link.client.request(Request::Restart { abandoned: None });
}

/// Cancels the calls that programs of other processes have submitted with a tag; how many.
#[pyfunction]
pub fn cancel_tagged(py: Python<'_>, manager: &Manager, tag: String) -> PyResult<u64> {
    match manager.ask(py, |ticket| Request::CancelTagged { tag, ticket })? {
        Outcome::Counted(count) => Ok(count),
        other => Err(unexpected(&other)),
    }
}

/// Ends the task that makes a block for all programs, also where others need it.
#[pyfunction]
pub fn cancel_for_all(manager: &Manager, name: [u8; 16]) {
    manager.link.client.request(Request::CancelForAll(vec![Name(name)]));
}

/// Counts the items of a queue.
#[pyfunction]
pub fn count_queue(py: Python<'_>, manager: &Manager, title: String) -> PyResult<State> {
    state(py, manager, |ticket| QueueRequest::Count { title, ticket }.into())
}

/// Says that a task has failed here, which waits for its inputs: with an exception that is described
/// as the executor's loop has it described.
#[pyfunction]
pub fn fail_call(
    manager: &Manager,
    name: [u8; 16],
    worker: u32,
    described: (&[u8], String, String, String),
    in_encoding: bool,
) {
    let (pickled, kind, message, traceback) = described;
    let pickled = pickled.into();
    let raised = RaisedException { pickled, kind, message, traceback, in_encoding };
    let failure = TaskFailure::Raised(Box::new(raised));
    let (name, worker) = (Name(name), WorkerId(worker));
    manager.link.client.request(Request::Fail { name, worker, failure });
}

/// Needs a block no longer, of which a future says what becomes: it does not keep it any more. For
/// clients elsewhere, from whom the manager takes one release more than references for none.
#[pyfunction]
pub fn let_go(manager: &Manager, future: &FutureBase) -> PyResult<()> {
    let name = future.reference()?.name;
    manager.link.client.request(Request::Release(vec![name]));
    Ok(())
}
