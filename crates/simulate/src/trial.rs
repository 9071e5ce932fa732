//! A user's graph on simulated workers, some of which are lost, and calls that fail or take long:
//! what ran where, and whether every result came. `freestone.testing.simulate` offers it, and its tests
//! are there.

use super::cluster::{Cluster, Options};
use super::faults::Faults;
use super::graph::Graph;
use super::report::{arguments_of, definitions, name_of, submission_of};
use super::runs::{Run, Runs};
use super::script::{Script, output_value};
use freestone_base::{FunctionId, Name, Resources, Ticket, WorkerId};
use freestone_core::manager::{Outcome, Request, Why};
use freestone_core::wire::{CallOptions, TaskFailure};
use std::collections::HashMap;
use std::sync::Arc;

/// What to try.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The tasks.
    pub graph: Graph,
    /// The tasks whose outputs the client keeps.
    pub wanted: Vec<u32>,
    /// How many workers there are at first.
    pub workers: u32,
    /// Calls that each runs at once.
    pub slots: u32,
    /// How often a task that raised is tried again.
    pub retries: u32,
    /// The shortest and the longest time that a message takes.
    pub latency_ns: (u64, u64),
    /// What a transfer has, in bytes per second.
    pub bandwidth: f64,
    /// Which workers are lost, and when.
    pub losses: Vec<(u64, u32)>,
    /// How long after its loss a worker is replaced; `None`: never.
    pub replaced_after_ns: Option<u64>,
    /// What else goes wrong.
    pub faults: Faults,
    /// The same seed gives the same run.
    pub seed: u64,
}

/// What became of an output that the client keeps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It came, and was made of the right inputs.
    Ready,
    /// It came with a value that nothing should have.
    Wrong,
    /// Its task failed for good, and why.
    Failed(String),
    /// Nothing was ever heard of it.
    Missing,
}

/// How it went.
#[derive(Clone, Debug)]
pub struct TrialReport {
    /// The task and the run, of all calls that began, in order.
    pub runs: Vec<(u32, Run)>,
    /// In the order of the wanted tasks.
    pub fates: Vec<Fate>,
    /// From the submission to the last result.
    pub makespan_ns: u64,
    /// Where manager or workers went against their contract.
    pub violations: Vec<String>,
}

/// How often workers show a sign of life, by which the manager's clock goes on.
const PULSE_NS: u64 = 1_000_000_000;
/// How long nothing may happen until the results that are missing are given up.
const QUIET_NS: u64 = 120_000_000_000;
const INLINE_NBYTES: u64 = 16 << 10;

/// Runs a graph on simulated workers; the client submits all of it at once.
pub fn try_out(trial: &Trial) -> TrialReport {
    let mut cluster = Cluster::new(Options {
        seed: trial.seed,
        latency_ns: trial.latency_ns,
        bandwidth: trial.bandwidth,
        inline_nbytes: INLINE_NBYTES,
        pulse_ns: Some(PULSE_NS),
        ..Options::default()
    });
    start(trial, &mut cluster);
    let began_ns = cluster.now;
    cluster.runs = Some(Runs::default());
    cluster.options.faults = trial.faults;
    for (at_ns, worker) in &trial.losses {
        cluster.lose(began_ns + at_ns, WorkerId(*worker));
        if let Some(after_ns) = trial.replaced_after_ns {
            cluster.join_like(began_ns + at_ns + after_ns, WorkerId(*worker));
        }
    }
    submit(trial, &mut cluster);
    let (fates, ended_ns) = finish(trial, &mut cluster);
    let tasks: HashMap<Name, u32> =
        (0..trial.graph.len()).map(|task| (name_of(task), task as u32)).collect();
    let runs = cluster.runs.take().unwrap_or_default().all;
    TrialReport {
        runs: runs.into_iter().map(|run| (tasks[&run.name], since(run, began_ns))).collect(),
        fates,
        makespan_ns: ended_ns - began_ns,
        violations: cluster.violations,
    }
}

fn since(run: Run, began_ns: u64) -> Run {
    Run { start_ns: run.start_ns - began_ns, end_ns: run.end_ns - began_ns, ..run }
}

fn start(trial: &Trial, cluster: &mut Cluster) {
    for request in definitions() {
        cluster.ask(request);
    }
    let resources = Resources { cores: trial.slots, memory: u64::MAX / 2, ..Resources::default() };
    for _ in 0..trial.workers {
        cluster.join(resources.clone(), trial.slots, Vec::new());
    }
    while !cluster.is_quiet() {
        cluster.step();
    }
}

fn submit(trial: &Trial, cluster: &mut Cluster) {
    let (graph, options) = (&trial.graph, Arc::new(CallOptions::default()));
    let calls = (0..graph.len()).map(|task| {
        let submission = submission_of(graph, task, arguments_of(graph, task), &options);
        freestone_core::manager::Submission { retries: trial.retries, ..submission }
    });
    cluster.ask(Request::Submit(calls.collect()));
    let mut released = vec![true; graph.len()];
    for task in &trial.wanted {
        released[*task as usize] = false;
    }
    let names = (0..graph.len()).filter(|task| released[*task]).map(name_of);
    cluster.ask(Request::Release(names.collect()));
}

/// Lets things happen until all results are there, or nothing happens any more.
fn finish(trial: &Trial, cluster: &mut Cluster) -> (Vec<Fate>, u64) {
    let values = values_of(&trial.graph);
    let mut fates: HashMap<u32, Fate> = HashMap::new();
    let (mut ended_ns, mut busy_ns) = (cluster.now, cluster.now);
    while fates.len() < trial.wanted.len() && cluster.now < busy_ns + QUIET_NS {
        if !cluster.is_quiet() {
            busy_ns = cluster.now;
        }
        cluster.step();
        for (Ticket(task), outcome) in std::mem::take(&mut cluster.resolved) {
            let fate = match outcome {
                Outcome::Ready(output) if output_value(&output) == values[task as usize] => {
                    Fate::Ready
                }
                Outcome::Ready(_) => Fate::Wrong,
                Outcome::Failed(failure) => Fate::Failed(reason(&failure.why)),
                _ => continue,
            };
            if trial.wanted.contains(&(task as u32)) {
                fates.insert(task as u32, fate);
                ended_ns = cluster.now;
            }
        }
    }
    let fate = |task| fates.get(task).cloned().unwrap_or(Fate::Missing);
    (trial.wanted.iter().map(fate).collect(), ended_ns)
}

/// The value of each output, as its inputs make it.
fn values_of(graph: &Graph) -> Vec<u64> {
    let mut values: Vec<u64> = Vec::with_capacity(graph.len());
    for task in 0..graph.len() {
        let inputs: Vec<u64> =
            graph.inputs(task).iter().map(|input| values[*input as usize]).collect();
        let script = Script { salt: task as u64, ..Script::default() };
        values.push(script.value(FunctionId(u32::from(!inputs.is_empty())), &inputs, 0));
    }
    values
}

fn reason(why: &Why) -> String {
    match why {
        Why::Attempt(TaskFailure::Raised(_)) => "it raised".to_owned(),
        Why::Killed { kills, .. } => format!("it killed {kills} executors"),
        Why::InputLost(_) => "an input is gone and nothing makes it again".to_owned(),
        other => format!("{other:?}"),
    }
}
