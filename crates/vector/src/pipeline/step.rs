//! One instruction on one tile.

use std::ops::Range;
use std::slice;

use super::scratch::{Line, Location, Locations};
use super::{Class, Instruction, Kind, Operand, Pipeline, Register};
use crate::cell::Number;
use crate::error::Error;
use crate::kernels::csr::rows::check_offsets;
use crate::kernels::dense::binary;
use crate::kernels::dense::reduce::Reduce;
use crate::kernels::dense::side::Side;
use crate::kernels::dense::{cast, product, reduce, select, stream, unary};
use crate::kernels::{check_positions, csr, fetch};
use crate::with_cell;

/// Below this many columns, a row or a column is spread over the tile before it is used: a loop
/// over so few cells costs more than to write them.
const SPREAD_BELOW: usize = 128;

/// A tile: rows, and of a CSR matrix the stored cells.
#[derive(Clone, Debug)]
pub struct Tile {
    /// Which rows.
    pub rows: Range<usize>,
    /// Which stored cells.
    pub stored: Range<usize>,
}

/// A pipeline, and the buffers of one worker.
pub struct Workspace<'a> {
    /// What is run.
    pub pipeline: &'a Pipeline,
    /// Of each register.
    pub kinds: &'a [Kind],
    /// Of each instruction.
    pub locations: &'a Locations,
    reads_columns: bool,
    buffers: Vec<Vec<Line>>,
    spread: [Vec<Line>; 3],
}

impl<'a> Workspace<'a> {
    /// A workspace with no buffers yet; they grow to the largest tile.
    pub fn new(pipeline: &'a Pipeline, kinds: &'a [Kind], locations: &'a Locations) -> Self {
        let buffers = vec![Vec::new(); locations.slots];
        let reads_columns = pipeline.reads_columns(kinds);
        let spread = [const { Vec::new() }; 3];
        Self { pipeline, kinds, locations, reads_columns, buffers, spread }
    }

    /// How many numbers a register has in a tile.
    pub fn length(&self, class: Class, tile: &Tile) -> usize {
        match class {
            Class::Scalar => 1,
            Class::Row => self.pipeline.columns,
            Class::Column => tile.rows.len(),
            Class::Full => tile.rows.len() * self.pipeline.columns,
            Class::Sparse => tile.stored.len(),
        }
    }

    /// Where a register's cells begin in their memory, counted in cells.
    fn offset(&self, class: Class, tile: &Tile) -> usize {
        match class {
            Class::Scalar | Class::Row => 0,
            Class::Column => tile.rows.start,
            Class::Full => tile.rows.start * self.pipeline.columns,
            Class::Sparse => tile.stored.start,
        }
    }

    /// The cells of a register, which has to be of type `T`, in a tile.
    pub fn cells<T: Number>(&self, register: Register, tile: &Tile) -> &[T] {
        let class = self.kinds[register].class;
        let length = self.length(class, tile);
        let inputs = &self.pipeline.inputs;
        let begin: *const T = if let Some(input) = inputs.get(register) {
            match &input.place {
                Operand::Bits(bits) => std::ptr::from_ref(bits).cast(),
                // SAFETY: the input has cells for all rows, of which the tile's are some.
                Operand::Memory(memory) => unsafe {
                    memory.cast::<T>().add(self.offset(class, tile))
                },
            }
        } else {
            match self.locations.of[register - inputs.len()] {
                Location::Slot(slot) => self.buffers[slot].as_ptr().cast(),
                // SAFETY: as for inputs; this worker alone has the tile's rows.
                Location::Output(memory) => unsafe {
                    std::ptr::with_exposed_provenance::<T>(memory).add(self.offset(class, tile))
                },
            }
        };
        // SAFETY: `kinds` says that the cells are of this type, and buffers were grown for them.
        unsafe { slice::from_raw_parts(begin, length) }
    }

    fn grow(buffer: &mut Vec<Line>, bytes: usize) {
        let lines = bytes.div_ceil(size_of::<Line>());
        if buffer.len() < lines {
            buffer.resize(lines, Line::EMPTY);
        }
    }

