//! Plain values as bytes, without pickle: what most arguments and results of calls are.
//!
//! `None`, numbers, texts, bytes, futures, arrays and scalars of `NumPy`'s own dtypes, tuples and
//! named tuples of them. To pickle and unpickle a small array takes ten times as long as to write
//! and read it like this. Whatever else there is in a value, all of it is left to pickle: so two
//! references to one mutable object stay two references to one.
//!
//! See docs/decisions/033-plain-values-are-encoded-without-pickle.md

use crate::arrays::{self, Kind, Kinds};
use crate::codec;
use crate::future::FutureBase;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyString, PyTuple, PyType,
};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

const NONE: u8 = b'N';
const FALSE: u8 = b'f';
const TRUE: u8 = b't';
const INT: u8 = b'i';
const FLOAT: u8 = b'd';
const TEXT: u8 = b's';
const BYTES: u8 = b'b';
const TUPLE: u8 = b'(';
const NAMED_TUPLE: u8 = b'{';
const ARRAY: u8 = b'a';
const SCALAR: u8 = b'0';
const INPUT: u8 = b'I';

/// Tuples in tuples that are written; deeper ones are left to pickle.
const DEEPEST: usize = 16;
/// Classes of named tuples that are remembered at most.
const MOST_CLASSES: usize = 64;
/// In the flags of an array.
const C_CONTIGUOUS: u32 = 0x1;
const WRITEABLE: u32 = 0x400;

/// Gives the position of a future among the inputs of a call; nothing if it can be none.
pub type Position<'a> = &'a mut dyn FnMut(&FutureBase) -> Option<usize>;

/// Writes a value in `limit` bytes at most, behind a tag. Nothing: it is for pickle.
pub fn write(value: &Bound<'_, PyAny>, tag: u8, limit: usize) -> Option<Vec<u8>> {
    // Outside of arguments nothing stands for a future.
    let mut position = |_: &FutureBase| None;
    let mut writer = Writer::new(tag, limit, &mut position);
    writer.value(value, 0)?;
    Some(writer.bytes)
}

/// Writes a call's arguments, as [`write`] does a value.
pub fn write_arguments(
    arguments: &Bound<'_, PyTuple>,
    keywords: Option<&Bound<'_, PyDict>>,
    tag: u8,
    limit: usize,
    position: Position<'_>,
) -> Option<Vec<u8>> {
    let mut writer = Writer::new(tag, limit, position);
    writer.values(arguments, 0)?;
    writer.number(keywords.map_or(0, PyDictMethods::len))?;
    for (key, value) in keywords.into_iter().flat_map(PyDictMethods::iter) {
        writer.value(&key, 0)?;
        writer.value(&value, 0)?;
    }
    Some(writer.bytes)
}

/// The arguments of a call that are its first `count` inputs, as [`write_arguments`] writes them.
pub fn write_inputs(count: usize, tag: u8) -> Option<Vec<u8>> {
    let mut position = |_: &FutureBase| None;
    let mut writer = Writer::new(tag, usize::MAX, &mut position);
    writer.number(count)?;
    for position in 0..count {
        writer.bytes.push(INPUT);
        writer.number(position)?;
    }
    writer.number(0)?;
    Some(writer.bytes)
}

struct Writer<'a> {
    bytes: Vec<u8>,
    limit: usize,
    position: Position<'a>,
    /// The arrays so far: one that comes twice would be two on the other side.
    arrays: SmallVec<[usize; 4]>,
}

impl<'a> Writer<'a> {
    fn new(tag: u8, limit: usize, position: Position<'a>) -> Self {
        let mut bytes = Vec::with_capacity(128);
        bytes.push(tag);
        Self { bytes, limit, position, arrays: SmallVec::new() }
    }

    fn value(&mut self, value: &Bound<'_, PyAny>, depth: usize) -> Option<()> {
        if value.is_none() {
            self.bytes.push(NONE);
        } else if let Ok(future) = value.cast::<FutureBase>() {
            let position = (self.position)(future.get())?;
            self.bytes.push(INPUT);
            self.number(position)?;
        } else if let Ok(text) = value.cast_exact::<PyString>() {
            self.sized(TEXT, text.to_str().ok()?.as_bytes())?;
        } else if value.is_exact_instance_of::<PyInt>() {
            self.fixed(INT, &value.extract::<i64>().ok()?.to_le_bytes());
        } else if let Ok(number) = value.cast_exact::<PyFloat>() {
            self.fixed(FLOAT, &number.value().to_le_bytes());
        } else if let Ok(flag) = value.cast_exact::<PyBool>() {
            self.bytes.push(if flag.is_true() { TRUE } else { FALSE });
        } else if let Ok(bytes) = value.cast_exact::<PyBytes>() {
            self.sized(BYTES, bytes.as_bytes())?;
        } else if let Ok(tuple) = value.cast::<PyTuple>() {
            self.tuple(tuple, depth)?;
        } else {
            self.of_numpy(value)?;
        }
        (self.bytes.len() <= self.limit).then_some(())
    }

