//! The code of a chain: one loop over its cells, and one for those that fill no vector.
//!
//! A function of four arguments: the addresses of all streams (inputs, then stores, then lanes), the
//! constants, the bytes of all whole steps, and of all cells. In the loops `rax` is how far it is in all
//! streams, whose addresses are in registers; `rsi` has the constants and `rdi` the lanes.

use super::assembler::{Assembler, Condition, General, Operand, Vector};
use super::operations::{Operations, Predicate, Rounding};
use super::shape::Shape;
use crate::kernels::dense::binary::Binary;
use crate::kernels::dense::reduce::{LANE_BYTES, Reduce};
use crate::kernels::dense::unary::Unary;
use crate::pipeline::{Instruction, Register};

/// Bytes of a vector.
pub const VECTOR: usize = 32;

/// Vectors of a step: of what is reduced one for each that lanes have.
const VECTORS_REDUCED: usize = LANE_BYTES / VECTOR;
const VECTORS: usize = 4;

/// Where the addresses of streams are, those first that a function need not restore.
const BASES: [General; 10] = [
    General(8),
    General(9),
    General(10),
    General(11),
    General::RBX,
    General(5),
    General(12),
    General(13),
    General(14),
    General(15),
];
const RESTORED_FROM: usize = 4;

/// The first accumulator; registers below it are for what is between operations.
const ACCUMULATORS: u8 = 8;

/// A number that the code reads: as many times as a vector has cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constant {
    /// That of an input.
    Input(Register),
    /// One of these bits.
    Bits(u64),
}

/// Code, and what it needs.
pub struct Code {
    pub bytes: Vec<u8>,
    pub constants: Vec<Constant>,
    /// Bytes of a step.
    pub step: usize,
}

/// The code of a chain; none if it has more streams, or more between operations, than there are
/// registers.
pub fn code_of(shape: &Shape) -> Option<Code> {
    let mut own = Emitter::new(shape)?;
    let step = VECTOR * if shape.reduced.is_some() { VECTORS_REDUCED } else { VECTORS };
    own.begin();
    own.vectors(step)?;
    own.rest()?;
    own.end();
    Some(Code { bytes: own.to.bytes, constants: own.constants, step })
}

/// Where the cells of a register are.
#[derive(Clone, Copy)]
enum Location {
    /// Of an input, and not of a number.
    Stream(General),
    /// In a register.
    Held(Vector),
    /// In the constants.
    Constant(Constant),
}

struct Emitter<'a> {
    shape: &'a Shape,
    to: Assembler,
    /// Of each input, and of each store.
    bases: Vec<General>,
    constants: Vec<Constant>,
    uses: Vec<usize>,
    /// Of one pass over the instructions.
    locations: Vec<Location>,
    left: Vec<usize>,
    free: u32,
    operations: Operations,
    distance: i32,
}

impl<'a> Emitter<'a> {
    fn new(shape: &'a Shape) -> Option<Self> {
        let inputs = shape.numbers.iter().filter(|is_number| !**is_number).count();
        let bases = BASES.get(..inputs + shape.stores.len())?.to_vec();
        Some(Self {
            shape,
            to: Assembler::default(),
            bases,
            constants: Vec::new(),
            uses: uses_of(shape),
            locations: Vec::new(),
            left: Vec::new(),
            free: 0,
            operations: Operations { cell: shape.cell, wide: true },
            distance: 0,
        })
    }

    fn begin(&mut self) {
        for base in self.saved() {
            self.to.push(base);
        }
        for (at, base) in self.bases.iter().enumerate() {
            self.to.load(*base, General::RDI, 8 * at as i32);
        }
        if self.shape.reduced.is_some() {
            self.to.load(General::RDI, General::RDI, 8 * self.bases.len() as i32);
        }
        self.to.zero(General::RAX);
    }

    fn end(&mut self) {
        self.to.clear_upper();
        for base in self.saved().into_iter().rev() {
            self.to.pop(base);
        }
        self.to.ret();
    }

    fn saved(&self) -> Vec<General> {
        self.bases.iter().skip(RESTORED_FROM).copied().collect()
    }

