//! How long the taskvine paper's analyses take on simulated workers, under a manager that takes a
//! given time for each call.
//!
//! `cargo run --release -p freestone-simulate --example schedule < RUNS`
//!
//! A run is a line of words: `dv3` or `triphoton`; the seconds that all tasks take; those that a
//! merge takes for each skim in it (of no use to `dv3`); workers; cores of each; microseconds for
//! each call that is sent and for each result; a seed. The answer to each is a line of JSON.

use freestone_simulate::{Charges, Graph, SimulationConfig, SimulationReport, simulate};
use std::io::{self, BufRead};
use std::process;

struct Words<'a>(std::str::SplitWhitespace<'a>);

impl Words<'_> {
    fn number(&mut self, what: &str) -> Result<f64, String> {
        let word = self.0.next().ok_or_else(|| format!("{what} is missing"))?;
        word.parse().map_err(|error| format!("{what} is {word:?}: {error}"))
    }
}

fn run(line: &str) -> Result<SimulationReport, String> {
    let mut words = Words(line.split_whitespace());
    let kind = words.0.next().ok_or("the analysis is missing")?;
    let work_s = words.number("the work")?;
    let merge_s = words.number("the time of a merge")?;
    let workers = words.number("the number of workers")? as u32;
    let cores = words.number("the number of cores")? as u32;
    let call_ns = (words.number("the time for a call")? * 1e3) as u64;
    let result_ns = (words.number("the time for a result")? * 1e3) as u64;
    let seed = words.number("the seed")? as u64;
    let graph = match kind {
        "dv3" => Graph::dv3_large(work_s, seed),
        "triphoton" => Graph::triphoton(work_s, merge_s, seed),
        other => return Err(format!("no analysis is called {other:?}")),
    };
    let charges = Charges { call_ns, result_ns };
    Ok(simulate(&SimulationConfig {
        charges,
        seed,
        ..SimulationConfig::new(graph, workers, cores)
    }))
}

fn main() {
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        match run(&line) {
            Ok(report) => println!(
                "{{\"makespan_s\": {:.3}, \"busy_s\": {:.3}, \"critical_path_s\": {:.3}, \
                 \"work_s\": {:.3}, \"tasks\": {}, \"failed\": {}}}",
                report.makespan_ns as f64 / 1e9,
                report.charged_ns as f64 / 1e9,
                report.critical_path_ns as f64 / 1e9,
                report.work_ns as f64 / 1e9,
                report.tasks,
                report.failed,
            ),
            Err(problem) => {
                eprintln!("{line:?}: {problem}");
                process::exit(2);
            }
        }
    }
}
