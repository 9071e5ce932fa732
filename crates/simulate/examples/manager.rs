//! What the manager costs per task, and how near to the ideal its schedules are.
//!
//! `cargo run --release -p freestone-simulate --example manager -- [--json FILE] [--quick] [--only PART]`
//!
//! - `tasks_1m_*`: tasks without inputs of log-normal durations (mean 1 s) on 600 x 12 cores.
//! - `graph_185k_*`: the analysis graph of the taskvine paper's size on 600 x 12 cores, 1 % of the
//!   workers lost at random moments and replaced after 30 s.
//! - `workers_*`: processor time per task at 10 to 10,000 workers of 12 cores.
//!
//! `*_over_ideal` compares with the work divided by the cores, or the longest chain;
//! `*_over_bound` with a makespan that no schedule beats; `*_over_blind` and `*_over_clairvoyant`
//! with list schedulers that cost nothing, and know the durations or not. `*_writes_per_1000_tasks` is how often
//! the manager's shell would write to a worker. `--quick` takes a tenth of the tasks; `--only` one part, for
//! a profile: `tasks_1m`, `graph_185k`, `workers`.

use freestone_base::{Resources, WorkerId};
use freestone_core::manager::{Config, Event, Manager, Request};
use freestone_core::wire::{CallOptions, Payload};
use freestone_simulate::{
    Graph, SimulatedWorker, SimulationConfig, SimulationReport, arguments_of, definitions,
    simulate, submission_of,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, process};

/// Counts what is allocated. One thread allocates here, so the order of the counts is its own.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn count(added: usize) {
    let live = LIVE.fetch_add(added, Ordering::Relaxed) + added;
    PEAK.fetch_max(live, Ordering::Relaxed);
}

// SAFETY: everything is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        count(size);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A manager with workers, and what it takes when all tasks of a graph are submitted: bytes that
/// stay, and at most, without arguments.
fn bytes_of(graph: &Graph, workers: u32, cores: u32) -> (usize, usize) {
    let mut manager = Manager::new(Config::default());
    let mut out = Vec::new();
    for request in definitions() {
        manager.handle(Event::Client(request), 0, &mut out);
    }
    let resources = Resources { cores, ..Resources::default() };
    for id in (0..workers).map(WorkerId) {
        let hello =
            SimulatedWorker::new(id, resources.clone(), cores, 0, Vec::new()).hello("", None);
        manager.handle(Event::Worker(id, hello), 0, &mut out);
    }
    let options = Arc::new(CallOptions::default());
    let arguments: Vec<Payload> = (0..graph.len()).map(|task| arguments_of(graph, task)).collect();
    out = Vec::new();
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    for begin in (0..graph.len()).step_by(1_000) {
        let tasks = begin..(begin + 1_000).min(graph.len());
        let calls = tasks.map(|task| submission_of(graph, task, arguments[task].clone(), &options));
        let submit = Request::Submit(calls.collect());
        manager.handle(Event::Client(submit), 1, &mut out);
        out.clear();
    }
    let after = LIVE.load(Ordering::Relaxed);
    (after.saturating_sub(before), PEAK.load(Ordering::Relaxed).saturating_sub(before))
}

/// Flat JSON, by hand.
#[derive(Default)]
struct Json(String);

impl Json {
    fn add(&mut self, key: &str, value: f64) {
        let separator = if self.0.is_empty() { "{\n" } else { ",\n" };
        let _ = write!(self.0, "{separator}  \"{key}\": {value:.4}");
        println!("{key:44} {value:>18.4}");
    }

    fn add_report(&mut self, prefix: &str, report: &SimulationReport) {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let over = |ns: u64| report.makespan_ns as f64 / ns as f64;
        let figures = [
            ("tasks", report.tasks as f64),
            ("failed", report.failed as f64),
            ("cpu_ns_per_task", per_task(report)),
            ("events", report.events as f64),
            ("writes_per_1000_tasks", report.writes as f64 * 1e3 / report.tasks as f64),
            ("makespan_s", seconds(report.makespan_ns)),
            ("ideal_s", seconds(report.ideal_ns)),
            ("bound_s", seconds(report.bound_ns)),
            ("critical_path_s", seconds(report.critical_path_ns)),
            ("work_core_s", seconds(report.work_ns)),
            ("missing_core_s", seconds(report.missing_core_ns)),
            ("busy_core_s", seconds(report.statistics.busy_ns)),
            ("makespan_over_ideal", over(report.ideal_ns)),
            ("makespan_over_bound", over(report.bound_ns)),
            ("makespan_over_blind", over(report.blind_ns)),
            ("makespan_over_clairvoyant", over(report.clairvoyant_ns)),
            ("busy_over_work", report.statistics.busy_ns as f64 / report.work_ns as f64),
            ("retried", report.statistics.retried as f64),
            ("recovered", report.statistics.recovered as f64),
            ("stolen", report.statistics.stolen as f64),
            ("transfers", report.statistics.transfers as f64),
            ("transferred_gb", report.statistics.transferred_nbytes as f64 / 1e9),
        ];
        for (key, value) in figures {
            self.add(&format!("{prefix}_{key}"), value);
        }
    }
}

