//! From Python's words to the core's: sources, targets, payloads.

use super::arguments::{identifier, integer, shown, wrong};
use crate::pickling::cached;
use freestone_events::{Dependency, EventId, Source, Target};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyString};

/// This rank. These numbers are none of MPI's, whose `MPI_PROC_NULL` must not be taken for one.
const OWN: i64 = -1001;
/// Every rank.
const ALL: i64 = -1002;
/// Any rank.
const ANY: i64 = -1003;

/// Types of payloads; those up to 11 are of the C header.
pub const NONE: u32 = 0;
pub const LONG: u32 = 2;
pub const DOUBLE: u32 = 4;
pub const BYTE: u32 = 5;
pub const ADDRESS: u32 = 6;
pub const BOOL: u32 = 7;
pub const TEXT: u32 = 17;

/// A Python object that is passed by reference.
pub struct Held(pub Py<PyAny>);

/// The numbers of a run, as one of its processes knows them.
#[derive(Clone, Copy)]
pub struct Numbers {
    pub own: u32,
    pub ranks: u32,
    pub clients: u32,
}

fn no_rank(number: &str, ranks: u32) -> PyErr {
    let last = ranks - 1;
    PyValueError::new_err(format!(
        "there is no rank {number}; the run has {ranks}, from 0 to {last}"
    ))
}

/// A rank, one that has attached, or `SELF`.
fn rank_of(number: i64, numbers: Numbers) -> PyResult<u32> {
    let Numbers { own, ranks, clients } = numbers;
    match u32::try_from(number) {
        Ok(rank) if rank < ranks + clients => Ok(rank),
        _ if number == OWN => Ok(own),
        _ => Err(no_rank(&number.to_string(), ranks)),
    }
}

/// What a call has for ranks: a number, which may be that of `SELF`, `ALL` or `ANY`, or several.
enum Given {
    One(i64),
    Several(Vec<u32>),
}

/// Ranks, as `what` of a call.
fn ranks_in(value: &Bound<'_, PyAny>, what: &str, numbers: Numbers) -> PyResult<Given> {
    let number = |value: &Bound<'_, PyAny>| {
        let found = integer(value)?;
        Some(found.map_err(|_| no_rank(&shown(value), numbers.ranks)))
    };
    if let Some(found) = number(value) {
        return found.map(Given::One);
    }
    let no_ranks = || {
        let must = "give a rank's number, SELF, ALL, or a list of numbers; ANY only as a source";
        wrong(value, what, must)
    };
    // Text has no ranks in it, and what has no length can be gone through once only.
    let is_text = value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>();
    if is_text || value.len().is_err() {
        return Err(no_ranks());
    }
    let each =
        |one: PyResult<Bound<'_, PyAny>>| rank_of(number(&one?).ok_or_else(no_ranks)??, numbers);
    value.try_iter()?.map(each).collect::<PyResult<_>>().map(Given::Several)
}

/// At whom an event is fired: a rank, `SELF`, `ALL`, or a sequence of ranks.
pub fn target(value: &Bound<'_, PyAny>, numbers: Numbers) -> PyResult<Target> {
    match ranks_in(value, "target", numbers)? {
        Given::Several(ranks) => Ok(Target::Group(ranks)),
        Given::One(ALL) => Ok(Target::All),
        Given::One(ANY) => {
            let own = if numbers.own < numbers.ranks { ", at SELF" } else { "" };
            Err(PyValueError::new_err(format!(
                "ANY is a source of events only; fire at a rank{own} or at ALL"
            )))
        }
        Given::One(number) => rank_of(number, numbers).map(Target::Rank),
    }
}

/// Dependencies: pairs of a source (a rank, `SELF`, `ANY`, `ALL`, or a sequence of ranks) and an
/// identifier.
pub fn dependencies(pairs: &Bound<'_, PyAny>, numbers: Numbers) -> PyResult<Vec<Dependency>> {
    let mut on = Vec::with_capacity(pairs.len().unwrap_or_default());
    let no_list = || wrong(pairs, "on", &format!("dependencies are a list of {PAIRS}"));
    if pairs.is_instance_of::<PyString>() {
        return Err(no_list());
    }
    for (index, pair) in pairs.try_iter().map_err(|_| no_list())?.enumerate() {
        let (source, id) = pair_of(&pair?, index)?;
        let id = EventId::from(identifier(id.as_any().as_borrowed(), "id")?);
        let from = |rank| Dependency { source: Source::Rank(rank), id: id.clone() };
        match ranks_in(&source, "source", numbers)? {
            Given::Several(ranks) => on.extend(ranks.into_iter().map(from)),
            Given::One(ALL) => on.extend(Dependency::all(numbers.ranks, &id)),
            Given::One(ANY) => on.push(Dependency { source: Source::Any, id }),
            Given::One(number) => on.push(from(rank_of(number, numbers)?)),
        }
    }
    Ok(on)
}

