//! A graph on simulated workers: how long it takes there, and what the manager costs.

use super::cluster::{Cluster, Options};
use super::dispatcher::Charges;
use super::graph::{Graph, Lister};
use super::random::{Random, mix};
use super::recording::Recording;
use super::script::Script;
use freestone_base::{FunctionId, Name, Resources, Ticket, WorkerId};
use freestone_core::manager::{Config, Outcome, Request, Statistics, Submission};
use freestone_core::wire::{CallOptions, Payload};
use std::sync::Arc;

/// What to simulate.
#[derive(Clone, Debug)]
pub struct SimulationConfig {
    /// The tasks.
    pub graph: Graph,
    /// How many workers there are.
    pub workers: u32,
    /// Cores of each.
    pub cores: u32,
    /// How long a message takes.
    pub latency_ns: u64,
    /// What a transfer between two workers has, in bytes per second.
    pub bandwidth: f64,
    /// Outputs up to this size travel inline.
    pub inline_nbytes: u64,
    /// Which share of the workers is lost, at random moments of the ideal makespan.
    pub lost: f64,
    /// How long after its loss a worker is replaced; `None`: never.
    pub replaced_after_ns: Option<u64>,
    /// Whether the client, which knows the whole graph, gives tasks with more levels after them a
    /// higher priority.
    pub by_levels: bool,
    /// How often the manager looks at its clock, and workers show a sign of life; `None`: never.
    pub pulse_ns: Option<u64>,
    /// How long the manager is busy with each call.
    pub charges: Charges,
    /// Whether messages wait for others to the same worker, as the manager's shell has them wait.
    pub holds: bool,
    /// The same seed gives the same run.
    pub seed: u64,
}

impl SimulationConfig {
    /// A graph on workers that none is lost of, with a fast network.
    pub fn new(graph: Graph, workers: u32, cores: u32) -> Self {
        Self {
            graph,
            workers,
            cores,
            latency_ns: 200_000,
            bandwidth: 1.25e9,
            inline_nbytes: 16 << 10,
            lost: 0.0,
            replaced_after_ns: Some(30_000_000_000),
            by_levels: false,
            pulse_ns: None,
            charges: Charges::default(),
            holds: true,
            seed: 1,
        }
    }
}

/// How a simulated run went.
#[derive(Clone, Debug)]
pub struct SimulationReport {
    /// How many tasks there were.
    pub tasks: u64,
    /// How many of them failed.
    pub failed: u64,
    /// From the submission to the last result.
    pub makespan_ns: u64,
    /// All cores busy all the time, or the longest chain.
    pub ideal_ns: u64,
    /// What no schedule beats, with the tails of chains taken into account.
    pub bound_ns: u64,
    /// What a list scheduler reaches that costs nothing and does not know how long tasks take.
    pub blind_ns: u64,
    /// What a list scheduler reaches that costs nothing and knows how long tasks take.
    pub clairvoyant_ns: u64,
    /// The sum of all durations.
    pub work_ns: u64,
    /// The longest chain.
    pub critical_path_ns: u64,
    /// How long the manager was busy by its charges.
    pub charged_ns: u64,
    /// Core time for which workers were missing.
    pub missing_core_ns: u64,
    /// Processor time inside the manager, when it is given the events of the run once more.
    pub cpu_ns: u64,
    /// Events that the manager handled.
    pub events: u64,
    /// How often its shell would have written to a worker.
    pub writes: u64,
    /// What the manager says of itself at the end.
    pub statistics: Statistics,
}

struct Run<'a> {
    config: &'a SimulationConfig,
    cluster: Cluster,
    done: u64,
    failed: u64,
    finished_ns: u64,
    sinks: Vec<bool>,
    releases: Vec<Name>,
    statistics: Statistics,
}

/// How many submissions or releases a client sends at once.
const BATCH: usize = 1_000;

/// Runs a graph on simulated workers. The client submits all of it at once, keeps what no other
/// task needs, and drops that when it is there.
pub fn simulate(config: &SimulationConfig) -> SimulationReport {
    let mut run = Run::new(config);
    run.start_workers();
    let began_ns = run.cluster.now;
    let missing_core_ns = run.plan_losses(began_ns);
    run.submit();
    run.go_on();
    run.ask_statistics();
    let record = run.cluster.record.take().unwrap_or_default();
    let events = record.len() as u64;
    let cpu = record.replay(manager_config());
    let cores = u64::from(config.workers) * u64::from(config.cores);
    SimulationReport {
        tasks: config.graph.len() as u64,
        failed: run.failed,
        makespan_ns: run.finished_ns.saturating_sub(began_ns),
        ideal_ns: config.graph.ideal_ns(cores),
        bound_ns: config.graph.bound_ns(cores),
        blind_ns: config.graph.listed_ns(cores, Lister::Blind),
        clairvoyant_ns: config.graph.listed_ns(cores, Lister::Clairvoyant),
        work_ns: config.graph.work_ns() as u64,
        critical_path_ns: config.graph.critical_path_ns(),
        charged_ns: run.cluster.dispatcher.busy_ns,
        missing_core_ns,
        cpu_ns: cpu.as_nanos() as u64,
        events,
        writes: run.cluster.post.writes,
        statistics: run.statistics,
    }
}

