//! What the manager tells, as Python dicts; the classes around them are Python's.

use freestone_base::{Resources, WorkerId};
use freestone_core::manager::{
    Arguments, Attempt, DURATION_BOUNDS_NS, Explanation, Failure, Fields, Overview, Pause,
    RecentFailure, Statistics, TaskFigures, TaskGraph, Why, WorkerFigures,
};
use freestone_core::wire::{FileProblem, MAX_FRAME, TaskFailure, WorkerStatus};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::fmt::Display;

/// A dict of the named values.
macro_rules! dict {
    ($py:expr, { $($key:literal: $value:expr),* $(,)? }) => {{
        let dict = PyDict::new($py);
        $(dict.set_item($key, $value)?;)*
        dict
    }};
}

/// Names each variant of a failure, and lists the names: a variant without one does not compile.
macro_rules! kinds {
    ($list:ident, $kind_of:ident, $failure:ty, { $($variant:pat => $kind:literal),* $(,)? }) => {
        /// The kinds of these failures, as Python reads them.
        pub const $list: &[&str] = &[$($kind),*];

        fn $kind_of(failure: &$failure) -> &'static str {
            match failure {
                $($variant => $kind,)*
            }
        }
    };
}

kinds!(FAILURES_OF_TASKS, kind_of_task, Why, {
    Why::Attempt(_) => "raised",
    Why::Killed { .. } => "killed",
    Why::Unschedulable { .. } => "unschedulable",
    Why::WorkerAbsent { .. } => "worker_absent",
    Why::TooManyCalls { .. } => "too_many_calls",
    Why::UnknownInput(_) => "unknown_input",
    Why::InputLost(_) => "input_lost",
    Why::Interrupted => "interrupted",
    Why::Cancelled => "cancelled",
    Why::Closed => "closed",
});

kinds!(FAILURES_OF_ATTEMPTS, kind_of_attempt, TaskFailure, {
    TaskFailure::Raised(_) => "raised",
    TaskFailure::Killed { .. } => "killed",
    TaskFailure::TimedOut { .. } => "timed_out",
    TaskFailure::MemoryExceeded { .. } => "memory_exceeded",
    TaskFailure::DiskExceeded { .. } => "disk_exceeded",
    TaskFailure::Cancelled => "cancelled",
    TaskFailure::InputLost { .. } => "input_lost",
    TaskFailure::StorageFull { .. } => "storage_full",
    TaskFailure::File { problem: FileProblem::Missing, .. } => "file_missing",
    TaskFailure::File { problem: FileProblem::Unreadable, .. } => "file_unreadable",
    TaskFailure::File { problem: FileProblem::Changed(_), .. } => "file_changed",
    TaskFailure::TooLarge { .. } => "too_large",
});

/// A failure as `freestone.errors.failures.error_of` takes it.
pub fn failure(py: Python<'_>, failure: &Failure) -> PyResult<Py<PyAny>> {
    let dict = dict!(py, {
        "label": &failure.label,
        "name": failure.name.to_string(),
        "worker": failure.worker.map(|worker| worker.to_string()),
        "attempts": failure.attempts,
    });
    match &failure.why {
        Why::Attempt(last) => attempt_failure(&dict, last)?,
        Why::Killed { kills, last } => {
            attempt_failure(&dict, last)?;
            dict.set_item("kills", kills)?;
        }
        Why::Unschedulable { needs, largest } => {
            dict.set_item("needs", resources(py, needs)?)?;
            dict.set_item("largest", resources(py, largest)?)?;
        }
        Why::WorkerAbsent { worker, gone_ns, present } => {
            dict.set_item("absent", worker.to_string())?;
            dict.set_item("gone_s", gone_ns.map(|gone_ns| gone_ns as f64 / 1e9))?;
            dict.set_item("present", labels(present))?;
        }
        Why::TooManyCalls { limit } => dict.set_item("limit", limit)?,
        Why::UnknownInput(name) | Why::InputLost(name) => {
            dict.set_item("input", name.to_string())?;
        }
        Why::Interrupted | Why::Cancelled | Why::Closed => {}
    }
    let kind = match &failure.why {
        Why::Attempt(last) => kind_of_attempt(last),
        why => kind_of_task(why),
    };
    dict.set_item("kind", kind)?;
    Ok(dict.into_any().unbind())
}

