//! What a call returned: small values for messages, blocks, files and groups.

use super::{Executor, Outputs};
use crate::blocks::{self, Stored};
use crate::codec::{self, Encoded};
use crate::filled::Filled;
use crate::groups::{Group, Held, Parts};
use freestone_base::Name;
use freestone_core::wire::{BlockDesc, Call, Form, Keep, Output, TaskFailure};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::smallvec;

impl Executor {
    pub(super) fn outputs(
        &mut self,
        value: &Bound<'_, PyAny>,
        call: &Call,
    ) -> PyResult<Result<Outputs, TaskFailure>> {
        if call.outputs.len() == 1 {
            return Ok(self.output(value, call, call.outputs[0])?.map(|output| smallvec![output]));
        }
        let values = value.cast::<PyTuple>().ok().filter(|some| some.len() == call.outputs.len());
        let Some(values) = values else {
            return Err(PyValueError::new_err(format!(
                "the function returned no tuple of {} values",
                call.outputs.len()
            )));
        };
        let mut outputs = Outputs::new();
        for (value, name) in values.iter().zip(&call.outputs) {
            match self.output(&value, call, *name)? {
                Ok(output) => outputs.push(output),
                Err(failure) => return Ok(Err(failure)),
            }
        }
        Ok(Ok(outputs))
    }

    fn output(
        &mut self,
        value: &Bound<'_, PyAny>,
        call: &Call,
        name: Name,
    ) -> PyResult<Result<Output, TaskFailure>> {
        let py = value.py();
        if let Ok(group) = value.cast_exact::<Group>() {
            return self.output_group(py, group.get(), call, name);
        }
        if let Some(path) = blocks::path_of_file(value)? {
            return Ok(blocks::keep_file(py, &self.folder, &path, name).map(Output::Stored));
        }
        if let Ok(filled) = value.cast_exact::<Filled>() {
            return Ok(filled.get().keep(&self.folder, name)?.map(Output::Stored));
        }
        let (value, inline_nbytes) = match value.cast_exact::<Stored>() {
            Ok(stored) => (stored.get().value.bind(py), 0),
            Err(_) => (value, self.inline_nbytes),
        };
        let encoded = if call.keep == Keep::Forever {
            // Only blocks are in the folder in which the next run looks.
            let (pickle, buffers) = codec::encode_block(value)?;
            Encoded::Large { pickle, buffers }
        } else {
            codec::encode_value(value, inline_nbytes)?
        };
        match encoded {
            Encoded::Inline(bytes) => Ok(Ok(Output::Inline(bytes.into()))),
            Encoded::Large { pickle, buffers } => {
                Ok(blocks::keep_value(py, &self.folder, &pickle, &buffers, name)
                    .map(Output::Stored))
            }
        }
    }

    /// Leaves a group, and holds it here: its members are mapped already.
    fn output_group(
        &mut self,
        py: Python<'_>,
        group: &Group,
        call: &Call,
        name: Name,
    ) -> PyResult<Result<Output, TaskFailure>> {
        let parts = Parts::of(call, group.make.bind(py))?;
        let stored = blocks::keep_bytes(py, &self.folder, parts.stream(), &parts.buffers()?, name);
        if stored.is_ok() {
            let (value, members) = (group.value.clone_ref(py), call.inputs.clone());
            self.groups.held.insert(name, Held { value, members });
        }
        Ok(stored.map(|block| Output::Stored(BlockDesc { form: Form::Group, ..block })))
    }
}
