//! Kernels of compressed rows and of cells with their places, from Python.
//!
//! Memory is given by address and length, as pipelines' is: `freestone.lang.kernels` makes the
//! arrays and checks their shapes and types.

use freestone_vector::cell::{Cell, Number};
use freestone_vector::kernels::coo::{Places, Target, draw, merge, offsets, reduce, transpose};
use freestone_vector::kernels::csr::multiply::{self, Rows};
use freestone_vector::kernels::csr::transpose::transpose as csr_transposed;
use freestone_vector::kernels::dense::binary::Binary;
use freestone_vector::kernels::dense::reduce::Reduce;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::raw::{Raw, Raws, cell_of, items, items_mut, unknown, with_code};

unsafe fn places<'a, T: Number>((rows, columns, cells): Raws) -> Places<'a, T> {
    // SAFETY: the caller knows.
    unsafe { Places { rows: items(rows), columns: items(columns), cells: items(cells) } }
}

unsafe fn target<'a, T: Number>((rows, columns, cells): Raws) -> Target<'a, T> {
    // SAFETY: the caller knows.
    unsafe {
        Target { rows: items_mut(rows), columns: items_mut(columns), cells: items_mut(cells) }
    }
}

unsafe fn rows<'a, T>((offsets, columns, cells): Raws) -> Rows<'a, T> {
    // SAFETY: the caller knows.
    unsafe { Rows { offsets: items(offsets), columns: items(columns), cells: items(cells) } }
}

/// Computes an operation of two sides that keeps zeros; returns how many cells there are.
#[pyfunction]
pub fn coo_merge(
    py: Python<'_>,
    name: &str,
    code: u8,
    left: Raws,
    right: Raws,
    out: Raws,
) -> PyResult<usize> {
    let binary = Binary::named(name).ok_or_else(|| unknown("operation", name))?;
    let merged = with_code!(py, code, T => {
        merge::merge::<T>(binary, places(left), places(right), &mut target(out))
    });
    merged.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Exchanges rows and columns.
#[pyfunction]
pub fn coo_transpose(
    py: Python<'_>,
    code: u8,
    width: usize,
    from: Raws,
    out: Raws,
) -> PyResult<()> {
    with_code!(py, code, T => transpose::transpose::<T>(places(from), width, &mut target(out)));
    Ok(())
}

/// Reduces the cells of each row, or column.
#[pyfunction]
pub fn coo_reduce(
    py: Python<'_>,
    name: &str,
    code: u8,
    across: usize,
    at: Raw,
    cells: Raw,
    out: Raw,
) -> PyResult<()> {
    let how = Reduce::named(name).ok_or_else(|| unknown("reduction", name))?;
    with_code!(py, code, T => {
        reduce::scatter::<T>(how, items(at), items(cells), across, items_mut(out));
    });
    Ok(())
}

/// Exchanges the rows and columns of compressed rows; `out` has offsets, columns and cells.
#[pyfunction]
pub fn csr_transpose(py: Python<'_>, code: u8, from: Raws, out: Raws) -> PyResult<()> {
    with_code!(py, code, T => {
        csr_transposed(rows::<T>(from), items_mut(out.0), items_mut(out.1), items_mut(out.2));
    });
    Ok(())
}

/// Counts where each row begins.
#[pyfunction]
pub fn coo_offsets(rows: Raw, out: Raw) {
    // SAFETY: the module's arrays are as it says.
    unsafe { offsets::of_rows(items(rows), items_mut(out)) }
}

/// Draws cells at different places, of float64, float32 or int64.
#[pyfunction]
pub fn coo_draw(
    code: u8,
    shape: (usize, usize),
    range: (f64, f64),
    seed: i64,
    out: Raws,
) -> PyResult<()> {
    let (low, high) = range;
    // SAFETY: the module's arrays are as it says.
    unsafe {
        match cell_of(code)? {
            Cell::F64 => draw::draw::<f64>(shape, range, seed, &mut target(out)),
            Cell::F32 => draw::draw(shape, (low as f32, high as f32), seed, &mut target(out)),
            Cell::I64 => draw::draw(shape, (low as i64, high as i64), seed, &mut target(out)),
            _ => return Err(unknown("random cell type", &code.to_string())),
        }
    }
    Ok(())
}

/// Counts the stored cells of each row of a product of compressed rows.
#[pyfunction]
pub fn csr_product_sizes(
    py: Python<'_>,
    code: u8,
    left: Raws,
    right: Raws,
    width: usize,
    workers: usize,
    out: Raw,
) -> PyResult<()> {
    with_code!(py, code, T => {
        multiply::sizes::<T>(rows(left), rows(right), width, workers, items_mut(out));
    });
    Ok(())
}

/// Computes the product of compressed rows with a dense matrix of `width` columns.
#[pyfunction]
pub fn csr_panel(
    py: Python<'_>,
    code: u8,
    left: Raws,
    right: Raw,
    width: usize,
    workers: usize,
    out: Raw,
) -> PyResult<()> {
    with_code!(py, code, T => {
        multiply::multiply_dense(rows::<T>(left), items(right), width, workers, items_mut(out));
    });
    Ok(())
}

/// Computes a product of compressed rows into offsets, columns and cells.
#[pyfunction]
pub fn csr_product(
    py: Python<'_>,
    code: u8,
    left: Raws,
    right: Raws,
    width: usize,
    workers: usize,
    out: Raws,
) -> PyResult<()> {
    with_code!(py, code, T => {
        let (columns, cells) = (items_mut(out.1), items_mut::<T>(out.2));
        multiply::multiply(rows(left), rows(right), width, workers, items(out.0), columns, cells);
    });
    Ok(())
}
