//! Which place holds which rows, and what has to move when the places change.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 hands over what it has converted")]

use freestone_base::layout::blocks::{block_transfers, even_out, reassign};
use freestone_base::layout::nodes::{crossing, relabel_nodes};
use freestone_base::layout::{
    LayoutError, Relabelling, RowBlocks, RowRuns, Transfer, move_fewest, moved_weight,
    relabel_staying, run_transfers,
};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Source, target, first row, end of the rows.
type Move = (usize, usize, u64, u64);

/// The process of each new place, and what moves.
type Plan = (Vec<usize>, Vec<Move>);

/// Rows dealt to places in order, one contiguous block each; a block may be empty.
#[pyclass(frozen, eq, module = "freestone._native.layout", name = "RowBlocks")]
#[derive(PartialEq)]
pub struct Rows(RowBlocks);

#[pymethods]
impl Rows {
    /// A layout by its table of offsets: one more than there are places.
    #[new]
    fn new(offsets: Vec<u64>) -> PyResult<Self> {
        RowBlocks::from_offsets(offsets).map(Self).map_err(refused)
    }

    /// As many rows for each place as for any other, or one more for the first ones.
    #[staticmethod]
    fn even(rows: u64, places: usize) -> PyResult<Self> {
        RowBlocks::even(rows, places).map(Self).map_err(refused)
    }

    /// Rows in proportion to each place's weight.
    #[staticmethod]
    fn weighted(rows: u64, weights: Vec<f64>) -> PyResult<Self> {
        RowBlocks::weighted(rows, &weights).map(Self).map_err(refused)
    }

    /// Rows so that each place has about the same load.
    #[staticmethod]
    fn by_load(py: Python<'_>, offsets: Vec<u64>, places: usize) -> PyResult<Self> {
        py.detach(|| RowBlocks::by_load(&offsets, places)).map(Self).map_err(refused)
    }

    /// How many places there are.
    #[getter]
    fn places(&self) -> usize {
        self.0.places()
    }

    /// How many rows there are.
    #[getter]
    fn rows(&self) -> u64 {
        self.0.rows()
    }

    /// Where each block begins, and where the last one ends.
    #[getter]
    fn offsets(&self) -> Vec<u64> {
        self.0.offsets().to_vec()
    }

    /// The first row of a place, and the end of its rows.
    fn of(&self, place: usize) -> PyResult<(u64, u64)> {
        require_place(place, self.0.places())?;
        let rows = self.0.of(place);
        Ok((rows.start, rows.end))
    }

    /// The same as the only run of rows of a place.
    fn runs(&self, place: usize) -> PyResult<Vec<(u64, u64)>> {
        self.of(place).map(|rows| vec![rows])
    }

    fn __getnewargs__(&self) -> (Vec<u64>,) {
        (self.offsets(),)
    }

    fn __len__(&self) -> usize {
        self.0.places()
    }

    fn __repr__(&self) -> String {
        format!("RowBlocks({} rows on {} places)", self.0.rows(), self.0.places())
    }
}

/// Rows dealt to places in runs; a place may have several of them, or none.
#[pyclass(frozen, eq, module = "freestone._native.layout", name = "RowRuns")]
#[derive(PartialEq)]
pub struct Runs(RowRuns);

#[pymethods]
impl Runs {
    /// A layout by the table of where its runs begin, and where the last one ends, and by the place
    /// of each.
    #[new]
    fn new(offsets: Vec<u64>, place_of: Vec<usize>, places: usize) -> PyResult<Self> {
        RowRuns::new(offsets, place_of, places).map(Self).map_err(refused)
    }

    /// How many places there are.
    #[getter]
    fn places(&self) -> usize {
        self.0.places()
    }

    /// How many rows there are.
    #[getter]
    fn rows(&self) -> u64 {
        self.0.rows()
    }

    /// Where each run begins, and where the last one ends.
    #[getter]
    fn offsets(&self) -> Vec<u64> {
        self.0.bounds().to_vec()
    }

    /// The place of each run.
    #[getter]
    fn place_of(&self) -> Vec<usize> {
        self.0.runs().map(|(_, place)| place).collect()
    }

    /// The first row and the end of each run of a place.
    fn runs(&self, place: usize) -> PyResult<Vec<(u64, u64)>> {
        require_place(place, self.0.places())?;
        Ok(self.0.of(place).into_iter().map(|rows| (rows.start, rows.end)).collect())
    }

    fn __len__(&self) -> usize {
        self.0.places()
    }

    fn __getnewargs__(&self) -> (Vec<u64>, Vec<usize>, usize) {
        (self.offsets(), self.place_of(), self.0.places())
    }

    fn __repr__(&self) -> String {
        let (rows, runs) = (self.0.rows(), self.0.bounds().len() - 1);
        format!("RowRuns({rows} rows in {runs} runs on {} places)", self.0.places())
    }
}

/// Rows in one block to a place, or in runs.
#[derive(FromPyObject)]
pub enum Layout<'py> {
    /// One block to a place.
    Blocks(PyRef<'py, Rows>),
    /// Any number of runs to a place.
    Runs(PyRef<'py, Runs>),
}

impl Layout<'_> {
    fn to_runs(&self) -> RowRuns {
        match self {
            Self::Blocks(blocks) => RowRuns::from(&blocks.0),
            Self::Runs(runs) => runs.0.clone(),
        }
    }
}

