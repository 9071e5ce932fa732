//! What a call returned: small values for messages, blocks, files and groups.

use super::{Attempt, Executor, Outputs};
use crate::ExecutorError;
use crate::block;
use crate::group::Parts;
use crate::interpreter::{Interpreter, Returned};
use freestone_base::Name;
use freestone_core::store::StoreError;
use freestone_core::wire::{BlockDesc, Call, Form, Keep, Output, TaskFailure};
use smallvec::smallvec;

/// A block that was written, or why the call fails.
fn stored(written: Result<BlockDesc, StoreError>) -> Result<Output, TaskFailure> {
    written.map(Output::Stored).map_err(|error| block::failure(&error))
}

impl<I: Interpreter> Executor<I> {
    pub(super) fn outputs(&mut self, value: &I::Value, call: &Call) -> Attempt<I::Error> {
        if let [name] = *call.outputs {
            return Ok(self.output(value, call, name)?.map(|output| smallvec![output]));
        }
        let count = call.outputs.len();
        let values = self.interpreter.split(value, count);
        let values = values.ok_or(ExecutorError::NoTuple { count })?;
        let mut outputs = Outputs::new();
        for (value, name) in values.iter().zip(&call.outputs) {
            match self.output(value, call, *name)? {
                Ok(output) => outputs.push(output),
                Err(failure) => return Ok(Err(failure)),
            }
        }
        Ok(Ok(outputs))
    }

    fn output(
        &mut self,
        value: &I::Value,
        call: &Call,
        name: Name,
    ) -> Result<Result<Output, TaskFailure>, I::Error> {
        // Only blocks are in the folder in which the next run looks.
        let inline_nbytes = (call.keep != Keep::Forever).then_some(self.inline_nbytes);
        let folder = &self.folder;
        let output = match self.interpreter.encode(value, inline_nbytes)? {
            Returned::Inline(bytes) => Ok(Output::Inline(bytes.into())),
            Returned::Block(encoded) => {
                let write = |stream: &[u8], buffers: &[&[u8]]| folder.put(name, stream, buffers);
                stored(self.interpreter.with_block(&encoded, write))
            }
            Returned::Segment(segment) => stored(folder.commit(segment, name, Form::Value)),
            Returned::File(path) => {
                stored(self.interpreter.detach(|| block::keep_file(folder, &path, name)))
            }
            Returned::Group { value, make } => self.keep_group(value, make, call, name)?,
        };
        Ok(output)
    }

    /// Leaves a group, and holds it here: its members are mapped already.
    fn keep_group(
        &mut self,
        value: I::Value,
        make: Vec<u8>,
        call: &Call,
        name: Name,
    ) -> Result<Result<Output, TaskFailure>, I::Error> {
        let parts = Parts::of(call, make);
        let members = parts.encoded_members()?;
        let (folder, buffers) = (&self.folder, [parts.arguments(), members.as_slice()]);
        let written = self.interpreter.detach(|| folder.put(name, parts.make(), &buffers));
        if written.is_ok() {
            self.groups.hold(name, value, call.inputs.clone());
        }
        Ok(stored(written.map(|block| BlockDesc { form: Form::Group, ..block })))
    }
}
