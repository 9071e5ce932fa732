//! How much is worked on at once: rows of tiles, and where tasks begin.
//!
//! See docs/decisions/038-csr-tasks-are-cut-by-stored-elements.md
//! See docs/decisions/039-auto-tasks-have-at-least-32768-elements.md
//! See docs/decisions/040-auto-tasks-have-at-most-a-quarter-of-a-million-elements.md

use std::ops::Range;

use freestone_base::task_sizes::Scheme;

use super::options::{Cut, Options};
use super::{Class, Input, Kind, Output, Pipeline};

/// Bytes of a register in a tile, unless said otherwise: with some registers, and with what is read
/// ahead, what the nearest cache holds; and enough for an instruction's start not to count.
const TILE_BYTES: usize = 4096;

/// The same where nothing is stored and at most one thing is made: the processor, which then asks for
/// memory ahead by itself, begins anew with each tile.
const TILE_BYTES_READ: usize = 64 << 10;

/// Inputs of fewer bytes are in a cache, likely as not.
pub const FROM_MEMORY: usize = 1 << 20;

/// The most bytes of a tile's inputs that are asked for ahead.
const AHEAD: usize = 32 << 10;

/// The least cells of a task of the automatic choice, some ten microseconds, and how many are
/// enough: beyond, what a task costs at its start no longer counts.
const CELLS_OF_TASK: (u64, u64) = (32_768, 262_144);

/// Tasks of the automatic choice for each worker, if they are not too small: what is left to do when
/// the first worker has ended is then a few hundredths.
const TASKS_OF_WORKER: u64 = 16;

/// Rows that a dense product takes together, and a reduction of columns.
const ROWS_TOGETHER: u64 = 4;

/// The least rows of a task. The automatic choice is a share of the rows alone; where that is little
/// work, taking tasks would be much of it.
pub fn grain(pipeline: &Pipeline, options: &Options, workers: u64) -> u64 {
    if !matches!(options.cut, Cut::By(Scheme::Auto)) {
        return options.grain;
    }
    let (rows, cells) = (pipeline.rows as u64, (cells_of(pipeline) as u64).max(1));
    let (least, enough) = CELLS_OF_TASK;
    let wanted = (cells / (TASKS_OF_WORKER * workers).max(1)).clamp(least, enough);
    let of_task = rows.saturating_mul(wanted) / cells;
    // With few rows, still a task for each worker, as far as there are rows.
    let of_task = of_task.min(rows / 16);
    let even =
        if of_task < ROWS_TOGETHER { of_task } else { of_task.next_multiple_of(ROWS_TOGETHER) };
    options.grain.max(even)
}

/// How many cells there are to work on: of a CSR matrix, those that are stored.
pub fn cells_of(pipeline: &Pipeline) -> usize {
    let dense = pipeline.rows * pipeline.columns;
    pipeline.structure.map_or(dense, |_| stored(pipeline, 0..pipeline.rows).len() + pipeline.rows)
}

/// The stored cells of rows; none without a CSR matrix.
pub fn stored(pipeline: &Pipeline, rows: Range<usize>) -> Range<usize> {
    pipeline.structure.map_or(0..0, |structure| {
        let end_of = |row: usize| {
            // SAFETY: there are offsets for all rows, and one more.
            let offset = unsafe { *structure.offsets.add(row) };
            // Whatever the offsets say: no further than what is stored.
            (offset as usize).min(structure.stored)
        };
        let begin = end_of(rows.start);
        begin..end_of(rows.end).max(begin)
    })
}

/// Cells that a row has of the widest register that is made.
fn width(pipeline: &Pipeline, kinds: &[Kind]) -> usize {
    let made = &kinds[pipeline.inputs.len()..];
    let reads = pipeline.outputs.iter().map(|output| match output {
        Output::Store(register, _)
        | Output::Reduce(_, register)
        | Output::ColumnReduce(_, register, _) => kinds[*register].class,
    });
    let classes: Vec<Class> = made.iter().map(|kind| kind.class).chain(reads).collect();
    if classes.contains(&Class::Full) {
        return pipeline.columns;
    }
    if classes.contains(&Class::Sparse) {
        let all = stored(pipeline, 0..pipeline.rows).len();
        return all.div_ceil(pipeline.rows.max(1));
    }
    1
}

