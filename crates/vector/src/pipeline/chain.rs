//! Chains: pipelines that work cell by cell on dense matrices.
//!
//! Most of them wait for memory, and not for the processor, which looks some hundred instructions ahead
//! and guesses what is read next from what was read last. So operations take turns on pieces of some
//! hundred cells: while one piece is computed, the next one's loads are on their way, in order and
//! without a pause. What is between operations stays in the nearest cache. For so few cells nothing may
//! be looked up: loops, and where their cells are, are found once for each worker.
//!
//! What comes from memory is asked for some pieces ahead as well, a piece's lines at a time.
//!
//! Chains of floats that are compiled ([`Program`]) need none of that: they are one loop, over as many cells
//! as are reduced together.
//!
//! See docs/decisions/065-chains-run-on-one-kilobyte-pieces.md
//! See docs/decisions/066-sums-use-blocks-of-8192-elements.md

use std::ops::Range;
use std::sync::Arc;

use super::compiled::Program;
use super::cutting::FROM_MEMORY;
use super::scratch::{Line, Locations};
use super::words::{bits, number, start};
use super::{Class, Input, Instruction, Kind, Output, Pipeline};
use crate::cell::{Cell, Number};
use crate::error::Error;
use crate::kernels::dense::each::{self, Loop};
use crate::kernels::dense::reduce::{self, Reduce};
use crate::kernels::dense::stream;
use crate::kernels::fetch_far;
use crate::with_cell;

mod making;
mod spread;
#[cfg(test)]
mod tests;

use making::Maker;
use spread::Spread;

/// Bytes of a register in a piece.
const PIECE_BYTES: usize = 1024;

/// The same of a compiled chain, beside which something else goes over each piece: a copy past the caches, or
/// of a row that is repeated. Of the time that a kilobyte takes, the start of two loops is a part.
const PIECE_BYTES_COMPILED: usize = 2048;

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
    compiled: Option<Compiled>,
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

/// A compiled chain, where its streams are, and its constants.
struct Compiled {
    program: Arc<Program>,
    streams: Vec<Cells>,
    constants: Vec<Line>,
    /// Where the streams are of a piece.
    addresses: Vec<*mut u8>,
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
        locations: &Locations,
        batch_bytes: usize,
        program: Option<&Arc<Program>>,
    ) -> Option<Self> {
        let class = class_of(pipeline, kinds)?;
        let loops: Vec<Loop> = pipeline
            .instructions
            .iter()
            .map(|instruction| loop_of(instruction, kinds))
            .collect::<Option<_>>()?;
        let width = if class == Class::Full { pipeline.columns } else { 1 };
        let is_sum = is_sum_of_pairs(pipeline, class);
        // Of this the loop that is there takes several turns of lanes at once.
        let program = program.filter(|_| !is_sum);
        let is_one_loop = is_sum || is_one_loop(pipeline, locations, width, program);
        let piece = match (is_one_loop, program) {
            (true, _) => BLOCK,
            (_, Some(_)) => PIECE_BYTES_COMPILED / widest(kinds),
            _ => PIECE_BYTES / widest(kinds),
        };
        let piece = given_piece(pipeline, kinds, batch_bytes).unwrap_or(piece);
        // What is read and written where it is needs no memory for a piece.
        let own = if is_one_loop { 0 } else { piece };
        let mut made = Maker::new(pipeline, kinds, locations, (width, own));
        let inputs: Vec<Cells> = pipeline.inputs.iter().map(|input| made.input(input)).collect();
        let mut steps = Vec::new();
        let mut compiled = None;
        let folds;
        if let Some(program) = program {
            steps.extend(made.streamed(&inputs));
            let (streams, own) = made.streams(&inputs);
            folds = own;
            compiled = Some(Compiled::of(program, pipeline, streams));
        } else {
            steps.extend(made.steps(&loops, &inputs));
            steps.extend(made.streamed(&inputs));
            let (reductions, own) = made.reductions(&inputs);
            folds = own;
            steps.extend(reductions);
        }
        let (spreads, scratch) = made.into_memory();
        let fetched = if compiled.is_some() || is_one_loop {
            Vec::new()
        } else {
            fetched(pipeline, inputs, pipeline.rows * width)
        };
        let mut chain =
            Self { pipeline, width, piece, fetched, spreads, compiled, steps, folds, scratch };
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
            self.add_lanes(&mut totals);
        }
        stream::fence();
        Ok(totals)
    }

    fn work(&mut self, at: usize, count: usize) -> Result<(), Error> {
        for input in &self.fetched {
            fetch_far(input.at(at).wrapping_add(AHEAD), count * input.stride);
        }
        for spread in &self.spreads {
            spread.run(at, count, self.pipeline.columns);
        }
        if let Some(compiled) = &mut self.compiled {
            // SAFETY: as below.
            unsafe { compiled.run(at, count) };
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
    fn add_lanes(&mut self, totals: &mut [u64]) {
        for (fold, total) in self.folds.iter().zip(totals) {
            with_cell!(fold.cell, T => {
                let found = reduce::fold_lanes::<T>(fold.how, fold.lanes());
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

impl Compiled {
    fn of(program: &Arc<Program>, pipeline: &Pipeline, streams: Vec<Cells>) -> Self {
        let constants = program.constants(pipeline);
        let addresses = vec![std::ptr::null_mut(); streams.len()];
        Self { program: Arc::clone(program), streams, constants, addresses }
    }

    /// Works on so many cells from one on.
    ///
    /// # Safety
    ///
    /// All streams have them, and nobody else uses what is written meanwhile.
    unsafe fn run(&mut self, at: usize, count: usize) {
        for (address, stream) in self.addresses.iter_mut().zip(&self.streams) {
            *address = stream.at(at);
        }
        // SAFETY: as the caller says; streams and constants were made for this program.
        unsafe { self.program.run(&self.addresses, &self.constants, count) };
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

/// How many cells of a piece a user asks for, if one does.
fn given_piece(pipeline: &Pipeline, kinds: &[Kind], batch_bytes: usize) -> Option<usize> {
    let is_given = batch_bytes > 0 && !pipeline.instructions.is_empty();
    is_given.then(|| (batch_bytes / (8 * kinds.len())).clamp(1, BLOCK))
}

/// The bytes of the widest cells.
fn widest(kinds: &[Kind]) -> usize {
    kinds.iter().map(|kind| kind.cell.size()).max().unwrap_or(1)
}

/// Whether all that is done is to sum what one operation makes of two inputs, cell by cell, for which there
/// is a loop.
fn is_sum_of_pairs(pipeline: &Pipeline, class: Class) -> bool {
    let [Instruction::Binary(name, cell, ..)] = pipeline.instructions[..] else {
        return false;
    };
    let made = pipeline.inputs.len();
    let is_given = |input: &Input| input.class == class;
    matches!(pipeline.outputs[..], [Output::Reduce(Reduce::Sum, of)] if of == made)
        && pipeline.inputs.iter().all(is_given)
        && each::summed(cell, name).is_some()
}

/// Whether all that is done is one loop from memory to memory.
fn is_one_loop(
    pipeline: &Pipeline,
    locations: &Locations,
    width: usize,
    program: Option<&Arc<Program>>,
) -> bool {
    let is_spread = |input: &Input| match input.class {
        Class::Row => true,
        Class::Column => width > 1,
        _ => false,
    };
    let compiled = program.is_some()
        && locations.streamed.is_empty()
        && !pipeline.inputs.iter().any(is_spread);
    pipeline.instructions.is_empty() || compiled
}
