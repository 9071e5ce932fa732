//! Python as the interpreter of an executor.

use crate::blocks::{self, Stored};
use crate::decoding::{self, Decoded};
use crate::durations::microseconds;
use crate::encoding::{self, Encoded};
use crate::filled::{self, Filled};
use crate::groups::{self, Group};
use crate::pickling::{self, Block};
use freestone_base::Tenant;
use freestone_core::store::ledger;
use freestone_core::wire::RaisedException;
use freestone_core::wire::frame::FrameError;
use freestone_core::worker::claim::INITIAL;
use freestone_executor::block::{Mapped, Opened};
use freestone_executor::executor::{Executor, Options, Outbox, map_shared};
use freestone_executor::printing::{self, Printing};
use freestone_executor::{Ended, ExecutorError, Interpreter, Returned, memory};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::cell::RefCell;
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock};

/// What the shared page holds before an executor's first call.
#[pyfunction]
pub fn initial_claims(py: Python<'_>) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &INITIAL.to_ne_bytes())
}

/// Runs calls until the worker ends the connection.
#[pyfunction]
#[pyo3(signature = (*, socket, page, memory, disk, inline_nbytes, spin_us, prints, hooks))]
#[allow(clippy::too_many_arguments)]
pub fn run_executor(
    py: Python<'_>,
    socket: RawFd,
    page: RawFd,
    memory: (&str, u64),
    disk: (&str, u64),
    inline_nbytes: usize,
    spin_us: u64,
    prints: bool,
    hooks: Py<PyAny>,
) -> PyResult<()> {
    // SAFETY: the worker opened this descriptor for us and nobody else in this process uses it.
    let socket = unsafe { UnixStream::from_raw_fd(socket) };
    let (claims, grants, reads) = map_shared(page).map_err(PyOSError::new_err)?;
    let printing = prints.then(|| Printing::new(reads)).transpose().map_err(PyOSError::new_err)?;
    // SAFETY: a text that ends with zero, of at most 16 bytes.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"freestone-exec".as_ptr()) };
    memory::keep_freed();
    let folder = blocks::open_folder([memory, disk])?;
    let number = std::env::var("FREESTONE__EXECUTOR").ok().and_then(|text| text.parse().ok());
    let folder = folder.written_by(ledger::executor(number.unwrap_or(0)));
    filled::set_cache(&folder);
    let spin = microseconds(spin_us);
    let options = Options { socket, claims, grants, printing, folder, inline_nbytes, spin };
    let hooks = hooks.into_bound(py);
    let sampler: Option<Bound<'_, PyAny>> = hooks.getattr("sampler")?.extract()?;
    let entered = RefCell::new(PyTuple::empty(py).into_any());
    let interpreter = PythonInterpreter { py, hooks, sampler, entered };
    let executor = Executor::new(interpreter, options).map_err(PyOSError::new_err)?;
    let _ = OUTBOX.set(executor.outbox());
    executor.run().map_err(|raised| raised.0)
}

/// This process is about to print something.
#[pyfunction]
pub fn note_printed() {
    printing::note_printed();
}

/// Passes on where the call that runs has spent its time; while its function runs.
#[pyfunction]
pub fn report_profile(py: Python<'_>, samples: &[u8]) -> PyResult<()> {
    let Some(outbox) = OUTBOX.get() else { return Ok(()) };
    py.detach(|| outbox.report_profile(samples.into())).map_err(PyOSError::new_err)
}

/// That of this process, if it is an executor.
static OUTBOX: OnceLock<Arc<Outbox>> = OnceLock::new();

/// What this process says to its worker, if it is an executor.
pub fn outbox() -> Option<&'static Arc<Outbox>> {
    OUTBOX.get()
}

/// The priority of the call that runs in this process, if one does.
#[pyfunction]
pub fn priority() -> Option<i32> {
    OUTBOX.get()?.running().map(|running| running.priority)
}

/// Whose the call is that runs in this process, if one does: so is what it submits.
pub fn tenant() -> Option<Tenant> {
    OUTBOX.get()?.running().map(|running| running.tenant)
}

/// The call that runs is about to wait for others: it takes nothing until `end_wait` returns, which
/// gets what this returns. `what` it waits for is for people.
#[pyfunction]
pub fn begin_wait(py: Python<'_>, what: String) -> PyResult<Option<u32>> {
    let Some(outbox) = OUTBOX.get() else { return Ok(None) };
    py.detach(|| outbox.begin_wait(what)).map_err(PyOSError::new_err)
}