fn attempt_failure(dict: &Bound<'_, PyDict>, failure: &TaskFailure) -> PyResult<()> {
    let py = dict.py();
    let fields = match failure {
        TaskFailure::Raised(raised) => dict!(py, {
            "pickled": PyBytes::new(py, raised.pickled.as_slice()),
            "type": &raised.kind,
            "message": &raised.message,
            "traceback": &raised.traceback,
            "in_encoding": raised.in_encoding,
        }),
        TaskFailure::Killed { signal, status } => {
            dict!(py, { "signal": signal, "status": status, "kills": 1 })
        }
        TaskFailure::TimedOut { timeout_ns } => {
            dict!(py, { "timeout_s": *timeout_ns as f64 / 1e9 })
        }
        TaskFailure::MemoryExceeded { limit } | TaskFailure::DiskExceeded { limit } => {
            dict!(py, { "limit": limit })
        }
        TaskFailure::Cancelled => PyDict::new(py),
        TaskFailure::InputLost { name } => {
            dict!(py, { "input": name.to_string() })
        }
        TaskFailure::StorageFull { needed, free, folder } => dict!(py, {
            "needed": needed, "free": free, "folder": folder,
        }),
        TaskFailure::File { path, problem } => {
            dict!(py, { "path": path, "reason": problem.to_string() })
        }
        TaskFailure::TooLarge { nbytes, is_result } => dict!(py, {
            "nbytes": nbytes, "limit": MAX_FRAME, "is_result": is_result,
        }),
    };
    dict.update(fields.as_mapping())
}

fn resources<'py>(py: Python<'py>, resources: &Resources) -> PyResult<Bound<'py, PyDict>> {
    let dict = dict!(py, {
        "cores": resources.cores,
        "gpus": resources.gpus,
        "memory": resources.memory,
        "disk": resources.disk,
    });
    for (name, amount) in resources.custom.iter() {
        dict.set_item(name, amount)?;
    }
    Ok(dict)
}

fn status<'py>(py: Python<'py>, status: &WorkerStatus) -> PyResult<Bound<'py, PyDict>> {
    let mut dict = Dict(PyDict::new(py));
    status.write_fields(&mut dict)?;
    Ok(dict.0)
}

fn worker<'py>(py: Python<'py>, figures: &WorkerFigures) -> PyResult<Bound<'py, PyDict>> {
    let executors = PyDict::new(py);
    for (pid, nbytes) in &figures.executors {
        executors.set_item(pid, nbytes)?;
    }
    Ok(dict!(py, {
        "worker": figures.worker.to_string(),
        "pid": figures.pid,
        "host": &figures.host,
        "folder": &figures.folder,
        "address": figures.address.to_string(),
        "resources": resources(py, &figures.resources)?,
        "free": resources(py, &figures.free)?,
        "slots": figures.slots,
        "leaving": figures.leaving,
        "assigned": figures.assigned,
        "done": figures.done,
        "blocks": figures.blocks,
        "nbytes": figures.nbytes,
        "executors": executors,
        "status": status(py, &figures.status)?,
    }))
}

/// The figures of a run.
pub fn statistics(py: Python<'_>, figures: &Statistics) -> PyResult<Py<PyAny>> {
    let workers = PyList::empty(py);
    for figures in &figures.workers {
        workers.append(worker(py, figures)?)?;
    }
    Ok(dict!(py, {
        "done": figures.done,
        "failed": figures.failed,
        "answered": figures.answered,
        "retried": figures.retried,
        "recovered": figures.recovered,
        "waiting": figures.waiting,
        "ready": figures.ready,
        "assigned": figures.assigned,
        "stolen": figures.stolen,
        "transfers": figures.transfers,
        "transferred_nbytes": figures.transferred_nbytes,
        "moving": figures.moving,
        "inline_nbytes": figures.inline_nbytes,
        "tasks": figures.tasks,
        "blocks": figures.blocks,
        "busy_ns": figures.busy_ns,
        "workers": workers,
    })
    .into_any()
    .unbind())
}

