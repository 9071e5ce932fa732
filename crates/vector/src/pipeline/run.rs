//! Runs a pipeline: cuts tasks, lets workers take them, merges what they reduced.
//!
//! See docs/decisions/037-full-sums-are-kept-per-task-and-added-in-row-order.md
//! See docs/decisions/047-small-pipelines-run-in-the-calling-thread.md

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::chain::Chain;
use super::compiled::Program;
use super::cutting::{Shares, cells_of, grain, reads_ahead, stored, tile_rows};
use super::options::Options;
use super::scratch::locations;
use super::step::{Tile, Workspace};
use super::words::{bits, number, start};
use super::{Class, Kind, Output, Pipeline, Register};
use crate::cell::{Cell, Number};
use crate::error::Error;
use crate::kernels::dense::reduce::{self, Reduce};
use crate::kernels::dense::stream;
use crate::numa::{Processor, Topology};
use crate::pool::Pool;
use crate::queues::{Queues, Task};
use crate::with_cell;

/// Below this many bytes of cells the calling thread takes all tasks: to wake others would cost more.
const BYTES_FOR_TWO: usize = 128 << 10;

/// What a `Reduce` output gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduced {
    /// The type of the number.
    pub cell: Cell,
    /// Its bits, in the low bytes.
    pub bits: u64,
}

/// Runs a pipeline, and returns what its `Reduce` outputs gave, in order.
///
/// # Errors
///
/// If the pipeline makes no sense, can't be cut into tasks, or divides a whole number by zero. What
/// is stored is then undefined.
pub fn run(pipeline: &Pipeline, options: &Options) -> Result<Vec<Reduced>, Error> {
    let kinds = pipeline.kinds()?;
    let locations = locations(pipeline, &kinds);
    let places = places(options);
    let packages: Vec<usize> = places.iter().map(|one| one.package).collect();
    let workers = packages.len() as u64;
    let grain = grain(pipeline, options, workers);
    let cut = |rows| options.cut.sizes(rows, workers, grain);
    let queues = Queues::deal(
        options.layout,
        options.victims,
        &packages,
        pipeline.rows as u64,
        options.shared_out,
        cut,
        Shares::of(pipeline),
    )?;
    let partials = Partials::new(pipeline, queues.count);
    let failed = Mutex::new(None);
    let step = tile_rows(pipeline, &kinds, options.batch_bytes);
    let ahead = reads_ahead(pipeline, step);
    let operations = cells_of(pipeline).saturating_mul(pipeline.instructions.len());
    let program = (operations >= options.compiled_from).then(|| Program::of(pipeline)).flatten();
    let job = |worker: usize| {
        let program = program.as_ref();
        let mut chain = Chain::of(pipeline, &kinds, &locations, options.batch_bytes, program);
        let mut workspace = Workspace::new(pipeline, &kinds, &locations);
        let mut columns = partials.own_columns(&kinds);
        while let Some((number, task)) = queues.take(worker) {
            let done = match &mut chain {
                Some(chain) => chain.run(task.start as usize..task.end as usize),
                None => run_task(&mut workspace, &task, step, ahead, &mut columns),
            };
            match done {
                Ok(reduced) => partials.keep(number, &reduced),
                Err(error) => {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    break;
                }
            }
        }
        partials.merge_columns(&kinds, &columns);
    };
    let ids: Vec<usize> = places.iter().map(|one| one.id).collect();
    let size = kinds.iter().map(|kind| kind.cell.size()).max().unwrap_or(1);
    let alone = cells_of(pipeline) * size < BYTES_FOR_TWO;
    let active = if alone { 1 } else { ids.len() };
    Pool::global().run(active, options.pinned.then_some(&ids[..]), &job);
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(partials.finish(&kinds)),
    }
}