/// The name of a task's output.
pub(super) fn name_of(task: usize) -> Name {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&mix(task as u64).to_le_bytes());
    bytes[8..].copy_from_slice(&mix(!(task as u64)).to_le_bytes());
    Name(bytes)
}

/// The submission of a task of a graph, as the simulated client makes it.
pub fn submission_of(
    graph: &Graph,
    task: usize,
    arguments: Payload,
    options: &Arc<CallOptions>,
) -> Submission {
    Submission {
        outputs: smallvec::smallvec![name_of(task)],
        inputs: graph.inputs(task).iter().map(|input| name_of(*input as usize)).collect(),
        options: Arc::clone(options),
        tickets: smallvec::smallvec![Ticket(task as u64)],
        ..Submission::new(FunctionId(u32::from(!graph.inputs(task).is_empty())), arguments)
    }
}

/// The arguments of a task of a graph.
pub fn arguments_of(graph: &Graph, task: usize) -> Payload {
    let duration_ns = graph.duration_ns(task);
    let nbytes = graph.nbytes(task);
    Script { duration_ns, nbytes, salt: task as u64, ..Script::default() }.encode()
}

/// What defines the functions of such submissions.
pub fn definitions() -> [Request; 2] {
    [(0, "root"), (1, "inner")].map(|(function, label)| Request::Define {
        function: FunctionId(function),
        label: label.to_owned(),
        definition: Payload::from(label.as_bytes()),
    })
}

/// No worker says anything but results.
fn manager_config() -> Config {
    Config { silence_ns: u64::MAX, ..Config::default() }
}

impl<'a> Run<'a> {
    fn new(config: &'a SimulationConfig) -> Self {
        let options = Options {
            config: manager_config(),
            seed: config.seed,
            latency_ns: (config.latency_ns, config.latency_ns),
            bandwidth: config.bandwidth,
            inline_nbytes: config.inline_nbytes,
            charges: config.charges,
            holds: config.holds,
            pulse_ns: config.pulse_ns,
            ..Options::default()
        };
        let mut cluster = Cluster::new(options);
        cluster.record = Some(Recording::default());
        Self {
            config,
            cluster,
            done: 0,
            failed: 0,
            finished_ns: 0,
            sinks: config.graph.sinks(),
            releases: Vec::with_capacity(BATCH),
            statistics: Statistics::default(),
        }
    }

    fn start_workers(&mut self) {
        for request in definitions() {
            self.cluster.ask(request);
        }
        let resources =
            Resources { cores: self.config.cores, memory: u64::MAX / 2, ..Resources::default() };
        for _ in 0..self.config.workers {
            self.cluster.join(resources.clone(), self.config.cores, Vec::new());
        }
        while !self.cluster.is_quiet() {
            self.cluster.step();
        }
    }

    /// Plans which workers are lost when, and gives the core time that is missing then.
    fn plan_losses(&mut self, began_ns: u64) -> u64 {
        let config = self.config;
        let mut random = Random::new(config.seed ^ 0x1057);
        let mut victims: Vec<u32> = (0..config.workers).collect();
        let lost = (f64::from(config.workers) * config.lost).round() as usize;
        let cores = u64::from(config.workers) * u64::from(config.cores);
        let ideal_ns = config.graph.ideal_ns(cores);
        let mut missing_ns = 0;
        for _ in 0..lost.min(victims.len()) {
            let victim = WorkerId(victims.swap_remove(random.index(victims.len())));
            let after_ns = random.below(ideal_ns);
            let at_ns = began_ns + after_ns;
            self.cluster.lose(at_ns, victim);
            let gone_ns = config.replaced_after_ns.unwrap_or(u64::MAX);
            missing_ns += gone_ns.min(ideal_ns - after_ns) * u64::from(config.cores);
            if let Some(gone_ns) = config.replaced_after_ns {
                self.cluster.join_like(at_ns + gone_ns, victim);
            }
        }
        missing_ns
    }

