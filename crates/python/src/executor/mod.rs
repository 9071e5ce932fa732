//! The loop of an executor: a resident Python process that runs calls for its worker.
//!
//! It reads batches of calls from its socket, claims each before it begins (the worker may have
//! revoked it), runs it, and tells results in batches too: at the end of what it was given, or
//! when some time has passed since it last told.

mod inputs;
mod isolation;
mod outputs;

use crate::blocks::{self, Opened};
use crate::codec;
use crate::filled;
use crate::groups::Groups;
use crate::memory;
use crate::meter::Meter;
use freestone_base::{FunctionId, Name};
use freestone_core::net::monotonic_ns;
use freestone_core::store::{Folder, ledger};
use freestone_core::wire::{
    Call, CallResult, Frames, FromExecutor, Isolation, Output, RaisedException, Spent, TaskFailure,
    ToExecutor, encode_parts, frame,
};
use freestone_core::worker::claim::{Claims, INITIAL};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::io::{ErrorKind, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Results are told at the latest when this has passed since they were last told.
const TELL_EVERY: Duration = Duration::from_micros(200);

/// A call that took less time has neither forked nor closed descriptors of its executor's.
const LOOK_AFTER_NS: u64 = 1000;

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
    /// This process: a call may leave a child that returns from it as well.
    pid: u32,
    /// Which file the socket is.
    identity: Option<(u64, u64)>,
    functions: HashMap<FunctionId, Function>,
    groups: Groups,
    /// Blocks that stay mapped from one call to the next.
    staying: HashMap<Name, Opened>,
    results: Vec<CallResult>,
    unmapped: Unmapped,
    told: Instant,
    meter: Meter,
}

/// Which file a descriptor is.
fn identity(descriptor: RawFd) -> Option<(u64, u64)> {
    let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: room for the answer, which is written if the call succeeds.
    unsafe {
        (libc::fstat(descriptor, found.as_mut_ptr()) == 0).then(|| {
            let found = found.assume_init();
            (found.st_dev, found.st_ino)
        })
    }
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
    let number = std::env::var("FREESTONE__EXECUTOR").ok().and_then(|text| text.parse().ok());
    let folder = folder.written_by(ledger::executor(number.unwrap_or(0)));
    filled::set_cache(&folder);
    let mut executor = Executor {
        pid: std::process::id(),
        identity: identity(socket.as_raw_fd()),
        socket,
        frames: Frames::default(),
        claims,
        folder,
        inline_nbytes,
        spin: crate::durations::microseconds(spin_us),
        hooks,
        functions: HashMap::new(),
        groups: Groups::default(),
        staying: HashMap::new(),
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
                Some(ToExecutor::Forget(names)) => {
                    for name in &names {
                        self.groups.held.remove(name);
                        self.staying.remove(name);
                    }
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
        let mut bytes = Vec::with_capacity(256);
        let refused = encode_parts(FromExecutor::Results { results, unmapped }, &mut bytes);
        for (part, nbytes) in refused {
            let FromExecutor::Results { results, unmapped } = part else { continue };
            let results = results.into_iter().map(|result| result.too_large(nbytes)).collect();
            encode_parts(FromExecutor::Results { results, unmapped }, &mut bytes);
        }
        self.write(py, &bytes)
    }

    fn send(&mut self, py: Python<'_>, message: &FromExecutor) -> PyResult<()> {
        let mut bytes = Vec::with_capacity(256);
        frame::encode(message, &mut bytes)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        self.write(py, &bytes)
    }

    fn write(&mut self, py: Python<'_>, bytes: &[u8]) -> PyResult<()> {
        let socket = &mut self.socket;
        py.detach(|| socket.write_all(bytes)).map_err(PyOSError::new_err)
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
        if spent.duration_ns >= LOOK_AFTER_NS {
            self.look_after_itself(py, value.as_ref().err());
        }
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

    /// Ends this process if it is a child that the call has forked, or if the call closed the
    /// connection to the worker, whose descriptor may be another file's by now.
    fn look_after_itself(&self, py: Python<'_>, error: Option<&PyErr>) {
        let status = if std::process::id() != self.pid {
            let error = error.map(|error| error.value(py));
            let status = self.hooks.call_method1(py, "end_of_child", (error,));
            status.and_then(|status| status.extract(py)).unwrap_or(1)
        } else if identity(self.socket.as_raw_fd()) != self.identity {
            let label = "a call closed its executor's connection to the worker: it may close only";
            eprintln!("freestone: {label} the descriptors that it has opened");
            1
        } else {
            return;
        };
        // SAFETY: ends the process at once; what is the parent's, or the worker's, is left alone.
        unsafe { libc::_exit(status) }
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
