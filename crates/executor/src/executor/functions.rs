//! The functions that an executor was sent.

use crate::ExecutorError;
use crate::interpreter::Interpreter;
use freestone_base::FunctionId;
use freestone_core::wire::{Payload, ToExecutor};
use std::collections::HashMap;

struct Function<F> {
    label: String,
    definition: Payload,
    loaded: Option<F>,
}

/// Functions by id; each is loaded when its first call comes.
pub struct Functions<F>(HashMap<FunctionId, Function<F>>);

impl<F> Functions<F> {
    pub fn new() -> Self {
        Self(HashMap::new())
    }

    pub fn define(&mut self, id: FunctionId, label: String, definition: Payload) {
        self.0.insert(id, Function { label, definition, loaded: None });
    }

    /// Its name for people.
    pub fn label(&self, id: FunctionId) -> &str {
        self.0.get(&id).map_or("", |function| &function.label)
    }

    /// The function, ready to be given values and called.
    pub fn load<I: Interpreter<Function = F>>(
        &mut self,
        interpreter: &I,
        id: FunctionId,
    ) -> Result<&F, I::Error> {
        let function = self.0.get_mut(&id).ok_or(ExecutorError::Undefined(id))?;
        let Function { label, definition, loaded } = function;
        let loaded = match loaded {
            Some(loaded) => loaded,
            None => loaded.insert(interpreter.load(definition.as_slice(), label)?),
        };
        interpreter.enter(loaded)?;
        Ok(loaded)
    }

    /// What another executor is sent about a function.
    pub fn message(&self, id: FunctionId) -> Result<ToExecutor, ExecutorError> {
        let function = self.0.get(&id).ok_or(ExecutorError::Undefined(id))?;
        let (label, definition) = (function.label.clone(), function.definition.clone());
        Ok(ToExecutor::Define { function: id, label, definition })
    }
}
