//! How a chain is made: where each register's cells are, and which loops go over them.

use super::spread::Spread;
use super::{Cells, Fold, Step};
use crate::cell::{Cell, Number};
use crate::kernels::dense::binary::Binary;
use crate::kernels::dense::divide::Divided;
use crate::kernels::dense::each::{self, Loop};
use crate::kernels::dense::reduce::{self, Reduce};
use crate::kernels::has_wide_vectors;
use crate::pipeline::scratch::{Line, Location, Locations};
use crate::pipeline::words::number;
use crate::pipeline::{Class, Input, Instruction, Kind, Operand, Output, Pipeline, Register};
use crate::with_cell;

/// Memory of a worker, in parts that hold a piece of any cells, or a reduction's lanes.
struct Room {
    lines: Vec<Line>,
    begin: *mut u8,
    part: usize,
    used: usize,
}

impl Room {
    fn new(pipeline: &Pipeline, locations: &Locations, piece: usize) -> Self {
        let part = (8 * piece).max(reduce::LANE_BYTES).next_multiple_of(size_of::<Line>());
        let most = pipeline.inputs.len() + pipeline.instructions.len() + pipeline.outputs.len();
        let mut lines = vec![Line::EMPTY; (locations.slots + most) * part / size_of::<Line>()];
        let begin = lines.as_mut_ptr().cast();
        // Slots come first, and are numbered.
        Self { lines, begin, part, used: locations.slots }
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
pub(super) struct Maker<'a, 'b> {
    pipeline: &'a Pipeline,
    kinds: &'b [Kind],
    locations: &'b Locations,
    uses: Vec<usize>,
    width: usize,
    piece: usize,
    spreads: Vec<Spread>,
    room: Room,
}

impl<'a, 'b> Maker<'a, 'b> {
    /// For rows of a width, in cells, and pieces of a length.
    pub(super) fn new(
        pipeline: &'a Pipeline,
        kinds: &'b [Kind],
        locations: &'b Locations,
        (width, piece): (usize, usize),
    ) -> Self {
        let room = Room::new(pipeline, locations, piece);
        let uses = uses_of(pipeline, kinds.len());
        Self { pipeline, kinds, locations, uses, width, piece, spreads: Vec::new(), room }
    }

    /// What was made on the way: what is spread, and the memory of all.
    pub(super) fn into_memory(self) -> (Vec<Spread>, Vec<Line>) {
        (self.spreads, self.room.lines)
    }

    /// Where the cells of an input are; numbers are repeated for a piece.
    pub(super) fn input(&mut self, input: &Input) -> Cells {
        match input.place {
            Operand::Bits(word) => {
                let begin = self.room.take();
                with_cell!(input.cell, T => {
                    // SAFETY: a part of the room holds a piece of any cells.
                    let out =
                        unsafe { std::slice::from_raw_parts_mut(begin.cast::<T>(), self.piece) };
                    out.fill(number(word));
                });
                Cells { begin, stride: 0 }
            }
            Operand::Memory(cells) if self.is_direct(input.class) => {
                Cells { begin: cells.cast_mut(), stride: input.cell.size() }
            }
            Operand::Memory(_) => {
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
        match self.locations.of[register - inputs.len()] {
            Location::Slot(slot) => Cells { begin: self.room.part(slot), stride: 0 },
            Location::Output(memory) => Cells {
                begin: std::ptr::with_exposed_provenance_mut(memory),
                stride: self.kinds[register].cell.size(),
            },
        }
    }

    /// The loops of all instructions, in their order: two at once where that can be.
    pub(super) fn steps(&mut self, loops: &[Loop], inputs: &[Cells]) -> Vec<Step> {
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
            Binary::Add | Binary::Mul if right == between => left,
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
            && let Some(Operand::Bits(word)) =
                self.pipeline.inputs.get(right).map(|side| side.place)
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
        self.pipeline.instructions[at]
            .sides()
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

    /// The loops that write past the caches what has been computed.
    pub(super) fn streamed(&mut self, inputs: &[Cells]) -> Vec<Step> {
        let step = |(register, memory): &(Register, usize)| {
            let cell = self.kinds[*register].cell;
            let begin = std::ptr::with_exposed_provenance_mut(*memory);
            Step {
                run: with_cell!(cell, T => each::past::<T>()),
                sides: [self.register(*register, inputs), Cells::NONE, Cells::NONE],
                out: Cells { begin, stride: cell.size() },
            }
        };
        self.locations.streamed.iter().map(step).collect()
    }

    /// The loops that reduce what has been computed.
    pub(super) fn reductions(&mut self, inputs: &[Cells]) -> (Vec<Step>, Vec<Fold>) {
        let (mut steps, mut folds) = (Vec::new(), Vec::new());
        for output in &self.pipeline.outputs {
            if let Output::Reduce(how, register) = *output {
                let fold = self.fold(how, register);
                let made = register.checked_sub(inputs.len());
                let summed = made.and_then(|at| Some((self.summed(at)?, self.sides(at, inputs))));
                let (run, sides) = summed.unwrap_or_else(|| {
                    let sides = [self.register(register, inputs), Cells::NONE, Cells::NONE];
                    (with_cell!(fold.cell, T => each::fold::<T>(how)), sides)
                });
                steps.push(Step { run, sides, out: Cells { begin: fold.lanes, stride: 0 } });
                folds.push(fold);
            }
        }
        (steps, folds)
    }

    fn fold(&mut self, how: Reduce, register: Register) -> Fold {
        Fold { how, cell: self.kinds[register].cell, lanes: self.room.take() }
    }

    /// What a compiled chain reads and writes, and what it reduces.
    pub(super) fn streams(&mut self, inputs: &[Cells]) -> (Vec<Cells>, Vec<Fold>) {
        let (mut stores, mut folds) = (Vec::new(), Vec::new());
        for output in &self.pipeline.outputs {
            match *output {
                Output::Store(register, _) => stores.push(self.register(register, inputs)),
                Output::Reduce(how, register) => folds.push(self.fold(how, register)),
                Output::ColumnReduce(..) => {}
            }
        }
        let is_stream = |input: &Input| matches!(input.place, Operand::Memory(_));
        let given = self.pipeline.inputs.iter().zip(inputs);
        let mut streams: Vec<Cells> =
            given.filter(|(input, _)| is_stream(input)).map(|(_, cells)| *cells).collect();
        streams.extend(stores);
        streams.extend(folds.iter().map(|fold| Cells { begin: fold.lanes, stride: 0 }));
        (streams, folds)
    }
}

/// How often each register is used.
fn uses_of(pipeline: &Pipeline, registers: usize) -> Vec<usize> {
    let mut uses = vec![0; registers];
    for instruction in &pipeline.instructions {
        for side in instruction.sides().into_iter().flatten() {
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
