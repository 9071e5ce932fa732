//! The manager under thousands of seeded histories with faults: see `histories/`.
//!
//! `FREESTONE_SEED=7 cargo test --test manager_histories` runs one of them and prints its last
//! events if it fails; `FREESTONE_HISTORIES=100000` runs more of them.
#![allow(missing_docs, clippy::unwrap_used)]

mod histories;

use std::collections::BTreeMap;
use std::env;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

const HISTORIES: u64 = 10_000;
const LOG: usize = 400;
/// So long takes no history.
const STUCK: Duration = Duration::from_secs(60);

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok().and_then(|text| text.parse().ok())
}

/// What went wrong in one history, if anything.
fn trial(seed: u64) -> Option<String> {
    match std::panic::catch_unwind(|| histories::run(seed, 0).err()) {
        Ok(wrong) => wrong,
        Err(_) => Some("a panic".to_owned()),
    }
}

/// Runs histories on all processors, until one fails or all of them; which failed, and how.
fn failures(count: u64, all: bool) -> Vec<(u64, String)> {
    let next = AtomicU64::new(0);
    let failed = Mutex::new(Vec::new());
    let (beat, beats) = mpsc::channel();
    let work = |thread: usize| {
        loop {
            // Pairs with nothing: only the numbers must differ.
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= count || (!all && !failed.lock().unwrap().is_empty()) {
                return;
            }
            let _ = beat.send((thread, seed));
            if let Some(wrong) = trial(seed) {
                failed.lock().unwrap().push((seed, wrong));
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::spawn(move || watch(&beats));
    thread::scope(|scope| {
        for thread in 0..threads {
            let work = &work;
            scope.spawn(move || work(thread));
        }
    });
    failed.into_inner().unwrap()
}

/// A manager that never returns can only be shown, not stopped.
fn watch(beats: &mpsc::Receiver<(usize, u64)>) {
    let mut at = BTreeMap::new();
    loop {
        match beats.recv_timeout(STUCK) {
            Ok((thread, seed)) => drop(at.insert(thread, seed)),
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                eprintln!("one of these seeds never ends: {:?}", at.values());
                std::process::abort();
            }
        }
    }
}

/// Counts failures that read the same but for names and numbers.
fn survey(count: u64) {
    let mut kinds: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (seed, wrong) in failures(count, true) {
        let first = wrong.lines().find(|line| line.starts_with("  ")).unwrap_or(&wrong);
        let word = |word: &str| {
            if word.contains(|c: char| c.is_ascii_digit()) { "#" } else { word }.to_owned()
        };
        let kind: Vec<String> = first.split_whitespace().take(12).map(word).collect();
        kinds.entry(kind.join(" ")).or_default().push(seed);
    }
    for (kind, seeds) in kinds {
        eprintln!("{:>6} {kind}  seeds {:?}", seeds.len(), &seeds[..seeds.len().min(5)]);
    }
}

#[test]
#[ignore = "shows what fails how often, and fails never"]
fn survey_of_histories() {
    survey(number("FREESTONE_HISTORIES").unwrap_or(HISTORIES));
}

#[test]
fn every_history_ends_well() {
    let count = number("FREESTONE_HISTORIES").unwrap_or(HISTORIES);
    let first = || failures(count, false).into_iter().map(|(seed, _)| seed).min();
    let seed = number("FREESTONE_SEED").or_else(first);
    let Some(seed) = seed else { return };
    if let Err(what) = histories::run(seed, LOG) {
        panic!("{what}");
    }
    assert!(
        number("FREESTONE_SEED").is_some(),
        "seed {seed} failed, and not again: not determined by its seed"
    );
}

#[test]
fn a_seed_determines_its_history() {
    for seed in 0..10 {
        let log = || {
            histories::run(seed, 100_000).map(|client| client.cluster.log.clone()).map_err(|_| ())
        };
        assert_eq!(log(), log(), "seed {seed}");
    }
}
