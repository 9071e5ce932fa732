//! Random numbers, drawn into arrays of Python.

use freestone_vector::random::{Drawn, fill, sample_reals, sample_wholes};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

fn cells<'a, T: Element>(py: Python<'a>, buffer: &'a PyBuffer<T>) -> PyResult<&'a mut [T]> {
    let found = buffer.as_mut_slice(py);
    let cells =
        found.ok_or_else(|| PyValueError::new_err("the array has gaps, or is read-only"))?;
    // SAFETY: the array was made for this call, and nobody else has it yet.
    Ok(unsafe { std::slice::from_raw_parts_mut(cells.as_ptr().cast_mut().cast(), cells.len()) })
}

fn filled<'py, T: Element + Drawn + FromPyObjectOwned<'py>>(
    out: &Bound<'py, PyAny>,
    (low, high): (&Bound<'py, PyAny>, &Bound<'py, PyAny>),
    sparsity: f64,
    seed: i64,
) -> PyResult<bool> {
    let Ok(buffer) = PyBuffer::<T>::get(out) else {
        return Ok(false);
    };
    let convert = |value: &Bound<'py, PyAny>| {
        value.extract::<T>().map_err(|_| PyValueError::new_err("min or max is no such number"))
    };
    fill(cells(out.py(), &buffer)?, convert(low)?, convert(high)?, sparsity, seed);
    Ok(true)
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
    let ends = (low, high);
    if filled::<f64>(out, ends, sparsity, seed)?
        || filled::<f32>(out, ends, sparsity, seed)?
        || filled::<i64>(out, ends, sparsity, seed)?
    {
        return Ok(());
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
        sample_reals(cells(py, &buffer)?, range, seed);
        return Ok(());
    }
    let buffer = PyBuffer::<i64>::get(out)?;
    sample_wholes(cells(py, &buffer)?, range as i64, again, seed);
    Ok(())
}
