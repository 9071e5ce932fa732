//! What tasks return, for `freestone.events`.

use super::failing;
use super::words;
use freestone_events::{EventId, EventsError, Lasting, Rank, Target};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Where coroutines are gone on with.
const DRIVER: &str = "freestone.events.coroutines";

/// What a task has returned, or who waits for it.
enum State {
    Pending(Vec<EventId>),
    Done(Py<PyAny>),
    /// It was removed before it was called.
    Removed,
}

/// What the task and its futures share.
pub struct Outcome {
    rank: Rank,
    owner: Arc<OnceLock<Py<PyAny>>>,
    label: Arc<str>,
    state: Mutex<State>,
    is_called: AtomicBool,
}

/// What a task has of its outcome: a task that is dropped before it was called returns nothing any more.
pub struct Promise(pub Arc<Outcome>);

impl Drop for Promise {
    fn drop(&mut self) {
        if !self.0.is_called.load(Ordering::Acquire) {
            // Where the run is over, so are the waits.
            let _ = self.0.complete(State::Removed);
        }
    }
}

/// What a task returns, once it has; made by `Rank.submit`.
///
/// It is this rank's alone. Coroutines ``await`` it.
#[pyclass(frozen, module = "freestone._native.events")]
pub struct TaskFuture(Arc<Outcome>);

/// Numbers those who wait for tasks.
static WAITERS: AtomicU64 = AtomicU64::new(0);

impl Outcome {
    pub fn new(rank: &Rank, owner: &Arc<OnceLock<Py<PyAny>>>, label: &Arc<str>) -> Arc<Self> {
        Arc::new(Self {
            rank: rank.clone(),
            owner: Arc::clone(owner),
            label: Arc::clone(label),
            state: Mutex::new(State::Pending(Vec::new())),
            is_called: AtomicBool::new(false),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The task begins.
    pub fn on_called(&self) {
        self.is_called.store(true, Ordering::Release);
    }

    /// A call of the task has returned this: a coroutine goes on until it has ended.
    ///
    /// # Errors
    /// What a coroutine raises before it pauses, and those of firing.
    pub fn on_returned(self: &Arc<Self>, value: Bound<'_, PyAny>) -> PyResult<()> {
        let py = value.py();
        if value.get_type().is(coroutine_type(py)?) {
            let rank = self.owner.get().map(|owner| owner.clone_ref(py));
            let future = TaskFuture(Arc::clone(self));
            py.import(DRIVER)?.call_method1("begin", (rank, value, &*self.label, future))?;
            return Ok(());
        }
        self.fulfil(py, value.unbind()).map_err(|error| failing::raised(py, &error))
    }

    /// Only the first call of a persistent task counts.
    fn fulfil(&self, py: Python<'_>, value: Py<PyAny>) -> Result<(), EventsError> {
        let mut state = self.lock();
        match &*state {
            State::Done(_) | State::Removed => return Ok(()),
            State::Pending(waiting) if waiting.is_empty() => {
                *state = State::Done(value);
                return Ok(());
            }
            State::Pending(_) => drop(state),
        }
        py.detach(|| self.complete(State::Done(value)))
    }

    /// Whoever stops waiting finds either its event fired, or itself among those who wait.
    fn complete(&self, last: State) -> Result<(), EventsError> {
        let mut state = self.lock();
        let State::Pending(waiting) = &mut *state else { return Ok(()) };
        let waiting = std::mem::take(waiting);
        *state = last;
        let here = Target::Rank(self.rank.rank());
        let fire = |id: &EventId| self.rank.fire(&here, id, Lasting::Once, words::NONE, &[]);
        waiting.iter().try_for_each(fire)
    }

    /// Nobody waits for this event any more; whether it will not be fired.
    fn withdraw(&self, id: &str) -> bool {
        let id = EventId::from(id);
        match &mut *self.lock() {
            State::Done(_) | State::Removed => false,
            State::Pending(waiting) => {
                waiting.retain(|other| *other != id);
                true
            }
        }
    }

    /// None, if it has not returned: the run is over then.
    fn value(&self, py: Python<'_>) -> Result<Option<Py<PyAny>>, EventsError> {
        match &*self.lock() {
            State::Done(value) => Ok(Some(value.clone_ref(py))),
            State::Pending(_) => Ok(None),
            State::Removed => {
                Err(EventsError::Removed { task: format!("the task {}", self.label) })
            }
        }
    }

    /// The event at this rank that says that there is a value; none if there is one.
    fn awaited(&self) -> Option<String> {
        let mut state = self.lock();
        let State::Pending(waiting) = &mut *state else { return None };
        let number = WAITERS.fetch_add(1, Ordering::Relaxed);
        let id = format!("result of {} for waiter {number}", self.label);
        waiting.push(EventId::from(id.as_str()));
        Some(id)
    }
}

fn coroutine_type(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CELL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CELL.import(py, "types", "CoroutineType")
}

impl TaskFuture {
    pub fn of(outcome: Arc<Outcome>) -> Self {
        Self(outcome)
    }
}

#[pymethods]
impl TaskFuture {
    /// Whether the task has returned, or was removed.
    fn done(&self) -> bool {
        !matches!(&*self.0.lock(), State::Pending(_))
    }

    /// What the task returned, waiting for it as `Rank.wait` does.
    #[pyo3(signature = (timeout_s=None))]
    fn result(&self, py: Python<'_>, timeout_s: Option<f64>) -> PyResult<Option<Py<PyAny>>> {
        if let (Some(id), Some(rank)) = (self.0.awaited(), self.0.owner.get()) {
            let needed = [(self.0.rank.rank(), id)];
            let waited = rank.call_method1(py, "wait", (needed.clone(), timeout_s));
            if waited.is_err() && !self.0.withdraw(&needed[0].1) {
                // An event that nobody takes would keep the run from its end.
                rank.call_method1(py, "retrieve_any", (needed,))?;
            }
            waited?;
        }
        self.0.value(py).map_err(|error| failing::raised(py, &error))
    }

    fn __await__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import(DRIVER)?.call_method1("awaited", (slf,))
    }

    /// The event that says that there is a value; None if there is one.
    fn awaited(&self) -> Option<(u32, String)> {
        self.0.awaited().map(|id| (self.0.rank.rank(), id))
    }

    /// Gives it what the task returned.
    fn fulfil(&self, py: Python<'_>, value: Py<PyAny>) -> PyResult<()> {
        self.0.fulfil(py, value).map_err(|error| failing::raised(py, &error))
    }

    fn __repr__(&self) -> String {
        let stage = match &*self.0.lock() {
            State::Pending(_) => "pending",
            State::Done(_) => "done",
            State::Removed => "removed",
        };
        format!("<TaskFuture of {}, {stage}>", self.0.label)
    }
}