fn per_task(report: &SimulationReport) -> f64 {
    report.cpu_ns as f64 / report.tasks as f64
}

/// Of the normal behind the durations. Near the end of a run, whoever does not know durations pays
/// for the longest task that has just begun: at 0.5, that alone is 3 % of 139 s.
const SIGMA: f64 = 0.4;

fn flat(json: &mut Json, share: usize) {
    let graph = Graph::flat(1_000_000 / share, 1.0, SIGMA, 1);
    let workers = (600 / share) as u32;
    let (stays, most) = bytes_of(&graph, workers, 12);
    json.add("tasks_1m_bytes_per_task", stays as f64 / graph.len() as f64);
    json.add("tasks_1m_peak_bytes_per_task", most as f64 / graph.len() as f64);
    json.add_report("tasks_1m", &simulate(&SimulationConfig::new(graph, workers, 12)));
}

fn analysis(json: &mut Json, share: usize) {
    let graph = Graph::analysis(10_000 / share, 1);
    let workers = (600 / share) as u32;
    let (stays, _) = bytes_of(&graph, workers, 12);
    json.add("graph_185k_bytes_per_task", stays as f64 / graph.len() as f64);
    let config = SimulationConfig {
        lost: 0.01,
        pulse_ns: Some(1_000_000_000),
        ..SimulationConfig::new(graph, workers, 12)
    };
    let report = simulate(&config);
    json.add_report("graph_185k", &report);
    let missing_ns = report.missing_core_ns / (u64::from(workers) * 12);
    let with_loss = report.makespan_ns as f64 / (report.ideal_ns + missing_ns) as f64;
    json.add("graph_185k_makespan_over_ideal_with_loss", with_loss);
    let config = SimulationConfig { lost: 0.0, ..config };
    json.add("graph_185k_no_loss_makespan_over_ideal", ratio(&simulate(&config)));
    let config = SimulationConfig { by_levels: true, ..config };
    let report = simulate(&config);
    json.add("graph_185k_by_levels_makespan_over_ideal", ratio(&report));
    json.add(
        "graph_185k_by_levels_makespan_over_blind",
        report.makespan_ns as f64 / report.blind_ns as f64,
    );
}

fn ratio(report: &SimulationReport) -> f64 {
    report.makespan_ns as f64 / report.ideal_ns as f64
}

/// The same tasks on few and on many workers, taken in turns; the medians of three.
fn scaling(json: &mut Json, share: usize) {
    let graph = Graph::flat(480_000 / share, 1.0, SIGMA, 2);
    let mut samples = WORKERS.map(|_| Vec::new());
    for _ in 0..3 {
        for (workers, samples) in WORKERS.into_iter().zip(&mut samples) {
            let config = SimulationConfig::new(graph.clone(), workers, 12);
            samples.push(per_task(&simulate(&config)));
        }
    }
    let medians = samples.map(|mut samples| {
        samples.sort_by(f64::total_cmp);
        samples[1]
    });
    for (workers, median) in WORKERS.into_iter().zip(medians) {
        json.add(&format!("workers_{workers}_cpu_ns_per_task"), median);
    }
    json.add("workers_ratio", medians[WORKERS.len() - 1] / medians[0]);
}

const WORKERS: [u32; 4] = [10, 100, 1_000, 10_000];

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let value = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name);
        place.and_then(|index| arguments.get(index + 1))
    };
    let (path, only) = (value("--json"), value("--only"));
    let is_asked = |part: &str| only.is_none_or(|only| only == part);
    let share = if quick { 10 } else { 1 };
    let mut json = Json::default();
    json.add("quick", f64::from(u8::from(quick)));
    if is_asked("tasks_1m") {
        flat(&mut json, share);
    }
    if is_asked("graph_185k") {
        analysis(&mut json, share);
    }
    if is_asked("workers") {
        scaling(&mut json, if quick { 2 } else { 1 });
    }
    let Some(path) = path else { return };
    if let Err(error) = fs::write(path, json.0 + "\n}\n") {
        eprintln!("{path} can't be written: {error}");
        process::exit(1);
    }
}
