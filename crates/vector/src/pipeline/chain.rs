//! Chains: pipelines that work cell by cell on dense matrices.
//!
//! Most of them wait for memory, and not for the processor, which looks some hundred instructions ahead
//! and guesses what is read next from what was read last. So operations take turns on pieces of some
//! hundred cells: while one piece is computed, the next one's loads are on their way, in order and
//! without a pause. What is between operations stays in the nearest cache. For so few cells nothing may
//! be looked up: loops, and where their cells are, are found once for each worker.
//!
//! What comes from memory is asked for some pieces ahead as well, a piece's lines at a time.

use std::ops::Range;

use super::cutting::FROM_MEMORY;
use super::scratch::{Home, Homes, Line};
use super::words::{bits, number, start};
use super::{Class, Input, Instruction, Kind, Output, Pipeline, Place, Register};
use crate::cell::{Cell, Number};
use crate::error::Error;
use crate::kernels::dense::binary::Binary;
use crate::kernels::dense::divide::Divided;
use crate::kernels::dense::each::{self, Loop};
use crate::kernels::dense::reduce::{self, Reduce};
use crate::kernels::dense::stream;
use crate::kernels::{fetch_far, has_wide_vectors};
use crate::with_cell;

mod spread;
#[cfg(test)]
mod tests;

use spread::Spread;

/// Bytes of a register in a piece.
const PIECE_BYTES: usize = 1024;

/// How far ahead inputs are asked for, in bytes of each.
const AHEAD: usize = 4096;

/// Cells that are reduced together, before they are added to what a task has: in lanes, each of which
/// adds up a small part of them. A multiple of all pieces, so that a sum's digits do not depend on
/// what it is fused with.
const BLOCK: usize = 8192;

/// Pieces begin at multiples of these cells, but for a task's first ones: where lines of memory begin,
/// and with the first lane.
const EVEN: usize = 256;

/// A chain, and the memory of one worker.
pub struct Chain<'a> {
    pipeline: &'a Pipeline,
    width: usize,
    piece: usize,
    fetched: Vec<Cells>,
    spreads: Vec<Spread>,
    steps: Vec<Step>,
    folds: Vec<Fold>,
    #[expect(dead_code, reason = "steps have its addresses")]
    scratch: Vec<Line>,
}

/// Where cells are: those of a piece, in memory of all cells or in a worker's own.
#[derive(Clone, Copy)]
struct Cells {
    begin: *mut u8,
    /// Bytes from a cell to the next one; 0 in a worker's own memory, which holds one piece.
    stride: usize,
}

impl Cells {
    const NONE: Self = Self { begin: std::ptr::null_mut(), stride: 0 };

    #[inline(always)]
    fn at(self, cell: usize) -> *mut u8 {
        self.begin.wrapping_add(cell * self.stride)
    }
}

/// A loop over a piece.
struct Step {
    run: Loop,
    sides: [Cells; 3],
    out: Cells,
}

/// A reduction, and its lanes.
struct Fold {
    how: Reduce,
    cell: Cell,
    lanes: *mut u8,
}

impl<'a> Chain<'a> {
    /// The chain that a pipeline is; none if it is something else.
    ///
    /// Cells of a piece are as many as `batch_bytes` hold of all registers, unless it is 0.
    pub fn of(
        pipeline: &'a Pipeline,
        kinds: &[Kind],
        homes: &Homes,
        batch_bytes: usize,
    ) -> Option<Self> {
        let class = class_of(pipeline, kinds)?;
        let loops: Vec<Loop> = pipeline
            .instructions
            .iter()
            .map(|instruction| loop_of(instruction, kinds))
            .collect::<Option<_>>()?;
        let width = if class == Class::Full { pipeline.columns } else { 1 };
        let piece = piece_of(pipeline, kinds, batch_bytes);
        let room = Room::new(pipeline, homes, piece);
        let uses = uses_of(pipeline, kinds.len());
        let spreads = Vec::new();
        let mut made = Maker { pipeline, kinds, homes, uses, width, piece, spreads, room };
        let inputs: Vec<Cells> = pipeline.inputs.iter().map(|input| made.input(input)).collect();
        let mut steps = made.steps(&loops, &inputs);
        let (stores, folds) = made.outputs(&inputs);
        steps.extend(stores);
        let (spreads, scratch) = (made.spreads, made.room.lines);
        let fetched = fetched(pipeline, inputs, pipeline.rows * width);
        let mut chain = Self { pipeline, width, piece, fetched, spreads, steps, folds, scratch };
        chain.clear();
        Some(chain)
    }

