//! A rank, for `freestone.events.Rank`.

use super::arguments::{Descriptor, Id, Load, Name, Seconds, flag};
use super::event::Event;
use super::failing;
use super::future::{Outcome, Promise, TaskFuture};
use super::host::{PythonHost, keep_thread};
use super::memory::layout_of;
use super::source;
use super::words::{self, Encoded, Held, Numbers};
use crate::durations::{microseconds, seconds};
use freestone_events::matching::Mode;
use freestone_events::rank::{Condition, Done, Label, SourceLine};
use freestone_events::transport::{Node, Region, Transport};
use freestone_events::{
    Config, EventId, EventsError, Host, Lasting, Payload, Progress, Rank, Submit, Target, cores,
    limits, say,
};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

/// More ranks than one process, and more workers than one rank, can be of use for.
const MAX_THREADS: u32 = 1024;
const MAX_WORKERS: usize = 1024;

thread_local! {
    /// The `freestone.events.Rank` whose program or task this thread runs.
    static CURRENT: RefCell<Option<Py<PyAny>>> = const { RefCell::new(None) };
    /// By what people know the task that this thread runs; none in the program.
    static LABEL: RefCell<Option<Arc<str>>> = const { RefCell::new(None) };
}

/// By what people know who calls.
pub fn caller(frame: Option<Bound<'_, PyAny>>) -> Label {
    let name = LABEL.with_borrow(|label| label.clone().unwrap_or_else(|| "main".into()));
    Label::Name(name, source::line_of(frame))
}

/// A rank of a run.
#[pyclass(frozen, module = "freestone._native.events")]
pub struct EventRank {
    rank: Rank,
    host: Arc<PythonHost>,
    /// What tasks see as their rank.
    owner: Arc<OnceLock<Py<PyAny>>>,
}

/// The rank whose program or task this thread runs.
#[pyfunction]
pub fn current_rank(py: Python<'_>) -> Option<Py<PyAny>> {
    CURRENT.with_borrow(|current| current.as_ref().map(|rank| rank.clone_ref(py)))
}

/// Says whose program this thread runs.
#[pyfunction]
#[pyo3(signature = (rank))]
pub fn set_current_rank(rank: Option<Py<PyAny>>) {
    CURRENT.set(rank);
}

/// How a rank works: what `freestone.events.settings.Settings.native` returns.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings {
    workers: Option<usize>,
    is_mapped: bool,
    report_mapping: bool,
    progress: String,
    spin_us: u64,
    stuck_s: Option<f64>,
    slow_task_s: Option<f64>,
    backlog: usize,
    inbox: usize,
    send_timeout_s: Option<f64>,
}

impl Settings {
    /// The same, but that the program looks for what arrives.
    pub(super) fn with_progress_by_program(self) -> Self {
        Self { progress: "program".to_owned(), ..self }
    }

    fn config(&self, host: &Arc<PythonHost>, cores: Vec<usize>) -> PyResult<Config> {
        let workers = self.workers.unwrap_or(cores.len());
        if workers > MAX_WORKERS {
            let problem = format!("a rank has at most {MAX_WORKERS} workers, not {workers}");
            return Err(PyValueError::new_err(problem));
        }
        Ok(Config {
            workers,
            cores: if self.is_mapped { cores } else { Vec::new() },
            progress: match self.progress.as_str() {
                "thread" => Progress::Thread,
                "program" => Progress::Program,
                _ => Progress::IdleWorker,
            },
            spin: microseconds(self.spin_us),
            backlog: self.backlog,
            inbox: self.inbox,
            stuck: self.stuck_s.map(seconds).transpose()?,
            slow_task: self.slow_task_s.map(seconds).transpose()?,
            send_timeout: self.send_timeout_s.map(seconds).transpose()?,
            host: Some(Arc::clone(host) as _),
        })
    }
}

impl EventRank {
    /// A rank that a launcher has started, on a transport.
    pub(super) fn start(transport: Box<dyn Transport>, settings: &Settings) -> PyResult<Self> {
        Self::start_on(cores::of_process(), transport, settings)
    }

    /// A rank of several of this program's.
    fn start_here(node: Node, settings: &Settings) -> PyResult<Self> {
        Self::start_on(cores::of_rank(node.rank(), node.ranks()), Box::new(node), settings)
    }

    fn start_on(
        cores: Vec<usize>,
        transport: Box<dyn Transport>,
        settings: &Settings,
    ) -> PyResult<Self> {
        let host = Arc::new(PythonHost::default());
        let rank = Rank::start(transport, settings.config(&host, cores)?)
            .map_err(|error| PyOSError::new_err(error.to_string()))?;
        if settings.report_mapping {
            say(&format!("freestone events: {}", rank.mapping()));
        }
        Ok(Self { rank, host, owner: Arc::new(OnceLock::new()) })
    }

