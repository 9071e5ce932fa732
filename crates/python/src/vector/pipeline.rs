//! Pipelines from Python: registers, instructions and outputs as plain tuples, and arrays.

use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use freestone_base::task_sizes::Scheme;
use freestone_vector::cell::{Cell, Number};
use freestone_vector::kernels::dense::binary::Binary;
use freestone_vector::kernels::dense::reduce::Reduce;
use freestone_vector::kernels::dense::unary::Unary;
use freestone_vector::pipeline::{
    COMPILED_FROM, Class, Cut, Input, Instruction, Kind, Operand, Options, Output, Pipeline,
    Reduced, Structure, run,
};
use freestone_vector::queues::{Layout, Victims};
use freestone_vector::with_cell;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::arrays::{Array, apart, cell_of, refused, unknown, workers_of};

/// Code, class, the array unless it is a number, and the number.
type RawInput = (u8, String, Option<Array>, f64, i64);
/// Kind, name, cell type, and the registers that it reads.
type RawInstruction = (String, String, u8, Vec<usize>);
/// Kind, name, register, and the array that is written to unless it is a number.
type RawOutput = (String, String, usize, Option<Array>);

fn input_of((code, class, array, real, whole): &RawInput) -> PyResult<Input> {
    let cell = cell_of(*code)?;
    let class = match &class[..] {
        "scalar" => Class::Scalar,
        "row" => Class::Row,
        "column" => Class::Column,
        "full" => Class::Full,
        "sparse" => Class::Sparse,
        other => return Err(unknown("class", other)),
    };
    let place = match array {
        Some(array) => {
            array.check(cell)?;
            Operand::Memory(array.begin())
        }
        None => Operand::Bits(with_cell!(cell, T => scalar_bits::<T>(*real, *whole))),
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

fn output_of((kind, name, register, array): &RawOutput) -> PyResult<Output> {
    Ok(match (&kind[..], array) {
        ("store", Some(array)) => Output::Store(*register, array.begin()),
        ("reduce", None) => Output::Reduce(reduce_of(name)?, *register),
        ("column_reduce", Some(array)) => {
            Output::ColumnReduce(reduce_of(name)?, *register, array.begin())
        }
        ("store" | "reduce" | "column_reduce", _) => {
            let problem = format!("the output {kind:?} has an array too much, or none");
            return Err(PyValueError::new_err(problem));
        }
        (other, _) => return Err(unknown("output", other)),
    })
}

/// The CSR structure of inputs: their offsets, and the column of each stored cell.
type RawStructure = (Array, Array);

fn structure_of(raw: &RawStructure, rows: usize, inputs: &[RawInput]) -> PyResult<Structure> {
    let (offsets, columns) = (raw.0.items::<i64>()?, raw.1.positions()?);
    check_length("offsets", offsets.len(), rows.checked_add(1))?;
    let stored = inputs.iter().filter(|(_, class, ..)| class == "sparse");
    let lengths = stored.filter_map(|(.., array, _, _)| array.as_ref().map(Array::len));
    let stored = lengths.fold(columns.len(), usize::min);
    Ok(Structure { offsets: offsets.as_ptr(), columns: columns.as_ptr(), stored })
}

fn check_length(what: &str, found: usize, needed: Option<usize>) -> PyResult<()> {
    if needed == Some(found) {
        return Ok(());
    }
    let needed = needed.map_or("more than can be counted".into(), |needed| needed.to_string());
    let problem = format!("{what} of a pipeline have {found} elements, not {needed}");
    Err(PyValueError::new_err(problem))
}

/// Checks that all arrays are as long as the pipeline takes them to be, and those that are written
/// apart from all others.
fn check_arrays(
    pipeline: &Pipeline,
    kinds: &[Kind],
    (inputs, structure, outputs): (&[RawInput], Option<&RawStructure>, &[RawOutput]),
) -> PyResult<()> {
    let mut read: Vec<&Array> = structure.into_iter().flat_map(|(one, two)| [one, two]).collect();
    for ((.., array, _, _), kind) in inputs.iter().zip(kinds) {
        let Some(array) = array else { continue };
        read.push(array);
        check_class("inputs", array, pipeline, kind.class)?;
    }
    let mut written: Vec<&Array> = Vec::new();
    for ((.., array), output) in outputs.iter().zip(&pipeline.outputs) {
        let (Some(array), Output::Store(register, _) | Output::ColumnReduce(_, register, _)) =
            (array, output)
        else {
            continue;
        };
        let Kind { cell, class } = kinds[*register];
        let is_stored = matches!(output, Output::Store(..));
        array.check_target(cell)?;
        check_class("outputs", array, pipeline, if is_stored { class } else { Class::Row })?;
        written.push(array);
    }
    apart(&written, &read)
}

fn check_class(what: &str, array: &Array, pipeline: &Pipeline, class: Class) -> PyResult<()> {
    let needed = pipeline.length(class);
    // More may be stored than the offsets reach.
    let has_more = class == Class::Sparse && needed.is_some_and(|needed| array.len() >= needed);
    if has_more { Ok(()) } else { check_length(what, array.len(), needed) }
}

/// How rows are cut into tasks: the name of a scheme, or a function of rows and workers.
#[derive(FromPyObject)]
enum RawCut {
    Named(String),
    Function(Py<PyAny>),
}

/// Where the error of a function that cuts rows is kept until the engine has returned.
type Raised = Arc<Mutex<Option<PyErr>>>;

impl RawCut {
    fn read(self, raised: &Raised) -> PyResult<Cut> {
        let function = match self {
            Self::Named(name) => {
                let scheme = Scheme::from_str(&name).map_err(|name| unknown("scheme", &name))?;
                return Ok(Cut::By(scheme));
            }
            Self::Function(function) => function,
        };
        let raised = Arc::clone(raised);
        let sizes = move |rows: u64, workers: u64| {
            let keep = |error| *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            let found = Python::attach(|py| function.call1(py, (rows, workers))?.extract(py));
            found.map_err(keep).ok()
        };
        Ok(Cut::Given(Arc::new(sizes)))
    }
}

/// How a pipeline is run, by the names of the command line.
#[derive(FromPyObject)]
pub struct RawOptions {
    cut: RawCut,
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
    fn read(self, raised: &Raised) -> PyResult<Options> {
        let (layout, victims) = (&self.queue_layout, &self.victim_selection);
        Ok(Options {
            cut: self.cut.read(raised)?,
            layout: Layout::named(layout).ok_or_else(|| unknown("layout", layout))?,
            victims: Victims::named(victims).ok_or_else(|| unknown("order", victims))?,
            workers: workers_of(self.num_threads)?,
            grain: self.grain_size,
            batch_bytes: self.batch_bytes,
            compiled_from: COMPILED_FROM,
            shared_out: self.pre_partition,
            pinned: self.pin_workers,
            hyperthreading: self.hyperthreading,
        })
    }
}

/// Runs a pipeline, and returns the numbers that it reduced to.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as functions for Python take their arguments
pub fn run_pipeline(
    py: Python<'_>,
    shape: (usize, usize),
    inputs: Vec<RawInput>,
    structure: Option<RawStructure>,
    instructions: Vec<RawInstruction>,
    outputs: Vec<RawOutput>,
    options: RawOptions,
) -> PyResult<Vec<Py<PyAny>>> {
    let (rows, columns) = shape;
    if rows == 0 || columns == 0 || outputs.is_empty() {
        let problem = format!("a pipeline of {rows} x {columns} and {} outputs", outputs.len());
        return Err(PyValueError::new_err(format!("nothing is to be done: {problem}")));
    }
    let structure_of = |raw| structure_of(raw, rows, &inputs);
    let pipeline = Pipeline {
        rows,
        columns,
        inputs: inputs.iter().map(input_of).collect::<PyResult<_>>()?,
        structure: structure.as_ref().map(structure_of).transpose()?,
        instructions: instructions.into_iter().map(instruction_of).collect::<PyResult<_>>()?,
        outputs: outputs.iter().map(output_of).collect::<PyResult<_>>()?,
    };
    let kinds = pipeline.kinds().map_err(refused)?;
    check_arrays(&pipeline, &kinds, (&inputs, structure.as_ref(), &outputs))?;
    let raised = Raised::default();
    let options = options.read(&raised)?;
    let (pipeline, options) = (&pipeline, &options);
    let ran = py.detach(|| run(pipeline, options));
    if let Some(error) = raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error);
    }
    let numbers = ran.map_err(refused)?;
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