/// Dependencies as Python has them: the number of a rank, or `ANY`, and an identifier.
pub fn pairs_of(on: &[Dependency]) -> Vec<(i64, String)> {
    let pair = |one: &Dependency| {
        let source = match one.source {
            Source::Rank(rank) => i64::from(rank),
            Source::Any => ANY,
        };
        (source, one.id.to_string())
    };
    on.iter().map(pair).collect()
}

/// What dependencies consist of, for people.
const PAIRS: &str = "(source, id) pairs, as in on=[(ANY, 'field')]";

/// A source and an identifier: the dependency with this index.
fn pair_of<'py>(
    pair: &Bound<'py, PyAny>,
    index: usize,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyString>)> {
    let given: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)> = pair.extract().ok();
    match given {
        Some((source, id)) if id.is_instance_of::<PyString>() => Ok((source, id.cast_into()?)),
        Some((source, id)) if source.is_instance_of::<PyString>() => {
            let (source, id) = (shown(&source), shown(&id));
            let must = format!("the source comes first; give ({id}, {source})");
            Err(wrong(pair, &format!("on[{index}]"), &must))
        }
        _ => Err(wrong(pair, &format!("on[{index}]"), &format!("dependencies are {PAIRS}"))),
    }
}

fn encoder(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CELL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    cached(py, &CELL, "freestone.events.payload", "encode")
}

/// A value as bytes, in pieces.
pub enum Encoded<'a, 'py> {
    None,
    Word(u32, [u8; 8]),
    Bool(bool),
    Bytes(Bound<'py, PyBytes>),
    Text(&'a str),
    Pieces(u32, Vec<PyBuffer<u8>>),
}

impl Encoded<'_, '_> {
    /// Calls `fire` with its type and its pieces.
    pub fn with_parts<R>(&self, fire: impl FnOnce(u32, &[&[u8]]) -> R) -> R {
        match self {
            Self::None => fire(NONE, &[]),
            Self::Word(kind, word) => fire(*kind, &[word]),
            Self::Bool(flag) => fire(BOOL, &[&[u8::from(*flag)]]),
            Self::Bytes(bytes) => fire(BYTE, &[bytes.as_bytes()]),
            Self::Text(text) => fire(TEXT, &[text.as_bytes()]),
            Self::Pieces(kind, pieces) => {
                let parts: Vec<&[u8]> = pieces.iter().map(bytes_of).collect();
                fire(*kind, &parts)
            }
        }
    }
}

/// The bytes of a buffer, which `freestone.events.payload` gives in one piece.
fn bytes_of(buffer: &PyBuffer<u8>) -> &[u8] {
    // SAFETY: the buffer is held, and whoever changes it while it is fired has a race of their
    // own, as with any copy of it.
    unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast(), buffer.len_bytes()) }
}

/// Encodes what an event carries: numbers, text and bytes here, all else by
/// `freestone.events.payload`.
pub fn encode<'a, 'py>(value: &'a Bound<'py, PyAny>, id: &str) -> PyResult<Encoded<'a, 'py>> {
    if value.is_none() {
        return Ok(Encoded::None);
    }
    if value.is_exact_instance_of::<PyInt>()
        && let Ok(number) = value.extract::<i64>()
    {
        return Ok(Encoded::Word(LONG, number.to_le_bytes()));
    }
    if let Ok(flag) = value.cast_exact::<PyBool>() {
        return Ok(Encoded::Bool(flag.is_true()));
    }
    if value.is_exact_instance_of::<PyFloat>() {
        return Ok(Encoded::Word(DOUBLE, value.extract::<f64>()?.to_le_bytes()));
    }
    if let Ok(bytes) = value.cast_exact::<PyBytes>() {
        return Ok(Encoded::Bytes(bytes.clone()));
    }
    // What has no UTF-8, such as half of a surrogate pair, is pickled.
    if let Ok(Ok(text)) = value.cast_exact::<PyString>().map(PyStringMethods::to_str) {
        return Ok(Encoded::Text(text));
    }
    let (kind, pieces): (u32, Vec<PyBuffer<u8>>) =
        encoder(value.py())?.call1((value, id))?.extract()?;
    Ok(Encoded::Pieces(kind, pieces))
}