    /// Works on the rows of a task; returns what its reductions gave.
    ///
    /// # Errors
    ///
    /// If whole numbers are divided by zero.
    pub fn run(&mut self, rows: Range<usize>) -> Result<Vec<u64>, Error> {
        let (mut at, end) = (rows.start * self.width, rows.end * self.width);
        let mut totals: Vec<u64> =
            self.folds.iter().map(|fold| start(fold.how, fold.cell)).collect();
        while at < end {
            let block = (at + 1).next_multiple_of(BLOCK).min(end);
            while at < block {
                let even = if at.is_multiple_of(EVEN) { block } else { at.next_multiple_of(EVEN) };
                let count = self.piece.min(even.min(block) - at);
                self.work(at, count)?;
                at += count;
            }
            self.settle(&mut totals);
        }
        stream::settle();
        Ok(totals)
    }

    fn work(&self, at: usize, count: usize) -> Result<(), Error> {
        for input in &self.fetched {
            fetch_far(input.at(at).wrapping_add(AHEAD), count * input.stride);
        }
        for spread in &self.spreads {
            spread.run(at, count, self.pipeline.columns);
        }
        for step in &self.steps {
            let [one, two, three] = step.sides.map(|side| side.at(at).cast_const());
            // SAFETY: inputs and outputs have cells for all rows, of which this worker alone has the
            // task's; its own memory has room for a piece.
            let done = unsafe { (step.run)(one, two, three, step.out.at(at), count) };
            if !done {
                return Err(Error::DivisionByZero);
            }
        }
        Ok(())
    }

    /// Adds what the lanes have to what the task has, and clears them.
    fn settle(&mut self, totals: &mut [u64]) {
        for (fold, total) in self.folds.iter().zip(totals) {
            with_cell!(fold.cell, T => {
                let found = reduce::settle::<T>(fold.how, fold.lanes());
                *total = bits(fold.how.both(number::<T>(*total), found));
            });
        }
        self.clear();
    }

    fn clear(&mut self) {
        for fold in &self.folds {
            with_cell!(fold.cell, T => fold.lanes::<T>().fill(fold.how.start()));
        }
    }
}

impl Fold {
    #[expect(
        clippy::mut_from_ref,
        reason = "one worker has them, and asks for them once at a time"
    )]
    fn lanes<T: Number>(&self) -> &mut [T] {
        // SAFETY: there are so many, of this type, in memory that is no step's but this reduction's.
        unsafe { std::slice::from_raw_parts_mut(self.lanes.cast(), reduce::lanes(size_of::<T>())) }
    }
}

/// The shape of all that a chain makes and keeps.
fn class_of(pipeline: &Pipeline, kinds: &[Kind]) -> Option<Class> {
    let kept = |output: &Output| match output {
        Output::Store(register, _) | Output::Reduce(_, register) => Some(kinds[*register].class),
        Output::ColumnReduce(..) => None,
    };
    let class = pipeline.outputs.first().and_then(kept)?;
    let (given, made) = kinds.split_at(pipeline.inputs.len());
    let fits = |given: &Kind| match given.class {
        Class::Scalar | Class::Row | Class::Column if made.is_empty() => given.class == class,
        Class::Scalar | Class::Column => true,
        Class::Row | Class::Full => class == Class::Full,
        Class::Sparse => false,
    };
    let is_chain = pipeline.structure.is_none()
        && pipeline.outputs.iter().all(|output| kept(output) == Some(class))
        && made.iter().all(|made| made.class == class)
        && given.iter().all(fits);
    is_chain.then_some(class)
}

/// Which inputs are asked for ahead: none of those that are in a cache, likely as not, or that one loop
/// goes over, of which the processor knows as much.
fn fetched(pipeline: &Pipeline, mut inputs: Vec<Cells>, cells: usize) -> Vec<Cells> {
    inputs.retain(|input| input.stride > 0);
    let bytes: usize = inputs.iter().map(|input| input.stride * cells).sum();
    if pipeline.instructions.is_empty() || bytes < FROM_MEMORY {
        inputs.clear();
    }
    inputs
}

/// How often each register is used.
fn uses_of(pipeline: &Pipeline, registers: usize) -> Vec<usize> {
    let mut uses = vec![0; registers];
    for instruction in &pipeline.instructions {
        for side in sides_of(instruction).into_iter().flatten() {
            uses[side] += 1;
        }
    }
    for output in &pipeline.outputs {
        let (Output::Store(register, _)
        | Output::Reduce(_, register)
        | Output::ColumnReduce(_, register, _)) = *output;
        uses[register] += 1;
    }
    uses
}

/// What an instruction is of.
fn sides_of(instruction: &Instruction) -> [Option<Register>; 3] {
    match *instruction {
        Instruction::Binary(_, _, left, right) => [Some(left), Some(right), None],
        Instruction::Select(_, sides) => sides.map(Some),
        Instruction::Unary(_, _, arg)
        | Instruction::Cast(_, arg)
        | Instruction::RowReduce(_, arg)
        | Instruction::RowProduct(arg, _) => [Some(arg), None, None],
    }
}

