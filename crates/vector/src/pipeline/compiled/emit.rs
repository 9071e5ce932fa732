//! The code of a chain: one loop over its elements, and one for those that fill no vector.
//!
//! A function of four arguments: the addresses of all streams (inputs, then stores, then lanes), the
//! constants, the elements of all whole steps, and of all. In the loops `rax` counts elements, of all
//! streams, whose addresses are in registers; `rsi` has the constants and `rdi` the lanes.
//!
//! A vector has as many elements of each type as it has of the widest one; others fill a part of it.

use super::assembler::{Assembler, Condition, General, Index, Operand, Vector};
use super::operations::{Operations, VECTOR};
use super::shape::Shape;
use crate::cell::Cell;
use crate::kernels::dense::reduce::LANE_BYTES;
use crate::pipeline::Register;

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

/// The first accumulator; registers below it are for what is between operations, and where elements are
/// taken one by one, those above it as well.
const ACCUMULATORS: u8 = 8;

/// A number that the code reads: as many times as a vector has elements of its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constant {
    /// That of an input.
    Input(Register),
    /// One of these bits, and of so many bytes.
    Bits(u64, usize),
}

/// Code, and what it needs.
pub struct Code {
    pub bytes: Vec<u8>,
    pub constants: Vec<Constant>,
    /// Elements of a step.
    pub step: usize,
}

/// The code of a chain; none if it has more streams, or more between operations, than there are
/// registers.
pub fn code_of(shape: &Shape) -> Option<Code> {
    let mut own = Emitter::new(shape)?;
    let vectors = if shape.reduced.is_some() { VECTORS_REDUCED } else { VECTORS };
    let step = vectors * own.elements;
    own.begin();
    own.vectors(vectors)?;
    own.rest()?;
    own.end();
    Some(Code { bytes: own.to.bytes, constants: own.constants, step })
}

/// Where the elements of a register are.
#[derive(Clone, Copy)]
pub(super) enum Location {
    /// Of an input, and not of a number.
    Stream(General),
    /// In a register.
    Held(Vector),
    /// In a register: all bits where it is 1, and none where it is 0.
    Mask(Vector),
    /// In the constants.
    Constant(Constant),
}

