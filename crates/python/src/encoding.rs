//! From Python values to bytes: plain ones directly, others by pickle.
//!
//! Plain are `None`, numbers, texts, bytes, futures, arrays and scalars of `NumPy`'s own dtypes,
//! tuples and named tuples of them. Whatever else there is in a value, all of it is left to pickle:
//! so two references to one mutable object stay two references to one.
//!
//! See docs/decisions/033-plain-values-are-encoded-without-pickle.md

use crate::arrays::{self, Kinds, Plain};
use crate::future::FutureBase;
use crate::pickling::{Block, encode_block, pickled_by_name, pickled_for};
use freestone_base::Name;
use freestone_executor::codec::Inputs;
use freestone_executor::codec::direct::{MAX_DEPTH, Writer, write_inputs};
use freestone_executor::codec::forms::{self, DIRECT};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyString, PyTuple, PyType};
use smallvec::SmallVec;
use std::sync::{Mutex, PoisonError};

/// What is written of an array besides its bytes, at most.
const HEADER: usize = 64;
/// Arguments of more bytes are pickled.
const MAX_DIRECT_NBYTES: usize = 1 << 20;
/// Classes of named tuples that are remembered at most.
const MAX_CLASSES: usize = 64;

/// Gives the position of a future among the inputs of a call; nothing if it can be none.
type Position<'a> = &'a mut dyn FnMut(&FutureBase) -> Option<usize>;

/// Writes a plain value in `limit` bytes at most. Nothing: it is for pickle.
fn write_plain(value: &Bound<'_, PyAny>, limit: usize) -> Option<Vec<u8>> {
    // Outside of arguments nothing stands for a future.
    let mut position = |_: &FutureBase| None;
    let mut walk = Walk::new(limit, &mut position);
    walk.value(value, 0)?;
    Some(walk.writer.finish())
}

/// Writes a call's arguments, as [`write_plain`] does a value.
fn write_plain_arguments(
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
        let Plain { dtype, shape, is_writeable } = Plain::of(value)?;
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
    let pickled = if is_named(&class) { pickled_by_name(&class) } else { None };
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

/// Whether a value says of itself that it has more than `limit` bytes.
pub fn is_large(value: &Bound<'_, PyAny>, limit: usize) -> bool {
    let small = value.is_none()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyString>();
    if small {
        return false;
    }
    if let Ok(bytes) = value.cast_exact::<PyBytes>() {
        return bytes.as_bytes().len() > limit;
    }
    let nbytes = value.getattr("nbytes").and_then(|nbytes| nbytes.extract::<usize>());
    nbytes.is_ok_and(|nbytes| nbytes > limit)
}

/// Encoded arguments and the blocks that they stand on.
pub struct Arguments {
    /// What travels.
    pub payload: Vec<u8>,
    /// The blocks, in the positions that the payload names.
    pub inputs: Vec<Name>,
}

/// Encodes a call's arguments for `owner`'s cluster.
pub fn encode_arguments(
    owner: &Bound<'_, PyAny>,
    arguments: &Bound<'_, PyTuple>,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<Arguments> {
    if let Some(direct) = write_arguments(owner, arguments, keywords) {
        return Ok(direct);
    }
    let py = owner.py();
    let keywords = keywords.filter(|keywords| !keywords.is_empty());
    let (pickle, inputs) = match keywords {
        None => pickled_for(owner, arguments)?,
        Some(keywords) => {
            pickled_for(owner, PyTuple::new(py, [arguments.as_any(), keywords])?.as_any())?
        }
    };
    let payload = forms::Arguments::of_pickle(pickle.as_bytes(), keywords.is_some());
    Ok(Arguments { payload, inputs })
}

/// Writes a call's arguments without pickle, if they are plain.
fn write_arguments(
    owner: &Bound<'_, PyAny>,
    arguments: &Bound<'_, PyTuple>,
    keywords: Option<&Bound<'_, PyDict>>,
) -> Option<Arguments> {
    let mut inputs = Inputs::default();
    let mut position = |future: &FutureBase| {
        let reference = future.reference().ok()?;
        // That a future is another cluster's is said where it is pickled.
        owner.is(&reference.link().owner).then(|| inputs.position(reference.name))
    };
    let payload = write_plain_arguments(arguments, keywords, MAX_DIRECT_NBYTES, &mut position)?;
    Some(Arguments { payload, inputs: inputs.into_names() })
}

/// An encoded value.
pub enum Encoded {
    /// Small: it travels in messages.
    Inline(Vec<u8>),
    /// Large: it becomes a block.
    Block(Block),
}

/// Encodes a value; whatever is larger than `inline_nbytes` is [`Encoded::Block`].
pub fn encode_value(value: &Bound<'_, PyAny>, inline_nbytes: usize) -> PyResult<Encoded> {
    let py = value.py();
    // Nothing at all is never a block; an array of just `inline_nbytes` is none either.
    let may_be_block = !value.is_none() && inline_nbytes == 0;
    let limit = if may_be_block { 0 } else { inline_nbytes + HEADER };
    if let Some(inline) = write_plain(value, limit) {
        return Ok(Encoded::Inline(inline));
    }
    let block = encode_block(value)?;
    if block.nbytes(py) > inline_nbytes {
        return Ok(Encoded::Block(block));
    }
    Ok(Encoded::Inline(block.inline(py)))
}

/// Arguments of a call that are its first `count` inputs.
pub fn positions(count: usize) -> PyResult<Vec<u8>> {
    let problem = || PyValueError::new_err(format!("{count} inputs are too many for a call"));
    write_inputs(forms::DIRECT, count).ok_or_else(problem)
}