fn places(options: &Options) -> Vec<Processor> {
    // Read once: a pipeline may take less time than these files.
    static HERE: OnceLock<Topology> = OnceLock::new();
    let places = HERE.get_or_init(Topology::here).places(options.hyperthreading);
    let wanted = if options.workers == 0 { places.len() } else { options.workers };
    places.iter().cycle().take(wanted.max(1)).copied().collect()
}

fn run_task(
    workspace: &mut Workspace<'_>,
    task: &Task,
    step: usize,
    ahead: bool,
    columns: &mut [Vec<u64>],
) -> Result<Vec<u64>, Error> {
    let pipeline = workspace.pipeline;
    let mut reduced: Vec<u64> = Vec::new();
    for output in &pipeline.outputs {
        if let Output::Reduce(how, register) = output {
            reduced.push(start(*how, workspace.kinds[*register].cell));
        }
    }
    let end = task.end as usize;
    let tile = |begin: usize| {
        let rows = begin.min(end)..(begin + step).min(end);
        Tile { stored: stored(pipeline, rows.clone()), rows }
    };
    let mut now = tile(task.start as usize);
    let mut next = tile(now.rows.end);
    while !now.rows.is_empty() {
        let later = tile(next.rows.end);
        workspace.check(&now)?;
        // A part before each instruction: memory is busy while the processor computes.
        let parts = pipeline.instructions.len() + 1;
        for at in 0..pipeline.instructions.len() {
            if ahead {
                workspace.fetch(&later, at, parts);
            }
            workspace.step(at, &now)?;
        }
        if ahead {
            workspace.fetch(&later, parts - 1, parts);
        }
        workspace.store(&now);
        reduce_tile(workspace, &now, &mut reduced, columns);
        (now, next) = (next, later);
    }
    stream::fence();
    Ok(reduced)
}

fn reduce_tile(
    workspace: &Workspace<'_>,
    tile: &Tile,
    reduced: &mut [u64],
    columns: &mut [Vec<u64>],
) {
    let (mut scalar, mut column) = (0, 0);
    for output in &workspace.pipeline.outputs {
        match *output {
            Output::Store(..) => {}
            Output::Reduce(how, register) => {
                with_cell!(workspace.kinds[register].cell, T => {
                    let found = reduce_all::<T>(workspace, how, register, tile);
                    reduced[scalar] = bits(how.both(number::<T>(reduced[scalar]), found));
                });
                scalar += 1;
            }
            Output::ColumnReduce(how, register, _) => {
                with_cell!(workspace.kinds[register].cell, T => {
                    // SAFETY: the buffer was made for this many cells of this type.
                    let out = unsafe {
                        std::slice::from_raw_parts_mut(
                            columns[column].as_mut_ptr().cast::<T>(),
                            workspace.pipeline.columns,
                        )
                    };
                    reduce_columns::<T>(workspace, how, register, tile, out);
                });
                column += 1;
            }
        }
    }
}

fn reduce_all<T: Number>(
    workspace: &Workspace<'_>,
    how: Reduce,
    register: Register,
    tile: &Tile,
) -> T {
    let cells = workspace.cells::<T>(register, tile);
    let found = reduce::run(how, cells);
    let sparse = workspace.kinds[register].class == Class::Sparse;
    if sparse && cells.len() < tile.rows.len() * workspace.pipeline.columns {
        return how.both(found, T::ZERO);
    }
    found
}

fn reduce_columns<T: Number>(
    workspace: &Workspace<'_>,
    how: Reduce,
    register: Register,
    tile: &Tile,
    out: &mut [T],
) {
    let cells = workspace.cells::<T>(register, tile);
    match workspace.kinds[register].class {
        Class::Sparse => {
            // Only sums: the compiler gives extremes of compressed columns to another kernel.
            for (cell, column) in cells.iter().zip(workspace.columns(tile)) {
                let at = *column as usize;
                out[at] = how.both(out[at], *cell);
            }
        }
        _ => reduce::merge(how, cells, out),
    }
}

