//! Conversions between types, as the loops over pieces do them: whole numbers wrap around, floats are
//! truncated to 64-bit integers, at most their extremes, and NaN is 0.

use super::assembler::{Assembler, Code, Map, Operand, Prefix, Vector};
use super::operations::{Operations, Predicate};
use crate::cell::Cell;

/// One more than the last number that a 64-bit integer holds.
pub const BEYOND: f64 = 9_223_372_036_854_775_808.0;

/// Whether a conversion has instructions of AVX-512 alone.
pub fn is_newer(from: Cell, to: Cell) -> bool {
    let narrows = to.is_whole() && to.size() < from.size();
    let unsigned = from == Cell::U32 && !to.is_whole();
    let long = from.is_whole() && from.size() == 8 && !to.is_whole();
    (!from.is_whole() && to.is_whole()) || narrows || unsigned || long
}

/// Bytes of the widest element of a conversion on its way.
pub fn width(from: Cell, to: Cell) -> usize {
    let whole = from.is_whole() && to.is_whole();
    // By way of f64, but for integers of at most 32 bits, which are f32 at once.
    let at_once = from == to || (to == Cell::F32 && from.is_whole() && from.size() <= 4);
    if whole || at_once { from.size().max(to.size()) } else { 8 }
}

/// A conversion of so many elements; those of `from` that are known to be 0 or 1 take less.
pub struct Conversion {
    pub from: Cell,
    pub to: Cell,
    pub elements: usize,
    pub is_boolean: bool,
}

impl Conversion {
    /// Converts `one` to `out`, with registers to work with, all of them others; [`BEYOND`] is at an
    /// operand.
    pub fn write(
        &self,
        to: &mut Assembler,
        (out, one): (Vector, Vector),
        spare: [Vector; 2],
        beyond: Operand,
    ) {
        let own = Operations { cell: Cell::F64, elements: self.elements };
        let convert = |to: &mut Assembler, code, size, out, one| {
            to.vector(code, own.fills(size), out, None, Operand::Register(one));
        };
        let newer = |to: &mut Assembler, code, size, long, out, one| {
            to.newer(code, (own.fills(size), long), out, None, one);
        };
        match (self.from, self.to) {
            (from, into) if from == into => own.load(to, out, Operand::Register(one)),
            (from, into) if from.is_whole() && into.is_whole() => self.whole(to, out, one),
            (Cell::F32, Cell::F64) => convert(to, PS_PD, 8, out, one),
            (Cell::F64, Cell::F32) => convert(to, PD_PS, 8, out, one),
            (Cell::I64 | Cell::U64, into) => {
                let code = if self.from == Cell::I64 { QQ_PD } else { UQQ_PD };
                newer(to, code, 8, true, out, one);
                if into == Cell::F32 {
                    convert(to, PD_PS, 8, out, out);
                }
            }
            (Cell::U32, Cell::F64) => newer(to, UDQ_PD, 8, false, out, one),
            (Cell::U32, _) => newer(to, UDQ_PS, 4, false, out, one),
            (from, Cell::F32 | Cell::F64) => {
                let mut one = one;
                if from.size() == 1 {
                    Self { to: Cell::I32, ..*self }.whole(to, out, one);
                    one = out;
                }
                let (code, size) = if self.to == Cell::F64 { (DQ_PD, 8) } else { (DQ_PS, 4) };
                convert(to, code, size, out, one);
            }
            (from, into) => {
                let mut one = one;
                if from == Cell::F32 {
                    convert(to, PS_PD, 8, spare[1], one);
                    one = spare[1];
                }
                self.truncate(to, (out, one), spare[0], beyond);
                Self { from: Cell::I64, to: into, ..*self }.whole(to, out, out);
            }
        }
    }

    /// Makes 64-bit integers of 64-bit floats.
    fn truncate(
        &self,
        to: &mut Assembler,
        (out, one): (Vector, Vector),
        mask: Vector,
        beyond: Operand,
    ) {
        let own = Operations { cell: Cell::F64, elements: self.elements };
        to.newer(TPD_QQ, (own.is_wide(), true), out, None, one);
        if self.is_boolean {
            return;
        }
        // The processor makes the least integer of all that does not fit: its other bits are the last one.
        own.real_compare(to, Predicate::GreaterEqual, mask, one, beyond);
        own.xor(to, out, out, Operand::Register(mask));
        own.real_compare(to, Predicate::Unordered, mask, one, Operand::Register(one));
        own.and_not(to, out, mask, Operand::Register(out));
    }

    fn whole(&self, to: &mut Assembler, out: Vector, one: Vector) {
        let own = Operations { cell: self.to, elements: self.elements };
        let signed = matches!(self.from, Cell::I8 | Cell::I32 | Cell::I64);
        let (from, into) = (self.from.size(), self.to.size());
        let second = |prefix, opcode| Code { map: Map::Second, prefix, opcode };
        let opcode = match (from, into) {
            (1, 4) => 0x21,
            (1, 8) => 0x22,
            (4, 8) => 0x25,
            (4, 1) => 0x31,
            (8, 1) => 0x32,
            (8, 4) => 0x35,
            _ => return own.load(to, out, Operand::Register(one)),
        };
        if from < into {
            let opcode = if signed { opcode } else { opcode | 0x10 };
            let code = second(Prefix::P66, opcode);
            to.vector(code, own.fills(into), out, None, Operand::Register(one));
        } else {
            // Of these the register that is read comes first.
            let code = second(Prefix::PF3, opcode);
            to.newer(code, (own.fills(from), false), one, None, out);
        }
    }
}

const fn base(prefix: Prefix, opcode: u8) -> Code {
    Code { map: Map::Base, prefix, opcode }
}

const PS_PD: Code = base(Prefix::None, 0x5A);
const PD_PS: Code = base(Prefix::P66, 0x5A);
const DQ_PD: Code = base(Prefix::PF3, 0xE6);
const DQ_PS: Code = base(Prefix::None, 0x5B);
const QQ_PD: Code = base(Prefix::PF3, 0xE6);
const UQQ_PD: Code = base(Prefix::PF3, 0x7A);
const UDQ_PD: Code = base(Prefix::PF3, 0x7A);
const UDQ_PS: Code = base(Prefix::PF2, 0x7A);
const TPD_QQ: Code = base(Prefix::P66, 0x7A);
