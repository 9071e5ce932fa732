//! The memory that a worker computes in: a buffer for each register that is alive.

use super::cutting::bytes_read;
use super::{Class, Instruction, Kind, Output, Pipeline, Register};
use crate::kernels::dense::stream;

/// As much as the widest register of a processor holds, where it can be read and written at once.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Line(#[expect(dead_code, reason = "only its place is of use")] [u8; 64]);

impl Line {
    /// A line of zeros.
    pub const EMPTY: Self = Self([0; 64]);
}

/// Where a register of the instructions is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// A buffer of the worker.
    Slot(usize),
    /// The memory of an output, by its address: locations are shared by workers.
    Output(usize),
}

/// The locations of all registers, and how many slots they need.
#[derive(Clone, Debug)]
pub struct Locations {
    /// Of each instruction.
    pub of: Vec<Location>,
    /// How many buffers.
    pub slots: usize,
    /// Registers that are computed in a buffer and then written to memory, past the caches.
    pub streamed: Vec<(Register, usize)>,
}

/// Assigns locations: what is stored is written where it goes, and a buffer is used again as soon as
/// nobody reads what it holds.
pub fn locations(pipeline: &Pipeline, kinds: &[Kind]) -> Locations {
    let first = pipeline.inputs.len();
    let streamed = streamed(pipeline, kinds);
    let is_streamed = |wanted: Register| streamed.iter().any(|(register, _)| *register == wanted);
    let mut ends = last_uses(pipeline);
    for (register, _) in &streamed {
        ends[register - first] = pipeline.instructions.len();
    }
    let mut free: Vec<usize> = Vec::new();
    let mut slots = 0;
    let mut of: Vec<Location> = Vec::new();
    for at in 0..pipeline.instructions.len() {
        let stored = pipeline.outputs.iter().find_map(|output| match output {
            Output::Store(register, memory)
                if *register == first + at && !is_streamed(*register) =>
            {
                Some(memory.expose_provenance())
            }
            _ => None,
        });
        of.push(stored.map_or_else(
            || {
                let slot = free.pop().unwrap_or(slots);
                slots = slots.max(slot + 1);
                Location::Slot(slot)
            },
            Location::Output,
        ));
        for (before, end) in ends.iter().enumerate().take(at + 1) {
            if let (true, Location::Slot(slot)) = (*end == at, of[before]) {
                free.push(slot);
            }
        }
    }
    Locations { of, slots, streamed }
}

fn streamed(pipeline: &Pipeline, kinds: &[Kind]) -> Vec<(Register, usize)> {
    let stored = |output: &Output| match *output {
        Output::Store(register, memory) => {
            let Kind { cell, class } = kinds[register];
            let width = if class == Class::Full { pipeline.columns } else { 1 };
            let bytes = pipeline.rows * width * cell.size();
            // How much is stored of a CSR matrix is not known here; they are read again soon.
            (class != Class::Sparse).then(|| (register, memory.expose_provenance(), bytes))
        }
        _ => None,
    };
    let all: Vec<_> = pipeline.outputs.iter().filter_map(stored).collect();
    let moved = bytes_read(pipeline) + all.iter().map(|(.., bytes)| bytes).sum::<usize>();
    let large = all.into_iter().filter(|(.., bytes)| stream::pays(*bytes, moved));
    large.map(|(register, memory, _)| (register, memory)).collect()
}

/// After which instruction each register of the instructions is read no more.
fn last_uses(pipeline: &Pipeline) -> Vec<usize> {
    let (first, count) = (pipeline.inputs.len(), pipeline.instructions.len());
    let mut ends: Vec<usize> = (0..count).collect();
    let mut used = |register: Register, at: usize| {
        if register >= first {
            ends[register - first] = ends[register - first].max(at);
        }
    };
    for (at, instruction) in pipeline.instructions.iter().enumerate() {
        match *instruction {
            Instruction::Binary(_, _, left, right) | Instruction::RowProduct(left, right) => {
                used(left, at);
                used(right, at);
            }
            Instruction::Select(_, sides) => sides.into_iter().for_each(|side| used(side, at)),
            Instruction::Unary(_, _, arg)
            | Instruction::Cast(_, arg)
            | Instruction::RowReduce(_, arg) => used(arg, at),
        }
    }
    for output in &pipeline.outputs {
        if let Output::Reduce(_, register) | Output::ColumnReduce(_, register, _) = output {
            // Outputs are reduced when all instructions have run.
            used(*register, count);
        }
    }
    ends
}