/// It could go on: returns when what it takes is its own again.
#[pyfunction]
pub fn end_wait(py: Python<'_>, sequence: u32) -> PyResult<()> {
    let Some(outbox) = OUTBOX.get() else { return Ok(()) };
    py.detach(|| outbox.end_wait(sequence)).map_err(PyOSError::new_err)
}

/// Python, while this thread is attached to it.
struct PythonInterpreter<'py> {
    py: Python<'py>,
    /// `freestone.node.executor.Hooks`.
    hooks: Bound<'py, PyAny>,
    /// `freestone.node.sampler.Sampler`, if calls are profiled.
    sampler: Option<Bound<'py, PyAny>>,
    /// The packages of the call that ran last.
    entered: RefCell<Bound<'py, PyAny>>,
}

/// A function that was loaded.
struct Function<'py> {
    callable: Bound<'py, PyAny>,
    /// The packages that its calls import, equal ones the same object.
    packages: Bound<'py, PyAny>,
}

/// An exception, or what becomes one.
struct Raised(PyErr);

impl From<PyErr> for Raised {
    fn from(error: PyErr) -> Self {
        Self(error)
    }
}

impl From<ExecutorError> for Raised {
    fn from(error: ExecutorError) -> Self {
        Self(match error {
            ExecutorError::Io(error) => PyOSError::new_err(error),
            ExecutorError::Store(error) => blocks::store_error(error),
            ExecutorError::NoTuple { .. }
            | ExecutorError::NoGroup { .. }
            | ExecutorError::Frame(FrameError::TooLarge { .. }) => {
                PyValueError::new_err(error.to_string())
            }
            ExecutorError::Frame(FrameError::Malformed { .. })
            | ExecutorError::Undefined(_)
            | ExecutorError::WorkerEnded => PyRuntimeError::new_err(error.to_string()),
        })
    }
}

impl<'py> Interpreter for PythonInterpreter<'py> {
    type Value = Py<PyAny>;
    type Function = Function<'py>;
    type Arguments = Decoded<'py>;
    type Block = Block;
    type Error = Raised;

