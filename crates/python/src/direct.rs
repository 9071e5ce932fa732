//! Plain values of Python's in the direct codec.
//!
//! `None`, numbers, texts, bytes, futures, arrays and scalars of `NumPy`'s own dtypes, tuples and
//! named tuples of them. Whatever else there is in a value, all of it is left to pickle: so two
//! references to one mutable object stay two references to one.
//!
//! See docs/decisions/033-plain-values-are-encoded-without-pickle.md

use crate::arrays::{self, Kind, Kinds};
use crate::codec::{self, malformed};
use crate::future::FutureBase;
use freestone_executor::codec::direct::{Element, MAX_DEPTH, Reader, Writer};
use freestone_executor::codec::forms::DIRECT;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyString, PyTuple, PyType,
};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Classes of named tuples that are remembered at most.
const MAX_CLASSES: usize = 64;
/// In the flags of an array.
const C_CONTIGUOUS: u32 = 0x1;
const WRITEABLE: u32 = 0x400;

/// Gives the position of a future among the inputs of a call; nothing if it can be none.
pub type Position<'a> = &'a mut dyn FnMut(&FutureBase) -> Option<usize>;

/// Writes a value in `limit` bytes at most. Nothing: it is for pickle.
pub fn write(value: &Bound<'_, PyAny>, limit: usize) -> Option<Vec<u8>> {
    // Outside of arguments nothing stands for a future.
    let mut position = |_: &FutureBase| None;
    let mut walk = Walk::new(limit, &mut position);
    walk.value(value, 0)?;
    Some(walk.writer.finish())
}

/// Writes a call's arguments, as [`write`] does a value.
pub fn write_arguments(
    arguments: &Bound<'_, PyTuple>,
    keywords: Option<&Bound<'_, PyDict>>,
    limit: usize,
    position: Position<'_>,
) -> Option<Vec<u8>> {
    let mut walk = Walk::new(limit, position);
    walk.writer.length(arguments.len())?;
    walk.values(arguments, 0)?;
    walk.writer.length(keywords.map_or(0, PyDictMethods::len))?;
    for (key, value) in keywords.into_iter().flat_map(PyDictMethods::iter) {
        walk.value(&key, 0)?;
        walk.value(&value, 0)?;
    }
    Some(walk.writer.finish())
}

/// Walks over a value and writes what it finds.
struct Walk<'a> {
    writer: Writer,
    position: Position<'a>,
    /// The arrays so far: one that comes twice would be two on the other side.
    arrays: SmallVec<[usize; 4]>,
}

impl<'a> Walk<'a> {
    fn new(limit: usize, position: Position<'a>) -> Self {
        Self { writer: Writer::new(DIRECT, limit), position, arrays: SmallVec::new() }
    }

    fn value(&mut self, value: &Bound<'_, PyAny>, depth: usize) -> Option<()> {
        let writer = &mut self.writer;
        if value.is_none() {
            writer.none()
        } else if let Ok(future) = value.cast::<FutureBase>() {
            writer.input((self.position)(future.get())?)
        } else if let Ok(text) = value.cast_exact::<PyString>() {
            writer.text(text.to_str().ok()?)
        } else if value.is_exact_instance_of::<PyInt>() {
            writer.integer(value.extract::<i64>().ok()?)
        } else if let Ok(number) = value.cast_exact::<PyFloat>() {
            writer.float(number.value())
        } else if let Ok(flag) = value.cast_exact::<PyBool>() {
            writer.boolean(flag.is_true())
        } else if let Ok(bytes) = value.cast_exact::<PyBytes>() {
            writer.bytes(bytes.as_bytes())
        } else if let Ok(tuple) = value.cast::<PyTuple>() {
            self.tuple(tuple, depth)
        } else {
            self.of_numpy(value)
        }
    }

    fn tuple(&mut self, tuple: &Bound<'_, PyTuple>, depth: usize) -> Option<()> {
        if depth >= MAX_DEPTH {
            return None;
        }
        if tuple.is_exact_instance_of::<PyTuple>() {
            self.writer.tuple(tuple.len())?;
        } else {
            self.writer.named_tuple(&class_of_named(tuple)?, tuple.len())?;
        }
        self.values(tuple, depth + 1)
    }

    fn values(&mut self, values: &Bound<'_, PyTuple>, depth: usize) -> Option<()> {
        values.iter().try_for_each(|value| self.value(&value, depth))
    }

