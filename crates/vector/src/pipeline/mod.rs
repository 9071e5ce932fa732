//! Pipelines: what is computed of each row, without storing what lies between.

mod chain;
mod compiled;
mod cutting;
#[cfg(test)]
mod drawing;
mod options;
mod run;
mod scratch;
mod step;
mod words;

#[cfg(test)]
mod tests;

use crate::cell::Cell;
use crate::error::Error;
use crate::kernels::dense::binary::Binary;
use crate::kernels::dense::reduce::Reduce;
use crate::kernels::dense::unary::Unary;

pub use options::{COMPILED_FROM, Cut, Options};
pub use run::{Reduced, run};

/// A register: an input, or what an instruction makes. Inputs come first.
pub type Register = usize;

/// The shape of a register, in a pipeline of `rows` rows and `columns` columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// One number.
    Scalar,
    /// One row, the same for all.
    Row,
    /// One number for each row.
    Column,
    /// One number for each cell.
    Full,
    /// One number for each stored cell of the pipeline's CSR matrix.
    Sparse,
}

/// Where an input is. The memory stays as it is while the pipeline runs.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    /// A number's bits, in the low bytes.
    Bits(u64),
    /// Its first cell; cells follow row by row without gaps.
    Memory(*const u8),
}

/// An input.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    /// Its cells.
    pub cell: Cell,
    /// Its shape.
    pub class: Class,
    /// Where it is.
    pub place: Operand,
}

/// The CSR structure of a pipeline: where each row's cells begin, and their columns.
#[derive(Clone, Copy, Debug)]
pub struct Structure {
    /// `rows + 1` offsets.
    pub offsets: *const i64,
    /// The column of each stored cell, in ascending order within a row.
    pub columns: *const u32,
    /// How many stored cells there are, of the columns and of all that are stored at their places.
    pub stored: usize,
}

/// An instruction; it makes one register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// Two sides, cell by cell, both of this cell type.
    Binary(Binary, Cell, Register, Register),
    /// One side, cell by cell.
    Unary(Unary, Cell, Register),
    /// A conversion.
    Cast(Cell, Register),
    /// One of two sides, cell by cell: where the first register is not 0 the second, and the third
    /// elsewhere; all of this cell type.
    Select(Cell, [Register; 3]),
    /// A number for each row: its cells reduced.
    RowReduce(Reduce, Register),
    /// A number for each row: its product with a vector, which is an input of class `Row`.
    RowProduct(Register, Register),
}

impl Instruction {
    /// The registers that it is of.
    fn sides(&self) -> [Option<Register>; 3] {
        match *self {
            Self::Binary(_, _, left, right) => [Some(left), Some(right), None],
            Self::Select(_, sides) => sides.map(Some),
            Self::Unary(_, _, arg)
            | Self::Cast(_, arg)
            | Self::RowReduce(_, arg)
            | Self::RowProduct(arg, _) => [Some(arg), None, None],
        }
    }
}

/// What is kept.
#[derive(Clone, Copy, Debug)]
pub enum Output {
    /// A register's cells, written to this memory.
    Store(Register, *mut u8),
    /// All cells, reduced to one number.
    Reduce(Reduce, Register),
    /// Each column, reduced, written to this memory.
    ColumnReduce(Reduce, Register, *mut u8),
}

/// A pipeline.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// How many rows there are.
    pub rows: usize,
    /// How many columns.
    pub columns: usize,
    /// What it reads.
    pub inputs: Vec<Input>,
    /// The CSR structure, if an input has one.
    pub structure: Option<Structure>,
    /// What it does, in order.
    pub instructions: Vec<Instruction>,
    /// What it keeps.
    pub outputs: Vec<Output>,
}

// SAFETY: the memory behind the pointers is only read, but for the outputs, of which each row is
// written by one worker.
unsafe impl Sync for Pipeline {}

/// What is known of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its cells.
    pub cell: Cell,
    /// Its shape.
    pub class: Class,
}

impl Pipeline {
    /// The kinds of all registers.
    ///
    /// # Errors
    ///
    /// If an instruction or output is given registers that it can't work with.
    pub fn kinds(&self) -> Result<Vec<Kind>, Error> {
        let mut kinds: Vec<Kind> =
            self.inputs.iter().map(|input| Kind { cell: input.cell, class: input.class }).collect();
        for (at, input) in self.inputs.iter().enumerate() {
            let scalar = matches!(input.place, Operand::Bits(_));
            check(scalar == (input.class == Class::Scalar), "an input's place", at)?;
            let stored = input.class != Class::Sparse || self.structure.is_some();
            check(stored, "a CSR matrix without offsets", at)?;
        }
        for instruction in &self.instructions {
            let kind = self.kind_of(*instruction, &kinds)?;
            kinds.push(kind);
        }
        for (at, output) in self.outputs.iter().enumerate() {
            let (register, scattered) = match output {
                Output::Store(register, _) => (*register, false),
                Output::Reduce(_, register) | Output::ColumnReduce(_, register, _) => {
                    (*register, true)
                }
            };
            let kind = known(&kinds, register)?;
            let fits = matches!(kind.class, Class::Column | Class::Full | Class::Sparse);
            let made = scattered || register >= self.inputs.len();
            check(fits && made, "an output", register)?;
            let stores = |one: &Output| matches!(one, Output::Store(of, _) if *of == register);
            let is_again = stores(output) && self.outputs[..at].iter().any(stores);
            check(!is_again, "an output that is stored twice", register)?;
            if let Output::ColumnReduce(how, _, _) = output {
                let fits = match kind.class {
                    Class::Column => self.columns == 1,
                    // What is not stored counts in extremes, and is not looked at.
                    Class::Sparse => *how == Reduce::Sum,
                    _ => true,
                };
                check(fits, "a reduction of columns", register)?;
            }
        }
        Ok(kinds)
    }

