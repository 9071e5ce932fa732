//! Chains as machine code: one loop over the cells, with all that is between operations in registers.
//!
//! A chain whose operations are a few instructions of the processor each is compiled, in some
//! microseconds, for AVX2, and kept by its structure. It gives the digits that the loops over pieces give:
//! the same operations in the same order, into the same lanes. Other chains, and other processors, have
//! those loops.
//!
//! See docs/decisions/090-chains-of-floats-are-compiled-by-an-assembler-of-our-own.md

mod assembler;
mod conversions;
mod emit;
mod executable;
mod instructions;
mod operations;
mod shape;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::scratch::Line;
use super::{Input, Operand, Pipeline};
use crate::kernels::has_wide_vectors;
use emit::Constant;
use executable::Executable;
use operations::VECTOR;
use shape::Shape;

/// How many structures are kept; each takes a page.
const MAX_KEPT: usize = 1024;

/// A function's type: the addresses of streams, constants, elements of whole steps, and all of them.
#[cfg(target_arch = "x86_64")]
type Function = unsafe extern "sysv64" fn(*const *mut u8, *const Line, usize, usize);

/// What was compiled of structures, and those that can't be.
static KEPT: LazyLock<Mutex<HashMap<Shape, Option<Arc<Program>>>>> = LazyLock::new(Mutex::default);

/// A compiled chain.
pub struct Program {
    code: Executable,
    constants: Vec<Constant>,
    step: usize,
}

impl Program {
    /// The program of a chain; none if it can't be compiled, or has a loop that is as good.
    pub fn of(pipeline: &Pipeline) -> Option<Arc<Self>> {
        if !cfg!(target_arch = "x86_64") || !has_wide_vectors() {
            return None;
        }
        let shape = Shape::of(pipeline)?;
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = kept.get(&shape) {
            return program.clone();
        }
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        let program = Self::compiled(&shape).map(Arc::new);
        kept.insert(shape, program.clone());
        program
    }

    fn compiled(shape: &Shape) -> Option<Self> {
        let code = emit::code_of(shape)?;
        let (constants, step) = (code.constants, code.step);
        Some(Self { code: Executable::of(&code.bytes)?, constants, step })
    }

    /// The constants of a pipeline of this structure.
    pub fn constants(&self, pipeline: &Pipeline) -> Vec<Line> {
        let mut lines = vec![Line::EMPTY; (self.constants.len() * VECTOR).div_ceil(64)];
        let begin = lines.as_mut_ptr().cast::<u8>();
        for (at, constant) in self.constants.iter().enumerate() {
            let (word, size) = match *constant {
                Constant::Bits(word, size) => (word, size),
                Constant::Input(register) => match pipeline.inputs[register] {
                    Input { place: Operand::Bits(word), cell, .. } => (word, cell.size()),
                    _ => unreachable!("a constant is a number"),
                },
            };
            for cell in 0..VECTOR / size {
                let bytes = word.to_le_bytes();
                // SAFETY: the lines hold a vector of each constant.
                unsafe {
                    let to = begin.add(at * VECTOR + cell * size);
                    std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, size);
                }
            }
        }
        lines
    }

    /// Runs it on so many cells.
    ///
    /// # Safety
    ///
    /// Streams are the inputs of the pipeline that are no numbers, what it stores, and, if it reduces,
    /// lanes: each begins at cells of its type, as many as the count, or the lanes; nobody
    /// else uses what is written meanwhile. The constants are those of [`Program::constants`].
    pub unsafe fn run(&self, streams: &[*mut u8], constants: &[Line], count: usize) {
        let whole = count / self.step * self.step;
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the code is a function of this type, which reads and writes what the caller says.
        unsafe {
            let function = std::mem::transmute::<*const libc::c_void, Function>(self.code.begin());
            function(streams.as_ptr(), constants.as_ptr(), whole, count);
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (streams, constants, whole, self.code.begin());
    }
}
