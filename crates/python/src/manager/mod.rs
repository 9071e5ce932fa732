//! A cluster's manager as Python sees it: calls, blocks and questions.

mod calls;
mod hold;
pub mod members;
mod printed;
mod remote;
pub mod shared;

pub use hold::LockHold;
pub use shared::SharedItem;

use crate::durations::{microseconds, seconds};
use crate::encoding::{self, Encoded};
use crate::future::{FutureBase, Reference, names_of};
use crate::link::Link;
use crate::options::{Options, keep_of};
use crate::waiting::wait;
use crate::{access, blocks, columns, decoding, executor, figures, pickling};
use calls::require_sendable;
use freestone_base::{FunctionId, Name, WorkerId};
use freestone_core::manager::{Config, Outcome, Publication, Query, Record, Reduction, Request};
use freestone_core::net::manager::{Listen, ManagerOptions, ManagerThread};
use freestone_core::net::records::Records;
use freestone_core::net::remote::RemoteThread;
use freestone_core::net::{Cell, boot_id};
use freestone_core::session::HomeCache;
use freestone_core::store::random_name;
use freestone_core::wire::{Address, BlockDesc, Form, Keep, Output, Payload};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple, PyType};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A function's definition, positional arguments and keywords.
type DecodedCall<'py> = (Bound<'py, PyBytes>, Bound<'py, PyTuple>, Option<Bound<'py, PyDict>>);

struct Function {
    id: FunctionId,
    name: Name,
    label: Arc<str>,
    definition: Payload,
}

/// What answers requests.
enum Thread {
    /// The manager's own, in this process.
    Local(ManagerThread),
    /// The one that is connected to it.
    Remote(RemoteThread),
}

/// A cluster's manager, as Python sees it.
#[pyclass(frozen, module = "freestone._native.manager")]
pub struct Manager {
    link: Arc<Link>,
    future: Py<PyType>,
    thread: Mutex<Option<Thread>>,
    functions: Mutex<Vec<Function>>,
    /// Names of calls that are not pure: no two alike, in this run or another.
    salt: Name,
    impure: AtomicU64,
    collections: AtomicU64,
    address: Address,
}

/// The place to listen at, the host that others are told, and the cluster's certificate and key.
type Listening = (String, String, (String, String));

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Manager {
    fn with(
        link: Arc<Link>,
        future: Py<PyType>,
        thread: Thread,
        salt: Name,
        address: Address,
    ) -> Self {
        Self {
            link,
            future,
            thread: Mutex::new(Some(thread)),
            functions: Mutex::default(),
            salt,
            impure: AtomicU64::new(0),
            collections: AtomicU64::new(0),
            address,
        }
    }

    fn ask(
        &self,
        py: Python<'_>,
        question: impl FnOnce(freestone_base::Ticket) -> Request,
    ) -> PyResult<Outcome> {
        let cell = self.link.client.ask(question);
        wait(py, &cell, self.link.spin, None)?;
        cell.outcome().ok_or_else(|| PyRuntimeError::new_err("a question was not answered"))
    }
}

fn ready(output: Output) -> Cell {
    Cell::resolved(Outcome::Ready(output))
}

