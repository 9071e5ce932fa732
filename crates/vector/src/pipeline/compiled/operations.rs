//! Operations on floats of a type, in whole vectors or cell by cell.

use super::assembler::{Assembler, Code, Map, Operand, Prefix, Vector};
use crate::cell::Cell;

/// A comparison, by its number in an encoding: those with NaN are false, but for the last two.
#[derive(Clone, Copy, Debug)]
pub enum Predicate {
    Equal = 0,
    Less = 1,
    LessEqual = 2,
    GreaterEqual = 0xD,
    Greater = 0xE,
    Unordered = 3,
    NotEqual = 4,
}

/// A rounding, by its number in an encoding.
#[derive(Clone, Copy, Debug)]
pub enum Rounding {
    Down = 9,
    Up = 10,
}

/// Which floats operations are on, and how many.
#[derive(Clone, Copy, Debug)]
pub struct Operations {
    pub cell: Cell,
    /// Whole vectors; otherwise the first cell.
    pub wide: bool,
}

/// Operations by their codes: `out = operation(one, last)`.
macro_rules! operations {
    ($($name:ident $code:ident $opcode:literal)*) => {$(
        pub fn $name(self, to: &mut Assembler, out: Vector, one: Vector, last: Operand) {
            to.vector(self.$code($opcode), self.wide, out, Some(one), last);
        }
    )*};
}

impl Operations {
    operations! {
        add number 0x58
        mul number 0x59
        sub number 0x5C
        min number 0x5D
        div number 0x5E
        max number 0x5F
        and bitwise 0x54
        or bitwise 0x56
        xor bitwise 0x57
    }

    pub fn load(self, to: &mut Assembler, out: Vector, from: Operand) {
        to.vector(self.number(0x10), self.wide, out, None, from);
    }

    pub fn store(self, to: &mut Assembler, from: Vector, out: Operand) {
        to.vector(self.number(0x11), self.wide, from, None, out);
    }

    pub fn sqrt(self, to: &mut Assembler, out: Vector, of: Vector) {
        to.vector(self.number(0x51), self.wide, out, self.rest(of), Operand::Register(of));
    }

    /// All bits where it is so, and none elsewhere.
    pub fn compare(
        self,
        to: &mut Assembler,
        predicate: Predicate,
        out: Vector,
        one: Vector,
        last: Operand,
    ) {
        to.vector(self.number(0xC2), self.wide, out, Some(one), last);
        to.immediate(predicate as u8);
    }

    /// Where a mask has bits the last operand, and the first one elsewhere.
    pub fn choose(self, to: &mut Assembler, out: Vector, one: Vector, last: Operand, mask: Vector) {
        let opcode = if self.cell == Cell::F64 { 0x4B } else { 0x4A };
        let code = Code { map: Map::Extended, prefix: Prefix::P66, opcode };
        to.vector(code, self.wide, out, Some(one), last);
        to.immediate(mask.0 << 4);
    }

    pub fn round(self, to: &mut Assembler, how: Rounding, out: Vector, of: Vector) {
        let opcode = match (self.cell, self.wide) {
            (Cell::F64, true) => 0x09,
            (Cell::F64, false) => 0x0B,
            (_, true) => 0x08,
            (_, false) => 0x0A,
        };
        let code = Code { map: Map::Extended, prefix: Prefix::P66, opcode };
        to.vector(code, self.wide, out, self.rest(of), Operand::Register(of));
        to.immediate(how as u8);
    }

    /// The bits of a number.
    pub fn bits(self, number: f64) -> u64 {
        match self.cell {
            Cell::F64 => number.to_bits(),
            _ => u64::from((number as f32).to_bits()),
        }
    }

    /// All bits but the sign.
    pub fn size_bits(self) -> u64 {
        match self.cell {
            Cell::F64 => !(1 << 63),
            _ => u64::from(!(1_u32 << 31)),
        }
    }

    /// Where operations on one cell of one operand take the rest of a register from.
    fn rest(self, of: Vector) -> Option<Vector> {
        (!self.wide).then_some(of)
    }

    fn number(self, opcode: u8) -> Code {
        let prefix = match (self.cell, self.wide) {
            (Cell::F64, true) => Prefix::P66,
            (Cell::F64, false) => Prefix::PF2,
            (_, true) => Prefix::None,
            (_, false) => Prefix::PF3,
        };
        Code { map: Map::Base, prefix, opcode }
    }

    fn bitwise(self, opcode: u8) -> Code {
        let prefix = if self.cell == Cell::F64 { Prefix::P66 } else { Prefix::None };
        Code { map: Map::Base, prefix, opcode }
    }
}
