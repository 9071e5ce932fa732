//! What a call needs: values of blocks, mapped or unpickled, and groups of them.

use super::Executor;
use crate::blocks::{self, Mapped, Opened, Use};
use crate::codec;
use crate::groups::{Held, Parts};
use freestone_base::Name;
use freestone_core::net::monotonic_ns;
use freestone_core::wire::{Call, Form, FromExecutor, PlacedInput, Spent, TaskFailure, ToExecutor};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::{Arc, PoisonError};

/// A call with more inputs may hold them for longer than it runs.
const FEW_INPUTS: usize = 16;

/// How a call uses its inputs. One with many may put them together to a group, which is held: its
/// members should be there once, not once more in this process.
fn usage_of(call: &Call) -> Use {
    if call.inputs.len() <= FEW_INPUTS { Use::Brief } else { Use::Long }
}

fn is_gone(path: &str) -> bool {
    !std::path::Path::new(path).exists()
}

impl Executor {
    /// Opens a call's inputs, and counts the time.
    pub(super) fn open_inputs(
        &mut self,
        py: Python<'_>,
        call: &Call,
        spent: &mut Spent,
    ) -> PyResult<Result<Vec<Py<PyAny>>, TaskFailure>> {
        let begun = monotonic_ns();
        let values = self.values(py, &call.inputs, usage_of(call));
        spent.opening_ns += monotonic_ns() - begun;
        values
    }

    /// The values of a call's inputs. Each mapped one is told as unmapped once its value, and all
    /// that shares its memory, is gone.
    fn values(
        &mut self,
        py: Python<'_>,
        inputs: &[PlacedInput],
        usage: Use,
    ) -> PyResult<Result<Vec<Py<PyAny>>, TaskFailure>> {
        let mapped: Vec<Option<Arc<Mapped>>> =
            inputs.iter().map(|input| self.mapped(input)).collect();
        let mut values = Vec::with_capacity(inputs.len());
        for (input, mapped) in inputs.iter().zip(mapped) {
            let value = match (input, mapped) {
                (PlacedInput::Mapped { name, path, form: Form::Group, .. }, _) => {
                    let Some(value) = self.group(py, *name, path)? else {
                        return Ok(Err(TaskFailure::InputLost { name: *name }));
                    };
                    value
                }
                (PlacedInput::Mapped { name, path, form: Form::Value, stays }, Some(mapped)) => {
                    match self.opened(*name, &mapped, usage, *stays) {
                        Ok(opened) => opened.value(py)?,
                        // The worker found it damaged after it had sent the call.
                        Err(_) if is_gone(path) => {
                            return Ok(Err(TaskFailure::InputLost { name: *name }));
                        }
                        Err(error) => return Err(error),
                    }
                }
                (_, Some(mapped)) => blocks::file(py, &mapped)?,
                (PlacedInput::Inline(bytes), _) => {
                    codec::decode_inline(py, bytes.as_slice())?.unbind()
                }
                (PlacedInput::Mapped { .. }, None) => continue,
            };
            values.push(value);
        }
        Ok(Ok(values))
    }

    /// A block's file, open. One that stays is opened once.
    fn opened(
        &mut self,
        name: Name,
        mapped: &Arc<Mapped>,
        usage: Use,
        stays: bool,
    ) -> PyResult<Opened> {
        if let Some(opened) = self.staying.get(&name) {
            return Ok(opened.clone());
        }
        let opened = Opened::open(mapped, if stays { Use::Long } else { usage })?;
        // A copy would take memory of this process for itself.
        if stays && !opened.is_copy() {
            self.staying.insert(name, opened.clone());
        }
        Ok(opened)
    }

    fn mapped(&self, input: &PlacedInput) -> Option<Arc<Mapped>> {
        let PlacedInput::Mapped { name, path, form, .. } = input else { return None };
        let (unmapped, name) = (Arc::clone(&self.unmapped), *name);
        let tell = move || unmapped.lock().unwrap_or_else(PoisonError::into_inner).push(name);
        Some(Mapped::new(path.clone(), form.clone(), name, Box::new(tell)))
    }

    /// The value of a group, which is held from now on; nothing if its members are not all here.
    pub(super) fn group(
        &mut self,
        py: Python<'_>,
        name: Name,
        path: &str,
    ) -> PyResult<Option<Py<PyAny>>> {
        if let Some(held) = self.groups.held.get(&name) {
            return Ok(Some(held.value.clone_ref(py)));
        }
        let parts = match Parts::read(path) {
            Ok(parts) => parts,
            Err(_) if is_gone(path) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(paths) = self.open(py, name, parts.names())? else { return Ok(None) };
        let members = parts.placed(paths);
        let Ok(values) = self.values(py, &members, Use::Long)? else { return Ok(None) };
        let value = parts.make(py, values)?.unbind();
        self.groups.held.insert(name, Held { value: value.clone_ref(py), members });
        Ok(Some(value))
    }

    /// Where the members of a group lie, as the worker says: they count as mapped from now on.
    fn open(
        &mut self,
        py: Python<'_>,
        group: Name,
        members: Vec<Name>,
    ) -> PyResult<Option<Vec<String>>> {
        if members.is_empty() {
            return Ok(Some(Vec::new()));
        }
        if !self.groups.opened.contains_key(&group) {
            self.send(py, &FromExecutor::Open { group, members })?;
        }
        loop {
            if let Some(paths) = self.groups.opened.remove(&group) {
                return Ok(paths);
            }
            match self.next()? {
                Some(ToExecutor::Opened { group, paths }) => {
                    self.groups.opened.insert(group, paths);
                }
                Some(other) => self.groups.early.push_back(other),
                None if self.receive(py)? => {}
                None => return Err(PyRuntimeError::new_err("the worker has ended")),
            }
        }
    }
}
