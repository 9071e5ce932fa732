//! Pickle protocol 5, with futures among what is pickled as positions of inputs.

use crate::arrays::Plain;
use freestone_base::Name;
use freestone_executor::codec::{Inputs, forms};
use pyo3::IntoPyObjectExt;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyType};
use std::cell::RefCell;

const PROTOCOL: u8 = 5;

struct Encoding {
    owner: Py<PyAny>,
    inputs: Inputs,
    /// Where the call will run, since something in its arguments can only be used there.
    place: Option<String>,
}

thread_local! {
    static ENCODING: RefCell<Option<Encoding>> = const { RefCell::new(None) };
    static INPUTS: RefCell<Vec<Vec<Py<PyAny>>>> = const { RefCell::new(Vec::new()) };
}

/// Something of a module, looked up once.
pub fn cached<'py>(
    py: Python<'py>,
    cell: &'static PyOnceLock<Py<PyAny>>,
    module: &str,
    attribute: &str,
) -> PyResult<&'py Bound<'py, PyAny>> {
    let value = cell
        .get_or_try_init(py, || Ok::<_, PyErr>(py.import(module)?.getattr(attribute)?.unbind()))?;
    Ok(value.bind(py))
}

fn dumps(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CELL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    cached(py, &CELL, "pickle", "dumps")
}

fn dumps_by_value(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CELL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    cached(py, &CELL, "freestone.functions", "dumps")
}

fn loads(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CELL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    cached(py, &CELL, "pickle", "loads")
}

fn pickle_buffer(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CELL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    cached(py, &CELL, "pickle", "PickleBuffer")
}

/// Whether the program has registered how values of this class are pickled.
fn has_reducer(value: &Bound<'_, PyAny>) -> bool {
    static CELL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let reducers = cached(value.py(), &CELL, "copyreg", "dispatch_table");
    reducers.and_then(|reducers| reducers.contains(value.get_type())).unwrap_or(true)
}

fn load_input_function(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CELL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    cached(py, &CELL, "freestone._native.executor", "load_input")
}

/// Whether a pickle refers to the main module: then plain pickle took by reference what the other
/// side can't import, and it has to go by value.
fn mentions_main(pickle: &[u8]) -> bool {
    // It is `__main__`, and `__mp_main__` in children that multiprocessing has spawned.
    memchr::memmem::find(pickle, b"_main__").is_some()
}

fn as_bytes<'py>(pickle: &'py Bound<'py, PyAny>) -> PyResult<&'py [u8]> {
    Ok(pickle.cast::<PyBytes>()?.as_bytes())
}

/// Pickles `value`; large buffers go to `buffers` if it is given.
fn pickle<'py>(
    value: &Bound<'py, PyAny>,
    buffers: Option<&Bound<'py, PyList>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    let keywords = PyDict::new(py);
    if let Some(buffers) = buffers {
        keywords.set_item("buffer_callback", buffers.getattr("append")?)?;
    }
    let plain = if buffers.is_some() {
        dumps(py)?.call((value, PROTOCOL), Some(&keywords))
    } else {
        dumps(py)?.call1((value, PROTOCOL))
    };
    match plain {
        Ok(pickle) if !mentions_main(as_bytes(&pickle)?) => Ok(pickle),
        Err(error) if is_ours(&error, py) => Err(error),
        _ => {
            if let Some(buffers) = buffers {
                buffers.call_method0("clear")?;
            }
            ENCODING.with_borrow_mut(|encoding| {
                if let Some(encoding) = encoding {
                    encoding.inputs = Inputs::default();
                }
            });
            dumps_by_value(py)?.call((value,), Some(&keywords))
        }
    }
}

/// The error for a value that can't be pickled, which says which part of it can't.
pub fn refusal<'py>(
    py: Python<'py>,
    what: &str,
    value: impl IntoPyObject<'py>,
    label: &str,
    error: &PyErr,
) -> PyErr {
    let explain = || {
        let maker = py.import("freestone.functions.serializing")?.getattr("not_serializable")?;
        maker.call1((what, value.into_bound_py_any(py)?, label, error.value(py)))
    };
    explain().map_or_else(|second| second, PyErr::from_value)
}

/// Whether an error comes from a future or file inside the value; to send it by value can't help then.
fn is_ours(error: &PyErr, py: Python<'_>) -> bool {
    error.value(py).hasattr("slug").unwrap_or(false)
}

/// A pickled value.
pub fn pickled(value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    Ok(as_bytes(&pickle(value, None)?)?.to_vec())
}

/// A pickled class that the other side can import.
pub fn pickled_by_name(class: &Bound<'_, PyType>) -> Option<Vec<u8>> {
    let pickle = dumps(class.py()).ok()?.call1((class, PROTOCOL)).ok()?;
    let pickle = as_bytes(&pickle).ok()?;
    (!mentions_main(pickle)).then(|| pickle.to_vec())
}

/// What [`pickled`] pickled.
pub fn unpickled<'py>(py: Python<'py>, pickled: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    loads(py)?.call1((PyBytes::new(py, pickled),))
}

/// The arguments of a call of `owner`'s cluster, pickled, and the inputs that they name.
pub fn pickled_for<'py>(
    owner: &Bound<'py, PyAny>,
    arguments: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyBytes>, Vec<Name>)> {
    let encoding =
        Encoding { owner: owner.clone().unbind(), inputs: Inputs::default(), place: None };
    let outer = ENCODING.replace(Some(encoding));
    let pickled = pickle(arguments, None);
    let encoding = ENCODING.replace(outer);
    let inputs = encoding.map(|encoding| encoding.inputs.into_names()).unwrap_or_default();
    Ok((pickled?.cast_into::<PyBytes>()?, inputs))
}

