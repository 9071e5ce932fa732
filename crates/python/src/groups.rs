//! Groups: values made of other blocks of the worker, held from one call to the next.
//!
//! A call that returns a [`Group`] leaves a small block: the call's arguments, the names of its
//! inputs, and a function. Wherever the block is an input, it is what the function returns for
//! those arguments, over inputs that are mapped in place. It is made once in each executor.

use crate::codec;
use freestone_base::Name;
use freestone_core::store::{Mapping, format};
use freestone_core::wire::{Call, Form, PlacedInput, ToExecutor, frame};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::collections::{HashMap, VecDeque};
use std::path::Path;

/// A result that is kept as the names of the call's inputs, not as their bytes.
#[pyclass(frozen, module = "freestone._native")]
pub struct Group {
    /// The value, in this executor.
    #[pyo3(get)]
    pub value: Py<PyAny>,
    /// Makes it again from the call's arguments, in others.
    #[pyo3(get)]
    pub make: Py<PyAny>,
}

#[pymethods]
impl Group {
    #[new]
    fn new(value: Py<PyAny>, make: Py<PyAny>) -> Self {
        Self { value, make }
    }
}

/// A group that this executor holds.
pub struct Held {
    /// Its value.
    pub value: Py<PyAny>,
    /// What it stands on, in place.
    pub members: Vec<PlacedInput>,
}

/// The groups that this executor holds, and what it was told of others.
#[derive(Default)]
pub struct Groups {
    /// Those that it holds.
    pub held: HashMap<Name, Held>,
    /// Answers to questions where members are; nothing where not all are there.
    pub opened: HashMap<Name, Option<Vec<String>>>,
    /// What came before the answer that was waited for.
    pub early: VecDeque<ToExecutor>,
}

impl Groups {
    /// What another executor is told of a group that is held here.
    pub fn told(&self, group: Name) -> Option<ToExecutor> {
        let members = &self.held.get(&group)?.members;
        let path = |member: &PlacedInput| match member {
            PlacedInput::Mapped { path, .. } => Some(path.clone()),
            PlacedInput::Inline(_) => None,
        };
        let paths = Some(members.iter().filter_map(path).collect());
        Some(ToExecutor::Opened { group, paths })
    }
}

/// A block as a member of a group, which is held as a whole.
fn placed_in_group(name: Name, path: String, form: &Form) -> PlacedInput {
    PlacedInput::Mapped { name, path, form: form.clone(), stays: false }
}

/// The parts of a group's block: the pickled function, arguments, and inputs without their paths.
pub struct Parts {
    make: Vec<u8>,
    arguments: Vec<u8>,
    members: Vec<PlacedInput>,
}

impl Parts {
    /// The parts of the block that a call leaves.
    pub fn of(call: &Call, make: &Bound<'_, PyAny>) -> PyResult<Self> {
        let members = call.inputs.iter().map(|input| match input {
            PlacedInput::Inline(_) => input.clone(),
            PlacedInput::Mapped { name, form, .. } => placed_in_group(*name, String::new(), form),
        });
        Ok(Self {
            make: codec::pickled(make)?,
            arguments: call.arguments.as_slice().to_vec(),
            members: members.collect(),
        })
    }

    /// The buffers of the block's file.
    pub fn buffers(&self) -> PyResult<[Vec<u8>; 2]> {
        let mut members = Vec::new();
        frame::encode(&self.members, &mut members)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok([self.arguments.clone(), members])
    }

    /// The pickle stream of the block's file.
    pub fn stream(&self) -> &[u8] {
        &self.make
    }

    /// Reads the block's file.
    pub fn read(path: &str) -> PyResult<Self> {
        let malformed =
            |error: &dyn std::fmt::Display| PyValueError::new_err(format!("{path}: {error}"));
        let file = Mapping::open(Path::new(path)).map_err(|error| malformed(&error))?;
        let parsed = format::parse(&file).map_err(|error| malformed(&error))?;
        let [arguments, members] = parsed.buffers.as_slice() else {
            return Err(malformed(&"it is no group"));
        };
        let members = file[members.clone()].get(4..).unwrap_or_default();
        Ok(Self {
            make: file[parsed.pickle].to_vec(),
            arguments: file[arguments.clone()].to_vec(),
            members: frame::decode(members).map_err(|error| malformed(&error))?,
        })
    }

    /// The names of the members that are blocks.
    pub fn names(&self) -> Vec<Name> {
        let name = |member: &PlacedInput| match member {
            PlacedInput::Mapped { name, .. } => Some(*name),
            PlacedInput::Inline(_) => None,
        };
        self.members.iter().filter_map(name).collect()
    }

    /// The members with the paths where they lie, which are given in order.
    pub fn placed(&self, paths: Vec<String>) -> Vec<PlacedInput> {
        let mut paths = paths.into_iter();
        let place = |member: &PlacedInput| match member {
            PlacedInput::Inline(_) => member.clone(),
            PlacedInput::Mapped { name, form, .. } => {
                placed_in_group(*name, paths.next().unwrap_or_default(), form)
            }
        };
        self.members.iter().map(place).collect()
    }

    /// The value, over the values of the members.
    pub fn make<'py>(
        &self,
        py: Python<'py>,
        values: Vec<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let make = codec::unpickled(py, &self.make)?;
        let (arguments, keywords): (Bound<'py, PyTuple>, _) =
            codec::decode_arguments(py, &self.arguments, values)?;
        make.call(arguments, keywords.as_ref())
    }
}