    /// How many elements an input or an output of a class has; none if they can't be counted.
    pub fn length(&self, class: Class) -> Option<usize> {
        match class {
            Class::Scalar => Some(1),
            Class::Row => Some(self.columns),
            Class::Column => Some(self.rows),
            Class::Full => self.rows.checked_mul(self.columns),
            Class::Sparse => Some(self.structure?.stored),
        }
    }

    /// Whether the columns of a CSR matrix matter: for their places in a row or in a matrix, not
    /// for what is done with each stored cell, or row of them.
    pub fn reads_columns(&self, kinds: &[Kind]) -> bool {
        let is = |class: Class| move |register: &Register| kinds[*register].class == class;
        let sparse = is(Class::Sparse);
        let placed = |sides: &[Register]| {
            sides.iter().any(&sparse)
                && sides.iter().any(|side| is(Class::Row)(side) || is(Class::Full)(side))
        };
        let read = |instruction: &Instruction| match instruction {
            Instruction::Binary(_, _, left, right) => placed(&[*left, *right]),
            Instruction::RowProduct(arg, _) => sparse(arg),
            _ => false,
        };
        let scattered = |output: &Output| match output {
            Output::ColumnReduce(_, register, _) => sparse(register),
            _ => false,
        };
        self.instructions.iter().any(read) || self.outputs.iter().any(scattered)
    }

    fn kind_of(&self, instruction: Instruction, kinds: &[Kind]) -> Result<Kind, Error> {
        match instruction {
            Instruction::Binary(binary, cell, left, right) => {
                let (one, two) = (known(kinds, left)?, known(kinds, right)?);
                check(one.cell == cell && two.cell == cell, "cells of a binary operation", left)?;
                let sparse = one.class == Class::Sparse || two.class == Class::Sparse;
                check(!sparse || keeps_zeros(binary, one.class), "an operation on zeros", left)?;
                Ok(Kind { cell, class: joined(&[one.class, two.class]) })
            }
            Instruction::Unary(_, cell, arg) => {
                let kind = known(kinds, arg)?;
                check(kind.cell == cell, "cells of a unary operation", arg)?;
                Ok(kind)
            }
            Instruction::Cast(cell, arg) => Ok(Kind { cell, class: known(kinds, arg)?.class }),
            Instruction::Select(cell, sides) => {
                let mut classes = [Class::Scalar; 3];
                for (class, side) in classes.iter_mut().zip(sides) {
                    let kind = known(kinds, side)?;
                    let fits = kind.cell == cell && kind.class != Class::Sparse;
                    check(fits, "a side of a selection", side)?;
                    *class = kind.class;
                }
                Ok(Kind { cell, class: joined(&classes) })
            }
            Instruction::RowReduce(_, arg) => {
                let kind = known(kinds, arg)?;
                let wide = matches!(kind.class, Class::Full | Class::Sparse);
                check(wide, "a reduction of rows", arg)?;
                Ok(Kind { cell: kind.cell, class: Class::Column })
            }
            Instruction::RowProduct(arg, vector) => {
                let (kind, other) = (known(kinds, arg)?, known(kinds, vector)?);
                let wide = matches!(kind.class, Class::Full | Class::Sparse);
                let fits = wide && other.class == Class::Row && other.cell == kind.cell;
                check(fits && vector < self.inputs.len(), "a product with a vector", arg)?;
                Ok(Kind { cell: kind.cell, class: Class::Column })
            }
        }
    }
}

fn known(kinds: &[Kind], register: Register) -> Result<Kind, Error> {
    let found = kinds.get(register).copied();
    found.ok_or_else(|| Error::Malformed(format!("there is no register {register} yet")))
}

fn check(holds: bool, what: &str, register: Register) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::Malformed(format!("{what} (register {register})"))) }
}

fn keeps_zeros(binary: Binary, left: Class) -> bool {
    // 0 divided by what is not stored would be NaN where that is 0; the compiler knows better.
    match binary {
        Binary::Mul | Binary::And => true,
        Binary::Div => left == Class::Sparse,
        _ => false,
    }
}

/// The shape of what sides of these shapes make, cell by cell.
fn joined(sides: &[Class]) -> Class {
    use Class::{Column, Full, Row, Scalar, Sparse};
    let has = |class| sides.contains(&class);
    if has(Sparse) {
        Sparse
    } else if has(Full) || (has(Row) && has(Column)) {
        Full
    } else if has(Row) {
        Row
    } else if has(Column) {
        Column
    } else {
        Scalar
    }
}