    fn tuple(&mut self, tuple: &Bound<'_, PyTuple>, depth: usize) -> Option<()> {
        if depth >= DEEPEST {
            return None;
        }
        if tuple.is_exact_instance_of::<PyTuple>() {
            self.bytes.push(TUPLE);
        } else {
            self.sized(NAMED_TUPLE, &class_of_named(tuple)?)?;
        }
        self.values(tuple, depth + 1)
    }

    fn values(&mut self, values: &Bound<'_, PyTuple>, depth: usize) -> Option<()> {
        self.number(values.len())?;
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
        let dtype = value.getattr(intern!(py, "dtype")).ok()?;
        let number = kinds.all.iter().position(|kind| dtype.is(&kind.dtype))?;
        let shape: SmallVec<[usize; 4]> =
            value.getattr(intern!(py, "shape")).ok()?.extract::<Vec<usize>>().ok()?.into();
        let nbytes = shape
            .iter()
            .try_fold(kinds.all[number].nbytes, |product, length| product.checked_mul(*length))?;
        if flags & C_CONTIGUOUS == 0 || self.bytes.len() + nbytes > self.limit {
            return None;
        }
        let is_writeable = u8::from(flags & WRITEABLE != 0);
        let dimensions = u8::try_from(shape.len()).ok()?;
        self.bytes.extend([ARRAY, number as u8, is_writeable, dimensions]);
        for length in shape {
            self.number(length)?;
        }
        self.raw(value)
    }

    fn scalar(&mut self, value: &Bound<'_, PyAny>, kinds: &Kinds) -> Option<()> {
        let class = value.get_type();
        let number = kinds.all.iter().position(|kind| class.is(&kind.scalar))?;
        self.bytes.extend([SCALAR, number as u8]);
        self.raw(value)
    }

    /// The bytes of an array or a scalar.
    fn raw(&mut self, value: &Bound<'_, PyAny>) -> Option<()> {
        let bytes = value.call_method0(intern!(value.py(), "tobytes")).ok()?;
        self.bytes.extend_from_slice(bytes.cast_exact::<PyBytes>().ok()?.as_bytes());
        Some(())
    }

    fn fixed(&mut self, tag: u8, bytes: &[u8]) {
        self.bytes.push(tag);
        self.bytes.extend_from_slice(bytes);
    }

    fn sized(&mut self, tag: u8, bytes: &[u8]) -> Option<()> {
        self.bytes.push(tag);
        self.number(bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Some(())
    }

    fn number(&mut self, number: usize) -> Option<()> {
        self.bytes.extend_from_slice(&u32::try_from(number).ok()?.to_le_bytes());
        Some(())
    }
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
    let former = if known.len() >= MOST_CLASSES { std::mem::take(&mut *known) } else { Vec::new() };
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

/// Reads what [`write`] wrote, behind the tag. Arrays in it can't be written to.
pub fn read<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    Reader { py, bytes, inputs: &[], is_own: false }.value(0)
}

/// Reads what [`write_arguments`] wrote, behind the tag: arguments and keywords.
pub fn read_arguments<'py>(
    py: Python<'py>,
    bytes: &[u8],
    inputs: &[Py<PyAny>],
) -> PyResult<(Bound<'py, PyTuple>, Option<Bound<'py, PyDict>>)> {
    let mut reader = Reader { py, bytes, inputs, is_own: true };
    let arguments = reader.values(0)?;
    let count = reader.number()?;
    if count == 0 {
        return Ok((arguments, None));
    }
    let keywords = PyDict::new(py);
    for _ in 0..count {
        keywords.set_item(reader.value(0)?, reader.value(0)?)?;
    }
    Ok((arguments, Some(keywords)))
}

struct Reader<'py, 'a> {
    py: Python<'py>,
    bytes: &'a [u8],
    inputs: &'a [Py<PyAny>],
    /// Whether who gets the arrays may write to them, if they could be written to before.
    is_own: bool,
}

