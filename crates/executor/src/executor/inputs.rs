//! What a call needs: values of blocks, mapped or decoded, and groups of them.

use super::{Executor, Unmapped};
use crate::ExecutorError;
use crate::block::{Mapped, Opened, Use, is_gone};
use crate::group::Parts;
use crate::interpreter::Interpreter;
use freestone_base::Name;
use freestone_core::net::monotonic_ns;
use freestone_core::wire::{Call, Form, FromExecutor, PlacedInput, Spent, TaskFailure, ToExecutor};
use std::sync::{Arc, PoisonError};

/// A call with more inputs may hold them for longer than it runs.
const MAX_BRIEF_INPUTS: usize = 16;

/// The values of inputs, or why there are none.
type Values<I> =
    Result<Result<Vec<<I as Interpreter>::Value>, TaskFailure>, <I as Interpreter>::Error>;

/// How a call uses its inputs. One with many may put them together to a group, which is held: its
/// members should be there once, not once more in this process.
fn usage_of(call: &Call) -> Use {
    if call.inputs.len() <= MAX_BRIEF_INPUTS { Use::Brief } else { Use::Long }
}

impl<I: Interpreter> Executor<I> {
    /// Opens a call's inputs, and counts the time.
    pub(super) fn open_inputs(&mut self, call: &Call, spent: &mut Spent) -> Values<I> {
        let begun = monotonic_ns();
        let values = self.values(&call.inputs, usage_of(call));
        spent.opening_ns += monotonic_ns() - begun;
        values
    }

    /// The values of a call's inputs. Each mapped one is reported as unmapped once its value, and
    /// all that shares its memory, is gone.
    fn values(&mut self, inputs: &[PlacedInput], usage: Use) -> Values<I> {
        let mapped: Vec<Option<Arc<Mapped>>> =
            inputs.iter().map(|input| self.mapped(input)).collect();
        let mut values = Vec::with_capacity(inputs.len());
        for (input, mapped) in inputs.iter().zip(mapped) {
            let value = match (input, mapped) {
                (PlacedInput::Mapped { name, path, form: Form::Group, .. }, _) => {
                    let Some(value) = self.group(*name, path)? else {
                        return Ok(Err(TaskFailure::InputLost { name: *name }));
                    };
                    value
                }
                (PlacedInput::Mapped { name, path, form: Form::Value, stays }, Some(mapped)) => {
                    match self.opened(*name, &mapped, usage, *stays) {
                        Ok(opened) => self.interpreter.block_value(&opened)?,
                        // The worker found it damaged after it had sent the call.
                        Err(_) if is_gone(path) => {
                            return Ok(Err(TaskFailure::InputLost { name: *name }));
                        }
                        Err(error) => return Err(error.into()),
                    }
                }
                (_, Some(mapped)) => self.interpreter.file_value(&mapped)?,
                (PlacedInput::Inline(bytes), _) => {
                    self.interpreter.inline_value(bytes.as_slice())?
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
    ) -> Result<Opened, ExecutorError> {
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
        let (unmapped, name) = (Unmapped::clone(&self.unmapped), *name);
        let release = move || unmapped.lock().unwrap_or_else(PoisonError::into_inner).push(name);
        Some(Mapped::new(path.clone(), form.clone(), name, Box::new(release)))
    }

    /// The value of a group, which is held from now on; nothing if its members are not all here.
    pub(super) fn group(&mut self, name: Name, path: &str) -> Result<Option<I::Value>, I::Error> {
        if let Some(value) = self.groups.value(name) {
            return Ok(Some(self.interpreter.share(value)));
        }
        let parts = match Parts::read(path) {
            Ok(parts) => parts,
            Err(_) if is_gone(path) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let Some(paths) = self.member_paths(name, parts.names())? else { return Ok(None) };
        let members = parts.placed(paths);
        let Ok(values) = self.values(&members, Use::Long)? else { return Ok(None) };
        let value = self.interpreter.group_value(parts.make(), parts.arguments(), values)?;
        self.groups.hold(name, self.interpreter.share(&value), members);
        Ok(Some(value))
    }

    /// Where the members of a group lie, as the worker says: they count as mapped from now on.
    fn member_paths(
        &mut self,
        group: Name,
        members: Vec<Name>,
    ) -> Result<Option<Vec<String>>, I::Error> {
        if members.is_empty() {
            return Ok(Some(Vec::new()));
        }
        if !self.groups.is_answered(group) {
            self.send(&FromExecutor::Open { group, members })?;
        }
        while !self.groups.is_answered(group) {
            match self.connection.next()? {
                Some(ToExecutor::Opened { group, paths }) => self.groups.on_opened(group, paths),
                Some(other) => self.groups.postpone(other),
                None if self.receive()? => {}
                None => return Err(ExecutorError::WorkerEnded.into()),
            }
        }
        Ok(self.groups.take_paths(group))
    }
}
