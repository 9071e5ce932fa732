//! Operations on elements of a type: a vector's, or one.

use super::assembler::{Assembler, Code, Map, Operand, Prefix, Vector};
use crate::cell::Cell;

/// Bytes of a vector.
pub const VECTOR: usize = 32;

/// A comparison of floats, by its number in an encoding: those with NaN are false, but for the last two.
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

/// Which elements operations are on, and how many: as many as a vector has of the widest type of the
/// chain, or one. Elements of narrower types fill the low part of a register.
#[derive(Clone, Copy, Debug)]
pub struct Operations {
    pub cell: Cell,
    pub elements: usize,
}

/// Operations by their codes: `out = operation(one, last)`.
macro_rules! operations {
    ($($name:ident $code:ident $opcode:literal)*) => {$(
        pub fn $name(self, to: &mut Assembler, out: Vector, one: Vector, last: Operand) {
            to.vector(self.$code($opcode), self.is_wide(), out, Some(one), last);
        }
    )*};
}

const fn base(opcode: u8) -> Code {
    Code { map: Map::Base, prefix: Prefix::P66, opcode }
}

const fn second(opcode: u8) -> Code {
    Code { map: Map::Second, prefix: Prefix::P66, opcode }
}

impl Operations {
    operations! {
        real_add real 0x58
        real_mul real 0x59
        real_sub real 0x5C
        real_min real 0x5D
        div real 0x5E
        real_max real 0x5F
        and bitwise 0x54
        or bitwise 0x56
        xor bitwise 0x57
        and_not bitwise 0x55
    }

    /// Floats and whole numbers have operations of their own, so that no result has to change units.
    fn bitwise(self, opcode: u8) -> Code {
        let whole = match opcode {
            0x54 => 0xDB,
            0x55 => 0xDF,
            0x56 => 0xEB,
            _ => 0xEF,
        };
        if self.cell.is_whole() { base(whole) } else { self.real(opcode) }
    }

    fn real(self, opcode: u8) -> Code {
        let prefix = if self.cell == Cell::F64 { Prefix::P66 } else { Prefix::None };
        Code { map: Map::Base, prefix, opcode }
    }

    /// Whether elements fill all of a vector register.
    pub fn is_wide(self) -> bool {
        self.fills(self.cell.size())
    }

    /// Whether so many elements of a size fill a vector register.
    pub fn fills(self, size: usize) -> bool {
        self.elements * size == VECTOR
    }

    /// Whether an operation may read its last operand from memory: no more than there is.
    pub fn reads_memory(self) -> bool {
        self.elements > 1 && self.elements * self.cell.size() >= 16
    }

    pub fn load(self, to: &mut Assembler, out: Vector, from: Operand) {
        let (prefix, wide) = match (from, self.elements * self.cell.size()) {
            (Operand::Register(_), _) | (_, 32) => (Prefix::None, true),
            (_, 16) => (Prefix::None, false),
            (_, 8) => (Prefix::PF2, false),
            (_, 4) => (Prefix::PF3, false),
            _ => {
                self.xor(to, out, out, Operand::Register(out));
                let code = Code { map: Map::Extended, prefix: Prefix::P66, opcode: 0x20 };
                to.vector(code, false, out, Some(out), from);
                return to.immediate(0);
            }
        };
        to.vector(Code { map: Map::Base, prefix, opcode: 0x10 }, wide, out, None, from);
    }

    pub fn store(self, to: &mut Assembler, from: Vector, out: Operand) {
        let (prefix, wide) = match self.elements * self.cell.size() {
            32 => (Prefix::None, true),
            16 => (Prefix::None, false),
            8 => (Prefix::PF2, false),
            4 => (Prefix::PF3, false),
            _ => {
                let code = Code { map: Map::Extended, prefix: Prefix::P66, opcode: 0x14 };
                to.vector(code, false, from, None, out);
                return to.immediate(0);
            }
        };
        to.vector(Code { map: Map::Base, prefix, opcode: 0x11 }, wide, from, None, out);
    }

    pub fn sqrt(self, to: &mut Assembler, out: Vector, of: Vector) {
        to.vector(self.real(0x51), self.is_wide(), out, None, Operand::Register(of));
    }

    /// All bits where it is so, and none elsewhere.
    pub fn real_compare(
        self,
        to: &mut Assembler,
        predicate: Predicate,
        out: Vector,
        one: Vector,
        last: Operand,
    ) {
        to.vector(self.real(0xC2), self.is_wide(), out, Some(one), last);
        to.immediate(predicate as u8);
    }

    /// All bits where whole numbers are equal.
    pub fn equal(self, to: &mut Assembler, out: Vector, one: Vector, last: Operand) {
        let code = match self.cell.size() {
            1 => base(0x74),
            4 => base(0x76),
            _ => second(0x29),
        };
        to.vector(code, self.is_wide(), out, Some(one), last);
    }