/// The cluster whose call's arguments this thread pickles now, if any.
#[pyfunction]
pub fn encoding_owner(py: Python<'_>) -> Option<Py<PyAny>> {
    ENCODING.with_borrow(|encoding| Some(encoding.as_ref()?.owner.clone_ref(py)))
}

/// Whether the call whose arguments this thread pickles can run at a place: the first to ask
/// decides.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as PyO3 extracts it
pub fn encoding_place(place: String) -> bool {
    ENCODING.with_borrow_mut(|encoding| {
        let Some(encoding) = encoding else { return false };
        *encoding.place.get_or_insert_with(|| place.clone()) == place
    })
}

/// What a future pickles as inside a call's arguments.
pub fn reference(py: Python<'_>, name: Name) -> PyResult<Py<PyAny>> {
    let position =
        ENCODING.with_borrow_mut(|encoding| Some(encoding.as_mut()?.inputs.position(name)));
    let Some(position) = position else {
        return Err(PyRuntimeError::new_err("no call's arguments are being encoded"));
    };
    let arguments = (position,).into_pyobject(py)?;
    Ok((load_input_function(py)?, arguments).into_pyobject(py)?.into_any().unbind())
}

/// The value of an input, while a call's arguments are unpickled.
#[pyfunction]
pub fn load_input(py: Python<'_>, position: usize) -> PyResult<Py<PyAny>> {
    INPUTS
        .with_borrow(|stack| Some(stack.last()?.get(position)?.clone_ref(py)))
        .ok_or_else(|| PyRuntimeError::new_err(format!("there is no input {position}")))
}

/// Unpickles a call's arguments with `inputs` in their places.
pub fn load_with_inputs<'py>(
    py: Python<'py>,
    pickle: &[u8],
    inputs: Vec<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    INPUTS.with_borrow_mut(|stack| stack.push(inputs));
    let value = unpickled(py, pickle);
    INPUTS.with_borrow_mut(Vec::pop);
    value
}

/// An encoded value that is, or becomes, a block.
pub struct Block {
    pickle: Py<PyBytes>,
    /// Its out-of-band buffers.
    buffers: Vec<PyBuffer<u8>>,
}

impl Block {
    /// Gives the stream and the buffers to `write`, while other threads may run Python code.
    pub fn with_bytes<T: Send>(
        &self,
        py: Python<'_>,
        write: impl FnOnce(&[u8], &[&[u8]]) -> T + Send,
    ) -> T {
        let stream = self.pickle.as_bytes(py);
        let buffers: Vec<&[u8]> = self.buffers.iter().map(buffer_bytes).collect();
        py.detach(|| write(stream, &buffers))
    }

    /// As it travels in messages, if it is small enough for them.
    pub fn inline(&self, py: Python<'_>) -> Vec<u8> {
        let buffers: Vec<&[u8]> = self.buffers.iter().map(buffer_bytes).collect();
        forms::Inline::of_pickle(self.pickle.as_bytes(py), &buffers)
    }

    /// Bytes of the stream and of all buffers.
    pub fn nbytes(&self, py: Python<'_>) -> usize {
        let of_buffers = self.buffers.iter().map(|buffer| buffer.len_bytes()).sum::<usize>();
        self.pickle.as_bytes(py).len() + of_buffers
    }
}

/// Encodes a value as a block, however small it is. Of arrays of one shape and dtype only the first is
/// pickled.
pub fn encode_block(value: &Bound<'_, PyAny>) -> PyResult<Block> {
    let py = value.py();
    let array = Plain::of(value).filter(|_| !has_reducer(value));
    if let Some(pickle) = array.as_ref().and_then(|array| array.stream(py)) {
        let buffer = raw(&pickle_buffer(py)?.call1((value,))?)?;
        return Ok(Block { pickle, buffers: vec![buffer] });
    }
    let list = PyList::empty(py);
    let pickled = pickle(value, Some(&list))?.cast_into::<PyBytes>()?;
    let buffers = list.iter().map(|buffer| raw(&buffer)).collect::<PyResult<Vec<_>>>()?;
    if let (Some(array), [buffer]) = (array, buffers.as_slice()) {
        array.learn_stream(&pickled, buffer.len_bytes());
    }
    Ok(Block { pickle: pickled.unbind(), buffers })
}

/// The bytes of a `PickleBuffer`.
fn raw(buffer: &Bound<'_, PyAny>) -> PyResult<PyBuffer<u8>> {
    PyBuffer::get(&buffer.call_method0(intern!(buffer.py(), "raw"))?)
}

/// The bytes of a contiguous buffer.
pub fn buffer_bytes(buffer: &PyBuffer<u8>) -> &[u8] {
    // SAFETY: `PickleBuffer.raw` gives contiguous bytes, and the exporter keeps them alive and in
    // place for as long as `buffer` lives. Nobody else runs Python code while they are read, except
    // when the caller has detached; a user who changes an argument meanwhile gets mixed values.
    unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast(), buffer.len_bytes()) }
}

/// Unpickles `stream` with its out-of-band buffers.
pub fn load_with_buffers<'py>(
    py: Python<'py>,
    stream: &Bound<'py, PyAny>,
    buffers: &Bound<'py, PyList>,
) -> PyResult<Bound<'py, PyAny>> {
    let keywords = PyDict::new(py);
    keywords.set_item("buffers", buffers)?;
    loads(py)?.call((stream,), Some(&keywords))
}