    /// The loop of whole steps.
    fn vectors(&mut self, step: usize) -> Option<()> {
        self.to.compare(General::RAX, General::RDX);
        let none = self.to.jump(Condition::NotBelow);
        let accumulators = |at: usize| Vector(ACCUMULATORS + at as u8);
        let vectors = step / VECTOR;
        let lanes = |at: usize| Operand::Memory(General::RDI, None, (VECTOR * at) as i32);
        if self.shape.reduced.is_some() {
            for at in 0..vectors {
                self.operations.load(&mut self.to, accumulators(at), lanes(at));
            }
        }
        let top = self.to.label();
        for at in 0..vectors {
            self.distance = (VECTOR * at) as i32;
            self.instructions()?;
            self.reduce(accumulators(at))?;
        }
        self.to.add(General::RAX, step as i32);
        self.to.compare(General::RAX, General::RDX);
        self.to.jump_back(Condition::Below, top);
        if self.shape.reduced.is_some() {
            for at in 0..vectors {
                self.operations.store(&mut self.to, accumulators(at), lanes(at));
            }
        }
        self.to.land(&none);
        Some(())
    }

    /// The loop of all other cells, one by one.
    fn rest(&mut self) -> Option<()> {
        self.operations.wide = false;
        self.distance = 0;
        self.to.compare(General::RAX, General::RCX);
        let none = self.to.jump(Condition::NotBelow);
        // The first of them is of the first lane.
        self.to.subtract(General::RDI, General::RDX);
        let top = self.to.label();
        self.instructions()?;
        if self.shape.reduced.is_some() {
            let (lane, own) =
                (Operand::Memory(General::RDI, Some(General::RAX), 0), Vector(ACCUMULATORS));
            self.operations.load(&mut self.to, own, lane);
            self.reduce(own)?;
            self.operations.store(&mut self.to, own, lane);
        }
        self.to.add(General::RAX, self.shape.cell.size() as i32);
        self.to.compare(General::RAX, General::RCX);
        self.to.jump_back(Condition::Below, top);
        self.to.land(&none);
        Some(())
    }

    /// All instructions, on one vector or one cell.
    fn instructions(&mut self) -> Option<()> {
        let mut bases = self.bases.iter();
        self.locations.clear();
        for (at, is_number) in self.shape.numbers.iter().enumerate() {
            self.locations.push(if *is_number {
                Location::Constant(Constant::Input(at))
            } else {
                Location::Stream(*bases.next().expect("each stream has one"))
            });
        }
        let outputs: Vec<General> = bases.copied().collect();
        self.left.clone_from(&self.uses);
        self.free = if self.shape.reduced.is_some() { 0xFF } else { 0xFFFF };
        for at in 0..self.shape.instructions.len() {
            let made = self.locations.len();
            let stored = self.shape.stores.iter().position(|register| *register == made);
            if self.uses[made] == 0 && stored.is_none() {
                // Nobody reads it: any place does.
                self.locations.push(Location::Constant(Constant::Bits(0)));
                continue;
            }
            let out = self.instruction(self.shape.instructions[at])?;
            self.locations.push(Location::Held(out));
            if let Some(store) = stored {
                let to = Operand::Memory(outputs[store], Some(General::RAX), self.distance);
                self.operations.store(&mut self.to, out, to);
                self.give_back_unused(made);
            }
        }
        Some(())
    }

    /// Adds what is reduced to an accumulator.
    fn reduce(&mut self, own: Vector) -> Option<()> {
        let Some((how, register)) = self.shape.reduced else { return Some(()) };
        let operations = self.operations;
        if how == Reduce::Sum {
            let last = self.operand(register);
            operations.add(&mut self.to, own, own, last);
            return Some(());
        }
        // The less of both, or the first one if neither is; and the second one if it is NaN.
        let (value, less, nan) = (self.held(register)?, self.take()?, self.take()?);
        if how == Reduce::Min {
            operations.min(&mut self.to, less, value, Operand::Register(own));
        } else {
            operations.max(&mut self.to, less, value, Operand::Register(own));
        }
        let last = Operand::Register(value);
        operations.compare(&mut self.to, Predicate::Unordered, nan, value, last);
        operations.choose(&mut self.to, own, less, last, nan);
        Some(())
    }

    fn instruction(&mut self, instruction: Instruction) -> Option<Vector> {
        match instruction {
            Instruction::Binary(name, _, left, right) => self.binary(name, left, right),
            Instruction::Unary(name, _, arg) => self.unary(name, arg),
            Instruction::Select(_, [mask, yes, no]) => self.select(mask, yes, no),
            Instruction::Cast(..) | Instruction::RowReduce(..) | Instruction::RowProduct(..) => {
                None
            }
        }
    }