    fn of_numpy(&mut self, value: &Bound<'_, PyAny>) -> Option<()> {
        let py = value.py();
        let kinds = arrays::kinds(py).ok()??;
        if !value.get_type().is(kinds.array.bind(py)) {
            return self.scalar(value, kinds);
        }
        let address = value.as_ptr().addr();
        if self.arrays.contains(&address) {
            return None;
        }
        self.arrays.push(address);
        let flags = value.getattr(intern!(py, "flags")).ok()?;
        let flags: u32 = flags.getattr(intern!(py, "num")).ok()?.extract().ok()?;
        if flags & C_CONTIGUOUS == 0 {
            return None;
        }
        let dtype = value.getattr(intern!(py, "dtype")).ok()?;
        let dtype = kinds.all.iter().position(|kind| dtype.is(&kind.dtype))?;
        let shape = value.getattr(intern!(py, "shape")).ok()?.extract::<Vec<usize>>().ok()?;
        let is_writeable = flags & WRITEABLE != 0;
        self.writer.array(dtype, is_writeable, &shape, |bytes| append_raw(value, bytes))
    }

    fn scalar(&mut self, value: &Bound<'_, PyAny>, kinds: &Kinds) -> Option<()> {
        let class = value.get_type();
        let dtype = kinds.all.iter().position(|kind| class.is(&kind.scalar))?;
        self.writer.scalar(dtype, |bytes| append_raw(value, bytes))
    }
}

/// Appends the bytes of an array or a scalar.
fn append_raw(value: &Bound<'_, PyAny>, bytes: &mut Vec<u8>) -> Option<()> {
    let raw = value.call_method0(intern!(value.py(), "tobytes")).ok()?;
    bytes.extend_from_slice(raw.cast_exact::<PyBytes>().ok()?.as_bytes());
    Some(())
}

/// A class that derives `tuple`.
struct NamedTuple {
    class: Py<PyType>,
    /// The class, if it has nothing but its values and can be imported.
    pickled: Option<Vec<u8>>,
}

/// The pickled class of a named tuple that is nothing but its values.
fn class_of_named(tuple: &Bound<'_, PyTuple>) -> Option<Vec<u8>> {
    static KNOWN: Mutex<Vec<NamedTuple>> = Mutex::new(Vec::new());
    let class = tuple.get_type();
    let find = || {
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|known| class.is(&known.class)).map(|known| known.pickled.clone())
    };
    if let Some(found) = find() {
        return found;
    }
    let pickled = if is_named(&class) { codec::pickled_by_name(&class) } else { None };
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    // The lock is held for moments only: nothing is dropped that could run Python code under it.
    let former = if known.len() >= MAX_CLASSES { std::mem::take(&mut *known) } else { Vec::new() };
    known.push(NamedTuple { class: class.unbind(), pickled: pickled.clone() });
    drop(known);
    drop(former);
    pickled
}

/// Whether a class is one that `namedtuple` or `NamedTuple` made, and has no pickling of its own.
fn is_named(class: &Bound<'_, PyType>) -> bool {
    let py = class.py();
    let tuple = py.get_type::<PyTuple>();
    let base = class.getattr(intern!(py, "__base__"));
    let is_direct = base.is_ok_and(|base| base.is(&tuple));
    let offset = class.getattr(intern!(py, "__dictoffset__"));
    let has_no_more = offset.is_ok_and(|offset| offset.extract::<isize>().is_ok_and(|at| at == 0));
    let own = class.getattr(intern!(py, "__dict__"));
    let has = |name: &str| own.as_ref().is_ok_and(|own| own.contains(name).unwrap_or(true));
    let pickles = ["__reduce__", "__reduce_ex__", "__getstate__"].into_iter().any(has);
    is_direct && has_no_more && has("_fields") && has("_make") && !pickles
}

/// Reads what [`write`] wrote. Arrays in it can't be written to.
pub fn read<'py>(py: Python<'py>, reader: Reader<'_>) -> PyResult<Bound<'py, PyAny>> {
    Builder { py, reader, inputs: &[], is_own: false }.value(0)
}

/// Reads what [`write_arguments`] wrote: arguments and keywords.
pub fn read_arguments<'py>(
    py: Python<'py>,
    reader: Reader<'_>,
    inputs: &[Py<PyAny>],
) -> PyResult<codec::Decoded<'py>> {
    let mut builder = Builder { py, reader, inputs, is_own: true };
    let count = builder.reader.length().map_err(|error| malformed(&error))?;
    let arguments = builder.tuple(count, 0)?;
    let count = builder.reader.length().map_err(|error| malformed(&error))?;
    if count == 0 {
        return Ok((arguments, None));
    }
    let keywords = PyDict::new(py);
    for _ in 0..count {
        keywords.set_item(builder.value(0)?, builder.value(0)?)?;
    }
    Ok((arguments, Some(keywords)))
}

/// Makes Python's values of what it reads.
struct Builder<'py, 'a> {
    py: Python<'py>,
    reader: Reader<'a>,
    inputs: &'a [Py<PyAny>],
    /// Whether who gets the arrays may write to them, if they could be written to before.
    is_own: bool,
}

impl<'py> Builder<'py, '_> {
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
        let buffer = if self.is_own && is_writeable {
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
        let input = self.inputs.get(position);
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
    let class = codec::unpickled(py, pickled)?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if known.len() < MAX_CLASSES {
        known.insert(pickled.to_vec(), class.clone().unbind());
    }
    Ok(class)
}
