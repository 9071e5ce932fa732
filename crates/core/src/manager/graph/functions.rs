//! Functions: their definitions, and how long their calls take.

use crate::manager::overview::{DURATION_BOUNDS_NS, Durations, FunctionFigures};
use crate::wire::Payload;
use freestone_base::FunctionId;
use serde::{Deserialize, Serialize};

/// What a call of a function never measured is taken to last.
pub(in crate::manager) const UNMEASURED_NS: u64 = 10_000_000;

#[derive(Default, Serialize, Deserialize)]
pub(in crate::manager) struct Function {
    pub label: String,
    pub definition: Option<Payload>,
    mean_ns: Option<u64>,
    done: u64,
    failed: u64,
    busy_ns: u64,
    durations: Durations,
    /// Bytes of its outputs that are at workers, and the most that were at once.
    held_nbytes: u64,
    peak_nbytes: u64,
    /// The most bytes that an executor has had in memory after a call that raised it.
    resident_nbytes: u64,
}

#[derive(Default, Serialize, Deserialize)]
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

    /// Counts a call that ended, well or for good.
    pub fn ended(&mut self, id: FunctionId, is_done: bool) {
        let function = self.entry(id);
        if is_done {
            function.done += 1;
        } else {
            function.failed += 1;
        }
    }

    /// Counts the time of an attempt.
    pub fn ran(&mut self, id: FunctionId, duration_ns: u64) {
        let function = self.entry(id);
        function.busy_ns += duration_ns;
        function.durations[DURATION_BOUNDS_NS.partition_point(|bound| *bound < duration_ns)] += 1;
    }

    /// An output of a function came to be at a worker, and was at none before. The function, if
    /// there were never so many bytes of it at once.
    pub fn held(&mut self, maker: Option<FunctionId>, nbytes: u64) -> Option<FunctionId> {
        let function = self.entry(maker?);
        function.held_nbytes += nbytes;
        let is_raised = function.held_nbytes > function.peak_nbytes;
        function.peak_nbytes = function.peak_nbytes.max(function.held_nbytes);
        maker.filter(|_| is_raised)
    }

    /// The most bytes of a function's outputs that were at workers at once.
    pub fn peak_nbytes(&self, id: FunctionId) -> u64 {
        self.get(id).map_or(0, |function| function.peak_nbytes)
    }

    /// An output of a function is at no worker any more.
    pub fn freed(&mut self, maker: Option<FunctionId>, nbytes: u64) {
        let Some(id) = maker else { return };
        let function = self.entry(id);
        debug_assert!(function.held_nbytes >= nbytes, "what goes was counted when it came");
        function.held_nbytes = function.held_nbytes.saturating_sub(nbytes);
    }

    /// A call raised the memory of its executor's process to so much.
    pub fn grew(&mut self, id: FunctionId, resident_nbytes: u64) {
        let function = self.entry(id);
        function.resident_nbytes = function.resident_nbytes.max(resident_nbytes);
    }

    /// What was counted of each.
    pub fn figures(&self) -> Vec<FunctionFigures> {
        let figures = |function: &Function| FunctionFigures {
            label: function.label.clone(),
            done: function.done,
            failed: function.failed,
            busy_ns: function.busy_ns,
            durations: function.durations,
            peak_nbytes: function.peak_nbytes,
            resident_nbytes: function.resident_nbytes,
            ..FunctionFigures::default()
        };
        self.0.iter().map(figures).collect()
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