/// How many rows a tile has.
pub fn tile_rows(pipeline: &Pipeline, kinds: &[Kind], batch_bytes: usize) -> usize {
    let registers = pipeline.inputs.len() + pipeline.instructions.len();
    let wide = |kind: &&Kind| !matches!(kind.class, Class::Scalar | Class::Row);
    let size = kinds.iter().filter(wide).map(|kind| kind.cell.size()).max().unwrap_or(1);
    let is_stored = |output: &Output| matches!(output, Output::Store(..));
    let only_read = is_one_loop(pipeline) && !pipeline.outputs.iter().any(is_stored);
    let bytes = if only_read { TILE_BYTES_READ } else { TILE_BYTES };
    let cells = if batch_bytes == 0 { bytes / size } else { batch_bytes / (8 * registers.max(1)) };
    let rows = (cells / width(pipeline, kinds).max(1)).clamp(1, pipeline.rows.max(1));
    let columns = |output: &Output| matches!(output, Output::ColumnReduce(..));
    if pipeline.instructions.is_empty() && pipeline.outputs.iter().any(columns) {
        // Nothing is made that the nearest cache should hold.
        return rows.max(ROWS_TOGETHER as usize);
    }
    rows
}

/// Whether each tile is one loop over memory, or two of which one is over what the other made.
fn is_one_loop(pipeline: &Pipeline) -> bool {
    pipeline.instructions.len() < 2
}

/// The bytes of all inputs that are no numbers and no rows.
pub fn bytes_read(pipeline: &Pipeline) -> usize {
    let stored = stored(pipeline, 0..pipeline.rows).len();
    let size = |input: &Input| {
        input.cell.size()
            * match input.class {
                Class::Scalar | Class::Row => 0,
                Class::Column => pipeline.rows,
                Class::Full => pipeline.rows * pipeline.columns,
                Class::Sparse => stored,
            }
    };
    pipeline.inputs.iter().map(size).sum()
}

/// Whether inputs are asked for two tiles before they are computed with: they are worth it if they
/// come from memory, and if a tile's are no more than the nearest cache takes.
///
/// With less than two instructions the processor, which sees one loop over all of its memory, knows
/// as much, and is faster when it is left alone.
pub fn reads_ahead(pipeline: &Pipeline, step: usize) -> bool {
    if is_one_loop(pipeline) {
        return false;
    }
    let all = bytes_read(pipeline);
    let of_tile = all / pipeline.rows.div_ceil(step).max(1);
    all >= FROM_MEMORY && of_tile <= AHEAD
}

/// Where tasks begin, so that they have even shares of the work: with a CSR matrix, that is not
/// of the rows but of what they store.
pub struct Shares<'a> {
    pipeline: &'a Pipeline,
    work: u64,
    row: u64,
}

impl<'a> Shares<'a> {
    /// The row where a share ends; asked for from the first row on.
    pub fn of(pipeline: &'a Pipeline) -> impl FnMut(u64) -> u64 + use<'a> {
        let rows = pipeline.rows as u64;
        let work = stored(pipeline, 0..pipeline.rows).len() as u64 + rows;
        let mut shares = Self { pipeline, work, row: 0 };
        move |share| if pipeline.structure.is_some() { shares.place(share) } else { share }
    }

    fn before(&self, row: u64) -> u64 {
        stored(self.pipeline, 0..row as usize).len() as u64 + row
    }

    fn place(&mut self, share: u64) -> u64 {
        let rows = self.pipeline.rows as u64;
        let wanted = (u128::from(share) * u128::from(self.work) / u128::from(rows.max(1))) as u64;
        // Steps that double, from where the last share ended: many small shares cost little.
        let (mut low, mut step) = (self.row, 1);
        while low + step <= rows && self.before(low + step) < wanted {
            low += step;
            step *= 2;
        }
        let mut high = (low + step).min(rows);
        while low < high {
            let middle = low.midpoint(high);
            if self.before(middle) < wanted {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.row = low;
        low
    }
}