    fn numbers(&self) -> Numbers {
        let rank = &self.rank;
        Numbers { own: rank.rank(), ranks: rank.ranks(), clients: rank.clients() }
    }

    fn raise(&self, py: Python<'_>, error: &EventsError) -> PyErr {
        failing::exception(py, error, &self.host)
    }

    fn dependencies(&self, on: &Bound<'_, PyAny>) -> PyResult<Vec<freestone_events::Dependency>> {
        words::dependencies(on, self.numbers())
    }

    fn when(&self, py: Python<'_>, condition: Condition, id: &str) -> PyResult<()> {
        py.detach(|| self.rank.when(condition, &id.into())).map_err(|error| self.raise(py, &error))
    }

    fn fire_parts(
        &self,
        py: Python<'_>,
        target: &Target,
        id: &EventId,
        lasting: Lasting,
        encoded: &Encoded<'_, '_>,
    ) -> Result<(), EventsError> {
        encoded.with_parts(|kind, parts| {
            py.detach(|| self.rank.fire(target, id, lasting, kind, parts))
        })
    }
}

/// Calls a task's function, with one argument for each event.
fn call(
    function: &Py<PyAny>,
    owner: &OnceLock<Py<PyAny>>,
    (label, outcome): (&Arc<str>, Option<&Promise>),
    events: Vec<freestone_events::Event<Payload>>,
) -> Done {
    if let Some(outcome) = outcome {
        outcome.0.on_called();
    }
    // A task that waits may run others meanwhile, in its thread.
    let former = LABEL.replace(Some(Arc::clone(label)));
    let done = Python::attach(|py| {
        keep_thread(py);
        CURRENT.with_borrow_mut(|current| {
            if current.is_none() {
                *current = owner.get().map(|owner| owner.clone_ref(py));
            }
        });
        let called = PyTuple::new(py, events.into_iter().map(Event::new))
            .and_then(|events| function.bind(py).call1(events));
        let returned = |value| outcome.map_or(Ok(()), |outcome| outcome.0.on_returned(value));
        called.and_then(returned).map_err(|error| failing::failure(py, &error, label))
    });
    LABEL.set(former);
    done
}

#[pymethods]
impl EventRank {
    /// A rank of those that share the memory behind a descriptor.
    #[staticmethod]
    #[pyo3(signature = (fd, rank, ranks, *, arena, settings))]
    #[allow(clippy::needless_pass_by_value)] // as Python gives them
    fn open(fd: i32, rank: u32, ranks: u32, arena: usize, settings: Settings) -> PyResult<Self> {
        let layout = layout_of(ranks, arena)?;
        if rank >= ranks {
            return Err(PyValueError::new_err(format!("there is no rank {rank} of {ranks}")));
        }
        let region = Region::open(fd, layout.nbytes())
            .map_err(|error| PyOSError::new_err(error.to_string()))?;
        let node = Node::of_process(&region, layout, rank)
            .map_err(|error| PyOSError::new_err(error.to_string()))?;
        Self::start_here(node, &settings)
    }

    /// All ranks of a run, in this process.
    #[staticmethod]
    #[pyo3(signature = (ranks, *, arena, settings))]
    #[allow(clippy::needless_pass_by_value)] // as Python gives them
    fn threads(ranks: u32, arena: usize, settings: Settings) -> PyResult<Vec<Self>> {
        layout_of(ranks, arena)?;
        if ranks > MAX_THREADS {
            let problem = format!("at most {MAX_THREADS} ranks are threads, not {ranks}");
            return Err(PyValueError::new_err(problem));
        }
        let nodes =
            Node::threads(ranks, arena).map_err(|error| PyOSError::new_err(error.to_string()))?;
        nodes.into_iter().map(|node| Self::start_here(node, &settings)).collect()
    }

    /// Says what tasks see as their rank.
    fn set_owner(&self, owner: Py<PyAny>) {
        // Said once, by the constructor of what it is.
        let _ = self.owner.set(owner);
    }

    #[getter]
    fn rank(&self) -> u32 {
        self.rank.rank()
    }

    #[getter]
    fn ranks(&self) -> u32 {
        self.rank.ranks()
    }

    #[getter]
    fn clients(&self) -> u32 {
        self.rank.clients()
    }

    fn progress(&self, py: Python<'_>) -> PyResult<usize> {
        py.detach(|| self.rank.progress()).map_err(|error| self.raise(py, &error))
    }

    #[getter]
    fn has_joined(&self) -> bool {
        self.rank.has_joined()
    }

