//! The names that Python gives to what Rust enumerates; `freestone.enumerations` is made of them.

use freestone_base::task_sizes::SCHEMES;
use freestone_vector::cell::CELLS;
use freestone_vector::kernels::dense::{binary::BINARIES, reduce::REDUCTIONS, unary::UNARIES};
use freestone_vector::numa::POLICIES;
use freestone_vector::queues::{LAYOUTS, VICTIMS};
use pyo3::prelude::*;

use crate::figures::{FAILURES_OF_ATTEMPTS, FAILURES_OF_TASKS};
use crate::options::{ISOLATIONS, KEEPS};

type Enumeration = (&'static str, Vec<&'static str>);

/// Returns what is enumerated, and its names, in order.
#[pyfunction]
pub fn enumerations() -> Vec<Enumeration> {
    let mut failures = [FAILURES_OF_ATTEMPTS, FAILURES_OF_TASKS].concat();
    failures.sort_unstable();
    failures.dedup();
    vec![
        ("isolation", names(&ISOLATIONS)),
        ("keep", names(&KEEPS)),
        ("failure", failures),
        ("scheme", names(&SCHEMES)),
        ("layout", names(&LAYOUTS)),
        ("victims", names(&VICTIMS)),
        ("placement", names(&POLICIES)),
        ("cell", CELLS.iter().map(|cell| cell.name()).collect()),
        ("binary", names(&BINARIES)),
        ("unary", names(&UNARIES)),
        ("reduction", REDUCTIONS.iter().map(|reduce| reduce.name()).collect()),
    ]
}

fn names<T>(table: &[(&'static str, T)]) -> Vec<&'static str> {
    table.iter().map(|(name, _)| *name).collect()
}