    fn submit(&mut self) {
        let graph = &self.config.graph;
        let options = Arc::new(CallOptions::default());
        let levels = if self.config.by_levels { graph.levels() } else { Vec::new() };
        for begin in (0..graph.len()).step_by(BATCH) {
            let tasks = begin..(begin + BATCH).min(graph.len());
            let calls = tasks.map(|task| {
                let arguments = arguments_of(graph, task);
                let priority = levels.get(task).map_or(0, |levels| *levels);
                Submission { priority, ..submission_of(graph, task, arguments, &options) }
            });
            self.cluster.ask(Request::Submit(calls.collect()));
        }
        for task in 0..graph.len() {
            if !self.sinks[task] {
                self.releases.push(name_of(task));
            }
            if self.releases.len() == BATCH {
                self.release();
            }
        }
    }

    fn release(&mut self) {
        if !self.releases.is_empty() {
            let names = std::mem::replace(&mut self.releases, Vec::with_capacity(BATCH));
            self.cluster.ask(Request::Release(names));
        }
    }

    fn go_on(&mut self) {
        let sinks = self.sinks.iter().filter(|sink| **sink).count() as u64;
        while self.done < sinks && !self.cluster.is_quiet() {
            self.cluster.step();
            self.look();
            let pause = self.cluster.next_at().is_none_or(|at_ns| at_ns > self.cluster.now);
            if self.releases.len() >= BATCH || (pause && self.releases.len() > 16) {
                self.release();
            }
        }
        self.release();
        self.look();
        self.failed += sinks - self.done;
    }

    fn look(&mut self) {
        let mut resolved = std::mem::take(&mut self.cluster.resolved);
        for (ticket, outcome) in resolved.drain(..) {
            match outcome {
                Outcome::Ready(_) if self.sinks[ticket.0 as usize] => self.on_sink(ticket),
                Outcome::Failed(_) if self.sinks[ticket.0 as usize] => {
                    self.failed += 1;
                    self.on_sink(ticket);
                }
                Outcome::Statistics(statistics) => self.statistics = *statistics,
                _ => {}
            }
        }
        self.cluster.resolved = resolved;
    }

    fn on_sink(&mut self, ticket: Ticket) {
        self.done += 1;
        self.finished_ns = self.cluster.now;
        self.releases.push(name_of(ticket.0 as usize));
    }

    fn ask_statistics(&mut self) {
        self.cluster.ask(Request::Statistics { ticket: Ticket(0) });
        self.look();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_analysis_ends_near_the_ideal() {
        let config = SimulationConfig::new(Graph::analysis(200, 1), 10, 4);
        let report = simulate(&config);
        assert_eq!(report.failed, 0);
        assert!(report.makespan_ns >= report.bound_ns);
        assert!(report.makespan_ns < report.bound_ns * 5 / 4, "{report:?}");
        assert_eq!((report.statistics.tasks, report.statistics.blocks), (0, 0));
    }

    #[test]
    fn messages_to_a_worker_with_calls_to_begin_are_written_together() {
        let graph = Graph::analysis_of(500, 0.1, 1);
        let config = SimulationConfig::new(graph, 10, 12);
        let report = simulate(&config);
        assert_eq!((report.failed, report.statistics.tasks), (0, 0));
        let by_event = simulate(&SimulationConfig { holds: false, ..config.clone() });
        assert_eq!(by_event.writes, 0, "{report:?}");
        let per_thousand = report.writes * 1_000 / report.tasks;
        assert!(per_thousand < 550, "{per_thousand} writes for 1,000 tasks");
        let longer = report.makespan_ns as f64 / by_event.makespan_ns as f64;
        assert!(longer < 1.02, "{longer}");
    }

    #[test]
    fn results_that_are_soon_used_are_not_copied() {
        let graph = Graph::analysis_of(500, 0.1, 1);
        let config = SimulationConfig { lost: 0.2, ..SimulationConfig::new(graph, 10, 12) };
        let report = simulate(&config);
        assert_eq!(report.failed, 0);
        let per_thousand = report.statistics.transfers * 1_000 / report.tasks;
        assert!(per_thousand < 1_000, "{per_thousand} transfers for 1,000 tasks");
    }

    #[test]
    fn lost_workers_are_made_good() {
        let config =
            SimulationConfig { lost: 0.2, ..SimulationConfig::new(Graph::analysis(200, 1), 10, 4) };
        let report = simulate(&config);
        assert_eq!(report.failed, 0);
        assert!(report.missing_core_ns > 0);
        assert!(report.statistics.retried + report.statistics.recovered > 0);
    }
}