    #[pyo3(signature = (function, on, *, persistent, greedy, name, label, batch=None, frame=None))]
    #[allow(clippy::too_many_arguments)] // as Python gives them
    fn submit(
        &self,
        py: Python<'_>,
        function: Py<PyAny>,
        on: &Bound<'_, PyAny>,
        persistent: &Bound<'_, PyAny>,
        greedy: &Bound<'_, PyAny>,
        name: Option<Name<'_>>,
        label: String,
        batch: Option<(usize, Seconds)>,
        frame: Option<Bound<'_, PyAny>>,
    ) -> PyResult<TaskFuture> {
        let on = self.dependencies(on)?;
        let (at_least, within) = batch.map(|(least, within)| (least, within.0)).unwrap_or_default();
        let (persistent, greedy) = (flag(persistent, "persistent")?, flag(greedy, "greedy")?);
        let mode = Mode { persistent, greedy, at_least };
        let (owner, label) = (Arc::clone(&self.owner), Arc::<str>::from(label));
        let named = Some(Label::Name(Arc::clone(&label), source::line_of(frame)));
        let name = name.map(|name| name.0.to_owned());
        let submit = Submit { on, mode, name, label: named, within };
        let outcome = Promise(Outcome::new(&self.rank, &owner, &label));
        let future = TaskFuture::of(Arc::clone(&outcome.0));
        let submitted = if persistent {
            let body =
                move |_: &Rank, events| call(&function, &owner, (&label, Some(&outcome)), events);
            self.rank.submit_many(submit, body)
        } else {
            let body =
                move |_: &Rank, events| call(&function, &owner, (&label, Some(&outcome)), events);
            self.rank.submit(submit, body)
        };
        submitted.map_err(|error| self.raise(py, &error))?;
        Ok(future)
    }

    /// Submits the rest of a task, which returns nothing and has paused at a line of a file.
    fn submit_rest(
        &self,
        py: Python<'_>,
        function: Py<PyAny>,
        on: &Bound<'_, PyAny>,
        label: String,
        place: Option<(String, u32)>,
    ) -> PyResult<()> {
        let on = self.dependencies(on)?;
        let (owner, label) = (Arc::clone(&self.owner), Arc::<str>::from(label));
        let place = place.map(|(file, line)| SourceLine { file: file.into(), line });
        let named = Some(Label::Name(Arc::clone(&label), place));
        let submit = Submit { on, label: named, ..Submit::default() };
        let body = move |_: &Rank, events| call(&function, &owner, (&label, None), events);
        self.rank.submit(submit, body).map_err(|error| self.raise(py, &error))
    }

    #[pyo3(signature = (target, id, data, persistent, by_reference))]
    fn fire(
        &self,
        py: Python<'_>,
        target: &Bound<'_, PyAny>,
        id: Id<'_>,
        data: &Bound<'_, PyAny>,
        persistent: &Bound<'_, PyAny>,
        by_reference: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let target = words::target(target, self.numbers())?;
        let id_text = id.0;
        let id = EventId::from(id_text);
        let lasting =
            if flag(persistent, "persistent")? { Lasting::Persistent } else { Lasting::Once };
        let fired = if flag(by_reference, "by_reference")? {
            if target != Target::Rank(self.rank.rank()) {
                let text = "by_reference: only an event to SELF can carry the object itself";
                return Err(PyValueError::new_err(text));
            }
            let held = Held(data.clone().unbind());
            let payload = Payload::value(words::ADDRESS, Arc::new(held));
            py.detach(|| self.rank.fire_own(&id, lasting, payload))
        } else {
            let encoded = words::encode(data, id_text)?;
            self.fire_parts(py, &target, &id, lasting, &encoded)
        };
        fired.map_err(|error| self.raise(py, &error))
    }

