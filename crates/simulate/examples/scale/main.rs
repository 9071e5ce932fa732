//! The real manager over real sockets: a large graph on simulated workers, in real time.
//!
//! `cargo run --release -p freestone-simulate --example scale -- --json FILE [--roots N] [--workers N]
//! [--cores N] [--lost SHARE] [--away SECONDS] [--mean SECONDS] [--unix]`
//!
//! One process has the manager's thread and a client that submits the taskvine paper's DV3-Huge,
//! 18.5 tasks per root; another one has all workers, each with a connection of its own, by TLS over
//! TCP unless `--unix` is given. A worker answers when the time of a call is over and computes
//! nothing. `--lost` of the workers lose their connection at a random moment, and one like them
//! joins `--away` seconds later.

// A measurement that can't be made fails by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod figures;
mod program;
mod workers;

use std::env;

/// What was asked for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the figures go besides the standard output.
    pub json: Option<String>,
    /// Tasks without inputs.
    pub roots: usize,
    /// Workers.
    pub workers: u32,
    /// Cores of each.
    pub cores: u32,
    /// Which share of the workers is lost.
    pub lost: f64,
    /// How long after a loss another worker joins.
    pub away_s: f64,
    /// What a task takes on average.
    pub mean_s: f64,
    /// Unix sockets instead of TLS over TCP.
    pub unix: bool,
}

fn word(words: &[String], name: &str) -> Option<String> {
    let place = words.iter().position(|word| word == name)?;
    Some(words.get(place + 1).unwrap_or_else(|| panic!("{name} needs a value")).clone())
}

fn number(words: &[String], name: &str, otherwise: f64) -> f64 {
    word(words, name).map_or(otherwise, |text| text.parse().expect("a number"))
}

impl Settings {
    fn read(words: &[String]) -> Self {
        Self {
            json: word(words, "--json"),
            roots: number(words, "--roots", 10_000.0) as usize,
            workers: number(words, "--workers", 600.0) as u32,
            cores: number(words, "--cores", 12.0) as u32,
            lost: number(words, "--lost", 0.05),
            away_s: number(words, "--away", 5.0),
            mean_s: number(words, "--mean", 1.0),
            unix: words.iter().any(|word| word == "--unix"),
        }
    }

    /// The same, for the process of the workers.
    pub fn words(&self) -> Vec<String> {
        [
            ("--workers", self.workers.to_string()),
            ("--cores", self.cores.to_string()),
            ("--lost", self.lost.to_string()),
            ("--away", self.away_s.to_string()),
        ]
        .into_iter()
        .flat_map(|(name, value)| [name.to_owned(), value])
        .collect()
    }
}

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let settings = Settings::read(&words);
    match word(&words, "--join") {
        Some(address) => workers::run(&settings, &address.parse().expect("an address")),
        None => program::run(&settings),
    }
}
