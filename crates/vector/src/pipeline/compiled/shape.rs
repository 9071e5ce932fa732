//! What a compiled chain depends on: not where its cells are, nor how many, nor which numbers it has.

use super::conversions;
use crate::cell::{Cell, Number};
use crate::kernels::dense::binary::Binary;
use crate::kernels::dense::reduce::Reduce;
use crate::kernels::dense::unary::Unary;
use crate::kernels::has_widest_vectors;
use crate::pipeline::words::number;
use crate::pipeline::{Instruction, Operand, Output, Pipeline, Register};
use crate::with_cell;

/// Chains of more instructions are rare, and their code is long.
const MAX_INSTRUCTIONS: usize = 48;

/// The structure of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// The types of all registers: inputs, then what instructions make.
    pub cells: Vec<Cell>,
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
        let mut cells: Vec<Cell> = pipeline.inputs.iter().map(|input| input.cell).collect();
        if pipeline.instructions.is_empty() || pipeline.instructions.len() > MAX_INSTRUCTIONS {
            return None;
        }
        let mut instructions = pipeline.instructions.clone();
        for instruction in &mut instructions {
            square_as_product(pipeline, instruction)?;
            cells.push(light(instruction, &cells)?);
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
        let numbers = numbers.collect();
        let own = Self { cells, numbers, instructions, stores, reduced };
        let lanes = |(how, register): (Reduce, Register)| {
            let cell = own.cells[register];
            let is_newer = is_long(cell) && how != Reduce::Sum;
            cell.size() == own.width() && (!is_newer || has_widest_vectors())
        };
        own.reduced.is_none_or(lanes).then_some(own)
    }

    /// Bytes of the widest element that there is on the way: a vector has so many elements of all types.
    pub fn width(&self) -> usize {
        let on_the_way = |instruction: &Instruction| match *instruction {
            Instruction::Cast(to, arg) => conversions::width(self.cells[arg], to),
            _ => 1,
        };
        let made = self.instructions.iter().map(on_the_way);
        self.cells.iter().map(|cell| cell.size()).chain(made).max().unwrap_or(8)
    }

    /// Which registers are 0 or 1 because of how they are made.
    pub fn booleans(&self) -> Vec<bool> {
        let mut booleans = vec![false; self.numbers.len()];
        for instruction in &self.instructions {
            booleans.push(match *instruction {
                Instruction::Binary(name, ..) => matches!(
                    name,
                    Binary::Eq
                        | Binary::Neq
                        | Binary::Lt
                        | Binary::Le
                        | Binary::Gt
                        | Binary::Ge
                        | Binary::And
                        | Binary::Or
                ),
                Instruction::Unary(Unary::IsNan, ..) => true,
                Instruction::Cast(_, arg) => booleans[arg],
                _ => false,
            });
        }
        booleans
    }
}

/// Makes a square a product; none if it is another power.
fn square_as_product(pipeline: &Pipeline, instruction: &mut Instruction) -> Option<()> {
    let &mut Instruction::Binary(Binary::Pow, cell, left, right) = instruction else {
        return Some(());
    };
    let Operand::Bits(word) = pipeline.inputs.get(right)?.place else { return None };
    let two = with_cell!(cell, T => number::<T>(word) == T::ONE.plus(T::ONE));
    *instruction = Instruction::Binary(Binary::Mul, cell, left, left);
    two.then_some(())
}

/// Whether products and extremes of elements are operations of newer processors.
fn is_long(cell: Cell) -> bool {
    cell.is_whole() && cell.size() == 8
}

/// The type of what an instruction makes, if it is a few operations of this processor.
fn light(instruction: &Instruction, cells: &[Cell]) -> Option<Cell> {
    let (cell, is_light, is_newer) = match *instruction {
        Instruction::Binary(name, cell, ..) => {
            let is_newer = is_long(cell) && matches!(name, Binary::Mul | Binary::Min | Binary::Max);
            let divides = name == Binary::Div && cell.is_whole();
            (cell, !divides && !matches!(name, Binary::Mod | Binary::Log), is_newer)
        }
        Instruction::Select(cell, _) => (cell, true, false),
        Instruction::Unary(name, cell, _) => {
            let is_light = match name {
                Unary::Minus | Unary::Abs | Unary::Sign | Unary::IsNan => true,
                Unary::Floor | Unary::Ceil | Unary::Sqrt => !cell.is_whole(),
                // Halves are added in 64 bits.
                Unary::Round => cell == Cell::F64,
                _ => false,
            };
            (cell, is_light, name == Unary::Abs && cell == Cell::I64)
        }
        Instruction::Cast(to, arg) => (to, true, conversions::is_newer(cells[arg], to)),
        Instruction::RowReduce(..) | Instruction::RowProduct(..) => return None,
    };
    (is_light && (!is_newer || has_widest_vectors())).then_some(cell)
}
