//! How a call is to be run, checked once and shared by all calls of a function.

use freestone_base::{Resources, WorkerId};
use freestone_core::manager::Near;
use freestone_core::wire::{CallOptions, Isolation, Keep};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Each output has a name and a future, made when the call is submitted.
const MAX_OUTPUTS: usize = 1 << 20;

/// The options of a call, in the form in which they travel.
#[pyclass(frozen, module = "freestone._native.manager")]
pub struct Options {
    /// What goes to the worker.
    pub call: Arc<CallOptions>,
    /// How often it may fail before it fails for good.
    pub retries: u32,
    /// Larger runs first.
    pub priority: i32,
    /// Only there.
    pub worker: Option<WorkerId>,
    /// There if that can be.
    pub near: Option<Near>,
    /// Whether equal calls have equal results.
    pub pure: bool,
    /// How many outputs the function has.
    pub outputs: usize,
}

/// Where a call can run, by name.
pub const ISOLATIONS: [(&str, Isolation); 3] =
    [("shared", Isolation::Shared), ("fork", Isolation::Fork), ("process", Isolation::Process)];

/// How long a block can stay, by name.
pub const KEEPS: [(&str, Keep); 4] = [
    ("task", Keep::Task),
    ("session", Keep::Session),
    ("worker", Keep::Worker),
    ("forever", Keep::Forever),
];

fn isolation_of(text: &str) -> PyResult<Isolation> {
    named(&ISOLATIONS, "isolation", text)
}

/// How long a block stays, by its name.
pub fn keep_of(text: &str) -> PyResult<Keep> {
    named(&KEEPS, "keep", text)
}

fn named<T: Copy>(table: &[(&str, T)], option: &str, text: &str) -> PyResult<T> {
    if let Some((_, found)) = table.iter().find(|(name, _)| *name == text) {
        return Ok(*found);
    }
    let names: Vec<_> = table.iter().map(|(name, _)| format!("'{name}'")).collect();
    let (last, others) = names.split_last().expect("a table has names");
    let problem = format!("{option} is {} or {last}, not {text:?}", others.join(", "));
    Err(PyValueError::new_err(problem))
}

fn near_of(near: &Bound<'_, PyAny>) -> PyResult<Near> {
    if let Ok(worker) = near.extract() {
        return Ok(Near::Worker(WorkerId(worker)));
    }
    match near.extract::<String>().as_deref() {
        Ok("input") => Ok(Near::Input),
        _ => Err(PyValueError::new_err(format!(
            "near is the number of a worker or 'input', not {}",
            near.repr()?
        ))),
    }
}

#[pymethods]
impl Options {
    #[new]
    #[pyo3(signature = (*, cores=1, gpus=0, memory=0, disk=0, custom=BTreeMap::new(), isolation="shared", keep="task",
        timeout_s=None, retries=0, priority=0, worker=None, near=None, pure=true, outputs=1,
        replicas=1, category=0, kills=0, rerun=false, tag=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        cores: u32,
        gpus: u32,
        memory: u64,
        disk: u64,
        custom: BTreeMap<String, u32>,
        isolation: &str,
        keep: &str,
        timeout_s: Option<f64>,
        retries: u32,
        priority: i32,
        worker: Option<u32>,
        near: Option<&Bound<'_, PyAny>>,
        pure: bool,
        outputs: usize,
        replicas: u32,
        category: u32,
        kills: u32,
        rerun: bool,
        tag: Option<String>,
    ) -> PyResult<Self> {
        if timeout_s.is_some_and(|timeout_s| !(timeout_s > 0.0 && timeout_s < 1e9)) {
            return Err(PyValueError::new_err("timeout_s must be a positive number of seconds"));
        }
        if replicas == 0 {
            return Err(PyValueError::new_err("replicas is at least 1: the block itself"));
        }
        if outputs == 0 {
            return Err(PyValueError::new_err("a call has at least one output"));
        }
        if outputs > MAX_OUTPUTS {
            let problem = format!("a call has at most {MAX_OUTPUTS} outputs, not {outputs}");
            return Err(PyValueError::new_err(problem));
        }
        Ok(Self {
            call: Arc::new(CallOptions {
                resources: Resources {
                    cores,
                    gpus,
                    memory,
                    disk,
                    custom: custom.into_iter().collect(),
                },
                isolation: isolation_of(isolation)?,
                keep: keep_of(keep)?,
                timeout_ns: timeout_s.map(|timeout_s| (timeout_s * 1e9) as u64),
                replicas,
                // What has effects besides its result should not have them twice without need.
                twice: pure,
                category,
                kills,
                once: !pure && !rerun,
                tag: tag.map(Arc::from),
            }),
            retries,
            priority,
            worker: worker.map(WorkerId),
            near: near.map(near_of).transpose()?,
            pure,
            outputs,
        })
    }
}