/// What is reduced: for each task, in its order, and the columns of all workers.
struct Partials<'a> {
    pipeline: &'a Pipeline,
    scalars: usize,
    words: Vec<AtomicU64>,
    columns: Mutex<Vec<Option<Vec<u64>>>>,
}

impl<'a> Partials<'a> {
    fn new(pipeline: &'a Pipeline, tasks: usize) -> Self {
        let of = |wanted: fn(&Output) -> bool| {
            pipeline.outputs.iter().filter(|output| wanted(output)).count()
        };
        let scalars = of(|output| matches!(output, Output::Reduce(..)));
        let columns = of(|output| matches!(output, Output::ColumnReduce(..)));
        let words = (0..scalars * tasks).map(|_| AtomicU64::new(0)).collect();
        Self { pipeline, scalars, words, columns: Mutex::new(vec![None; columns]) }
    }

    fn keep(&self, task: usize, reduced: &[u64]) {
        for (at, word) in reduced.iter().enumerate() {
            // Relaxed: read only when all workers have ended.
            self.words[task * self.scalars + at].store(*word, Ordering::Relaxed);
        }
    }

    fn column_outputs(&self) -> impl Iterator<Item = (Reduce, Register, *mut u8)> {
        self.pipeline.outputs.iter().filter_map(|output| match output {
            Output::ColumnReduce(how, register, memory) => Some((*how, *register, *memory)),
            _ => None,
        })
    }

    fn own_columns(&self, kinds: &[Kind]) -> Vec<Vec<u64>> {
        let width = self.pipeline.columns;
        self.column_outputs()
            .map(|(how, register, _)| {
                let cell = kinds[register].cell;
                let mut buffer = vec![0_u64; (width * cell.size()).div_ceil(8)];
                with_cell!(cell, T => {
                    // SAFETY: the buffer was made for this many cells of this type.
                    let cells = unsafe {
                        std::slice::from_raw_parts_mut(buffer.as_mut_ptr().cast::<T>(), width)
                    };
                    cells.fill(how.start::<T>());
                });
                buffer
            })
            .collect()
    }

    fn merge_columns(&self, kinds: &[Kind], own: &[Vec<u64>]) {
        let width = self.pipeline.columns;
        let mut all = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        for ((slot, own), (how, register, _)) in all.iter_mut().zip(own).zip(self.column_outputs())
        {
            let Some(kept) = slot else {
                *slot = Some(own.clone());
                continue;
            };
            with_cell!(kinds[register].cell, T => {
                // SAFETY: both buffers were made for this many cells of this type.
                let (from, to) = unsafe {(
                    std::slice::from_raw_parts(own.as_ptr().cast::<T>(), width),
                    std::slice::from_raw_parts_mut(kept.as_mut_ptr().cast::<T>(), width),
                )};
                reduce::merge(how, from, to);
            });
        }
    }

    fn finish(self, kinds: &[Kind]) -> Vec<Reduced> {
        let columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        for (slot, (_, register, memory)) in columns.iter().zip(self.column_outputs()) {
            let bytes = self.pipeline.columns * kinds[register].cell.size();
            if let Some(kept) = slot {
                // SAFETY: the output has room for a row, and the buffer holds one.
                unsafe { std::ptr::copy_nonoverlapping(kept.as_ptr().cast(), memory, bytes) };
            }
        }
        let mut found = Vec::new();
        for output in &self.pipeline.outputs {
            if let Output::Reduce(how, register) = output {
                let (at, cell) = (found.len(), kinds[*register].cell);
                let words = self.words.iter().skip(at).step_by(self.scalars.max(1));
                let bits = with_cell!(cell, T => bits(words
                    .map(|word| number::<T>(word.load(Ordering::Relaxed)))
                    .fold(how.start::<T>(), |one, two| how.both(one, two))));
                found.push(Reduced { cell, bits });
            }
        }
        found
    }
}
