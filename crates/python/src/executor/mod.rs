//! The loop of an executor: a resident Python process that runs calls for its worker.
//!
//! It reads batches of calls from its socket, claims each before it begins (the worker may have
//! revoked it), runs it, and tells results in batches too: at the end of what it was given, or
//! when some time has passed since it last told.

mod isolation;

use crate::blocks::{self, Mapped, Stored, Use};
use crate::codec::{self, Encoded};
use crate::filled::{self, Filled};
use crate::groups::{Group, Groups, Held, Parts};
use crate::memory;
use crate::meter::Meter;
use freestone_base::{FunctionId, Name};
use freestone_core::net::monotonic_ns;
use freestone_core::store::Folder;
use freestone_core::wire::{
    BlockDesc, Call, CallResult, Form, Frames, FromExecutor, Isolation, Output, PlacedInput,
    RaisedException, Spent, TaskFailure, ToExecutor, frame,
};
use freestone_core::worker::claim::{Claims, INITIAL};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;
use std::io::{ErrorKind, Write};
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Results are told at the latest when this has passed since they were last told.
const TELL_EVERY: Duration = Duration::from_micros(200);

/// A call with more inputs may hold them for longer than it runs.
const FEW_INPUTS: usize = 16;

type Outputs = SmallVec<[Output; 1]>;

struct Function {
    label: String,
    definition: Vec<u8>,
    loaded: Option<Py<PyAny>>,
}

/// Names of blocks that calls brought and that nobody maps any more.
type Unmapped = Arc<Mutex<Vec<Name>>>;

struct Executor {
    socket: UnixStream,
    frames: Frames,
    claims: Claims<'static>,
    folder: Folder,
    inline_nbytes: usize,
    spin: Duration,
    hooks: Py<PyAny>,
    functions: HashMap<FunctionId, Function>,
    groups: Groups,
    results: Vec<CallResult>,
    unmapped: Unmapped,
    told: Instant,
    meter: Meter,
}

/// What the shared page holds before an executor's first call.
#[pyfunction]
pub fn fresh_claims(py: Python<'_>) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &INITIAL.to_ne_bytes())
}

/// Maps the word that this executor shares with its worker, for good.
fn map_claims(page: RawFd) -> std::io::Result<Claims<'static>> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let nbytes = size_of::<AtomicU64>();
    // SAFETY: a fresh mapping at an address that the system chooses.
    let address =
        unsafe { libc::mmap(std::ptr::null_mut(), nbytes, access, libc::MAP_SHARED, page, 0) };
    if address == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: page-aligned, at least eight bytes, never unmapped, and only used as an atomic, on
    // both sides.
    Ok(Claims::new(unsafe { &*address.cast::<AtomicU64>() }))
}

/// How a call uses its inputs. One with many may put them together to a group, which is held: its
/// members should be there once, not once more in this process.
fn usage_of(call: &Call) -> Use {
    if call.inputs.len() <= FEW_INPUTS { Use::Brief } else { Use::Long }
}

/// Runs calls until the worker ends the connection.
#[pyfunction]
#[pyo3(signature = (*, socket, page, memory, disk, inline_nbytes, spin_us, hooks))]
#[allow(clippy::too_many_arguments)]
pub fn run_executor(
    py: Python<'_>,
    socket: RawFd,
    page: RawFd,
    memory: (&str, u64),
    disk: (&str, u64),
    inline_nbytes: usize,
    spin_us: u64,
    hooks: Py<PyAny>,
) -> PyResult<()> {
    // SAFETY: the worker opened this descriptor for us and nobody else in this process uses it.
    let socket = unsafe { UnixStream::from_raw_fd(socket) };
    let claims = map_claims(page).map_err(PyOSError::new_err)?;
    memory::keep_freed();
    let folder = blocks::open_folder([memory, disk])?;
    filled::set_cache(&folder);
    let mut executor = Executor {
        socket,
        frames: Frames::default(),
        claims,
        folder,
        inline_nbytes,
        spin: Duration::from_micros(spin_us),
        hooks,
        functions: HashMap::new(),
        groups: Groups::default(),
        results: Vec::new(),
        unmapped: Arc::default(),
        told: Instant::now(),
        meter: Meter::default(),
    };
    executor.send(py, &FromExecutor::Ready { pid: std::process::id() })?;
    executor.serve(py)
}

