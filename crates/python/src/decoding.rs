//! From bytes to the Python values that they were made of.
//!
//! See docs/decisions/033-plain-values-are-encoded-without-pickle.md

use crate::arrays::{self, Kind};
use crate::pickling::{load_with_buffers, load_with_inputs, unpickled};
use freestone_executor::codec::direct::{Element, Reader};
use freestone_executor::codec::{CodecError, forms};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyList, PyString, PyTuple};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Classes of named tuples that are remembered at most.
const MAX_CLASSES: usize = 64;

/// A call's arguments: positional ones, and by keyword.
pub type Decoded<'py> = (Bound<'py, PyTuple>, Option<Bound<'py, PyDict>>);

/// Decodes a call's arguments with `inputs` in their places.
pub fn decode_arguments<'py>(
    py: Python<'py>,
    payload: &[u8],
    inputs: Vec<Py<PyAny>>,
) -> PyResult<Decoded<'py>> {
    match forms::Arguments::parse(payload).map_err(|error| malformed(&error))? {
        forms::Arguments::Direct(reader) => {
            Builder { py, reader, inputs: Inputs::Given(&inputs) }.arguments()
        }
        forms::Arguments::Positional(pickle) => {
            Ok((load_with_inputs(py, pickle, inputs)?.cast_into::<PyTuple>()?, None))
        }
        forms::Arguments::WithKeywords(pickle) => {
            let (arguments, keywords): (Bound<'py, PyTuple>, Bound<'py, PyDict>) =
                load_with_inputs(py, pickle, inputs)?.extract()?;
            Ok((arguments, Some(keywords)))
        }
    }
}

/// Decodes a call's arguments for a person: nothing is imported or called for them but `input` with
/// the number of an input, and `unpickle` with the pickle of the arguments, or of those and keywords.
#[pyfunction]
pub fn readable_arguments<'py>(
    py: Python<'py>,
    payload: &[u8],
    input: &Bound<'py, PyAny>,
    unpickle: &Bound<'py, PyAny>,
) -> PyResult<Decoded<'py>> {
    match forms::Arguments::parse(payload).map_err(|error| malformed(&error))? {
        forms::Arguments::Direct(reader) => {
            Builder { py, reader, inputs: Inputs::Shown(input) }.arguments()
        }
        forms::Arguments::Positional(pickle) => Ok((unpickle.call1((pickle,))?.extract()?, None)),
        forms::Arguments::WithKeywords(pickle) => Ok(unpickle.call1((pickle,))?.extract()?),
    }
}

/// Decodes what [`encode_value`](crate::encoding::encode_value) made inline.
pub fn decode_inline<'py>(py: Python<'py>, inline: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    match forms::Inline::parse(inline).map_err(|error| malformed(&error))? {
        forms::Inline::Direct(reader) => read_plain(py, reader),
        forms::Inline::Pickle { stream, buffers } if buffers.is_empty() => unpickled(py, stream),
        forms::Inline::Pickle { stream, buffers } => {
            let buffers = PyList::new(py, buffers.iter().map(|buffer| PyBytes::new(py, buffer)))?;
            load_with_buffers(py, PyBytes::new(py, stream).as_any(), &buffers)
        }
    }
}

