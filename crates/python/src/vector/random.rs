//! Random numbers, drawn into arrays of Python.

use std::sync::{Mutex, PoisonError};

use freestone_vector::cell::Cell;
use freestone_vector::random::{self, sample_reals, sample_wholes};
use pyo3::prelude::*;

use super::raw::{Raw, cell_of, items_mut, unknown};

#[derive(Clone)]
enum Kind {
    Real(random::Drawing<f64>),
    Single(random::Drawing<f32>),
    Whole(random::Drawing<i64>),
}

/// The cells of a random matrix of float64, float32 or int64, drawn in order.
#[pyclass(frozen)]
pub struct Drawing {
    kind: Mutex<Kind>,
}

#[pymethods]
impl Drawing {
    /// Begins with the first of `count` cells.
    #[new]
    fn new(
        code: u8,
        count: usize,
        low: &Bound<'_, PyAny>,
        high: &Bound<'_, PyAny>,
        sparsity: f64,
        seed: i64,
    ) -> PyResult<Self> {
        macro_rules! of {
            ($kind:ident) => {
                Kind::$kind(random::Drawing::new(
                    count,
                    low.extract()?,
                    high.extract()?,
                    sparsity,
                    seed,
                ))
            };
        }
        let kind = match cell_of(code)? {
            Cell::F64 => of!(Real),
            Cell::F32 => of!(Single),
            Cell::I64 => of!(Whole),
            _ => return Err(unknown("random cell type", &code.to_string())),
        };
        Ok(Self { kind: Mutex::new(kind) })
    }

    /// Returns another that goes on from the same cell.
    fn copy(&self) -> Self {
        let kind = self.kind.lock().unwrap_or_else(PoisonError::into_inner);
        Self { kind: Mutex::new(kind.clone()) }
    }

    /// Fills an array of such cells, without gaps, with those that come next.
    fn fill(&self, py: Python<'_>, out: Raw) {
        py.detach(|| {
            let mut kind = self.kind.lock().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: the module's arrays are as it says.
            unsafe {
                match &mut *kind {
                    Kind::Real(drawing) => drawing.fill(items_mut(out)),
                    Kind::Single(drawing) => drawing.fill(items_mut(out)),
                    Kind::Whole(drawing) => drawing.fill(items_mut(out)),
                }
            }
        });
    }
}

/// Draws numbers below `range` into an array of float64 or int64.
#[pyfunction]
pub fn sample(
    py: Python<'_>,
    code: u8,
    out: Raw,
    range: f64,
    again: bool,
    seed: i64,
) -> PyResult<()> {
    let cell = cell_of(code)?;
    // SAFETY: the module's arrays are as it says.
    py.detach(|| unsafe {
        match cell {
            Cell::F64 => sample_reals(items_mut(out), range, seed),
            Cell::I64 => sample_wholes(items_mut(out), range as i64, again, seed),
            _ => return Err(unknown("random cell type", &code.to_string())),
        }
        Ok(())
    })
}
