//! The memory that a worker computes in: a buffer for each register that is alive.

use super::{Instruction, Output, Pipeline, Register};

/// Where a register of the instructions is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// A buffer of the worker.
    Slot(usize),
    /// The memory of an output, by its address: homes are shared by workers.
    Output(usize),
}

/// The homes of all registers, and how many slots they need.
#[derive(Clone, Debug)]
pub struct Homes {
    /// Of each instruction.
    pub homes: Vec<Home>,
    /// How many buffers.
    pub slots: usize,
}

/// Finds homes: what is stored is written where it goes, and a buffer is used again as soon as
/// nobody reads what it holds.
pub fn homes(pipeline: &Pipeline) -> Homes {
    let first = pipeline.inputs.len();
    let ends = last_uses(pipeline);
    let mut free: Vec<usize> = Vec::new();
    let mut slots = 0;
    let mut homes: Vec<Home> = Vec::new();
    for at in 0..pipeline.instructions.len() {
        let stored = pipeline.outputs.iter().find_map(|output| match output {
            Output::Store(register, memory) if *register == first + at => {
                Some(memory.expose_provenance())
            }
            _ => None,
        });
        homes.push(stored.map_or_else(
            || {
                let slot = free.pop().unwrap_or(slots);
                slots = slots.max(slot + 1);
                Home::Slot(slot)
            },
            Home::Output,
        ));
        for (before, end) in ends.iter().enumerate().take(at + 1) {
            if let (true, Home::Slot(slot)) = (*end == at, homes[before]) {
                free.push(slot);
            }
        }
    }
    Homes { homes, slots }
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