    fn detach<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.py.detach(work)
    }

    fn share(&self, value: &Py<PyAny>) -> Py<PyAny> {
        value.clone_ref(self.py)
    }

    fn load(&self, definition: &[u8], label: &str) -> Result<Function<'py>, Raised> {
        let definition = PyBytes::new(self.py, definition);
        let (callable, packages) =
            self.hooks.call_method1("load", (definition, label))?.extract()?;
        Ok(Function { callable, packages })
    }

    fn enter(&self, function: &Function<'py>) -> Result<(), Raised> {
        if !self.entered.borrow().is(&function.packages) {
            self.hooks.call_method1("enter", (&function.packages,))?;
            self.entered.replace(function.packages.clone());
        }
        Ok(())
    }

    fn inline_value(&self, bytes: &[u8]) -> Result<Py<PyAny>, Raised> {
        Ok(decoding::decode_inline(self.py, bytes)?.unbind())
    }

    fn block_value(&self, block: &Opened) -> Result<Py<PyAny>, Raised> {
        Ok(blocks::value(self.py, block)?)
    }

    fn file_value(&self, file: &Arc<Mapped>) -> Result<Py<PyAny>, Raised> {
        Ok(blocks::file(self.py, file)?)
    }

    fn group_value(
        &self,
        make: &[u8],
        arguments: &[u8],
        members: Vec<Py<PyAny>>,
    ) -> Result<Py<PyAny>, Raised> {
        Ok(groups::make(self.py, make, arguments, members)?)
    }

    fn arguments(&self, encoded: &[u8], inputs: Vec<Py<PyAny>>) -> Result<Decoded<'py>, Raised> {
        Ok(decoding::decode_arguments(self.py, encoded, inputs)?)
    }

    fn call(
        &self,
        function: &Function<'py>,
        (arguments, keywords): Decoded<'py>,
    ) -> Result<Py<PyAny>, Raised> {
        if let Some(sampler) = &self.sampler {
            sampler.call_method0("begin")?;
        }
        let value = function.callable.call(arguments, keywords.as_ref());
        if let Some(sampler) = &self.sampler {
            sampler.call_method0("end")?;
        }
        Ok(value?.unbind())
    }

    fn split(&self, value: &Py<PyAny>, count: usize) -> Option<Vec<Py<PyAny>>> {
        let values = value.bind(self.py).cast::<PyTuple>().ok()?;
        (values.len() == count).then(|| values.iter().map(Bound::unbind).collect())
    }

    fn encode(
        &self,
        value: &Py<PyAny>,
        inline_nbytes: Option<usize>,
    ) -> Result<Returned<Py<PyAny>, Block>, Raised> {
        Ok(returned(value.bind(self.py), inline_nbytes)?)
    }

    fn with_block<T: Send>(
        &self,
        block: &Block,
        write: impl FnOnce(&[u8], &[&[u8]]) -> T + Send,
    ) -> T {
        block.with_bytes(self.py, write)
    }

    fn describe(&self, error: &Raised, is_encoding: bool) -> RaisedException {
        let (py, error) = (self.py, &error.0);
        let value = error.value(py);
        // An error that never was caught by Python code has its traceback apart.
        let _ = value.setattr("__traceback__", error.traceback(py));
        let described = self
            .hooks
            .call_method1("describe", (value, is_encoding))
            .and_then(|described| described.extract::<(Vec<u8>, String, String, String)>());
        let (pickled, kind, message, traceback) = described.unwrap_or_else(|second| {
            let message = format!("{error}, and describing it raised {second}");
            (Vec::new(), "Exception".into(), message, String::new())
        });
        let pickled = pickled.into();
        RaisedException { pickled, kind, message, traceback, in_encoding: is_encoding }
    }

    fn refuse_result(&self, value: &Py<PyAny>, label: &str, error: Raised) -> Raised {
        Raised(pickling::refusal(self.py, "result", value, label, &error.0))
    }

    fn fork(&self, first_input: Option<&Py<PyAny>>) -> Result<i32, Raised> {
        self.hooks.call_method1("before_fork", (first_input,))?;
        let child = self.py.import("os").and_then(|os| os.call_method0("fork"))?;
        Ok(child.extract()?)
    }

    fn flush(&self) {
        // What can't be written out is lost with the child.
        let _ = self.hooks.call_method0("after_fork");
    }

    fn exit_status(&self, error: Option<&Raised>) -> i32 {
        let error = error.map(|raised| raised.0.value(self.py));
        let status = self.hooks.call_method1("end_of_child", (error,));
        status.and_then(|status| status.extract()).unwrap_or(1)
    }

    fn run_separately(&self, messages: &[u8]) -> Result<(Vec<u8>, Ended), Raised> {
        let messages = PyBytes::new(self.py, messages);
        let answer = self.hooks.call_method1("run_apart", (messages,))?;
        let (answer, signal, status): (_, Option<i32>, Option<i32>) = answer.extract()?;
        let ended = signal.map_or(Ended::Status(status.unwrap_or(0)), Ended::Signal);
        Ok((answer, ended))
    }
}

/// What a call returned, as what becomes of it.
fn returned(
    value: &Bound<'_, PyAny>,
    inline_nbytes: Option<usize>,
) -> PyResult<Returned<Py<PyAny>, Block>> {
    let py = value.py();
    if let Ok(group) = value.cast_exact::<Group>() {
        let group = group.get();
        let make = pickling::pickled(group.make.bind(py))?;
        return Ok(Returned::Group { value: group.value.clone_ref(py), make });
    }
    if let Some(path) = blocks::path_of_file(value)? {
        return Ok(Returned::File(path));
    }
    if let Ok(filled) = value.cast_exact::<Filled>() {
        return Ok(Returned::Segment(filled.get().take()?));
    }
    let (value, inline_nbytes) = match value.cast_exact::<Stored>() {
        Ok(stored) => (stored.get().value.bind(py), inline_nbytes.and(Some(0))),
        Err(_) => (value, inline_nbytes),
    };
    let Some(inline_nbytes) = inline_nbytes else {
        return Ok(Returned::Block(pickling::encode_block(value)?));
    };
    Ok(match encoding::encode_value(value, inline_nbytes)? {
        Encoded::Inline(bytes) => Returned::Inline(bytes),
        Encoded::Block(block) => Returned::Block(block),
    })
}
