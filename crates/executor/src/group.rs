//! Groups: values made of other blocks of the worker, held from one call to the next.
//!
//! A call that returns a group leaves a small block: the call's arguments, the names of its inputs,
//! and a function. Wherever the block is an input, it is what the function returns for those
//! arguments, over inputs that are mapped in place. It is made once in each executor.

use crate::ExecutorError;
use crate::block::no_group;
use freestone_base::Name;
use freestone_core::store::{Mapping, format};
use freestone_core::wire::{Call, Form, PlacedInput, ToExecutor, frame};
use std::collections::{HashMap, VecDeque};
use std::path::Path;

/// A group that this executor holds.
struct Held<V> {
    value: V,
    /// What it refers to, in place.
    members: Vec<PlacedInput>,
}

/// The groups that this executor holds, and what the worker answered about others.
pub(crate) struct Groups<V> {
    held: HashMap<Name, Held<V>>,
    /// Answers to questions where members are; nothing where not all are there.
    opened: HashMap<Name, Option<Vec<String>>>,
    /// Messages that came before an awaited answer, in order.
    early: VecDeque<ToExecutor>,
}

impl<V> Groups<V> {
    pub fn new() -> Self {
        Self { held: HashMap::new(), opened: HashMap::new(), early: VecDeque::new() }
    }

    /// The value of a group that is held.
    pub fn value(&self, group: Name) -> Option<&V> {
        Some(&self.held.get(&group)?.value)
    }

    /// Holds a group until it is forgotten.
    pub fn hold(&mut self, group: Name, value: V, members: Vec<PlacedInput>) {
        self.held.insert(group, Held { value, members });
    }

    /// Lets go of a group, if it is held.
    pub fn forget(&mut self, group: Name) {
        self.held.remove(&group);
    }

    /// The worker has answered where a group's members are.
    pub fn on_opened(&mut self, group: Name, paths: Option<Vec<String>>) {
        self.opened.insert(group, paths);
    }

    /// Whether the worker has answered about a group.
    pub fn is_answered(&self, group: Name) -> bool {
        self.opened.contains_key(&group)
    }

    /// Where the members of a group are, by the worker's answer, which is forgotten; nothing if not
    /// all are there.
    pub fn take_paths(&mut self, group: Name) -> Option<Vec<String>> {
        self.opened.remove(&group).flatten()
    }

    /// Keeps a message for after the call that waits for an answer.
    pub fn postpone(&mut self, message: ToExecutor) {
        self.early.push_back(message);
    }

    /// The next message that was postponed.
    pub fn next_postponed(&mut self) -> Option<ToExecutor> {
        self.early.pop_front()
    }

    /// What another executor is sent about a group that is held here.
    pub fn message(&self, group: Name) -> Option<ToExecutor> {
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

/// The parts of a group's block: the encoded function, arguments, and inputs without their paths.
pub(crate) struct Parts {
    make: Vec<u8>,
    arguments: Vec<u8>,
    members: Vec<PlacedInput>,
}

impl Parts {
    /// The parts of the block that a call leaves, whose value `make` makes elsewhere.
    pub fn of(call: &Call, make: Vec<u8>) -> Self {
        let members = call.inputs.iter().map(|input| match input {
            PlacedInput::Inline(_) => input.clone(),
            PlacedInput::Mapped { name, form, .. } => placed_in_group(*name, String::new(), form),
        });
        Self { make, arguments: call.arguments.as_slice().to_vec(), members: members.collect() }
    }

    /// The encoded members: the second buffer of the block's file, whose first are the arguments.
    pub fn encoded_members(&self) -> Result<Vec<u8>, ExecutorError> {
        let mut members = Vec::new();
        frame::encode(&self.members, &mut members)?;
        Ok(members)
    }

    /// The function: the stream of the block's file.
    pub fn make(&self) -> &[u8] {
        &self.make
    }

    /// The arguments.
    pub fn arguments(&self) -> &[u8] {
        &self.arguments
    }

    /// Reads the block's file.
    pub fn read(path: &str) -> Result<Self, ExecutorError> {
        let file = Mapping::open(Path::new(path)).map_err(|error| no_group(path, &error))?;
        let parsed = format::parse(&file).map_err(|error| no_group(path, &error))?;
        let [arguments, members] = parsed.buffers.as_slice() else {
            return Err(no_group(path, &"it is no group"));
        };
        let members = file[members.clone()].get(4..).unwrap_or_default();
        Ok(Self {
            make: file[parsed.pickle].to_vec(),
            arguments: file[arguments.clone()].to_vec(),
            members: frame::decode(members).map_err(|error| no_group(path, &error))?,
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
}