fn require_place(place: usize, places: usize) -> PyResult<()> {
    if place < places {
        return Ok(());
    }
    let problem = format!("there is no place {place}: there are {places}, from 0 on");
    Err(PyIndexError::new_err(problem))
}

/// All common rows of an old and a new place, in the order of the rows.
#[pyfunction]
pub fn layout_transfers(
    py: Python<'_>,
    before: Layout<'_>,
    after: Layout<'_>,
) -> PyResult<Vec<Move>> {
    let (before, after) = (before.to_runs(), after.to_runs());
    let found = py.detach(|| run_transfers(&before, &after)).map_err(refused)?;
    Ok(moves(&found))
}

/// As many rows for each place as for any other, or one more, so that no such layout moves fewer.
#[pyfunction]
pub fn layout_move_fewest(
    before: Layout<'_>,
    becomes: Vec<Option<usize>>,
    places: usize,
) -> PyResult<Runs> {
    move_fewest(&before.to_runs(), &becomes, places).map(Runs).map_err(refused)
}

/// Which process becomes which place so that the least moves, among those that may stay.
#[pyfunction]
#[pyo3(signature = (before, after, *, offsets = None, may_stay = None))]
pub fn layout_relabel(
    py: Python<'_>,
    before: &Rows,
    after: &Rows,
    offsets: Option<Vec<u64>>,
    may_stay: Option<Vec<bool>>,
) -> PyResult<Plan> {
    let may_stay = may_stay.unwrap_or_else(|| vec![true; before.0.places()]);
    let found = py.detach(|| relabel_staying(&before.0, &after.0, offsets.as_deref(), &may_stay));
    found.map(|plan| parts(&plan)).map_err(refused)
}

/// The same so that the busiest network card carries little; all processes have a node.
#[pyfunction]
#[pyo3(signature = (before, after, may_stay, node_of, *, offsets = None))]
pub fn layout_relabel_nodes(
    py: Python<'_>,
    before: &Rows,
    after: &Rows,
    may_stay: Vec<bool>,
    node_of: Vec<usize>,
    offsets: Option<Vec<u64>>,
) -> PyResult<Plan> {
    let offsets = offsets.as_deref();
    let found = py.detach(|| relabel_nodes(&before.0, &after.0, offsets, &may_stay, &node_of));
    found.map(|plan| parts(&plan)).map_err(refused)
}

/// What all transfers between different processes weigh.
#[pyfunction]
#[pyo3(signature = (moves, *, offsets = None))]
pub fn layout_moved(moves: Vec<Move>, offsets: Option<Vec<u64>>) -> PyResult<u64> {
    moved_weight(&transfers_of(&moves), offsets.as_deref()).map_err(refused)
}

/// What crosses between the nodes of processes: in all, and on the busiest network card.
#[pyfunction]
#[pyo3(signature = (moves, node_of, *, offsets = None))]
pub fn layout_crossing(
    moves: Vec<Move>,
    node_of: Vec<usize>,
    offsets: Option<Vec<u64>>,
) -> PyResult<(u64, u64)> {
    let found = crossing(&transfers_of(&moves), &node_of, offsets.as_deref()).map_err(refused)?;
    Ok((found.total, found.busiest))
}

/// Who shall have each block, so that all have as many and as few as possible change hands.
#[pyfunction]
pub fn layout_reassign(owners: Vec<usize>, places: usize) -> PyResult<Vec<usize>> {
    reassign(&owners, places).map_err(refused)
}

/// Who shall have each block, so that loads are in proportion to shares and little changes hands.
/// Owners and weights are the bytes of arrays of i64, and so is what comes back.
#[pyfunction]
pub fn layout_even_out<'py>(
    py: Python<'py>,
    owners: &[u8],
    weights: &[u8],
    shares: Vec<u32>,
) -> PyResult<Bound<'py, PyBytes>> {
    let owners: Vec<usize> = numbers(owners).map(|owner| owner as usize).collect();
    let weights: Vec<u64> = numbers(weights).collect();
    let after = py.detach(|| even_out(&owners, &weights, &shares)).map_err(refused)?;
    let flat: Vec<u8> = after.iter().flat_map(|owner| (*owner as u64).to_ne_bytes()).collect();
    Ok(PyBytes::new(py, &flat))
}

fn numbers(flat: &[u8]) -> impl Iterator<Item = u64> + '_ {
    flat.as_chunks().0.iter().map(|bytes| u64::from_ne_bytes(*bytes))
}

/// What moves between two owners of each block.
#[pyfunction]
pub fn layout_block_transfers(
    blocks: &Rows,
    before: Vec<usize>,
    after: Vec<usize>,
) -> PyResult<Vec<Move>> {
    let found = block_transfers(&blocks.0, &before, &after).map_err(refused)?;
    Ok(moves(&found))
}

fn moves(transfers: &[Transfer]) -> Vec<Move> {
    let one = |t: &Transfer| (t.source, t.target, t.rows.start, t.rows.end);
    transfers.iter().map(one).collect()
}

fn parts(plan: &Relabelling) -> Plan {
    (plan.process_of.clone(), moves(&plan.transfers))
}

fn transfers_of(moves: &[Move]) -> Vec<Transfer> {
    let one = |m: &Move| Transfer { source: m.0, target: m.1, rows: m.2..m.3 };
    moves.iter().map(one).collect()
}

fn refused(error: LayoutError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