impl<'py, 'a> Reader<'py, 'a> {
    fn value(&mut self, depth: usize) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let value = match self.byte()? {
            NONE => py.None().into_bound(py),
            FALSE => PyBool::new(py, false).to_owned().into_any(),
            TRUE => PyBool::new(py, true).to_owned().into_any(),
            INT => i64::from_le_bytes(self.fixed()?).into_pyobject(py)?.into_any(),
            FLOAT => PyFloat::new(py, f64::from_le_bytes(self.fixed()?)).into_any(),
            TEXT => {
                let text = std::str::from_utf8(self.sized()?).map_err(|_| malformed())?;
                PyString::new(py, text).into_any()
            }
            BYTES => PyBytes::new(py, self.sized()?).into_any(),
            TUPLE if depth <= DEEPEST => self.values(depth + 1)?.into_any(),
            NAMED_TUPLE if depth <= DEEPEST => self.named_tuple(depth)?,
            ARRAY => self.array()?,
            SCALAR => self.scalar()?,
            INPUT => self.input()?,
            tag => return Err(PyValueError::new_err(format!("unknown tag {tag} of a value"))),
        };
        Ok(value)
    }

    fn values(&mut self, depth: usize) -> PyResult<Bound<'py, PyTuple>> {
        let count = self.number()?;
        let values = (0..count).map(|_| self.value(depth));
        let values = values.collect::<PyResult<SmallVec<[_; 8]>>>()?;
        PyTuple::new(self.py, values)
    }

    fn named_tuple(&mut self, depth: usize) -> PyResult<Bound<'py, PyAny>> {
        let class = class_by_name(self.py, self.sized()?)?;
        let values = self.values(depth + 1)?;
        let new = self.py.get_type::<PyTuple>().getattr(intern!(self.py, "__new__"))?;
        new.call1((class, values))
    }

    fn array(&mut self) -> PyResult<Bound<'py, PyAny>> {
        let (py, kind) = (self.py, self.kind()?);
        let is_writeable = self.byte()? != 0;
        let dimensions = self.byte()?;
        let shape = (0..dimensions).map(|_| self.number());
        let shape = shape.collect::<PyResult<SmallVec<[usize; 4]>>>()?;
        let nbytes = shape
            .iter()
            .try_fold(kind.nbytes, |product, length| product.checked_mul(*length))
            .ok_or_else(malformed)?;
        let bytes = self.take(nbytes)?;
        let buffer = if self.is_own && is_writeable {
            PyByteArray::new(py, bytes).into_any()
        } else {
            PyBytes::new(py, bytes).into_any()
        };
        arrays::over(py, &PyTuple::new(py, shape)?, &kind.dtype, &buffer)
    }

    fn scalar(&mut self) -> PyResult<Bound<'py, PyAny>> {
        let (py, kind) = (self.py, self.kind()?);
        let bytes = PyBytes::new(py, self.take(kind.nbytes)?).into_any();
        arrays::over(py, &PyTuple::empty(py), &kind.dtype, &bytes)?.get_item(PyTuple::empty(py))
    }

    fn kind(&mut self) -> PyResult<&'static Kind> {
        let number = usize::from(self.byte()?);
        arrays::load_kinds(self.py)?.all.get(number).ok_or_else(malformed)
    }

    fn input(&mut self) -> PyResult<Bound<'py, PyAny>> {
        let position = self.number()?;
        let input = self.inputs.get(position);
        let input =
            input.ok_or_else(|| PyValueError::new_err(format!("there is no input {position}")))?;
        Ok(input.bind(self.py).clone())
    }

    fn byte(&mut self) -> PyResult<u8> {
        let [byte] = self.fixed()?;
        Ok(byte)
    }

    fn number(&mut self) -> PyResult<usize> {
        Ok(u32::from_le_bytes(self.fixed()?) as usize)
    }

    fn sized(&mut self) -> PyResult<&'a [u8]> {
        let nbytes = self.number()?;
        self.take(nbytes)
    }

    fn fixed<const N: usize>(&mut self) -> PyResult<[u8; N]> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or_else(malformed)?;
        self.bytes = rest;
        Ok(*taken)
    }

    fn take(&mut self, nbytes: usize) -> PyResult<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(nbytes).ok_or_else(malformed)?;
        self.bytes = rest;
        Ok(taken)
    }
}

fn malformed() -> PyErr {
    PyValueError::new_err("a value is cut short")
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
    if known.len() < MOST_CLASSES {
        known.insert(pickled.to_vec(), class.clone().unbind());
    }
    Ok(class)
}