    fn binary(&mut self, name: Binary, left: Register, right: Register) -> Option<Vector> {
        let predicate = match name {
            Binary::Eq => Predicate::Equal,
            Binary::Neq => Predicate::NotEqual,
            Binary::Lt => Predicate::Less,
            Binary::Le => Predicate::LessEqual,
            Binary::Gt => Predicate::Greater,
            Binary::Ge => Predicate::GreaterEqual,
            Binary::And | Binary::Or => return self.both(name, left, right),
            _ => return self.arithmetic(name, left, right),
        };
        let (one, last) = (self.held(left)?, self.operand(right));
        let ones = self.constant(1.0);
        self.release(left, Some(one));
        self.release(right, None);
        let out = self.take()?;
        self.operations.compare(&mut self.to, predicate, out, one, last);
        self.operations.and(&mut self.to, out, out, ones);
        Some(out)
    }

    fn arithmetic(&mut self, name: Binary, left: Register, right: Register) -> Option<Vector> {
        let is_held = |register: Register| matches!(self.locations[register], Location::Held(_));
        let swapped = match name {
            // The processor takes its second operand where neither is less.
            Binary::Min | Binary::Max => true,
            Binary::Add | Binary::Mul => !is_held(left) && is_held(right),
            _ => false,
        };
        let (left, right) = if swapped { (right, left) } else { (left, right) };
        let (one, last) = (self.held(left)?, self.operand(right));
        self.release(left, Some(one));
        self.release(right, None);
        let (out, operations) = (self.take()?, self.operations);
        match name {
            Binary::Add => operations.add(&mut self.to, out, one, last),
            Binary::Sub => operations.sub(&mut self.to, out, one, last),
            Binary::Mul => operations.mul(&mut self.to, out, one, last),
            Binary::Div => operations.div(&mut self.to, out, one, last),
            Binary::Min => operations.min(&mut self.to, out, one, last),
            Binary::Max => operations.max(&mut self.to, out, one, last),
            _ => return None,
        }
        Some(out)
    }

    /// Whether both sides are not 0, or either.
    fn both(&mut self, name: Binary, left: Register, right: Register) -> Option<Vector> {
        let (one, two) = (self.held(left)?, self.held(right)?);
        let (out, other) = (self.take()?, self.take()?);
        let (zeros, ones) = (self.constant(0.0), self.constant(1.0));
        let operations = self.operations;
        operations.compare(&mut self.to, Predicate::NotEqual, out, one, zeros);
        operations.compare(&mut self.to, Predicate::NotEqual, other, two, zeros);
        if name == Binary::And {
            operations.and(&mut self.to, out, out, Operand::Register(other));
        } else {
            operations.or(&mut self.to, out, out, Operand::Register(other));
        }
        operations.and(&mut self.to, out, out, ones);
        self.release(left, Some(one));
        self.release(right, Some(two));
        self.give_back(other);
        Some(out)
    }

    fn select(&mut self, mask: Register, yes: Register, no: Register) -> Option<Vector> {
        let (one, two, three) = (self.held(mask)?, self.held(yes)?, self.held(no)?);
        let out = self.take()?;
        let zeros = self.constant(0.0);
        let operations = self.operations;
        operations.compare(&mut self.to, Predicate::Equal, out, one, zeros);
        operations.choose(&mut self.to, out, two, Operand::Register(three), out);
        self.release(mask, Some(one));
        self.release(yes, Some(two));
        self.release(no, Some(three));
        Some(out)
    }

    fn unary(&mut self, name: Unary, arg: Register) -> Option<Vector> {
        let (one, out, operations) = (self.held(arg)?, self.take()?, self.operations);
        let last = Operand::Register(one);
        match name {
            Unary::Minus => {
                let sign = self.constant(-0.0);
                operations.xor(&mut self.to, out, one, sign);
            }
            Unary::Abs => {
                let size = self.bits(operations.size_bits());
                operations.and(&mut self.to, out, one, size);
            }
            Unary::Sqrt => operations.sqrt(&mut self.to, out, one),
            Unary::Floor => operations.round(&mut self.to, Rounding::Down, out, one),
            Unary::Ceil => operations.round(&mut self.to, Rounding::Up, out, one),
            Unary::IsNan => {
                let ones = self.constant(1.0);
                operations.compare(&mut self.to, Predicate::Unordered, out, one, last);
                operations.and(&mut self.to, out, out, ones);
            }
            Unary::Round => self.round(out, one)?,
            Unary::Sign => self.sign(out, one)?,
            _ => return None,
        }
        self.release(arg, Some(one));
        Some(out)
    }