#[pymethods]
impl Manager {
    #[new]
    #[pyo3(signature = (*, socket, key, owner, future, spin_us, inline_nbytes, transfers_in,
        transfers_out, silence_s, max_calls, trace, listen=None, journal=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        socket: PathBuf,
        key: String,
        owner: Py<PyAny>,
        future: Py<PyType>,
        spin_us: u64,
        inline_nbytes: usize,
        transfers_in: u32,
        transfers_out: u32,
        silence_s: f64,
        max_calls: u64,
        trace: bool,
        listen: Option<Listening>,
        journal: Option<PathBuf>,
    ) -> PyResult<Self> {
        let config = Config {
            key,
            boot: boot_id(),
            transfers_in,
            transfers_out,
            silence_ns: u64::try_from(seconds(silence_s)?.as_nanos()).unwrap_or(u64::MAX),
            max_calls,
            trace,
            ..Config::default()
        };
        let place = |(place, host, identity): Listening| {
            PyResult::Ok(Listen { place, host, access: access::read(identity)? })
        };
        let listen = listen.map(place).transpose()?;
        let options = ManagerOptions { socket, listen, config, spin_us, journal };
        let started = py.detach(|| ManagerThread::start(options));
        let thread = started.map_err(|error| PyOSError::new_err(error.to_string()))?;
        let address = thread.address.clone();
        let link = Link::new(thread.client.clone(), owner, microseconds(spin_us), inline_nbytes);
        let salt = random_name().map_err(blocks::store_error)?;
        Ok(Self::with(Arc::new(link), future, Thread::Local(thread), salt, address))
    }

    /// Connects to a manager in another process.
    #[staticmethod]
    #[pyo3(signature = (*, address, key, identity, owner, future, spin_us, inline_nbytes, reconnect_s))]
    #[allow(clippy::too_many_arguments)]
    fn connect(
        py: Python<'_>,
        address: &str,
        key: String,
        identity: Option<(String, String)>,
        owner: Py<PyAny>,
        future: Py<PyType>,
        spin_us: u64,
        inline_nbytes: usize,
        reconnect_s: f64,
    ) -> PyResult<Self> {
        let (reached, times) = ((address, key, identity), (spin_us, seconds(reconnect_s)?));
        Self::connected(py, reached, (owner, future), times, inline_nbytes)
    }

    /// Says which worker shares this machine with the program, and where its cache is.
    fn set_home(&self, worker: u32, memory: (&str, u64), disk: (&str, u64)) -> PyResult<()> {
        let worker = WorkerId(worker);
        self.link.set_home(blocks::open_home(worker, [memory, disk])?);
        let owned = |(folder, nbytes): (&str, u64)| (folder.to_owned(), nbytes);
        let home = HomeCache { worker, memory: owned(memory), disk: owned(disk) };
        self.link.client.set_home(home);
        Ok(())
    }

    /// Its number.
    #[getter]
    fn home(&self) -> Option<u32> {
        self.link.home().ok().map(|home| home.worker.0)
    }

    /// How many programs are connected to this manager.
    #[getter]
    fn clients(&self) -> usize {
        self.link.client.clients()
    }

    /// Why the connection to a manager in another process ended, if this program did not end it.
    #[getter]
    fn lost(&self) -> Option<String> {
        match lock(&self.thread).as_ref() {
            Some(Thread::Remote(thread)) => lock(&thread.lost).clone(),
            _ => None,
        }
    }

    /// The future of a block that another program may have had made.
    fn watch<'py>(
        &self,
        py: Python<'py>,
        name: [u8; 16],
        label: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.watched(py, name, label)
    }

    /// Has a block outlive this program under a title; whether it does.
    fn publish(
        &self,
        py: Python<'_>,
        title: String,
        future: &FutureBase,
        replace: bool,
    ) -> PyResult<bool> {
        let reference = future.reference()?;
        let (name, label) = (reference.name, reference.origin.label.to_string());
        let publication = Publication { title, name, label };
        self.accepted(py, |ticket| Request::Publish { publication, replace, ticket })
    }

    /// Takes a title away; whether there was one.
    fn unpublish(&self, py: Python<'_>, title: String) -> PyResult<bool> {
        self.accepted(py, |ticket| Request::Unpublish { title, ticket })
    }

    /// What is published: titles, names of blocks, and the labels of what makes them.
    fn published(&self, py: Python<'_>) -> PyResult<Vec<(String, [u8; 16], String)>> {
        self.listed(py)
    }

    /// Has calls run to their end, and their results stay, though this program ends.
    fn detach(&self, futures: &Bound<'_, PyList>) -> PyResult<()> {
        self.detached(futures)
    }

    /// Tells the manager of a function and gives its number.
    fn define(
        &self,
        py: Python<'_>,
        label: &str,
        name: [u8; 16],
        definition: &[u8],
    ) -> PyResult<u32> {
        require_sendable(py, "function", label, label.len() + definition.len())?;
        let mut functions = lock(&self.functions);
        let (function, id) = (functions.len() as u32, self.link.client.next_function());
        let definition = Payload::from(definition);
        functions.push(Function {
            id,
            name: Name(name),
            label: label.into(),
            definition: definition.clone(),
        });
        self.link.client.request(Request::Define {
            function: id,
            label: label.to_owned(),
            definition,
        });
        Ok(function)
    }

    /// Submits a call; the futures of its outputs.
    fn submit<'py>(
        &self,
        py: Python<'py>,
        function: u32,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
        options: &Options,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (function, name, label) = self.function(function)?;
        let (encoded, _held) = self.encode(py, &label, arguments, keywords).map_err(|error| {
            pickling::refusal(py, "argument", (arguments, keywords), &label, &error)
        })?;
        let (submission, cells) = self.submission((function, name), encoded, options);
        let names = submission.outputs.clone();
        let (origin, arguments) = (self.origin(&submission, label), submission.arguments.clone());
        self.link.client.request(Request::Submit(vec![submission]));
        let mut futures = names.into_iter().zip(cells).map(|(name, cell)| {
            let (origin, arguments) = (Arc::clone(&origin), Some(arguments.clone()));
            FutureBase::create(self.future.bind(py), Reference { name, cell, origin, arguments })
        });
        if options.outputs == 1 {
            return futures.next().expect("a call has an output");
        }
        Ok(PyTuple::new(py, futures.collect::<PyResult<Vec<_>>>()?)?.into_any())
    }

    /// Submits a call for each tuple of arguments; their futures.
    fn map<'py>(
        &self,
        py: Python<'py>,
        function: u32,
        arguments: &Bound<'py, PyAny>,
        options: &Options,
    ) -> PyResult<Bound<'py, PyList>> {
        self.mapped(py, function, arguments, options)
    }

    /// Makes a value a block, named by its content if it is not given a name.
    #[pyo3(signature = (value, keep="task", name=None))]
    fn put<'py>(
        &self,
        py: Python<'py>,
        value: &Bound<'py, PyAny>,
        keep: &str,
        name: Option<[u8; 16]>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let keep = keep_of(keep)?;
        let label: Arc<str> = "put".into();
        match encoding::encode_value(value, self.link.inline_nbytes)? {
            Encoded::Inline(bytes) => {
                let name = name.map_or_else(|| Name::of_inline(&bytes), Name);
                let bytes = Payload::from(bytes);
                self.link.client.request(Request::PutInline { name, bytes: bytes.clone() });
                self.future(py, name, label, ready(Output::Inline(bytes)))
            }
            Encoded::Block(block) => {
                let home = self.link.home()?;
                let (block, path) = blocks::put_value(py, &home.folder, &block, name.map(Name))?;
                self.adopted(py, block, path, true, keep, label)
            }
        }
    }

    /// Makes a file of the user's a block that is used where it lies.
    fn adopt<'py>(
        &self,
        py: Python<'py>,
        path: String,
        name: [u8; 16],
        nbytes: u64,
        checksum: u64,
        basename: String,
    ) -> PyResult<Bound<'py, PyAny>> {
        let form = Form::File(basename);
        let block = BlockDesc { name: Name(name), nbytes, checksum, form };
        self.adopted(py, block, path, false, Keep::Session, "file".into())
    }

    /// Combines blocks by `function` until one is left.
    #[allow(clippy::too_many_arguments)]
    fn reduce<'py>(
        &self,
        py: Python<'py>,
        function: u32,
        futures: &Bound<'py, PyList>,
        arity: u32,
        commutes: bool,
        options: &Options,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (function, name, label) = self.function(function)?;
        let inputs = names_of(futures)?;
        if inputs.is_empty() || arity < 2 {
            return Err(PyValueError::new_err(
                "a reduction takes inputs, and two at a time at least",
            ));
        }
        let output = Name::of_reduction(name, &inputs, commutes);
        // More at once than there are would be made for nothing.
        let arity = arity.min(u32::try_from(inputs.len()).unwrap_or(u32::MAX)).max(2);
        let arguments = (2..=arity as usize)
            .map(|count| Ok(encoding::positions(count)?.into()))
            .collect::<PyResult<Vec<Payload>>>()?;
        let cell = self.link.client.ask(|ticket| {
            Request::Reduce(Reduction {
                output,
                function,
                arguments,
                inputs,
                arity,
                commutes,
                options: Arc::clone(&options.call),
                retries: options.retries,
                priority: options.priority,
                tenant: executor::tenant(),
                ticket,
            })
        });
        self.future(py, output, label, cell)
    }

    /// The call that makes a block: its function's definition, its arguments and keywords.
    fn call_of<'py>(&self, py: Python<'py>, future: &FutureBase) -> PyResult<DecodedCall<'py>> {
        let reference = future.reference()?;
        let (Some(number), Some(arguments)) = (reference.origin.function, &reference.arguments)
        else {
            return Err(PyValueError::new_err("this block was not made by a call"));
        };
        let values = reference
            .origin
            .inputs
            .iter()
            .map(|name| self.link.gather(py, *name, None))
            .collect::<PyResult<Vec<_>>>()?;
        let definition = lock(&self.functions)
            .iter()
            .find(|function| function.id == number)
            .map(|function| function.definition.clone())
            .ok_or_else(|| PyValueError::new_err("the function is unknown"))?;
        let (arguments, keywords) = decoding::decode_arguments(py, arguments.as_slice(), values)?;
        Ok((PyBytes::new(py, definition.as_slice()), arguments, keywords))
    }

    /// Cancels what makes these blocks.
    fn cancel(&self, futures: &Bound<'_, PyList>) -> PyResult<()> {
        self.link.client.request(Request::Cancel(names_of(futures)?));
        Ok(())
    }

    /// Numbers of the workers that hold each of the blocks.
    fn who_has(&self, py: Python<'_>, futures: &Bound<'_, PyList>) -> PyResult<Py<PyAny>> {
        let names = names_of(futures)?;
        match self.ask(py, |ticket| Request::WhoHas { names, ticket })? {
            Outcome::Locations(locations) => figures::locations(py, &locations),
            other => Err(unexpected(&other)),
        }
    }

    /// Where blocks are and how large, as arrays of i64: where the workers of each begin, the
    /// numbers of the workers, and the bytes (-1: not made yet).
    fn locate<'py>(
        &self,
        py: Python<'py>,
        futures: &Bound<'py, PyList>,
    ) -> PyResult<[Bound<'py, PyBytes>; 3]> {
        let names = names_of(futures)?;
        let mut nbytes = Vec::with_capacity(names.len());
        for future in futures {
            let known = future.cast::<FutureBase>()?.get().reference()?.nbytes();
            nbytes.push(known.map_or(-1, u64::cast_signed));
        }
        match self.ask(py, |ticket| Request::WhoHas { names, ticket })? {
            Outcome::Locations(locations) => {
                Ok(figures::flat_locations(&locations, &nbytes).map(|flat| PyBytes::new(py, &flat)))
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Cancels what makes a block, which the program need not refer to.
    fn cancel_named(&self, name: [u8; 16]) {
        self.link.client.request(Request::Cancel(vec![Name(name)]));
    }

    /// A task's life, as a dict.
    fn explain(&self, py: Python<'_>, name: [u8; 16]) -> PyResult<Py<PyAny>> {
        let name = Name(name);
        match self.ask(py, |ticket| Request::Explain { name, ticket })? {
            Outcome::Explained(explanation) => figures::explanation(py, &explanation),
            other => Err(unexpected(&other)),
        }
    }

    /// The run's figures, as a dict.
    fn statistics(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self.ask(py, |ticket| Request::Statistics { ticket })? {
            Outcome::Statistics(statistics) => figures::statistics(py, &statistics),
            other => Err(unexpected(&other)),
        }
    }

    /// Tasks and blocks by function, as a dict; at most `limit` are listed, and `graph` drawn.
    #[pyo3(signature = (limit, label=None, stage=None, graph=None))]
    fn overview(
        &self,
        py: Python<'_>,
        limit: usize,
        label: Option<String>,
        stage: Option<String>,
        graph: Option<usize>,
    ) -> PyResult<Py<PyAny>> {
        let query = Query { limit, label, stage, graph };
        match self.ask(py, |ticket| Request::Overview { query, ticket })? {
            Outcome::Overview(overview) => figures::overview(py, &overview),
            other => Err(unexpected(&other)),
        }
    }

    /// Has what happens recorded for `take_columns`, or not: all with `whole`, else the last.
    fn observe(&self, observed: bool, whole: bool) {
        self.records(|records| {
            records.set_bounded(!whole);
            Vec::new()
        });
        self.link.client.request(Request::Observe(observed));
    }

    /// Lets workers go.
    fn retire(&self, workers: Vec<u32>) {
        let workers = workers.into_iter().map(WorkerId).collect();
        self.link.client.request(Request::Retire(workers));
    }

    /// Says which blocks are a collection's; it is known by its number from then on.
    fn collect(&self, futures: &Bound<'_, PyList>) -> PyResult<u64> {
        let blocks = names_of(futures)?;
        let collection = self.collections.fetch_add(1, Ordering::Relaxed);
        self.link.client.request(Request::Collect { collection, blocks });
        Ok(collection)
    }

    /// A collection is no more.
    fn disperse(&self, collection: u64) {
        self.link.client.request(Request::Disperse { collection });
    }

    /// Evens out the blocks of collections.
    fn balance(&self) {
        self.link.client.request(Request::Balance);
    }

    /// What was recorded since the last call, in Arrow's layout, 65,536 at once: how many there
    /// are, and by field the validity bits, the offsets (of text) and the data.
    fn take_columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for records in py.detach(|| self.records(Records::take)).chunks(columns::MAX_ROWS) {
            list.append((records.len(), columns::columns(py, records)?))?;
        }
        Ok(list)
    }

    /// Waits until tasks have printed something: false if none has in time, or none will any more.
    fn wait_printed(&self, py: Python<'_>, timeout_s: f64) -> PyResult<bool> {
        self.await_printed(py, timeout_s)
    }

    /// What tasks have printed since the last call, and how many bytes before were left out.
    fn take_printed<'py>(&self, py: Python<'py>) -> (Vec<printed::Piece<'py>>, u64) {
        self.printed(py)
    }

    /// Ends the run. Resolves what waits. May be called twice.
    fn close(&self, py: Python<'_>) {
        let thread = lock(&self.thread).take();
        py.detach(|| match thread {
            Some(Thread::Local(mut thread)) => thread.close(),
            Some(Thread::Remote(mut thread)) => thread.close(),
            None => {}
        });
    }

    /// In a child of the program, which has no manager's thread: there the run has ended.
    fn forget(&self) {
        match lock(&self.thread).take() {
            Some(Thread::Remote(thread)) => thread.forget(),
            thread => std::mem::forget(thread),
        }
        self.link.client.close();
    }

    /// Where workers join.
    #[getter]
    fn address(&self) -> String {
        self.address.to_string()
    }

    /// Whether the run has ended.
    #[getter]
    fn closed(&self) -> bool {
        self.link.client.is_closed()
    }
}

impl Manager {
    fn records(&self, of: impl FnOnce(&mut Records) -> Vec<Record>) -> Vec<Record> {
        let thread = lock(&self.thread);
        match thread.as_ref() {
            Some(Thread::Local(thread)) => of(&mut lock(&thread.records)),
            _ => Vec::new(),
        }
    }
}

fn unexpected(outcome: &Outcome) -> PyErr {
    match outcome {
        Outcome::Failed(_) => PyRuntimeError::new_err("the cluster is closed"),
        other => PyRuntimeError::new_err(format!("the manager answered {other:?}")),
    }
}
