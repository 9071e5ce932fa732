//! What a compiled chain depends on: not where its cells are, nor how many, nor which numbers it has.

use crate::cell::Cell;
use crate::kernels::dense::binary::Binary;
use crate::kernels::dense::reduce::Reduce;
use crate::kernels::dense::unary::Unary;
use crate::pipeline::words::number;
use crate::pipeline::{Instruction, Operand, Output, Pipeline, Register};

/// Chains of more instructions are rare, and their code is long.
const MAX_INSTRUCTIONS: usize = 48;

/// The structure of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// The type of all cells.
    pub cell: Cell,
    /// Of each input, whether it is a number.
    pub numbers: Vec<bool>,
    /// What is done.
    pub instructions: Vec<Instruction>,
    /// What is stored, in the order of the outputs.
    pub stores: Vec<Register>,
    /// What is reduced.
    pub reduced: Option<(Reduce, Register)>,
}

impl Shape {
    /// The structure of a pipeline; none if it has no loop of its own.
    pub fn of(pipeline: &Pipeline) -> Option<Self> {
        let cell = pipeline.inputs.first()?.cell;
        let is_known = matches!(cell, Cell::F64 | Cell::F32)
            && !pipeline.instructions.is_empty()
            && pipeline.inputs.iter().all(|input| input.cell == cell)
            && pipeline.instructions.len() <= MAX_INSTRUCTIONS
            && pipeline.instructions.iter().all(|instruction| is_light(instruction, cell));
        if !is_known {
            return None;
        }
        let (mut stores, mut reduced) = (Vec::new(), None);
        for output in &pipeline.outputs {
            match *output {
                Output::Store(register, _) => stores.push(register),
                Output::Reduce(how, register) if reduced.is_none() => {
                    reduced = Some((how, register));
                }
                Output::Reduce(..) | Output::ColumnReduce(..) => return None,
            }
        }
        let numbers = pipeline.inputs.iter().map(|input| matches!(input.place, Operand::Bits(_)));
        let mut instructions = pipeline.instructions.clone();
        for instruction in &mut instructions {
            square_as_product(pipeline, instruction)?;
        }
        Some(Self { cell, numbers: numbers.collect(), instructions, stores, reduced })
    }
}

/// Makes a square a product; none if it is another power.
fn square_as_product(pipeline: &Pipeline, instruction: &mut Instruction) -> Option<()> {
    let &mut Instruction::Binary(Binary::Pow, cell, left, right) = instruction else {
        return Some(());
    };
    let Operand::Bits(word) = pipeline.inputs.get(right)?.place else { return None };
    let two = match cell {
        Cell::F64 => number::<f64>(word) == 2.0,
        _ => number::<f32>(word) == 2.0_f32,
    };
    *instruction = Instruction::Binary(Binary::Mul, cell, left, left);
    two.then_some(())
}

/// Whether an instruction is a few operations of the processor.
fn is_light(instruction: &Instruction, all: Cell) -> bool {
    match *instruction {
        Instruction::Binary(name, cell, ..) => {
            cell == all && !matches!(name, Binary::Mod | Binary::Log)
        }
        Instruction::Select(cell, _) => cell == all,
        Instruction::Unary(name, cell, _) => {
            let light = matches!(
                name,
                Unary::Minus
                    | Unary::Abs
                    | Unary::Sign
                    | Unary::Sqrt
                    | Unary::Floor
                    | Unary::Ceil
                    | Unary::IsNan
            );
            // Halves are added in 64 bits.
            cell == all && (light || (name == Unary::Round && cell == Cell::F64))
        }
        Instruction::Cast(..) | Instruction::RowReduce(..) | Instruction::RowProduct(..) => false,
    }
}