    /// The memory that an instruction writes to.
    fn target<T: Number>(&mut self, at: usize, tile: &Tile) -> &'a mut [T] {
        let class = self.kinds[self.pipeline.inputs.len() + at].class;
        let length = self.length(class, tile);
        let begin: *mut T = match self.locations.of[at] {
            Location::Slot(slot) => {
                Self::grow(&mut self.buffers[slot], length * size_of::<T>());
                self.buffers[slot].as_mut_ptr().cast()
            }
            // SAFETY: this worker alone has the tile's rows.
            Location::Output(memory) => unsafe {
                std::ptr::with_exposed_provenance_mut::<T>(memory).add(self.offset(class, tile))
            },
        };
        // SAFETY: no operand of the instruction has this memory: slots are given anew only after
        // their last use. It lives until the next instruction asks for a target.
        unsafe { slice::from_raw_parts_mut(begin, length) }
    }

    /// Runs an instruction on a tile.
    pub fn step(&mut self, at: usize, tile: &Tile) -> Result<(), Error> {
        match self.pipeline.instructions[at] {
            Instruction::Binary(name, cell, left, right) => {
                with_cell!(cell, T => self.sided::<T, 2>(at, [left, right], tile, |sides, out| {
                    let [one, two] = sides;
                    binary::compute(name, one, two, out)
                }))
            }
            Instruction::Select(cell, sides) => {
                with_cell!(cell, T => self.sided::<T, 3>(at, sides, tile, |sides, out| {
                    let [mask, yes, no] = sides;
                    select::run(mask, yes, no, out);
                    Ok(())
                }))
            }
            Instruction::Unary(name, cell, arg) => {
                with_cell!(cell, T => {
                    let out = self.target::<T>(at, tile);
                    unary::run(name, self.cells::<T>(arg, tile), out);
                });
                Ok(())
            }
            Instruction::Cast(to, arg) => {
                with_cell!(self.kinds[arg].cell, S => with_cell!(to, T => {
                    let out = self.target::<T>(at, tile);
                    cast::run(self.cells::<S>(arg, tile), out);
                }));
                Ok(())
            }
            Instruction::RowReduce(how, arg) => {
                with_cell!(self.kinds[arg].cell, T => self.row_reduce::<T>(at, how, arg, tile));
                Ok(())
            }
            Instruction::RowProduct(arg, vector) => {
                with_cell!(self.kinds[arg].cell, T => self.product::<T>(at, arg, vector, tile));
                Ok(())
            }
        }
    }

    /// Computes cell by cell of several sides, which may be narrower than what they make.
    fn sided<T: Number, const N: usize>(
        &mut self,
        at: usize,
        registers: [Register; N],
        tile: &Tile,
        compute: impl Fn([Side<'_, T>; N], &mut [T]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let out = self.target::<T>(at, tile);
        let class = self.kinds[self.pipeline.inputs.len() + at].class;
        let even = registers.map(|side| {
            let own = self.kinds[side].class;
            own == class || own == Class::Scalar
        });
        if even.iter().all(|even| *even) {
            return compute(registers.map(|side| self.side(side, tile)), out);
        }
        if class == Class::Full && self.pipeline.columns >= SPREAD_BELOW {
            for (row, part) in out.chunks_exact_mut(self.pipeline.columns).enumerate() {
                compute(registers.map(|side| self.row_of(side, row, tile)), part)?;
            }
            return Ok(());
        }
        for (which, side) in registers.into_iter().enumerate() {
            if !even[which] {
                self.spread_out::<T>(which, side, class, tile);
            }
        }
        let sides = std::array::from_fn(|which| {
            if even[which] {
                self.side(registers[which], tile)
            } else {
                self.spread_side(which, out.len())
            }
        });
        compute(sides, out)
    }

    fn side<T: Number>(&self, register: Register, tile: &Tile) -> Side<'_, T> {
        let cells = self.cells::<T>(register, tile);
        if self.kinds[register].class == Class::Scalar {
            Side::All(cells[0])
        } else {
            Side::Each(cells)
        }
    }

    fn spread_side<T: Number>(&self, which: usize, length: usize) -> Side<'_, T> {
        // SAFETY: it was grown to this length, of cells of this type.
        Side::Each(unsafe { slice::from_raw_parts(self.spread[which].as_ptr().cast(), length) })
    }

    fn row_of<T: Number>(&self, register: Register, row: usize, tile: &Tile) -> Side<'_, T> {
        let cells = self.cells::<T>(register, tile);
        let width = self.pipeline.columns;
        match self.kinds[register].class {
            Class::Scalar => Side::All(cells[0]),
            Class::Column => Side::All(cells[row]),
            Class::Row => Side::Each(cells),
            Class::Full | Class::Sparse => Side::Each(&cells[row * width..(row + 1) * width]),
        }
    }

    /// Writes a row or a column once for every cell of the tile.
    fn spread_out<T: Number>(&mut self, which: usize, side: Register, class: Class, tile: &Tile) {
        let mut buffer = std::mem::take(&mut self.spread[which]);
        let length = self.length(class, tile);
        Self::grow(&mut buffer, length * size_of::<T>());
        // SAFETY: it was grown to this length just now.
        let out: &mut [T] =
            unsafe { slice::from_raw_parts_mut(buffer.as_mut_ptr().cast(), length) };
        let cells = self.cells::<T>(side, tile);
        match (self.kinds[side].class, class) {
            (Class::Row, Class::Sparse) => csr::take::take(cells, self.columns(tile), out),
            (Class::Row, _) => {
                for part in out.chunks_exact_mut(self.pipeline.columns.max(1)) {
                    part.copy_from_slice(cells);
                }
            }
            (Class::Full, _) => {
                for (row, stored) in self.rows(tile) {
                    let from = &cells[row * self.pipeline.columns..];
                    let columns = &self.columns(tile)[stored.clone()];
                    csr::take::take(from, columns, &mut out[stored]);
                }
            }
            (_, Class::Sparse) => {
                for (row, stored) in self.rows(tile) {
                    out[stored].fill(cells[row]);
                }
            }
            _ => {
                let parts = out.chunks_exact_mut(self.pipeline.columns.max(1));
                for (part, cell) in parts.zip(cells) {
                    part.fill(*cell);
                }
            }
        }
        self.spread[which] = buffer;
    }

    /// The columns of the stored cells of a tile.
    pub fn columns(&self, tile: &Tile) -> &[u32] {
        let structure = self.pipeline.structure.expect("kinds are checked");
        // SAFETY: the structure has a column for each stored cell.
        unsafe {
            slice::from_raw_parts(structure.columns.add(tile.stored.start), tile.stored.len())
        }
    }

    /// Where the rows of a tile begin among all stored cells, and where the last ends.
    fn offsets(&self, tile: &Tile) -> &'a [i64] {
        let structure = self.pipeline.structure.expect("kinds are checked");
        let rows = tile.rows.clone();
        // SAFETY: the structure has an offset for each row, and one more.
        unsafe { slice::from_raw_parts(structure.offsets.add(rows.start), rows.len() + 1) }
    }

    /// Checks that the CSR rows of a tile lie in what is stored, and their columns in a row.
    ///
    /// Tile by tile: what is checked is in a cache when it is read.
    pub fn check(&self, tile: &Tile) -> Result<(), Error> {
        let Some(structure) = self.pipeline.structure else { return Ok(()) };
        let first = tile.rows.start;
        check_offsets(self.offsets(tile), structure.stored).map_err(|error| match error {
            Error::Offsets { row, begin, end, stored } => {
                Error::Offsets { row: first + row, begin, end, stored }
            }
            other => other,
        })?;
        if self.reads_columns {
            check_positions("column", self.columns(tile), self.pipeline.columns)?;
        }
        Ok(())
    }

    /// The rows of a tile, counted from its first, each with its stored cells.
    pub fn rows(&self, tile: &Tile) -> impl Iterator<Item = (usize, Range<usize>)> + use<'a> {
        let begin = tile.stored.start;
        let pairs = self.offsets(tile).windows(2).enumerate();
        pairs.map(move |(row, pair)| (row, pair[0] as usize - begin..pair[1] as usize - begin))
    }

    fn row_reduce<T: Number>(&mut self, at: usize, how: Reduce, arg: Register, tile: &Tile) {
        let out = self.target::<T>(at, tile);
        let cells = self.cells::<T>(arg, tile);
        let width = self.pipeline.columns;
        if self.kinds[arg].class == Class::Sparse {
            csr::reduce::rows(how, cells, self.offsets(tile), out);
            if how != Reduce::Sum {
                // What is not stored is 0, and counts as well.
                let partial = self.rows(tile).filter(|(_, stored)| stored.len() < width);
                partial.for_each(|(row, _)| out[row] = how.both(out[row], T::ZERO));
            }
            return;
        }
        for (out, row) in out.iter_mut().zip(cells.chunks_exact(width)) {
            *out = reduce::run(how, row);
        }
    }

    fn product<T: Number>(&mut self, at: usize, arg: Register, vector: Register, tile: &Tile) {
        let out = self.target::<T>(at, tile);
        let (cells, vector) = (self.cells::<T>(arg, tile), self.cells::<T>(vector, tile));
        if self.kinds[arg].class == Class::Sparse {
            csr::product::rows(cells, self.offsets(tile), self.columns(tile), vector, out);
        } else {
            product::rows(cells, vector, out);
        }
    }

    /// Asks for the inputs of a tile that comes soon: part `at` of so many.
    pub fn fetch(&self, tile: &Tile, at: usize, parts: usize) {
        let part = |bytes: &[u8]| {
            let (begin, end) = (bytes.len() * at / parts, bytes.len() * (at + 1) / parts);
            fetch(&bytes[begin..end]);
        };
        for (register, input) in self.pipeline.inputs.iter().enumerate() {
            if matches!(input.class, Class::Column | Class::Full | Class::Sparse) {
                with_cell!(input.cell, T => part(bytes(self.cells::<T>(register, tile))));
            }
        }
        if self.reads_columns {
            part(bytes(self.columns(tile)));
        }
    }

    /// Writes what is large past the caches, when all of a tile has been computed.
    pub fn store(&self, tile: &Tile) {
        for (register, memory) in &self.locations.streamed {
            let Kind { cell, class } = self.kinds[*register];
            with_cell!(cell, T => {
                let cells = bytes(self.cells::<T>(*register, tile));
                let begin = std::ptr::with_exposed_provenance_mut::<T>(*memory);
                // SAFETY: this worker alone has the tile's rows.
                let out = unsafe {
                    let begin = begin.add(self.offset(class, tile)).cast::<u8>();
                    slice::from_raw_parts_mut(begin, cells.len())
                };
                stream::copy(cells, out);
            });
        }
    }
}

fn bytes<T: Copy>(cells: &[T]) -> &[u8] {
    // SAFETY: numbers have no padding.
    unsafe { slice::from_raw_parts(cells.as_ptr().cast(), size_of_val(cells)) }
}