/// What bytes that were damaged, or written by nobody of ours, raise.
fn malformed(error: &CodecError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Reads a plain value. Arrays in it can't be written to.
fn read_plain<'py>(py: Python<'py>, reader: Reader<'_>) -> PyResult<Bound<'py, PyAny>> {
    Builder { py, reader, inputs: Inputs::None }.value(0)
}

/// What stands where a call's inputs do.
#[derive(Clone, Copy)]
enum Inputs<'py, 'a> {
    /// There are none: it is a value, and who gets it shares its arrays with others.
    None,
    /// The call's own.
    Given(&'a [Py<PyAny>]),
    /// What this returns for the number of an input; all is to be shown only.
    Shown(&'a Bound<'py, PyAny>),
}

/// Makes Python's values of what it reads.
struct Builder<'py, 'a> {
    py: Python<'py>,
    reader: Reader<'a>,
    inputs: Inputs<'py, 'a>,
}

impl<'py> Builder<'py, '_> {
    /// Reads plain arguments: positional ones and keywords.
    fn arguments(mut self) -> PyResult<Decoded<'py>> {
        let count = self.reader.length().map_err(|error| malformed(&error))?;
        let arguments = self.tuple(count, 0)?;
        let count = self.reader.length().map_err(|error| malformed(&error))?;
        if count == 0 {
            return Ok((arguments, None));
        }
        let keywords = PyDict::new(self.py);
        for _ in 0..count {
            keywords.set_item(self.value(0)?, self.value(0)?)?;
        }
        Ok((arguments, Some(keywords)))
    }

    fn value(&mut self, depth: usize) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let value = match self.reader.element(depth).map_err(|error| malformed(&error))? {
            Element::None => py.None().into_bound(py),
            Element::Boolean(value) => PyBool::new(py, value).to_owned().into_any(),
            Element::Integer(value) => value.into_pyobject(py)?.into_any(),
            Element::Float(value) => PyFloat::new(py, value).into_any(),
            Element::Text(text) => PyString::new(py, text).into_any(),
            Element::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
            Element::Tuple(length) => self.tuple(length, depth + 1)?.into_any(),
            Element::NamedTuple { class, length } => self.named_tuple(class, length, depth)?,
            Element::Array { dtype, is_writeable, shape, bytes } => {
                self.array(dtype, is_writeable, &shape, bytes)?
            }
            Element::Scalar { dtype, bytes } => {
                let bytes = PyBytes::new(py, bytes).into_any();
                let scalar =
                    arrays::over(py, &PyTuple::empty(py), &self.kind(dtype)?.dtype, &bytes);
                scalar?.get_item(PyTuple::empty(py))?
            }
            Element::Input(position) => self.input(position)?,
        };
        Ok(value)
    }

    fn tuple(&mut self, length: usize, depth: usize) -> PyResult<Bound<'py, PyTuple>> {
        let values = (0..length).map(|_| self.value(depth));
        let values = values.collect::<PyResult<SmallVec<[_; 8]>>>()?;
        PyTuple::new(self.py, values)
    }

    fn named_tuple(
        &mut self,
        class: &[u8],
        length: usize,
        depth: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        if matches!(self.inputs, Inputs::Shown(_)) {
            return Ok(self.tuple(length, depth + 1)?.into_any());
        }
        let class = class_by_name(self.py, class)?;
        let values = self.tuple(length, depth + 1)?;
        let new = self.py.get_type::<PyTuple>().getattr(intern!(self.py, "__new__"))?;
        new.call1((class, values))
    }

    fn array(
        &self,
        dtype: usize,
        is_writeable: bool,
        shape: &[usize],
        bytes: &[u8],
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let buffer = if matches!(self.inputs, Inputs::Given(_)) && is_writeable {
            PyByteArray::new(py, bytes).into_any()
        } else {
            PyBytes::new(py, bytes).into_any()
        };
        arrays::over(py, &PyTuple::new(py, shape)?, &self.kind(dtype)?.dtype, &buffer)
    }

    fn kind(&self, dtype: usize) -> PyResult<&'static Kind> {
        Ok(&arrays::load_kinds(self.py)?.all[dtype])
    }

    fn input(&self, position: usize) -> PyResult<Bound<'py, PyAny>> {
        let input = match self.inputs {
            Inputs::None => None,
            Inputs::Given(inputs) => inputs.get(position),
            Inputs::Shown(input) => return input.call1((position,)),
        };
        let input =
            input.ok_or_else(|| PyValueError::new_err(format!("there is no input {position}")))?;
        Ok(input.bind(self.py).clone())
    }
}

/// The class that was pickled, imported once.
fn class_by_name<'py>(py: Python<'py>, pickled: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    static KNOWN: Mutex<Option<HashMap<Vec<u8>, Py<PyAny>>>> = Mutex::new(None);
    let find = || {
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref()?.get(pickled).map(|class| class.clone_ref(py))
    };
    if let Some(class) = find() {
        return Ok(class.into_bound(py));
    }
    let class = unpickled(py, pickled)?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if known.len() < MAX_CLASSES {
        known.insert(pickled.to_vec(), class.clone().unbind());
    }
    Ok(class)
}