impl Executor {
    fn serve(&mut self, py: Python<'_>) -> PyResult<()> {
        loop {
            let early = self.groups.early.pop_front();
            let message = if early.is_some() { early } else { self.next()? };
            match message {
                Some(ToExecutor::Define { function, label, definition }) => {
                    let definition = definition.as_slice().to_vec();
                    self.functions.insert(function, Function { label, definition, loaded: None });
                }
                Some(ToExecutor::Calls(calls)) => self.run_all(py, calls)?,
                Some(ToExecutor::Resume) => self.claims.resume(),
                Some(ToExecutor::Opened { group, paths }) => {
                    self.groups.opened.insert(group, paths);
                }
                Some(ToExecutor::Forget(groups)) => {
                    self.groups.held.retain(|group, _| !groups.contains(group));
                }
                Some(ToExecutor::Shutdown) => return self.tell(py),
                None => {
                    self.tell(py)?;
                    if !self.receive(py)? {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn next(&mut self) -> PyResult<Option<ToExecutor>> {
        self.frames.next().map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    fn run_all(&mut self, py: Python<'_>, calls: Vec<Call>) -> PyResult<()> {
        for call in calls {
            if !self.claims.try_claim(call.sequence) {
                continue;
            }
            let result = self.run(py, call);
            self.results.push(result);
            if self.told.elapsed() >= TELL_EVERY {
                self.tell(py)?;
            }
        }
        Ok(())
    }

    /// Tells the worker what has ended since it was last told.
    fn tell(&mut self, py: Python<'_>) -> PyResult<()> {
        let unmapped =
            std::mem::take(&mut *self.unmapped.lock().unwrap_or_else(PoisonError::into_inner));
        self.told = Instant::now();
        if self.results.is_empty() && unmapped.is_empty() {
            return Ok(());
        }
        let results = std::mem::take(&mut self.results);
        self.send(py, &FromExecutor::Results { results, unmapped })
    }

    fn send(&mut self, py: Python<'_>, message: &FromExecutor) -> PyResult<()> {
        let mut bytes = Vec::with_capacity(256);
        frame::encode(message, &mut bytes)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let socket = &mut self.socket;
        py.detach(|| socket.write_all(&bytes)).map_err(PyOSError::new_err)
    }

    /// Reads what there is, after waiting for it; false at the end of the connection.
    fn receive(&mut self, py: Python<'_>) -> PyResult<bool> {
        let (socket, frames, spin) = (&mut self.socket, &mut self.frames, self.spin);
        let received = py.detach(|| receive(socket, frames, spin));
        match received {
            Ok(nbytes) => Ok(nbytes > 0),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(false),
            Err(error) => Err(PyOSError::new_err(error)),
        }
    }

    fn run(&mut self, py: Python<'_>, call: Call) -> CallResult {
        let sequence = call.sequence;
        let mut spent = Spent { start_ns: monotonic_ns(), ..Spent::default() };
        let result = match call.isolation {
            Isolation::Shared => self.run_here(py, &call, &mut spent),
            Isolation::Fork => self.run_forked(py, &call, &mut spent),
            Isolation::Process => self.run_apart(py, call, &mut spent),
        };
        let result = result.unwrap_or_else(|error| Err(describe(py, &self.hooks, &error, true)));
        CallResult { sequence, spent, result }
    }

    /// Runs a call in this process. `spent` becomes what it took.
    fn run_here(
        &mut self,
        py: Python<'_>,
        call: &Call,
        spent: &mut Spent,
    ) -> PyResult<Result<Outputs, TaskFailure>> {
        match self.open_inputs(py, call, spent)? {
            Ok(inputs) => self.run_with(py, call, inputs, spent),
            Err(failure) => Ok(Err(failure)),
        }
    }

    fn open_inputs(
        &mut self,
        py: Python<'_>,
        call: &Call,
        spent: &mut Spent,
    ) -> PyResult<Result<Vec<Py<PyAny>>, TaskFailure>> {
        let begun = monotonic_ns();
        let values = self.values(py, &call.inputs, usage_of(call));
        spent.opening_ns += monotonic_ns() - begun;
        values
    }

    fn run_with(
        &mut self,
        py: Python<'_>,
        call: &Call,
        inputs: Vec<Py<PyAny>>,
        spent: &mut Spent,
    ) -> PyResult<Result<Outputs, TaskFailure>> {
        let function = self.load(py, call.function)?;
        let loaded = monotonic_ns();
        let (arguments, keywords) = codec::decode_arguments(py, call.arguments.as_slice(), inputs)?;
        self.meter.begin(call);
        spent.start_ns = monotonic_ns();
        spent.opening_ns += spent.start_ns - loaded;
        let value = function.bind(py).call(arguments, keywords.as_ref());
        let ended = monotonic_ns();
        spent.duration_ns = ended - spent.start_ns;
        spent.memory = self.meter.end();
        let result = match value {
            Ok(value) => self.outputs(&value, call).map_err(|error| {
                let label = self.functions.get(&call.function).map_or("", |known| &known.label);
                codec::refusal(py, "result", &value, label, &error)
            }),
            Err(error) => Ok(Err(describe(py, &self.hooks, &error, false))),
        };
        spent.storing_ns = monotonic_ns() - ended;
        result
    }

    fn load(&mut self, py: Python<'_>, id: FunctionId) -> PyResult<Py<PyAny>> {
        let function = self
            .functions
            .get_mut(&id)
            .ok_or_else(|| PyRuntimeError::new_err(format!("{id} was not defined")))?;
        if function.loaded.is_none() {
            let definition = PyBytes::new(py, &function.definition);
            let loaded = self.hooks.call_method1(py, "load", (definition, &function.label))?;
            function.loaded = Some(loaded);
        }
        match &function.loaded {
            Some(loaded) => Ok(loaded.clone_ref(py)),
            None => Err(PyRuntimeError::new_err(format!("{id} was not loaded"))),
        }
    }

    /// The values of a call's inputs. Each mapped one is told as unmapped once its value, and all
    /// that shares its memory, is gone.
    fn values(
        &mut self,
        py: Python<'_>,
        inputs: &[PlacedInput],
        usage: Use,
    ) -> PyResult<Result<Vec<Py<PyAny>>, TaskFailure>> {
        let mapped: Vec<Option<Arc<Mapped>>> =
            inputs.iter().map(|input| self.mapped(input)).collect();
        let mut values = Vec::with_capacity(inputs.len());
        for (input, mapped) in inputs.iter().zip(mapped) {
            let value = match (input, mapped) {
                (PlacedInput::Mapped { name, path, form: Form::Group }, _) => {
                    let Some(value) = self.group(py, *name, path)? else {
                        return Ok(Err(TaskFailure::InputLost { name: *name }));
                    };
                    value
                }
                (_, Some(mapped)) => blocks::load(py, &mapped, usage)?,
                (PlacedInput::Inline(bytes), _) => {
                    codec::decode_inline(py, bytes.as_slice())?.unbind()
                }
                (PlacedInput::Mapped { .. }, None) => continue,
            };
            values.push(value);
        }
        Ok(Ok(values))
    }

    fn mapped(&self, input: &PlacedInput) -> Option<Arc<Mapped>> {
        let PlacedInput::Mapped { name, path, form } = input else { return None };
        let (unmapped, name) = (Arc::clone(&self.unmapped), *name);
        let tell = move || unmapped.lock().unwrap_or_else(PoisonError::into_inner).push(name);
        Some(Mapped::new(path.clone(), form.clone(), name, Box::new(tell)))
    }

    /// The value of a group, which is held from now on; nothing if its members are not all here.
    fn group(&mut self, py: Python<'_>, name: Name, path: &str) -> PyResult<Option<Py<PyAny>>> {
        if let Some(held) = self.groups.held.get(&name) {
            return Ok(Some(held.value.clone_ref(py)));
        }
        let parts = Parts::read(path)?;
        let Some(paths) = self.open(py, name, parts.names())? else { return Ok(None) };
        let members = parts.placed(paths);
        let Ok(values) = self.values(py, &members, Use::Long)? else { return Ok(None) };
        let value = parts.make(py, values)?.unbind();
        self.groups.held.insert(name, Held { value: value.clone_ref(py), members });
        Ok(Some(value))
    }

    /// Where the members of a group lie, as the worker says: they count as mapped from now on.
    fn open(
        &mut self,
        py: Python<'_>,
        group: Name,
        members: Vec<Name>,
    ) -> PyResult<Option<Vec<String>>> {
        if members.is_empty() {
            return Ok(Some(Vec::new()));
        }
        if !self.groups.opened.contains_key(&group) {
            self.send(py, &FromExecutor::Open { group, members })?;
        }
        loop {
            if let Some(paths) = self.groups.opened.remove(&group) {
                return Ok(paths);
            }
            match self.next()? {
                Some(ToExecutor::Opened { group, paths }) => {
                    self.groups.opened.insert(group, paths);
                }
                Some(other) => self.groups.early.push_back(other),
                None if self.receive(py)? => {}
                None => return Err(PyRuntimeError::new_err("the worker has ended")),
            }
        }
    }

    fn outputs(
        &mut self,
        value: &Bound<'_, PyAny>,
        call: &Call,
    ) -> PyResult<Result<Outputs, TaskFailure>> {
        if call.outputs.len() == 1 {
            return Ok(self.output(value, call, call.outputs[0])?.map(|output| smallvec![output]));
        }
        let values = value.cast::<PyTuple>().ok().filter(|some| some.len() == call.outputs.len());
        let Some(values) = values else {
            return Err(PyValueError::new_err(format!(
                "the function returned no tuple of {} values",
                call.outputs.len()
            )));
        };
        let mut outputs = Outputs::new();
        for (value, name) in values.iter().zip(&call.outputs) {
            match self.output(&value, call, *name)? {
                Ok(output) => outputs.push(output),
                Err(failure) => return Ok(Err(failure)),
            }
        }
        Ok(Ok(outputs))
    }

    fn output(
        &mut self,
        value: &Bound<'_, PyAny>,
        call: &Call,
        name: Name,
    ) -> PyResult<Result<Output, TaskFailure>> {
        let py = value.py();
        if let Ok(group) = value.cast_exact::<Group>() {
            return self.output_group(py, group.get(), call, name);
        }
        if let Some(path) = blocks::path_of_file(value)? {
            return Ok(blocks::keep_file(py, &self.folder, &path, name).map(Output::Stored));
        }
        if let Ok(filled) = value.cast_exact::<Filled>() {
            return Ok(filled.get().keep(&self.folder, name)?.map(Output::Stored));
        }
        let (value, inline_nbytes) = match value.cast_exact::<Stored>() {
            Ok(stored) => (stored.get().value.bind(py), 0),
            Err(_) => (value, self.inline_nbytes),
        };
        match codec::encode_value(value, inline_nbytes)? {
            Encoded::Inline(bytes) => Ok(Ok(Output::Inline(bytes.into()))),
            Encoded::Large { pickle, buffers } => {
                Ok(blocks::keep_value(py, &self.folder, &pickle, &buffers, name)
                    .map(Output::Stored))
            }
        }
    }

    /// Leaves a group, and holds it here: its members are mapped already.
    fn output_group(
        &mut self,
        py: Python<'_>,
        group: &Group,
        call: &Call,
        name: Name,
    ) -> PyResult<Result<Output, TaskFailure>> {
        let parts = Parts::of(call, group.make.bind(py))?;
        let stored = blocks::keep_bytes(py, &self.folder, parts.stream(), &parts.buffers()?, name);
        if stored.is_ok() {
            let (value, members) = (group.value.clone_ref(py), call.inputs.clone());
            self.groups.held.insert(name, Held { value, members });
        }
        Ok(stored.map(|block| Output::Stored(BlockDesc { form: Form::Group, ..block })))
    }
}

/// An exception as it travels.
fn describe(py: Python<'_>, hooks: &Py<PyAny>, error: &PyErr, in_encoding: bool) -> TaskFailure {
    let value = error.value(py);
    // An error that never was caught by Python code has its traceback apart.
    let _ = value.setattr("__traceback__", error.traceback(py));
    let described = hooks
        .call_method1(py, "describe", (value, in_encoding))
        .and_then(|described| described.extract::<(Vec<u8>, String, String, String)>(py));
    let raised = match described {
        Ok((pickled, kind, message, traceback)) => {
            RaisedException { pickled: pickled.into(), kind, message, traceback, in_encoding }
        }
        Err(second) => RaisedException {
            pickled: Vec::new().into(),
            kind: "Exception".into(),
            message: format!("{error}, and describing it raised {second}"),
            traceback: String::new(),
            in_encoding,
        },
    };
    TaskFailure::Raised(Box::new(raised))
}

/// Reads once, first by looking again and again for `spin`, then asleep. Zero: the end.
fn receive(socket: &mut UnixStream, frames: &mut Frames, spin: Duration) -> std::io::Result<usize> {
    let start = Instant::now();
    socket.set_nonblocking(true)?;
    let mut received = frames.read_from(socket);
    while would_block(&received) && start.elapsed() < spin {
        std::thread::yield_now();
        received = frames.read_from(socket);
    }
    socket.set_nonblocking(false)?;
    while would_block(&received) || interrupted(&received) {
        received = frames.read_from(socket);
    }
    received.map(|(nbytes, _)| nbytes)
}

type Received = std::io::Result<(usize, usize)>;

fn would_block(received: &Received) -> bool {
    received.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

fn interrupted(received: &Received) -> bool {
    received.as_ref().is_err_and(|error| error.kind() == ErrorKind::Interrupted)
}