/// The loop of an instruction; none if it is not cell by cell.
fn loop_of(instruction: &Instruction, kinds: &[Kind]) -> Option<Loop> {
    Some(match *instruction {
        Instruction::Binary(name, cell, ..) => with_cell!(cell, T => each::binary::<T>(name)),
        Instruction::Unary(name, cell, _) => with_cell!(cell, T => each::unary::<T>(name)),
        Instruction::Select(cell, _) => with_cell!(cell, T => each::choice::<T>()),
        Instruction::Cast(to, arg) => {
            with_cell!(kinds[arg].cell, S => with_cell!(to, T => each::cast::<S, T>()))
        }
        Instruction::RowReduce(..) | Instruction::RowProduct(..) => return None,
    })
}

/// How many cells a piece has.
fn piece_of(pipeline: &Pipeline, kinds: &[Kind], batch_bytes: usize) -> usize {
    if pipeline.instructions.is_empty() {
        return BLOCK;
    }
    if batch_bytes > 0 {
        return (batch_bytes / (8 * kinds.len())).clamp(1, BLOCK);
    }
    let size = kinds.iter().map(|kind| kind.cell.size()).max().unwrap_or(1);
    PIECE_BYTES / size
}

/// Memory of a worker, in parts that hold a piece of any cells, or a reduction's lanes.
struct Room {
    lines: Vec<Line>,
    begin: *mut u8,
    part: usize,
    used: usize,
}

impl Room {
    fn new(pipeline: &Pipeline, homes: &Homes, piece: usize) -> Self {
        // What is only reduced is read where it is.
        let cells = if pipeline.instructions.is_empty() { 0 } else { piece };
        let part = (8 * cells).max(reduce::LANE_BYTES).next_multiple_of(size_of::<Line>());
        let most = pipeline.inputs.len() + pipeline.instructions.len() + pipeline.outputs.len();
        let mut lines = vec![Line::EMPTY; (homes.slots + most) * part / size_of::<Line>()];
        let begin = lines.as_mut_ptr().cast();
        // Slots come first, and are numbered.
        Self { lines, begin, part, used: homes.slots }
    }

    fn part(&self, at: usize) -> *mut u8 {
        self.begin.wrapping_add(at * self.part)
    }

    fn take(&mut self) -> *mut u8 {
        self.used += 1;
        self.part(self.used - 1)
    }
}

/// What a chain is made of, while it is made.
struct Maker<'a, 'b> {
    pipeline: &'a Pipeline,
    kinds: &'b [Kind],
    homes: &'b Homes,
    uses: Vec<usize>,
    width: usize,
    piece: usize,
    spreads: Vec<Spread>,
    room: Room,
}

impl Maker<'_, '_> {
    /// Where the cells of an input are; numbers are repeated for a piece.
    fn input(&mut self, input: &Input) -> Cells {
        match input.place {
            Place::Bits(word) => {
                let begin = self.room.take();
                with_cell!(input.cell, T => {
                    // SAFETY: a part of the room holds a piece of any cells.
                    let out =
                        unsafe { std::slice::from_raw_parts_mut(begin.cast::<T>(), self.piece) };
                    out.fill(number(word));
                });
                Cells { begin, stride: 0 }
            }
            Place::Memory(cells) if self.is_direct(input.class) => {
                Cells { begin: cells.cast_mut(), stride: input.cell.size() }
            }
            Place::Memory(_) => {
                let to = self.room.take();
                self.spreads.push(Spread { input: *input, to });
                Cells { begin: to, stride: 0 }
            }
        }
    }

    fn is_direct(&self, class: Class) -> bool {
        class == Class::Full || (class == Class::Column && self.width == 1)
    }

    fn register(&self, register: Register, inputs: &[Cells]) -> Cells {
        if let Some(input) = inputs.get(register) {
            return *input;
        }
        match self.homes.of[register - inputs.len()] {
            Home::Slot(slot) => Cells { begin: self.room.part(slot), stride: 0 },
            Home::Output(memory) => Cells {
                begin: std::ptr::with_exposed_provenance_mut(memory),
                stride: self.kinds[register].cell.size(),
            },
        }
    }