fn attempt<'py>(py: Python<'py>, attempt: &Attempt) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py, {
        "worker": attempt.worker.to_string(),
        "sent_ns": attempt.sent_ns,
        "start_ns": attempt.start_ns,
        "duration_ns": attempt.duration_ns,
        "ended": &attempt.ended,
    }))
}

fn labels(workers: &[WorkerId]) -> Vec<String> {
    workers.iter().map(ToString::to_string).collect()
}

/// Where blocks are.
pub fn locations(py: Python<'_>, locations: &[Vec<WorkerId>]) -> PyResult<Py<PyAny>> {
    let lists: Vec<_> = locations.iter().map(|workers| labels(workers)).collect();
    Ok(lists.into_pyobject(py)?.unbind())
}

/// Where blocks are, and their bytes, as native `i64`s one after the other: where the workers of
/// each begin, the workers, and the bytes.
pub fn flat_locations(locations: &[Vec<WorkerId>], nbytes: &[i64]) -> [Vec<u8>; 3] {
    let mut starts = Vec::with_capacity(8 * (locations.len() + 1));
    let mut workers = Vec::with_capacity(8 * locations.len());
    let mut count = 0_i64;
    starts.extend_from_slice(&count.to_ne_bytes());
    for holders in locations {
        count += holders.len().cast_signed() as i64;
        starts.extend_from_slice(&count.to_ne_bytes());
        for worker in holders {
            workers.extend_from_slice(&i64::from(worker.0).to_ne_bytes());
        }
    }
    [starts, workers, nbytes.iter().flat_map(|nbytes| nbytes.to_ne_bytes()).collect()]
}

/// A task's life.
pub fn explanation(py: Python<'_>, explanation: &Explanation) -> PyResult<Py<PyAny>> {
    let attempts = PyList::empty(py);
    for one in &explanation.attempts {
        attempts.append(attempt(py, one)?)?;
    }
    let waits_for: Vec<_> = explanation.waits_for.iter().map(ToString::to_string).collect();
    Ok(dict!(py, {
        "stage": explanation.stage.as_ref(),
        "label": &explanation.label,
        "arguments": arguments(py, explanation.arguments.as_ref()),
        "pause": pause(explanation.pause.as_ref()),
        "waits_for": waits_for,
        "awaited": list(py, &explanation.awaited, task)?,
        "ahead": explanation.ahead,
        "resources": resources(py, &explanation.resources)?,
        "lacking": &explanation.lacking,
        "attempts": attempts,
        "attempted": explanation.attempted,
        "replicas": labels(&explanation.replicas),
        "nbytes": explanation.nbytes,
    })
    .into_any()
    .unbind())
}

fn list<'py, T>(
    py: Python<'py>,
    items: &[T],
    dict_of: impl Fn(Python<'py>, &T) -> PyResult<Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for item in items {
        list.append(dict_of(py, item)?)?;
    }
    Ok(list)
}

fn task<'py>(py: Python<'py>, task: &TaskFigures) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py, {
        "name": task.name.to_string(),
        "label": &task.label,
        "arguments": arguments(py, task.arguments.as_ref()),
        "stage": task.stage.as_ref(),
        "worker": task.worker.map(|worker| worker.to_string()),
        "running": task.running,
        "since_ns": task.since_ns,
        "missing": task.missing,
        "pause": pause(task.pause.as_ref()),
    }))
}