pub(super) struct Emitter<'a> {
    pub(super) shape: &'a Shape,
    pub(super) to: Assembler,
    /// Of each input, and of each store.
    bases: Vec<General>,
    constants: Vec<Constant>,
    uses: Vec<usize>,
    /// Whether a register is known to be 0 or 1.
    pub(super) booleans: Vec<bool>,
    /// Of one pass over the instructions.
    pub(super) locations: Vec<Location>,
    left: Vec<usize>,
    free: u32,
    /// How many a vector has, or 1.
    pub(super) elements: usize,
    /// How many elements the vector is from where the loop is.
    first: usize,
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
            booleans: shape.booleans(),
            locations: Vec::new(),
            left: Vec::new(),
            free: 0,
            elements: VECTOR / shape.width(),
            first: 0,
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
    fn vectors(&mut self, vectors: usize) -> Option<()> {
        self.to.compare(General::RAX, General::RDX);
        let none = self.to.jump(Condition::NotBelow);
        let accumulators = |at: usize| Vector(ACCUMULATORS + at as u8);
        let lanes = |at: usize| Operand::Memory(General::RDI, None, (VECTOR * at) as i32);
        let reduced = self.shape.reduced.map(|(_, register)| self.operations(register));
        if let Some(operations) = reduced {
            for at in 0..vectors {
                operations.load(&mut self.to, accumulators(at), lanes(at));
            }
        }
        let top = self.to.label();
        for at in 0..vectors {
            self.first = at * self.elements;
            self.instructions()?;
            self.reduce(accumulators(at))?;
        }
        self.to.add(General::RAX, (vectors * self.elements) as i32);
        self.to.compare(General::RAX, General::RDX);
        self.to.jump_back(Condition::Below, top);
        if let Some(operations) = reduced {
            for at in 0..vectors {
                operations.store(&mut self.to, accumulators(at), lanes(at));
            }
        }
        self.to.land(&none);
        Some(())
    }

    /// The loop of all other elements, one by one.
    fn rest(&mut self) -> Option<()> {
        (self.elements, self.first) = (1, 0);
        self.to.compare(General::RAX, General::RCX);
        let none = self.to.jump(Condition::NotBelow);
        let reduced = self.shape.reduced.map(|(_, register)| self.operations(register));
        if let Some(operations) = reduced {
            // The first of them is of the first lane.
            self.to.scale(General::RDX, operations.cell.size() as u8);
            self.to.subtract(General::RDI, General::RDX);
        }
        let top = self.to.label();
        self.instructions()?;
        if let Some(operations) = reduced {
            let index = Index(General::RAX, operations.cell.size() as u8);
            let (lane, own) = (Operand::Memory(General::RDI, Some(index), 0), Vector(ACCUMULATORS));
            operations.load(&mut self.to, own, lane);
            self.reduce(own)?;
            operations.store(&mut self.to, own, lane);
        }
        self.to.add(General::RAX, 1);
        self.to.compare(General::RAX, General::RCX);
        self.to.jump_back(Condition::Below, top);
        self.to.land(&none);
        Some(())
    }

    /// All instructions, on one vector or one element.
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
        self.free = match (self.shape.reduced, self.elements) {
            (None, _) => 0xFFFF,
            (Some(_), 1) => 0xFEFF,
            _ => 0xFF,
        };
        for at in 0..self.shape.instructions.len() {
            let made = self.locations.len();
            let stored = self.shape.stores.iter().position(|register| *register == made);
            if self.uses[made] == 0 && stored.is_none() {
                // Nobody reads it: any place does.
                self.locations.push(Location::Constant(Constant::Bits(0, 8)));
                continue;
            }
            let out = self.instruction(self.shape.instructions[at])?;
            self.locations.push(out);
            if let Some(store) = stored {
                let (out, operations) = (self.held(made)?, self.operations(made));
                let to = self.memory(outputs[store], operations.cell);
                operations.store(&mut self.to, out, to);
                self.give_back_unused(made);
            }
        }
        Some(())
    }

    /// The operations on what a register has.
    pub(super) fn operations(&self, register: Register) -> Operations {
        self.operations_on(self.shape.cells[register])
    }

    pub(super) fn operations_on(&self, cell: Cell) -> Operations {
        Operations { cell, elements: self.elements }
    }

    fn memory(&self, base: General, cell: Cell) -> Operand {
        let index = Index(General::RAX, cell.size() as u8);
        Operand::Memory(base, Some(index), (self.first * cell.size()) as i32)
    }

    /// The last operand that a register is, and where it was loaded to, if it had to be.
    pub(super) fn last(&mut self, register: Register) -> Option<(Operand, Option<Vector>)> {
        Some(match self.locations[register] {
            Location::Constant(constant) => (self.entry(constant), None),
            Location::Stream(base) if self.operations(register).reads_memory() => {
                (self.memory(base, self.shape.cells[register]), None)
            }
            Location::Stream(_) => {
                let loaded = self.held(register)?;
                (Operand::Register(loaded), Some(loaded))
            }
            Location::Held(_) | Location::Mask(_) => {
                (Operand::Register(self.held(register)?), None)
            }
        })
    }

    /// A register's elements in a vector register, loaded if they are in memory.
    pub(super) fn held(&mut self, register: Register) -> Option<Vector> {
        let operations = self.operations(register);
        let from = match self.locations[register] {
            Location::Held(vector) => return Some(vector),
            Location::Mask(vector) => {
                let ones = self.constant(operations, 1.0);
                operations.and(&mut self.to, vector, vector, ones);
                self.locations[register] = Location::Held(vector);
                return Some(vector);
            }
            Location::Stream(base) => self.memory(base, operations.cell),
            Location::Constant(constant) => self.entry(constant),
        };
        let out = self.take()?;
        if matches!(self.locations[register], Location::Constant(_)) {
            // Of these there is always a whole vector.
            let whole = Operations { elements: VECTOR / operations.cell.size(), ..operations };
            whole.load(&mut self.to, out, from);
        } else {
            operations.load(&mut self.to, out, from);
        }
        Some(out)
    }

    /// All bits where a register is not 0, and whether they are in a register of their own.
    pub(super) fn mask(&mut self, register: Register) -> Option<(Vector, bool)> {
        if let Location::Mask(vector) = self.locations[register] {
            return Some((vector, false));
        }
        let (one, out) = (self.held(register)?, self.take()?);
        self.is_not_zero(self.operations(register), out, one);
        if !matches!(self.locations[register], Location::Held(_)) {
            self.give_back(one);
        }
        Some((out, true))
    }

    /// Says that a mask was read.
    pub(super) fn release_mask(&mut self, register: Register, (mask, is_own): (Vector, bool)) {
        self.left[register] -= 1;
        self.give_back_unused(register);
        if is_own {
            self.give_back(mask);
        }
    }

    pub(super) fn constant(&mut self, operations: Operations, number: f64) -> Operand {
        self.bits(operations, operations.bits(number))
    }

    pub(super) fn bits(&mut self, operations: Operations, bits: u64) -> Operand {
        self.entry(Constant::Bits(bits, operations.cell.size()))
    }

    fn entry(&mut self, constant: Constant) -> Operand {
        let found = self.constants.iter().position(|known| *known == constant);
        let at = found.unwrap_or_else(|| {
            self.constants.push(constant);
            self.constants.len() - 1
        });
        Operand::Memory(General::RSI, None, (VECTOR * at) as i32)
    }

    pub(super) fn take(&mut self) -> Option<Vector> {
        let at = self.free.trailing_zeros();
        self.free &= self.free.wrapping_sub(1);
        (at < 16).then_some(Vector(at as u8))
    }

    pub(super) fn give_back(&mut self, vector: Vector) {
        self.free |= 1 << vector.0;
    }

    /// Says that a register was read, from where it was loaded to if it is in memory.
    pub(super) fn release(&mut self, register: Register, loaded: Option<Vector>) {
        self.left[register] -= 1;
        match (self.locations[register], loaded) {
            (Location::Held(_) | Location::Mask(_), _) => self.give_back_unused(register),
            (_, Some(loaded)) => self.give_back(loaded),
            _ => {}
        }
    }

    fn give_back_unused(&mut self, register: Register) {
        if let (0, Location::Held(vector) | Location::Mask(vector)) =
            (self.left[register], self.locations[register])
        {
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
