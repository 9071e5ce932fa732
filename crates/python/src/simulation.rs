//! A graph on simulated workers, for tests of users' graphs.

use freestone_simulate::{Fate, Faults, Graph, RunEnd, Trial, try_out};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Nanoseconds that a task takes, bytes of its output, and the tasks before it that it needs.
type Task = (u64, u64, Vec<u32>);

/// Task, worker, when it began and ended in nanoseconds, and how it ended.
type Ran = (u32, u32, u64, u64, &'static str);

/// What ran, what became of each wanted output, how long it all took, and what was wrong.
type Report = (Vec<Ran>, Vec<(&'static str, String)>, u64, Vec<String>);

/// Runs tasks on simulated workers.
#[pyfunction]
#[pyo3(signature = (
    tasks, wanted, *, workers, slots, retries, latency_ns, bandwidth, losses, replaced_after_ns,
    raising, crashes, slow, broken_transfers, seed
))]
#[expect(clippy::too_many_arguments, reason = "one for each setting; Python groups them")]
pub fn simulate_graph(
    py: Python<'_>,
    tasks: Vec<Task>,
    wanted: Vec<u32>,
    workers: u32,
    slots: u32,
    retries: u32,
    latency_ns: (u64, u64),
    bandwidth: f64,
    losses: Vec<(u64, u32)>,
    replaced_after_ns: Option<u64>,
    raising: f64,
    crashes: f64,
    slow: f64,
    broken_transfers: f64,
    seed: u64,
) -> PyResult<Report> {
    let graph = graph_of(tasks)?;
    if wanted.iter().any(|task| *task as usize >= graph.len())
        || losses.iter().any(|(_, worker)| *worker >= workers)
        || latency_ns.0 > latency_ns.1
    {
        let problem = "a wanted task or a lost worker is unknown, or latencies are in wrong order";
        return Err(PyValueError::new_err(problem));
    }
    let faults = Faults {
        raise: raising,
        kill: crashes,
        slow,
        fetch: broken_transfers,
        ..Faults::default()
    };
    let trial = Trial {
        graph,
        wanted,
        workers,
        slots,
        retries,
        latency_ns,
        bandwidth,
        losses,
        replaced_after_ns,
        faults,
        seed,
    };
    let report = py.detach(|| try_out(&trial));
    let runs = report
        .runs
        .iter()
        .map(|(task, run)| (*task, run.worker.0, run.start_ns, run.end_ns, name_of(run.end)));
    let fates = report.fates.into_iter().map(described);
    Ok((runs.collect(), fates.collect(), report.makespan_ns, report.violations))
}

fn graph_of(tasks: Vec<Task>) -> PyResult<Graph> {
    let mut graph = Graph::default();
    for (index, (duration_ns, nbytes, inputs)) in tasks.into_iter().enumerate() {
        if inputs.iter().any(|input| *input as usize >= index) {
            return Err(PyValueError::new_err(format!("task {index} needs one that comes later")));
        }
        graph.add(duration_ns, nbytes, &inputs);
    }
    Ok(graph)
}

fn name_of(end: RunEnd) -> &'static str {
    match end {
        RunEnd::Done => "done",
        RunEnd::Failed => "failed",
        RunEnd::Cut => "cut",
    }
}

fn described(fate: Fate) -> (&'static str, String) {
    match fate {
        Fate::Ready => ("ready", String::new()),
        Fate::Wrong => ("wrong", "it has a value that nothing should have".to_owned()),
        Fate::Failed(reason) => ("failed", reason),
        Fate::Missing => ("missing", "nothing was heard of it".to_owned()),
    }
}