/// As the client encoded them, and what makes the inputs.
fn arguments<'a, 'py>(
    py: Python<'py>,
    arguments: Option<&'a Arguments>,
) -> Option<(Bound<'py, PyBytes>, &'a [String])> {
    let Arguments { bytes, inputs } = arguments?;
    Some((PyBytes::new(py, bytes.as_slice()), inputs))
}

/// What a call waits for, and since when.
fn pause(pause: Option<&Pause>) -> Option<(&str, u64)> {
    pause.map(|pause| (&*pause.what, pause.since_ns))
}

fn recent_failure<'py>(py: Python<'py>, failure: &RecentFailure) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py, {
        "at_ns": failure.at_ns,
        "label": &failure.label,
        "name": failure.name.to_string(),
        "worker": failure.worker.map(|worker| worker.to_string()),
        "attempts": failure.attempts,
        "ended": failure.ended.as_ref(),
        "message": &failure.message,
        "traceback": &failure.traceback,
    }))
}

/// Columns of nodes: of a run with thousands of them, a dict for each would take long.
fn task_graph<'py>(py: Python<'py>, graph: &TaskGraph) -> PyResult<Bound<'py, PyDict>> {
    let nodes = &graph.nodes;
    let (from, to): (Vec<u32>, Vec<u32>) = graph.edges.iter().copied().unzip();
    Ok(dict!(py, {
        "unfinished": graph.unfinished,
        "names": nodes.iter().map(|node| node.name.to_string()).collect::<Vec<_>>(),
        "functions": nodes.iter().map(|node| node.function).collect::<Vec<_>>(),
        "stages": nodes.iter().map(|node| node.stage.as_ref()).collect::<Vec<_>>(),
        "workers": nodes
            .iter()
            .map(|node| node.worker.map(|worker| worker.to_string()))
            .collect::<Vec<_>>(),
        "from": from,
        "to": to,
        "between": &graph.between,
    }))
}

/// A run by function.
pub fn overview(py: Python<'_>, overview: &Overview) -> PyResult<Py<PyAny>> {
    let functions = list(py, &overview.functions, |py, function| {
        Ok(dict!(py, {
            "label": &function.label,
            "waiting": function.waiting,
            "ready": function.ready,
            "assigned": function.assigned,
            "done": function.done,
            "failed": function.failed,
            "busy_ns": function.busy_ns,
            "durations": function.durations,
            "blocks": function.blocks,
            "replicas": function.replicas,
            "nbytes": function.nbytes,
            "peak_nbytes": function.peak_nbytes,
            "resident_nbytes": function.resident_nbytes,
        }))
    })?;
    let graph = overview.graph.as_ref().map(|graph| task_graph(py, graph)).transpose()?;
    let blocks = list(py, &overview.blocks, |py, block| {
        Ok(dict!(py, {
            "name": block.name.to_string(),
            "label": &block.label,
            "nbytes": block.nbytes,
            "replicas": labels(&block.replicas),
        }))
    })?;
    Ok(dict!(py, {
        "now_ns": overview.now_ns,
        "duration_bounds_ns": DURATION_BOUNDS_NS,
        "functions": functions,
        "tasks": list(py, &overview.tasks, task)?,
        "blocks": blocks,
        "graph": graph,
        "failures": list(py, &overview.failures, recent_failure)?,
    })
    .into_any()
    .unbind())
}

struct Dict<'py>(Bound<'py, PyDict>);

impl Fields for Dict<'_> {
    type Error = PyErr;

    fn text(&mut self, field: &'static str, value: impl Display) -> PyResult<()> {
        self.0.set_item(field, value.to_string())
    }

    fn number(&mut self, field: &'static str, value: u64) -> PyResult<()> {
        self.0.set_item(field, value)
    }
}

/// The error for a future that was put into another cluster's call, or pickled outside any call.
pub fn foreign(py: Python<'_>, label: &str, name: &str, in_call: bool) -> PyResult<PyErr> {
    let maker = py.import("freestone.errors.failures")?.getattr("foreign_future")?;
    Ok(PyErr::from_value(maker.call1((label, name, in_call))?))
}
