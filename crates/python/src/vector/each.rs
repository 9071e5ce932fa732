//! Operations on each element, from Python, without a pipeline.

use freestone_vector::kernels::check_length;
use freestone_vector::kernels::dense::binary::{self, Binary};
use freestone_vector::kernels::dense::side::Side;
use freestone_vector::kernels::dense::unary::{self, Unary};
use pyo3::prelude::*;

use super::arrays::{Array, apart, refused, unknown, with_code};

/// Computes an operation of each element, in this thread.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as PyO3 extracts it
pub fn map_one(py: Python<'_>, name: &str, code: u8, cells: Array, out: Array) -> PyResult<()> {
    let unary = Unary::named(name).ok_or_else(|| unknown("operation", name))?;
    apart(&[&out], &[&cells])?;
    with_code!(py, code, T => {
        let (cells, out) = (cells.items::<T>()?, out.items_mut::<T>()?);
        check_length("the elements", cells.len(), out.len()).map_err(refused)?;
        unary::run(unary, cells, out);
        Ok(())
    })
}

/// Computes an operation of the elements of two arrays, in this thread.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as PyO3 extracts it
pub fn map_two(
    py: Python<'_>,
    name: &str,
    code: u8,
    left: Array,
    right: Array,
    out: Array,
) -> PyResult<()> {
    let binary = Binary::named(name).ok_or_else(|| unknown("operation", name))?;
    apart(&[&out], &[&left, &right])?;
    with_code!(py, code, T => {
        let (left, right) = (left.items::<T>()?, right.items::<T>()?);
        let out = out.items_mut::<T>()?;
        check_length("the left side", left.len(), out.len()).map_err(refused)?;
        check_length("the right side", right.len(), out.len()).map_err(refused)?;
        binary::compute(binary, Side::Each(left), Side::Each(right), out).map_err(refused)
    })
}