    /// The loops of all instructions, in their order: two at once where that can be.
    fn steps(&mut self, loops: &[Loop], inputs: &[Cells]) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut at = 0;
        while at < loops.len() {
            if let Some(step) = self.both(at, inputs) {
                steps.push(step);
                at += 1;
            } else if self.summed(at).is_none() {
                steps.push(self.step(at, loops[at], inputs));
            }
            at += 1;
        }
        steps
    }

    /// An instruction and the next one at once, if nobody else wants what is between them.
    fn both(&self, at: usize, inputs: &[Cells]) -> Option<Step> {
        let between = inputs.len() + at;
        let &[
            Instruction::Binary(first, cell, one, two),
            Instruction::Binary(second, other, left, right),
        ] = self.pipeline.instructions.get(at..at + 2)?
        else {
            return None;
        };
        if cell != other || self.uses[between] != 1 || self.summed(at + 1).is_some() {
            return None;
        }
        let three = match second {
            _ if left == between => right,
            Binary::Add | Binary::Mul => left,
            _ => return None,
        };
        let run = each::then(cell, first, second)?;
        let sides = [one, two, three].map(|side| self.register(side, inputs));
        let out = self.register(between + 1, inputs);
        // What the first one is of may be where the second one's result goes.
        let is_apart = sides.iter().all(|side| side.begin != out.begin);
        is_apart.then_some(Step { run, sides, out })
    }

    /// The loop of the last instruction and of the sum of what it makes, if nobody else wants that.
    /// Of others the sides would be overwritten before sums are made.
    fn summed(&self, at: usize) -> Option<Loop> {
        let made = self.pipeline.inputs.len() + at;
        if made + 1 != self.kinds.len() {
            return None;
        }
        let &Instruction::Binary(name, cell, ..) = self.pipeline.instructions.get(at)? else {
            return None;
        };
        let is_sum =
            |output: &Output| matches!(*output, Output::Reduce(Reduce::Sum, of) if of == made);
        if self.uses[made] != 1 || !self.pipeline.outputs.iter().any(is_sum) {
            return None;
        }
        each::summed(cell, name)
    }

    fn step(&mut self, at: usize, run: Loop, inputs: &[Cells]) -> Step {
        let out = self.register(inputs.len() + at, inputs);
        let instruction = self.pipeline.instructions[at];
        if let Instruction::Binary(name, cell, left, right) = instruction
            && let Some(Place::Bits(word)) = self.pipeline.inputs.get(right).map(|side| side.place)
        {
            let left = self.register(left, inputs);
            if let Some((run, right)) = self.by_number(name, cell, left, word) {
                return Step { run, sides: [left, right, Cells::NONE], out };
            }
        }
        Step { run, sides: self.sides(at, inputs), out }
    }

    /// Where the cells are that an instruction is of.
    fn sides(&self, at: usize, inputs: &[Cells]) -> [Cells; 3] {
        sides_of(&self.pipeline.instructions[at])
            .map(|side| side.map_or(Cells::NONE, |side| self.register(side, inputs)))
    }

    /// The loop of an operation by one number, and its second side, where that is faster: a square is
    /// a product, as it is to `power`, and a division is one by the number's parts.
    fn by_number(
        &mut self,
        name: Binary,
        cell: Cell,
        left: Cells,
        word: u64,
    ) -> Option<(Loop, Cells)> {
        if name == Binary::Pow && has_wide_vectors() {
            let two = with_cell!(cell, T => number::<T>(word) == T::ONE.plus(T::ONE));
            return two.then(|| (with_cell!(cell, T => each::binary::<T>(Binary::Mul)), left));
        }
        if name != Binary::Div {
            return None;
        }
        let run = each::division(cell)?;
        let begin = self.room.take();
        // SAFETY: a part of the room holds three numbers.
        unsafe {
            match cell {
                Cell::F64 => begin.cast::<[f64; 3]>().write(number::<f64>(word).parts()?),
                _ => begin.cast::<[f32; 3]>().write(number::<f32>(word).parts()?),
            }
        }
        Some((run, Cells { begin, stride: 0 }))
    }

    /// What is done with a piece when it has been computed.
    fn outputs(&mut self, inputs: &[Cells]) -> (Vec<Step>, Vec<Fold>) {
        let (mut steps, mut folds) = (Vec::new(), Vec::new());
        let homes = self.homes;
        for (register, memory) in &homes.streamed {
            let cell = self.kinds[*register].cell;
            let begin = std::ptr::with_exposed_provenance_mut(*memory);
            steps.push(Step {
                run: with_cell!(cell, T => each::past::<T>()),
                sides: [self.register(*register, inputs), Cells::NONE, Cells::NONE],
                out: Cells { begin, stride: cell.size() },
            });
        }
        for output in &self.pipeline.outputs {
            if let Output::Reduce(how, register) = *output {
                let (cell, lanes) = (self.kinds[register].cell, self.room.take());
                let made = register.checked_sub(inputs.len());
                let summed = made.and_then(|at| Some((self.summed(at)?, self.sides(at, inputs))));
                let (run, sides) = summed.unwrap_or_else(|| {
                    let sides = [self.register(register, inputs), Cells::NONE, Cells::NONE];
                    (with_cell!(cell, T => each::fold::<T>(how)), sides)
                });
                steps.push(Step { run, sides, out: Cells { begin: lanes, stride: 0 } });
                folds.push(Fold { how, cell, lanes });
            }
        }
        (steps, folds)
    }
}