    /// Half and more goes away from 0.
    fn round(&mut self, out: Vector, one: Vector) -> Option<()> {
        let (sign, operations) = (self.take()?, self.operations);
        let (size, half) = (self.bits(operations.size_bits()), self.constant(0.5));
        operations.and(&mut self.to, out, one, size);
        operations.add(&mut self.to, out, out, half);
        operations.round(&mut self.to, Rounding::Down, out, out);
        let signs = self.constant(-0.0);
        operations.and(&mut self.to, sign, one, signs);
        operations.or(&mut self.to, out, out, Operand::Register(sign));
        self.give_back(sign);
        Some(())
    }

    /// 1, -1, or what is neither more nor less than 0, with 0 for -0.
    fn sign(&mut self, out: Vector, one: Vector) -> Option<()> {
        let (mask, operations) = (self.take()?, self.operations);
        let zeros = self.constant(0.0);
        operations.add(&mut self.to, out, one, zeros);
        for (predicate, number) in [(Predicate::Greater, 1.0), (Predicate::Less, -1.0)] {
            let number = self.constant(number);
            operations.compare(&mut self.to, predicate, mask, one, zeros);
            operations.choose(&mut self.to, out, out, number, mask);
        }
        self.give_back(mask);
        Some(())
    }

    /// The last operand that a register is.
    fn operand(&mut self, register: Register) -> Operand {
        match self.locations[register] {
            Location::Held(vector) => Operand::Register(vector),
            Location::Stream(base) => Operand::Memory(base, Some(General::RAX), self.distance),
            Location::Constant(constant) => self.entry(constant),
        }
    }

    /// A register's cells in a vector register, loaded if they are in memory.
    fn held(&mut self, register: Register) -> Option<Vector> {
        if let Location::Held(vector) = self.locations[register] {
            return Some(vector);
        }
        let (out, from) = (self.take()?, self.operand(register));
        self.operations.load(&mut self.to, out, from);
        Some(out)
    }

    fn constant(&mut self, number: f64) -> Operand {
        self.bits(self.operations.bits(number))
    }

    fn bits(&mut self, bits: u64) -> Operand {
        self.entry(Constant::Bits(bits))
    }

    fn entry(&mut self, constant: Constant) -> Operand {
        let found = self.constants.iter().position(|known| *known == constant);
        let at = found.unwrap_or_else(|| {
            self.constants.push(constant);
            self.constants.len() - 1
        });
        Operand::Memory(General::RSI, None, (VECTOR * at) as i32)
    }

    fn take(&mut self) -> Option<Vector> {
        let at = self.free.trailing_zeros();
        self.free &= self.free.wrapping_sub(1);
        (at < 16).then_some(Vector(at as u8))
    }

    fn give_back(&mut self, vector: Vector) {
        self.free |= 1 << vector.0;
    }

    /// Says that a register was read, from where it was loaded to if it is in memory.
    fn release(&mut self, register: Register, loaded: Option<Vector>) {
        self.left[register] -= 1;
        match (self.locations[register], loaded) {
            (Location::Held(_), _) => self.give_back_unused(register),
            (_, Some(loaded)) => self.give_back(loaded),
            _ => {}
        }
    }

    fn give_back_unused(&mut self, register: Register) {
        if let (0, Location::Held(vector)) = (self.left[register], self.locations[register]) {
            self.give_back(vector);
        }
    }
}

/// How often each register is read by what is kept in the end.
fn uses_of(shape: &Shape) -> Vec<usize> {
    let inputs = shape.numbers.len();
    let mut uses = vec![0; inputs + shape.instructions.len()];
    if let Some((_, register)) = shape.reduced {
        uses[register] += 1;
    }
    for (at, instruction) in shape.instructions.iter().enumerate().rev() {
        if uses[inputs + at] > 0 || shape.stores.contains(&(inputs + at)) {
            for register in instruction.sides().into_iter().flatten() {
                uses[register] += 1;
            }
        }
    }
    uses
}