    #[pyo3(signature = (on, timeout_s=None, frame=None))]
    fn wait(
        &self,
        py: Python<'_>,
        on: &Bound<'_, PyAny>,
        timeout_s: Option<Seconds>,
        frame: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Event>> {
        let (on, timeout) = (self.dependencies(on)?, timeout_s.map(|timeout| timeout.0));
        let label = caller(frame);
        let events = py.detach(|| self.rank.wait_as(label, on, timeout));
        let events = events.map_err(|error| self.raise(py, &error))?;
        Ok(events.into_iter().map(Event::new).collect())
    }

    fn retrieve_any(&self, py: Python<'_>, on: &Bound<'_, PyAny>) -> PyResult<Vec<(usize, Event)>> {
        let on = self.dependencies(on)?;
        let found = self.rank.retrieve_any(&on).map_err(|error| self.raise(py, &error))?;
        Ok(found.into_iter().map(|(index, event)| (index, Event::new(event))).collect())
    }

    #[pyo3(signature = (name, frame=None))]
    fn lock(
        &self,
        py: Python<'_>,
        name: Name<'_>,
        frame: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let label = caller(frame);
        py.detach(|| self.rank.lock_as(label, name.0)).map_err(|error| self.raise(py, &error))
    }

    fn try_lock(&self, name: Name<'_>) -> bool {
        self.rank.try_lock(name.0)
    }

    fn holds_lock(&self, name: Name<'_>) -> bool {
        self.rank.holds_lock(name.0)
    }

    /// The locks of this task, in the order in which it took them.
    fn held_locks(&self) -> Vec<String> {
        self.rank.held_locks()
    }

    /// The ranks that a target of `fire` means.
    fn targets(&self, target: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
        Ok(match words::target(target, self.numbers())? {
            Target::Rank(rank) => vec![rank],
            Target::All => (0..self.rank.ranks()).collect(),
            Target::Group(ranks) => ranks,
        })
    }

    /// What dependencies mean: for each event a rank, or `ANY`, and an identifier.
    fn needed(&self, on: &Bound<'_, PyAny>) -> PyResult<Vec<(i64, String)>> {
        Ok(words::pairs_of(&self.dependencies(on)?))
    }

    #[getter]
    fn workers(&self) -> usize {
        self.rank.workers()
    }

    #[getter]
    fn worker(&self) -> Option<usize> {
        self.rank.worker()
    }

    fn core(&self, worker: usize) -> Option<usize> {
        self.rank.core(worker)
    }

    /// What it has done and is doing, by name.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = self.rank.statistics();
        let dict = PyDict::new(py);
        dict.set_item("fired", found.fired)?;
        dict.set_item("arrived", found.arrived)?;
        dict.set_item("tasks", found.tasks)?;
        dict.set_item("waiting", found.waiting)?;
        dict.set_item("ready", found.ready)?;
        dict.set_item("unconsumed", found.unconsumed)?;
        dict.set_item("workers", found.workers)?;
        dict.set_item("busy", found.busy)?;
        Ok(dict)
    }

    fn unlock(&self, py: Python<'_>, name: Name<'_>) -> PyResult<()> {
        self.rank.unlock(name.0).map_err(|error| self.raise(py, &error))
    }

    fn after(&self, delay_s: Seconds, id: Id<'_>) {
        self.rank.after(delay_s.0, &id.0.into());
    }

    fn every(&self, py: Python<'_>, period_s: Seconds, id: Id<'_>) -> PyResult<()> {
        let every = self.rank.every(period_s.0, &id.0.into());
        every.map_err(|error| self.raise(py, &error))
    }

    fn when_readable(&self, py: Python<'_>, file: Descriptor, id: Id<'_>) -> PyResult<()> {
        self.when(py, Condition::Readable(file.0), id.0)
    }

    fn when_memory_below(&self, py: Python<'_>, nbytes: u64, id: Id<'_>) -> PyResult<()> {
        self.when(py, Condition::MemoryBelow(nbytes), id.0)
    }

    fn when_load_above(&self, py: Python<'_>, load: Load, id: Id<'_>) -> PyResult<()> {
        self.when(py, Condition::LoadAbove(load.0), id.0)
    }

    fn stop(&self, id: Id<'_>) -> usize {
        self.rank.stop(&id.0.into())
    }

    fn is_submitted(&self, name: Name<'_>) -> bool {
        self.rank.is_submitted(name.0)
    }

    fn remove(&self, name: Name<'_>) -> usize {
        self.rank.remove(name.0)
    }

    fn drain(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.rank.drain()).map_err(|error| self.raise(py, &error))
    }

    fn report(&self) -> String {
        self.rank.report()
    }

    /// Ends the run on all ranks with what the program raised.
    fn fail(&self, py: Python<'_>, error: Bound<'_, PyAny>, label: &str) {
        let failure = failing::failure(py, &PyErr::from_value(error), label);
        py.detach(|| self.rank.fail(failure));
    }

    /// Waits for the end of the run; what persistent tasks still hold.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        loop {
            let step = self.host.hears_signals().then(|| limits::get().signal_interval);
            let ended = py.detach(|| self.rank.wait_end(step));
            // Also if another rank was quicker to end the run for it: each says what it waits for.
            py.check_signals()?;
            if ended.map_err(|error| self.raise(py, &error))? {
                break;
            }
        }
        let summary = py.detach(|| self.rank.finish());
        let summary = summary.map_err(|error| self.raise(py, &error))?;
        Ok(summary.held.iter().map(ToString::to_string).collect())
    }
}
