//! Pipelines from Python: registers, instructions and outputs as plain tuples.
//!
//! Memory is given by address: `freestone.lang.kernels.pipeline` makes the arrays, checks their
//! shapes and types, and holds them until the pipeline has ended.

use std::str::FromStr;

use freestone_base::task_sizes::Scheme;
use freestone_vector::cell::{Cell, Number};
use freestone_vector::kernels::dense::binary::Binary;
use freestone_vector::kernels::dense::reduce::Reduce;
use freestone_vector::kernels::dense::unary::Unary;
use freestone_vector::pipeline::{
    Class, Input, Instruction, Options, Output, Pipeline, Place, Reduced, Structure, run,
};
use freestone_vector::queues::{Layout, Victims};
use freestone_vector::{Error, with_cell};
use pyo3::exceptions::{PyValueError, PyZeroDivisionError};
use pyo3::prelude::*;

use super::raw::{cell_of, unknown};

type RawInput = (u8, String, Option<usize>, f64, i64);
/// Kind, name, cell type, and the registers that it reads.
type RawInstruction = (String, String, u8, Vec<usize>);
type RawOutput = (String, String, usize, usize);

fn input_of((code, class, address, real, whole): RawInput) -> PyResult<Input> {
    let cell = cell_of(code)?;
    let class = match &class[..] {
        "scalar" => Class::Scalar,
        "row" => Class::Row,
        "column" => Class::Column,
        "full" => Class::Full,
        "sparse" => Class::Sparse,
        other => return Err(unknown("class", other)),
    };
    let place = match address {
        Some(address) => Place::Memory(address as *const u8),
        None => Place::Bits(with_cell!(cell, T => scalar_bits::<T>(real, whole))),
    };
    Ok(Input { cell, class, place })
}

fn scalar_bits<T: Number>(real: f64, whole: i64) -> u64 {
    let value = if T::WHOLE { T::from_i64(whole) } else { T::from_f64(real) };
    let mut bits = 0_u64;
    // SAFETY: a number has at most eight bytes.
    unsafe { std::ptr::from_mut(&mut bits).cast::<T>().write(value) };
    bits
}

fn instruction_of((kind, name, code, sides): RawInstruction) -> PyResult<Instruction> {
    let cell = cell_of(code)?;
    Ok(match (&kind[..], &sides[..]) {
        ("binary", &[one, two]) => {
            let found = Binary::named(&name).ok_or_else(|| unknown("operation", &name))?;
            Instruction::Binary(found, cell, one, two)
        }
        ("unary", &[arg]) => {
            let found = Unary::named(&name).ok_or_else(|| unknown("operation", &name))?;
            Instruction::Unary(found, cell, arg)
        }
        ("cast", &[arg]) => Instruction::Cast(cell, arg),
        ("select", &[mask, yes, no]) => Instruction::Select(cell, [mask, yes, no]),
        ("row_reduce", &[arg]) => Instruction::RowReduce(reduce_of(&name)?, arg),
        ("row_product", &[arg, vector]) => Instruction::RowProduct(arg, vector),
        _ => return Err(unknown("instruction", &format!("{kind} of {} registers", sides.len()))),
    })
}

fn reduce_of(name: &str) -> PyResult<Reduce> {
    Reduce::named(name).ok_or_else(|| unknown("reduction", name))
}

fn output_of((kind, name, register, address): RawOutput) -> PyResult<Output> {
    Ok(match &kind[..] {
        "store" => Output::Store(register, address as *mut u8),
        "reduce" => Output::Reduce(reduce_of(&name)?, register),
        "column_reduce" => Output::ColumnReduce(reduce_of(&name)?, register, address as *mut u8),
        other => return Err(unknown("output", other)),
    })
}

/// How a pipeline is run, by the names of the command line.
#[derive(FromPyObject)]
pub struct RawOptions {
    partitioning: String,
    queue_layout: String,
    victim_selection: String,
    num_threads: usize,
    grain_size: u64,
    batch_bytes: usize,
    pre_partition: bool,
    pin_workers: bool,
    hyperthreading: bool,
}

impl RawOptions {
    fn read(&self) -> PyResult<Options> {
        let (layout, victims) = (&self.queue_layout, &self.victim_selection);
        let scheme = Scheme::from_str(&self.partitioning);
        Ok(Options {
            scheme: scheme.map_err(|name| unknown("scheme", &name))?,
            layout: Layout::named(layout).ok_or_else(|| unknown("layout", layout))?,
            victims: Victims::named(victims).ok_or_else(|| unknown("order", victims))?,
            workers: self.num_threads,
            grain: self.grain_size,
            batch_bytes: self.batch_bytes,
            shared_out: self.pre_partition,
            pinned: self.pin_workers,
            hyperthreading: self.hyperthreading,
        })
    }
}

/// Runs a pipeline, and returns the numbers that it reduced to.
///
/// All addresses have to be those of arrays as large as the shape says, which nobody changes
/// meanwhile.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as functions for Python take their arguments
pub fn run_pipeline(
    py: Python<'_>,
    shape: (usize, usize),
    inputs: Vec<RawInput>,
    structure: Option<(usize, usize)>,
    instructions: Vec<RawInstruction>,
    outputs: Vec<RawOutput>,
    options: RawOptions,
) -> PyResult<Vec<Py<PyAny>>> {
    let pipeline = Pipeline {
        rows: shape.0,
        columns: shape.1,
        inputs: inputs.into_iter().map(input_of).collect::<PyResult<_>>()?,
        structure: structure.map(|(offsets, columns)| Structure {
            offsets: offsets as *const i64,
            columns: columns as *const u32,
        }),
        instructions: instructions.into_iter().map(instruction_of).collect::<PyResult<_>>()?,
        outputs: outputs.into_iter().map(output_of).collect::<PyResult<_>>()?,
    };
    let options = options.read()?;
    let (pipeline, options) = (&pipeline, &options);
    let found = py.detach(|| run(pipeline, options));
    let numbers = found.map_err(|error| match error {
        Error::DivisionByZero => PyZeroDivisionError::new_err(error.to_string()),
        Error::Malformed(_) => PyValueError::new_err(error.to_string()),
    })?;
    numbers.into_iter().map(|reduced| number(py, reduced)).collect()
}

fn number(py: Python<'_>, reduced: Reduced) -> PyResult<Py<PyAny>> {
    let bits = reduced.bits;
    Ok(match reduced.cell {
        Cell::F64 => f64::from_bits(bits).into_pyobject(py)?.into_any().unbind(),
        Cell::F32 => f64::from(f32::from_bits(bits as u32)).into_pyobject(py)?.into_any().unbind(),
        Cell::I64 => bits.cast_signed().into_pyobject(py)?.into_any().unbind(),
        Cell::U64 => bits.into_pyobject(py)?.into_any().unbind(),
        Cell::I32 => (bits as u32).cast_signed().into_pyobject(py)?.into_any().unbind(),
        Cell::U32 => (bits as u32).into_pyobject(py)?.into_any().unbind(),
        Cell::I8 => (bits as u8).cast_signed().into_pyobject(py)?.into_any().unbind(),
        Cell::U8 => (bits as u8).into_pyobject(py)?.into_any().unbind(),
    })
}
