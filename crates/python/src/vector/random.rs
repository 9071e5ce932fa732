//! Random numbers, drawn into arrays of Python.

use freestone_vector::random::{Drawn, fill, sample_reals, sample_wholes};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

fn filled<T: Element + Drawn + Send + Sync>(
    out: &Bound<'_, PyAny>,
    low: T,
    high: T,
    sparsity: f64,
    seed: i64,
) -> PyResult<()> {
    let buffer = PyBuffer::<T>::get(out)?;
    let mut cells = vec![T::NOTHING; buffer.item_count()];
    out.py().detach(|| fill(&mut cells, low, high, sparsity, seed));
    buffer.copy_from_slice(out.py(), &cells)
}

/// Fills an array of float64, float32 or int64 with random numbers.
#[pyfunction]
pub fn rand_dense(
    out: &Bound<'_, PyAny>,
    low: &Bound<'_, PyAny>,
    high: &Bound<'_, PyAny>,
    sparsity: f64,
    seed: i64,
) -> PyResult<()> {
    if PyBuffer::<f64>::get(out).is_ok() {
        return filled::<f64>(out, low.extract()?, high.extract()?, sparsity, seed);
    }
    if PyBuffer::<f32>::get(out).is_ok() {
        return filled::<f32>(out, low.extract()?, high.extract()?, sparsity, seed);
    }
    if PyBuffer::<i64>::get(out).is_ok() {
        return filled::<i64>(out, low.extract()?, high.extract()?, sparsity, seed);
    }
    Err(PyValueError::new_err("random numbers are drawn as float64, float32 or int64"))
}

/// Draws numbers below `range` into an array of float64 or int64.
#[pyfunction]
pub fn sample(
    py: Python<'_>,
    out: &Bound<'_, PyAny>,
    range: f64,
    again: bool,
    seed: i64,
) -> PyResult<()> {
    if let Ok(buffer) = PyBuffer::<f64>::get(out) {
        let mut cells = vec![0.0; buffer.item_count()];
        sample_reals(&mut cells, range, seed);
        return buffer.copy_from_slice(py, &cells);
    }
    let buffer = PyBuffer::<i64>::get(out)?;
    let mut cells = vec![0; buffer.item_count()];
    sample_wholes(&mut cells, range as i64, again, seed);
    buffer.copy_from_slice(py, &cells)
}
