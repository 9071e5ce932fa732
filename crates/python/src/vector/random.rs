//! Random numbers, drawn into arrays of Python.

use std::sync::{Mutex, PoisonError};

use freestone_vector::cell::Cell;
use freestone_vector::random::{self, sample_reals, sample_wholes};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;

use super::arrays::{Array, cell_of, refused, unknown};

#[derive(Clone)]
enum Kind {
    Real(random::Drawing<f64>),
    Single(random::Drawing<f32>),
    Whole(random::Drawing<i64>),
}

/// The cells of a random matrix of float64, float32 or int64, drawn in order.
#[pyclass(frozen, module = "freestone._native.vector")]
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
                random::Drawing::new(count, low.extract()?, high.extract()?, sparsity, seed)
                    .map(Kind::$kind)
            };
        }
        let kind = match cell_of(code)? {
            Cell::F64 => of!(Real),
            Cell::F32 => of!(Single),
            Cell::I64 => of!(Whole),
            _ => return Err(unknown("random cell type", &code.to_string())),
        };
        Ok(Self { kind: Mutex::new(kind.map_err(refused)?) })
    }

    /// Returns another that goes on from the same cell.
    fn copy(&self) -> Self {
        let kind = self.kind.lock().unwrap_or_else(PoisonError::into_inner);
        Self { kind: Mutex::new(kind.clone()) }
    }

    /// Fills an array of such cells, without gaps, with those that come next.
    #[allow(clippy::needless_pass_by_value)] // as PyO3 extracts it
    fn fill(&self, py: Python<'_>, out: Array) -> PyResult<()> {
        py.detach(|| {
            let mut kind = self.kind.lock().unwrap_or_else(PoisonError::into_inner);
            match &mut *kind {
                Kind::Real(drawing) => drawing.fill(out.items_mut()?),
                Kind::Single(drawing) => drawing.fill(out.items_mut()?),
                Kind::Whole(drawing) => drawing.fill(out.items_mut()?),
            }
            Ok(())
        })
    }
}

/// Draws numbers below `range` into an array of float64 or int64.
///
/// Without `again`, none of the whole numbers is drawn twice.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as PyO3 extracts it
pub fn sample(
    py: Python<'_>,
    code: u8,
    out: Array,
    range: f64,
    again: bool,
    seed: i64,
) -> PyResult<()> {
    let cell = cell_of(code)?;
    py.detach(|| {
        match cell {
            Cell::F64 => sample_reals(out.items_mut()?, range, seed),
            Cell::I64 => {
                let out = out.items_mut()?;
                let below = range as i64;
                if below < 1 || (!again && out.len() as u64 > below as u64) {
                    let problem = format!("{} different numbers below {range}", out.len());
                    return Err(PyValueError::new_err(format!("there are no {problem}")));
                }
                let count = out.len();
                sample_wholes(out, below, again, seed).map_err(|_| {
                    let problem = format!("no memory for a sample of {count} numbers");
                    PyMemoryError::new_err(problem)
                })?;
            }
            _ => return Err(unknown("random cell type", &code.to_string())),
        }
        Ok(())
    })
}
