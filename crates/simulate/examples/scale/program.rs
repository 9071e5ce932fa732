//! The process of the manager: its thread, and a client that submits the graph.

use crate::Settings;
use crate::figures::{Log, Run};
use freestone_base::Name;
use freestone_core::manager::{Config, Outcome, Request, Statistics, Submission};
use freestone_core::net::manager::{Listen, ManagerOptions, ManagerThread};
use freestone_core::net::{Access, Cell, Client, Identity, boot_id, monotonic_ns};
use freestone_core::wire::{Address, CallOptions, Payload};
use freestone_simulate::{Graph, arguments_of, definitions, submission_of};
use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// How many calls are submitted at once.
const BATCH: usize = 512;
const LONGEST: Duration = Duration::from_secs(200);

/// Runs the graph and tells how it went.
pub fn run(settings: &Settings) {
    let graph = Graph::analysis_of(settings.roots, settings.mean_s, 1);
    let folder = tempfile::tempdir().unwrap();
    let identity = (!settings.unix).then(|| Identity::make(1).unwrap());
    let listen = identity.as_ref().map(|identity| Listen {
        place: "127.0.0.1:0".to_owned(),
        host: "127.0.0.1".to_owned(),
        access: Access::new(identity).unwrap(),
    });
    let config = Config { key: "key".to_owned(), boot: boot_id(), ..Config::default() };
    let socket = folder.path().join("manager");
    // Spinning would be counted as work of the manager's.
    let options = ManagerOptions { socket, listen, config, spin_us: 0, journal: None };
    let mut manager = ManagerThread::start(options).unwrap();
    let address = match &manager.address {
        Address::Either { tcp, .. } => Address::Tcp(tcp.clone()),
        other => other.clone(),
    };
    let mut workers = start_workers(settings, &address, identity);
    let client = manager.client.clone();
    wait_until_all_are_there(&client, settings.workers);
    let run = Run {
        joined_cpu_s: manager_cpu_s(),
        joined_writes: manager_writes(),
        began_ns: monotonic_ns(),
        ..Run::default()
    };
    let cores = u64::from(settings.workers) * u64::from(settings.cores);
    let ideal_s = graph.ideal_ns(cores) as f64 / 1e9;
    writeln!(workers.stdin.as_mut().unwrap(), "{ideal_s}").unwrap();
    let (sinks, submitted_ns) = submit(&client, &graph);
    let failed = sinks.iter().filter(|cell| !ends_well(cell)).count();
    let run = Run {
        submitted_ns,
        ended_ns: monotonic_ns(),
        cpu_s: manager_cpu_s() - run.joined_cpu_s,
        writes: manager_writes() - run.joined_writes,
        failed,
        cores,
        ..run
    };
    let statistics = ask_statistics(&client);
    manager.close();
    let mut log = String::new();
    workers.stdout.take().unwrap().read_to_string(&mut log).unwrap();
    assert!(workers.wait().unwrap().success());
    let figures = run.figures(&graph, &Log::read(&log), &statistics);
    let lines: Vec<String> =
        figures.iter().map(|(name, value)| format!("  \"{name}\": {value:.4}")).collect();
    let json = format!("{{\n{}\n}}\n", lines.join(",\n"));
    print!("{json}");
    if let Some(path) = &settings.json {
        fs::write(path, json).unwrap();
    }
}

fn start_workers(settings: &Settings, address: &Address, identity: Option<Identity>) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(settings.words())
        .args(["--join", &address.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (certificate, key) =
        identity.map_or_else(Default::default, |one| (one.certificate, one.private_key));
    let stdin = child.stdin.as_mut().unwrap();
    writeln!(stdin, "{} {}", certificate.len(), key.len()).unwrap();
    stdin.write_all(certificate.as_bytes()).unwrap();
    stdin.write_all(key.as_bytes()).unwrap();
    stdin.flush().unwrap();
    child
}

fn ask_statistics(client: &Client) -> Statistics {
    let cell = client.ask(|ticket| Request::Statistics { ticket });
    assert!(cell.wait(Duration::ZERO, LONGEST), "the manager does not answer");
    match cell.outcome() {
        Some(Outcome::Statistics(statistics)) => *statistics,
        other => panic!("{other:?}"),
    }
}

fn wait_until_all_are_there(client: &Client, workers: u32) {
    let began_ns = monotonic_ns();
    while ask_statistics(client).workers.len() < workers as usize {
        assert!(monotonic_ns() - began_ns < LONGEST.as_nanos() as u64, "workers are missing");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Submits all; the cells of what no other task needs, and when all was submitted.
fn submit(client: &Client, graph: &Graph) -> (Vec<Cell>, u64) {
    for request in definitions() {
        client.request(request);
    }
    let sinks = graph.sinks();
    let options = Arc::new(CallOptions::default());
    let mut waited_for = Vec::new();
    for begin in (0..graph.len()).step_by(BATCH) {
        let tasks = begin..(begin + BATCH).min(graph.len());
        let cells: Vec<Cell> = tasks.clone().map(|_| Cell::default()).collect();
        let tickets = client.tickets(&cells);
        let batch: Vec<Submission> = tasks
            .clone()
            .zip(tickets)
            .map(|(task, ticket)| Submission {
                tickets: smallvec::smallvec![ticket],
                ..submission_of(graph, task, arguments_of(graph, task), &options)
            })
            .collect();
        client.request(Request::Submit(batch));
        let ends = tasks.zip(&cells).filter(|(task, _)| sinks[*task]);
        waited_for.extend(ends.map(|(_, cell)| cell.clone()));
    }
    let submitted_ns = monotonic_ns();
    let inner = (0..graph.len()).filter(|task| !sinks[*task]);
    let names: Vec<Name> = inner
        .map(|task| submission_of(graph, task, Payload::default(), &options).outputs[0])
        .collect();
    for names in names.chunks(BATCH) {
        client.request(Request::Release(names.to_vec()));
    }
    (waited_for, submitted_ns)
}

fn ends_well(cell: &Cell) -> bool {
    cell.wait(Duration::ZERO, LONGEST) && matches!(cell.outcome(), Some(Outcome::Ready(_)))
}

/// Processor time of the manager's thread so far.
fn manager_cpu_s() -> f64 {
    // SAFETY: a question without arguments.
    let ticks_per_s = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
    let stat = fs::read_to_string(manager_thread().join("stat")).unwrap();
    // After the name: state, ten numbers, then the ticks of the user and the system.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks = |index: usize| fields[index].parse::<f64>().unwrap();
    (ticks(11) + ticks(12)) / ticks_per_s
}

/// How often the manager's thread has written to a socket so far.
fn manager_writes() -> u64 {
    let counts = fs::read_to_string(manager_thread().join("io")).unwrap();
    let writes = counts.lines().find_map(|line| line.strip_prefix("syscw: "));
    writes.expect("Linux counts them").parse().unwrap()
}

fn manager_thread() -> PathBuf {
    let threads = fs::read_dir("/proc/self/task").unwrap().filter_map(Result::ok);
    let is_managers = |path: &PathBuf| {
        fs::read_to_string(path.join("comm")).is_ok_and(|name| name.starts_with("freestone-manag"))
    };
    threads.map(|thread| thread.path()).find(is_managers).expect("the manager runs")
}
