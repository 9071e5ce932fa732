//! Functions: their definitions, and how long their calls take.

use crate::wire::Payload;
use freestone_base::FunctionId;

/// What a call of a function never measured is taken to last.
pub(in crate::manager) const UNMEASURED_NS: u64 = 10_000_000;

#[derive(Default)]
pub(in crate::manager) struct Function {
    pub label: String,
    pub definition: Option<Payload>,
    mean_ns: Option<u64>,
}

#[derive(Default)]
pub(in crate::manager) struct Functions(Vec<Function>);

impl Functions {
    pub fn define(&mut self, id: FunctionId, label: String, definition: Payload) {
        let function = self.entry(id);
        function.label = label;
        function.definition = Some(definition);
    }

    fn entry(&mut self, id: FunctionId) -> &mut Function {
        let index = id.0 as usize;
        if self.0.len() <= index {
            self.0.resize_with(index + 1, Function::default);
        }
        &mut self.0[index]
    }

    pub fn get(&self, id: FunctionId) -> Option<&Function> {
        self.0.get(id.0 as usize)
    }

    pub fn label(&self, id: FunctionId) -> String {
        self.get(id).map(|function| function.label.clone()).unwrap_or_default()
    }

    pub fn mean_ns(&self, id: FunctionId) -> Option<u64> {
        self.get(id)?.mean_ns
    }

    /// Takes a measured time of an executor into the mean, with a weight of one eighth.
    pub fn measured(&mut self, id: FunctionId, occupied_ns: u64) {
        let function = self.entry(id);
        function.mean_ns = Some(match function.mean_ns {
            None => occupied_ns,
            Some(mean) => mean - mean / 8 + occupied_ns / 8,
        });
    }
}
