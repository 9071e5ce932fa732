//! The code of each instruction of a chain.

use super::assembler::{Operand, Vector};
use super::conversions::{BEYOND, Conversion};
use super::emit::{Emitter, Location};
use super::operations::{Operations, Predicate, Rounding};
use crate::cell::Cell;
use crate::kernels::dense::binary::Binary;
use crate::kernels::dense::reduce::Reduce;
use crate::kernels::dense::unary::{BELOW_HALF, Unary};
use crate::pipeline::{Instruction, Register};

impl Emitter<'_> {
    /// An instruction; where what it makes is.
    pub(super) fn instruction(&mut self, instruction: Instruction) -> Option<Location> {
        match instruction {
            Instruction::Binary(name, cell, left, right) => match name {
                Binary::And | Binary::Or => self.both(name, left, right),
                Binary::Eq | Binary::Neq | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge => {
                    self.comparison(name, cell, left, right)
                }
                _ => self.arithmetic(name, cell, left, right),
            },
            Instruction::Unary(name, _, arg) => self.unary(name, arg),
            Instruction::Select(_, [mask, yes, no]) => self.select(mask, yes, no),
            Instruction::Cast(to, arg) => self.cast(to, arg),
            Instruction::RowReduce(..) | Instruction::RowProduct(..) => None,
        }
    }

    /// Adds what is reduced to an accumulator.
    pub(super) fn reduce(&mut self, own: Vector) -> Option<()> {
        let Some((how, register)) = self.shape.reduced else { return Some(()) };
        let operations = self.operations(register);
        if how == Reduce::Sum {
            let (last, _) = self.last(register)?;
            operations.add(&mut self.to, own, own, last);
            return Some(());
        }
        let value = self.held(register)?;
        if operations.cell.is_whole() {
            operations.extreme(&mut self.to, how == Reduce::Max, own, own, value);
            return Some(());
        }
        // The less of both, or the first one if neither is; and the second one if it is NaN.
        let (less, nan) = (self.take()?, self.take()?);
        if how == Reduce::Min {
            operations.real_min(&mut self.to, less, value, Operand::Register(own));
        } else {
            operations.real_max(&mut self.to, less, value, Operand::Register(own));
        }
        let last = Operand::Register(value);
        operations.real_compare(&mut self.to, Predicate::Unordered, nan, value, last);
        operations.choose(&mut self.to, own, less, last, nan);
        Some(())
    }

    /// Where both sides of an operation are, and where it puts what it makes, which may be one of them.
    fn sides(&mut self, left: Register, right: Register) -> Option<(Vector, Operand, Vector)> {
        let (one, (last, loaded)) = (self.held(left)?, self.last(right)?);
        self.release(left, Some(one));
        self.release(right, loaded);
        Some((one, last, self.take()?))
    }

    fn comparison(
        &mut self,
        name: Binary,
        cell: Cell,
        left: Register,
        right: Register,
    ) -> Option<Location> {
        if cell.is_whole() {
            return self.whole_comparison(name, cell, left, right);
        }
        let predicate = match name {
            Binary::Eq => Predicate::Equal,
            Binary::Neq => Predicate::NotEqual,
            Binary::Lt => Predicate::Less,
            Binary::Le => Predicate::LessEqual,
            Binary::Gt => Predicate::Greater,
            _ => Predicate::GreaterEqual,
        };
        let (one, last, out) = self.sides(left, right)?;
        self.operations_on(cell).real_compare(&mut self.to, predicate, out, one, last);
        Some(Location::Mask(out))
    }

    /// A comparison of whole numbers: of two, which is greater, or whether they are equal, or not so.
    fn whole_comparison(
        &mut self,
        name: Binary,
        cell: Cell,
        left: Register,
        right: Register,
    ) -> Option<Location> {
        let operations = self.operations_on(cell);
        let (one, two, out) = (self.held(left)?, self.held(right)?, self.take()?);
        let (first, second) =
            if matches!(name, Binary::Lt | Binary::Ge) { (two, one) } else { (one, two) };
        if matches!(name, Binary::Eq | Binary::Neq) {
            operations.equal(&mut self.to, out, first, Operand::Register(second));
        } else if matches!(cell, Cell::U8 | Cell::U32 | Cell::U64) {
            // In the order of numbers with a sign, once that bit is the other one.
            let (sign, other) = (self.bits(operations, !operations.size_bits()), self.take()?);
            operations.xor(&mut self.to, out, first, sign);
            operations.xor(&mut self.to, other, second, sign);
            operations.greater(&mut self.to, out, out, Operand::Register(other));
            self.give_back(other);
        } else {
            operations.greater(&mut self.to, out, first, Operand::Register(second));
        }
        if matches!(name, Binary::Neq | Binary::Le | Binary::Ge) {
            self.invert(operations, out);
        }
        self.release(left, Some(one));
        self.release(right, Some(two));
        Some(Location::Mask(out))
    }

    fn invert(&mut self, operations: Operations, mask: Vector) {
        let all = self.bits(operations, u64::MAX);
        operations.xor(&mut self.to, mask, mask, all);
    }

    /// All bits where a number is not 0.
    pub(super) fn is_not_zero(&mut self, operations: Operations, out: Vector, one: Vector) {
        let zeros = self.constant(operations, 0.0);
        if operations.cell.is_whole() {
            operations.equal(&mut self.to, out, one, zeros);
            self.invert(operations, out);
        } else {
            operations.real_compare(&mut self.to, Predicate::NotEqual, out, one, zeros);
        }
    }

    fn arithmetic(
        &mut self,
        name: Binary,
        cell: Cell,
        left: Register,
        right: Register,
    ) -> Option<Location> {
        let operations = self.operations_on(cell);
        if cell.is_whole() && matches!(name, Binary::Mul | Binary::Min | Binary::Max) {
            return self.of_whole(name, operations, left, right);
        }
        let is_held = |register: Register| matches!(self.locations[register], Location::Held(_));
        let swapped = match name {
            // The processor takes its second operand where neither is less.
            Binary::Min | Binary::Max => true,
            Binary::Add | Binary::Mul => !is_held(left) && is_held(right),
            _ => false,
        };
        let (left, right) = if swapped { (right, left) } else { (left, right) };
        let (one, last, out) = self.sides(left, right)?;
        match name {
            Binary::Add => operations.add(&mut self.to, out, one, last),
            Binary::Sub => operations.sub(&mut self.to, out, one, last),
            Binary::Mul => operations.real_mul(&mut self.to, out, one, last),
            Binary::Div => operations.div(&mut self.to, out, one, last),
            Binary::Min => operations.real_min(&mut self.to, out, one, last),
            Binary::Max => operations.real_max(&mut self.to, out, one, last),
            _ => return None,
        }
        Some(Location::Held(out))
    }

    /// Products and extremes of whole numbers.
    fn of_whole(
        &mut self,
        name: Binary,
        operations: Operations,
        left: Register,
        right: Register,
    ) -> Option<Location> {
        let (one, two, out) = (self.held(left)?, self.held(right)?, self.take()?);
        match (name, operations.cell.size()) {
            (Binary::Mul, 1) => self.byte_products(operations, out, one, two)?,
            (Binary::Mul, _) => operations.mul(&mut self.to, out, one, two),
            _ => operations.extreme(&mut self.to, name == Binary::Max, out, one, two),
        }
        self.release(left, Some(one));
        self.release(right, Some(two));
        Some(Location::Held(out))
    }

    /// Products of bytes: of the lower ones of each pair, and of the higher ones.
    fn byte_products(
        &mut self,
        operations: Operations,
        out: Vector,
        one: Vector,
        two: Vector,
    ) -> Option<()> {
        let (high, other) = (self.take()?, self.take()?);
        operations.shift_pairs(&mut self.to, false, high, one);
        operations.shift_pairs(&mut self.to, false, other, two);
        operations.mul_pairs(&mut self.to, high, high, other);
        operations.shift_pairs(&mut self.to, true, high, high);
        operations.mul_pairs(&mut self.to, out, one, two);
        let low = self.bits(self.operations_on(Cell::I32), 0x00FF_00FF);
        operations.and(&mut self.to, out, out, low);
        operations.or(&mut self.to, out, out, Operand::Register(high));
        self.give_back(high);
        self.give_back(other);
        Some(())
    }

    /// Whether both sides are not 0, or either.
    fn both(&mut self, name: Binary, left: Register, right: Register) -> Option<Location> {
        let (one, two, out) = (self.mask(left)?, self.mask(right)?, self.take()?);
        let (operations, last) = (self.operations(left), Operand::Register(two.0));
        if name == Binary::And {
            operations.and(&mut self.to, out, one.0, last);
        } else {
            operations.or(&mut self.to, out, one.0, last);
        }
        self.release_mask(left, one);
        self.release_mask(right, two);
        Some(Location::Mask(out))
    }

    fn select(&mut self, mask: Register, yes: Register, no: Register) -> Option<Location> {
        // The mask comes last: a side that is the same register becomes 0 and 1.
        let (two, three) = (self.held(yes)?, self.held(no)?);
        let (one, out) = (self.mask(mask)?, self.take()?);
        let operations = self.operations(yes);
        operations.choose(&mut self.to, out, three, Operand::Register(two), one.0);
        self.release_mask(mask, one);
        self.release(yes, Some(two));
        self.release(no, Some(three));
        Some(Location::Held(out))
    }

    fn cast(&mut self, to: Cell, arg: Register) -> Option<Location> {
        let from = self.shape.cells[arg];
        if let Location::Mask(one) = self.locations[arg]
            && from.size() == to.size()
        {
            let out = self.take()?;
            self.operations_on(to).load(&mut self.to, out, Operand::Register(one));
            self.release(arg, None);
            return Some(Location::Mask(out));
        }
        let (one, out) = (self.held(arg)?, self.take()?);
        let (spare, beyond) = ([self.take()?, self.take()?], self.operations_on(Cell::F64));
        let beyond = self.constant(beyond, BEYOND);
        let (elements, is_boolean) = (self.elements, self.booleans[arg]);
        let conversion = Conversion { from, to, elements, is_boolean };
        conversion.write(&mut self.to, (out, one), spare, beyond);
        for vector in spare {
            self.give_back(vector);
        }
        self.release(arg, Some(one));
        Some(Location::Held(out))
    }

    fn unary(&mut self, name: Unary, arg: Register) -> Option<Location> {
        let (one, out, operations) = (self.held(arg)?, self.take()?, self.operations(arg));
        let last = Operand::Register(one);
        let mut made = Location::Held(out);
        if operations.cell.is_whole() {
            self.whole_unary(name, operations, out, one)?;
        } else {
            match name {
                Unary::Minus => {
                    let sign = self.constant(operations, -0.0);
                    operations.xor(&mut self.to, out, one, sign);
                }
                Unary::Abs => {
                    let size = self.bits(operations, operations.size_bits());
                    operations.and(&mut self.to, out, one, size);
                }
                Unary::Sqrt => operations.sqrt(&mut self.to, out, one),
                Unary::Floor => operations.round(&mut self.to, Rounding::Down, out, one),
                Unary::Ceil => operations.round(&mut self.to, Rounding::Up, out, one),
                Unary::IsNan => {
                    operations.real_compare(&mut self.to, Predicate::Unordered, out, one, last);
                    made = Location::Mask(out);
                }
                Unary::Round => self.round(operations, out, one)?,
                Unary::Sign => self.sign(operations, out, one)?,
                _ => return None,
            }
        }
        self.release(arg, Some(one));
        Some(made)
    }

    fn whole_unary(
        &mut self,
        name: Unary,
        operations: Operations,
        out: Vector,
        one: Vector,
    ) -> Option<()> {
        let signed = matches!(operations.cell, Cell::I8 | Cell::I32 | Cell::I64);
        let (last, zeros) = (Operand::Register(one), self.constant(operations, 0.0));
        match name {
            Unary::Minus => {
                operations.xor(&mut self.to, out, out, Operand::Register(out));
                operations.sub(&mut self.to, out, out, last);
            }
            Unary::Abs if signed => operations.whole_abs(&mut self.to, out, one),
            Unary::Abs => operations.load(&mut self.to, out, last),
            Unary::Sign if signed => {
                // -1 where it is less, minus -1 where it is more.
                let more = self.take()?;
                operations.xor(&mut self.to, out, out, Operand::Register(out));
                operations.greater(&mut self.to, out, out, last);
                operations.greater(&mut self.to, more, one, zeros);
                operations.sub(&mut self.to, out, out, Operand::Register(more));
                self.give_back(more);
            }
            Unary::Sign => {
                let ones = self.constant(operations, 1.0);
                operations.equal(&mut self.to, out, one, zeros);
                operations.add(&mut self.to, out, out, ones);
            }
            Unary::IsNan => operations.xor(&mut self.to, out, out, Operand::Register(out)),
            _ => return None,
        }
        Some(())
    }

    /// Half and more goes away from 0.
    fn round(&mut self, operations: Operations, out: Vector, one: Vector) -> Option<()> {
        let sign = self.take()?;
        let size = self.bits(operations, operations.size_bits());
        let (half, signs) =
            (self.constant(operations, BELOW_HALF), self.constant(operations, -0.0));
        operations.and(&mut self.to, out, one, size);
        operations.add(&mut self.to, out, out, half);
        operations.round(&mut self.to, Rounding::Down, out, out);
        operations.and(&mut self.to, sign, one, signs);
        operations.or(&mut self.to, out, out, Operand::Register(sign));
        self.give_back(sign);
        Some(())
    }

    /// 1, -1, or what is neither more nor less than 0, with 0 for -0.
    fn sign(&mut self, operations: Operations, out: Vector, one: Vector) -> Option<()> {
        let mask = self.take()?;
        let zeros = self.constant(operations, 0.0);
        operations.add(&mut self.to, out, one, zeros);
        for (predicate, number) in [(Predicate::Greater, 1.0), (Predicate::Less, -1.0)] {
            let number = self.constant(operations, number);
            operations.real_compare(&mut self.to, predicate, mask, one, zeros);
            operations.choose(&mut self.to, out, out, number, mask);
        }
        self.give_back(mask);
        Some(())
    }
}