    /// All bits where a whole number, taken with its sign, is greater.
    pub fn greater(self, to: &mut Assembler, out: Vector, one: Vector, last: Operand) {
        let code = match self.cell.size() {
            1 => base(0x64),
            4 => base(0x66),
            _ => second(0x37),
        };
        to.vector(code, self.is_wide(), out, Some(one), last);
    }

    pub fn add(self, to: &mut Assembler, out: Vector, one: Vector, last: Operand) {
        let code = match self.cell {
            Cell::F32 | Cell::F64 => return self.real_add(to, out, one, last),
            Cell::I8 | Cell::U8 => base(0xFC),
            Cell::I32 | Cell::U32 => base(0xFE),
            Cell::I64 | Cell::U64 => base(0xD4),
        };
        to.vector(code, self.is_wide(), out, Some(one), last);
    }

    pub fn sub(self, to: &mut Assembler, out: Vector, one: Vector, last: Operand) {
        let code = match self.cell {
            Cell::F32 | Cell::F64 => return self.real_sub(to, out, one, last),
            Cell::I8 | Cell::U8 => base(0xF8),
            Cell::I32 | Cell::U32 => base(0xFA),
            Cell::I64 | Cell::U64 => base(0xFB),
        };
        to.vector(code, self.is_wide(), out, Some(one), last);
    }

    /// Products of floats, and of whole numbers of more than 8 bits.
    pub fn mul(self, to: &mut Assembler, out: Vector, one: Vector, last: Vector) {
        let operand = Operand::Register(last);
        match self.cell {
            Cell::F32 | Cell::F64 => self.real_mul(to, out, one, operand),
            Cell::I64 | Cell::U64 => {
                to.newer(second(0x40), (self.is_wide(), true), out, Some(one), last);
            }
            _ => to.vector(second(0x40), self.is_wide(), out, Some(one), operand),
        }
    }

    /// Products of pairs of bytes as numbers of 16 bits.
    pub fn mul_pairs(self, to: &mut Assembler, out: Vector, one: Vector, last: Vector) {
        to.vector(base(0xD5), self.is_wide(), out, Some(one), Operand::Register(last));
    }

    /// The bits of numbers of 16 bits, moved by 8: to the left, or to the right.
    pub fn shift_pairs(self, to: &mut Assembler, left: bool, out: Vector, one: Vector) {
        let which = Vector(if left { 6 } else { 2 });
        to.vector(base(0x71), self.is_wide(), which, Some(out), Operand::Register(one));
        to.immediate(8);
    }

    /// The lesser, or greater, of whole numbers.
    pub fn extreme(
        self,
        to: &mut Assembler,
        greater: bool,
        out: Vector,
        one: Vector,
        last: Vector,
    ) {
        let code = match (self.cell, greater) {
            (Cell::I8, false) => second(0x38),
            (Cell::U8, false) => base(0xDA),
            (Cell::I32 | Cell::I64, false) => second(0x39),
            (Cell::I8, true) => second(0x3C),
            (Cell::U8, true) => base(0xDE),
            (Cell::I32 | Cell::I64, true) => second(0x3D),
            (_, false) => second(0x3B),
            (_, true) => second(0x3F),
        };
        if self.cell.size() == 8 {
            to.newer(code, (self.is_wide(), true), out, Some(one), last);
        } else {
            to.vector(code, self.is_wide(), out, Some(one), Operand::Register(last));
        }
    }

    /// Absolute values of whole numbers with a sign.
    pub fn whole_abs(self, to: &mut Assembler, out: Vector, of: Vector) {
        match self.cell {
            Cell::I8 => to.vector(second(0x1C), self.is_wide(), out, None, Operand::Register(of)),
            Cell::I32 => to.vector(second(0x1E), self.is_wide(), out, None, Operand::Register(of)),
            _ => to.newer(second(0x1F), (self.is_wide(), true), out, None, of),
        }
    }

    /// Where a mask has bits the last operand, and the first one elsewhere.
    pub fn choose(self, to: &mut Assembler, out: Vector, one: Vector, last: Operand, mask: Vector) {
        let opcode = match self.cell {
            Cell::F64 => 0x4B,
            Cell::F32 => 0x4A,
            _ => 0x4C,
        };
        let code = Code { map: Map::Extended, prefix: Prefix::P66, opcode };
        to.vector(code, self.is_wide(), out, Some(one), last);
        to.immediate(mask.0 << 4);
    }

    pub fn round(self, to: &mut Assembler, how: Rounding, out: Vector, of: Vector) {
        let opcode = if self.cell == Cell::F64 { 0x09 } else { 0x08 };
        let code = Code { map: Map::Extended, prefix: Prefix::P66, opcode };
        to.vector(code, self.is_wide(), out, None, Operand::Register(of));
        to.immediate(how as u8);
    }

    /// The bits of a number.
    pub fn bits(self, number: f64) -> u64 {
        match self.cell {
            Cell::F64 => number.to_bits(),
            Cell::F32 => u64::from((number as f32).to_bits()),
            _ => (number as i64).cast_unsigned(),
        }
    }

    /// All bits but the sign.
    pub fn size_bits(self) -> u64 {
        !(1 << (8 * self.cell.size() - 1))
    }
}
