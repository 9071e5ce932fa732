//! Kernels of CSR and COO matrices, from Python.

use freestone_vector::cell::Number;
use freestone_vector::kernels::coo::{Places, Target, merge, offsets, reduce, transpose};
use freestone_vector::kernels::csr::multiply;
use freestone_vector::kernels::csr::rows::Rows;
use freestone_vector::kernels::csr::transpose::transpose as csr_transposed;
use freestone_vector::kernels::dense::binary::Binary;
use freestone_vector::kernels::dense::reduce::Reduce;
use pyo3::prelude::*;

use super::arrays::{Array, Arrays, apart, refused, unknown, with_code, workers_of};

fn places<T: Number>((rows, columns, cells): &Arrays) -> PyResult<Places<'_, T>> {
    let (rows, columns) = (rows.positions()?, columns.positions()?);
    Ok(Places { rows, columns, cells: cells.items()? })
}

fn target<T: Number>((rows, columns, cells): &Arrays) -> PyResult<Target<'_, T>> {
    let (rows, columns) = (rows.positions_mut()?, columns.positions_mut()?);
    Ok(Target { rows, columns, cells: cells.items_mut()? })
}

fn rows<T: Number>((offsets, columns, cells): &Arrays) -> PyResult<Rows<'_, T>> {
    let (offsets, columns) = (offsets.items()?, columns.positions()?);
    Ok(Rows { offsets, columns, cells: cells.items()? })
}

fn all(arrays: &Arrays) -> [&Array; 3] {
    [&arrays.0, &arrays.1, &arrays.2]
}

/// Computes an operation of two sides that keeps zeros; returns how many cells there are.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as PyO3 extracts it
pub fn coo_merge(
    py: Python<'_>,
    name: &str,
    code: u8,
    left: Arrays,
    right: Arrays,
    out: Arrays,
) -> PyResult<usize> {
    let binary = Binary::named(name).ok_or_else(|| unknown("operation", name))?;
    apart(&all(&out), &[all(&left), all(&right)].concat())?;
    with_code!(py, code, T => {
        merge::merge::<T>(binary, places(&left)?, places(&right)?, &mut target(&out)?)
            .map_err(refused)
    })
}

/// Exchanges rows and columns.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as PyO3 extracts it
pub fn coo_transpose(
    py: Python<'_>,
    code: u8,
    width: usize,
    source: Arrays,
    out: Arrays,
) -> PyResult<()> {
    apart(&all(&out), &all(&source))?;
    with_code!(py, code, T => {
        transpose::transpose::<T>(places(&source)?, width, &mut target(&out)?).map_err(refused)
    })
}

/// Reduces the cells of each row, or column.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as PyO3 extracts it
pub fn coo_reduce(
    py: Python<'_>,
    name: &str,
    code: u8,
    across: usize,
    at: Array,
    cells: Array,
    out: Array,
) -> PyResult<()> {
    let how = Reduce::named(name).ok_or_else(|| unknown("reduction", name))?;
    apart(&[&out], &[&at, &cells])?;
    with_code!(py, code, T => {
        reduce::scatter::<T>(how, at.positions()?, cells.items()?, across, out.items_mut()?)
            .map_err(refused)
    })
}

/// Exchanges the rows and columns of a CSR matrix; `out` has offsets, columns and cells.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as PyO3 extracts it
pub fn csr_transpose(py: Python<'_>, code: u8, source: Arrays, out: Arrays) -> PyResult<()> {
    apart(&all(&out), &all(&source))?;
    with_code!(py, code, T => {
        let (columns, cells) = (out.1.positions_mut()?, out.2.items_mut()?);
        csr_transposed(rows::<T>(&source)?, out.0.items_mut()?, columns, cells).map_err(refused)
    })
}

/// Counts where each row begins.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as PyO3 extracts it
pub fn coo_offsets(py: Python<'_>, rows: Array, out: Array) -> PyResult<()> {
    apart(&[&out], &[&rows])?;
    py.detach(|| offsets::of_rows(rows.positions()?, out.items_mut()?).map_err(refused))
}

/// Counts the stored cells of each row of a product of CSR matrices.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as PyO3 extracts it
pub fn csr_product_sizes(
    py: Python<'_>,
    code: u8,
    left: Arrays,
    right: Arrays,
    width: usize,
    workers: usize,
    out: Array,
) -> PyResult<()> {
    let workers = workers_of(workers)?;
    apart(&[&out], &[all(&left), all(&right)].concat())?;
    with_code!(py, code, T => {
        multiply::sizes::<T>(rows(&left)?, rows(&right)?, width, workers, out.items_mut()?)
            .map_err(refused)
    })
}

/// Computes the product of a CSR matrix with a dense matrix of `width` columns.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as PyO3 extracts it
pub fn csr_panel(
    py: Python<'_>,
    code: u8,
    left: Arrays,
    right: Array,
    width: usize,
    workers: usize,
    out: Array,
) -> PyResult<()> {
    let workers = workers_of(workers)?;
    let [offsets, columns, cells] = all(&left);
    apart(&[&out], &[offsets, columns, cells, &right])?;
    with_code!(py, code, T => {
        let (left, right) = (rows::<T>(&left)?, right.items()?);
        multiply::multiply_dense(left, right, width, workers, out.items_mut()?).map_err(refused)
    })
}

/// Computes a product of CSR matrices into offsets, columns and cells.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as PyO3 extracts it
pub fn csr_product(
    py: Python<'_>,
    code: u8,
    left: Arrays,
    right: Arrays,
    width: usize,
    workers: usize,
    out: Arrays,
) -> PyResult<()> {
    let workers = workers_of(workers)?;
    let (offsets, columns, cells) = &out;
    apart(&[columns, cells], &[all(&left), all(&right), [offsets; 3]].concat())?;
    with_code!(py, code, T => {
        let (left, right, offsets) = (rows::<T>(&left)?, rows(&right)?, offsets.items()?);
        let (columns, cells) = (columns.positions_mut()?, cells.items_mut()?);
        multiply::multiply(left, right, width, workers, offsets, columns, cells).map_err(refused)
    })
}
