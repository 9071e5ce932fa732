//! Arrays without pickling and unpickling each: those of blocks, and the kinds that there are of small ones.
//!
//! A block that is an array has all but its bytes in its pickle stream, so blocks of one shape and
//! dtype have the same stream. What the first of them turned out to be, the others are too, and the
//! stream of the first is that of the others.
//!
//! See docs/decisions/032-array-blocks-are-unpickled-once-per-shape.md and
//! docs/decisions/126-array-blocks-are-pickled-once-per-shape.md

use crate::mapped::MappedBuffer;
use freestone_executor::codec::direct::{DTYPES, Shape, array_nbytes};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyTuple, PyType};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Streams that are remembered at most: a collection's blocks have one or two.
const MOST: usize = 64;
/// Longer streams are not worth it.
const LONGEST: usize = 512;

/// What an array is besides its bytes.
pub struct Known {
    shape: Py<PyTuple>,
    dtype: Py<PyAny>,
    nbytes: usize,
}

static KNOWN: Mutex<Option<HashMap<Vec<u8>, Known>>> = Mutex::new(None);

/// In the flags of an array.
const C_CONTIGUOUS: u32 = 0x1;
const WRITEABLE: u32 = 0x400;

/// What a C-contiguous array of one of `NumPy`'s own dtypes is besides its bytes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Plain {
    /// A position in [`DTYPES`].
    pub dtype: usize,
    /// The lengths of its dimensions.
    pub shape: Shape,
    /// Whether its elements can be assigned.
    pub is_writeable: bool,
}

static STREAMS: Mutex<Option<HashMap<Plain, Py<PyBytes>>>> = Mutex::new(None);

/// One of `NumPy`'s own dtypes.
pub struct Kind {
    /// The dtype: the one object that stands for it.
    pub dtype: Py<PyAny>,
    /// The class of its scalars.
    pub scalar: Py<PyAny>,
}

/// `NumPy`'s own dtypes, and the class of its arrays.
pub struct Kinds {
    /// Of arrays, and nothing derived.
    pub array: Py<PyType>,
    /// In the order of [`DTYPES`].
    pub all: Vec<Kind>,
}

static KINDS: PyOnceLock<Kinds> = PyOnceLock::new();

/// The dtypes, if `NumPy` is loaded: without it no value is an array.
pub fn kinds(py: Python<'_>) -> PyResult<Option<&'static Kinds>> {
    if let Some(kinds) = KINDS.get(py) {
        return Ok(Some(kinds));
    }
    let modules = py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?;
    if modules.contains(intern!(py, "numpy"))? { load_kinds(py).map(Some) } else { Ok(None) }
}

/// The dtypes; loads `NumPy`.
pub fn load_kinds(py: Python<'_>) -> PyResult<&'static Kinds> {
    KINDS.get_or_try_init(py, || {
        let make = py.import(intern!(py, "numpy"))?.getattr(intern!(py, "dtype"))?;
        let kind = |(name, _): (&str, usize)| {
            let dtype = make.call1((name,))?;
            let scalar = dtype.getattr(intern!(py, "type"))?.unbind();
            PyResult::Ok(Kind { dtype: dtype.unbind(), scalar })
        };
        let all = DTYPES.into_iter().map(kind).collect::<PyResult<_>>()?;
        Ok(Kinds { array: array_class(py)?.clone().unbind(), all })
    })
}

impl Plain {
    /// What an array is; nothing if it isn't plain, or no array or one of a derived class.
    pub fn of(value: &Bound<'_, PyAny>) -> Option<Self> {
        let py = value.py();
        let kinds = kinds(py).ok()??;
        if !value.get_type().is(kinds.array.bind(py)) {
            return None;
        }
        let flags = value.getattr(intern!(py, "flags")).ok()?;
        let flags: u32 = flags.getattr(intern!(py, "num")).ok()?.extract().ok()?;
        if flags & C_CONTIGUOUS == 0 {
            return None;
        }
        let dtype = value.getattr(intern!(py, "dtype")).ok()?;
        let dtype = kinds.all.iter().position(|kind| dtype.is(&kind.dtype))?;
        let shape = value.getattr(intern!(py, "shape")).ok()?;
        let shape = shape.cast::<PyTuple>().ok()?.iter();
        let shape = shape.map(|length| length.extract().ok()).collect::<Option<Shape>>()?;
        Some(Self { dtype, shape, is_writeable: flags & WRITEABLE != 0 })
    }

    /// The pickle stream of arrays like this one, whose bytes are a buffer of their own, if it is known.
    pub fn stream(&self, py: Python<'_>) -> Option<Py<PyBytes>> {
        let streams = STREAMS.lock().unwrap_or_else(PoisonError::into_inner);
        Some(streams.as_ref()?.get(self)?.clone_ref(py))
    }

    /// Remembers the stream that one of them was pickled as, beside one buffer of so many bytes.
    pub fn learn_stream(self, stream: &Bound<'_, PyBytes>, nbytes: usize) {
        let is_whole = nbytes > 0 && array_nbytes(self.dtype, &self.shape) == Some(nbytes);
        if stream.as_bytes().len() > LONGEST || !is_whole {
            return;
        }
        let mut streams = STREAMS.lock().unwrap_or_else(PoisonError::into_inner);
        let streams = streams.get_or_insert_default();
        if streams.len() >= MOST {
            streams.clear();
        }
        streams.insert(self, stream.clone().unbind());
    }
}

/// The array of a shape and dtype over some bytes.
pub fn over<'py>(
    py: Python<'py>,
    shape: &Bound<'py, PyTuple>,
    dtype: &Py<PyAny>,
    bytes: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    array_class(py)?.call1((shape, dtype, bytes))
}

fn array_class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CELL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CELL.import(py, "numpy", "ndarray")
}

/// The array that a stream with one buffer of so many bytes stands for, if that is known.
pub fn known(py: Python<'_>, stream: &[u8], nbytes: usize) -> Option<Known> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let shape = known.as_ref()?.get(stream).filter(|shape| shape.nbytes == nbytes)?;
    let (lengths, dtype) = (shape.shape.clone_ref(py), shape.dtype.clone_ref(py));
    Some(Known { shape: lengths, dtype, nbytes })
}

/// Remembers what a stream with one buffer gave, if it is an array over just these bytes: a class
/// of its own may make an array of other values from them.
pub fn learn(value: &Bound<'_, PyAny>, stream: &[u8], buffer: &[u8]) -> PyResult<()> {
    let (py, nbytes) = (value.py(), buffer.len());
    if stream.len() > LONGEST || nbytes == 0 || !is_array(value) {
        return Ok(());
    }
    let flags = value.getattr(intern!(py, "flags"))?;
    let is_in_order = flags.getattr(intern!(py, "c_contiguous"))?.is_truthy()?;
    let interface = value.getattr(intern!(py, "__array_interface__"))?;
    let address: usize = interface.get_item("data")?.get_item(0)?.extract()?;
    let found: usize = value.getattr(intern!(py, "nbytes"))?.extract()?;
    if !is_in_order || address != buffer.as_ptr().addr() || found != nbytes {
        return Ok(());
    }
    let shape = value.getattr(intern!(py, "shape"))?.cast_into::<PyTuple>()?.unbind();
    let dtype = value.getattr(intern!(py, "dtype"))?.unbind();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if known.len() >= MOST {
        known.clear();
    }
    known.insert(stream.to_vec(), Known { shape, dtype, nbytes });
    Ok(())
}

/// Whether a value is an array and nothing derived. Without `NumPy` nothing is.
fn is_array(value: &Bound<'_, PyAny>) -> bool {
    let kind = value.get_type();
    let is_it = kind.name().is_ok_and(|name| name == "ndarray");
    is_it && array_class(value.py()).is_ok_and(|class| kind.is(class))
}

impl Known {
    /// The array over these bytes, which it can't change.
    pub fn over(&self, py: Python<'_>, bytes: &Py<MappedBuffer>) -> PyResult<Py<PyAny>> {
        Ok(over(py, self.shape.bind(py), &self.dtype, bytes.bind(py).as_any())?.unbind())
    }
}
