//! The manager under thousands of seeded histories with faults: see `histories/`.
//!
//! `FREESTONE_SEED=7 cargo test --test manager_histories` runs one of them and prints its last
//! events if it fails; `FREESTONE_HISTORIES=100000` runs more of them,
//! with `FREESTONE_FIRST=50000` from that one on.
#![allow(missing_docs, clippy::unwrap_used)]

mod histories;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

const HISTORIES: u64 = 10_000;
const LOG: usize = 20_000;
/// So long takes no history.
const STUCK: Duration = Duration::from_secs(20);

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

/// Runs histories one after another, as long as `next` gives seeds below `end`, and sends how
/// each ended.
fn work(next: &AtomicU64, end: u64, ended: &mpsc::Sender<(u64, Option<String>)>) {
    loop {
        // Pairs with nothing: only the numbers must differ.
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= end || ended.send((seed, trial(seed))).is_err() {
            return;
        }
    }
}

/// Runs histories on all processors, until one fails or all of them; which failed, and how.
/// Threads that are stuck in a history are left alone, and others go on in their place.
fn failures(count: u64, all: bool) -> Vec<(u64, String)> {
    let first = number("FREESTONE_FIRST").unwrap_or(0);
    let end = first + count;
    let next = Arc::new(AtomicU64::new(first));
    let (sender, receiver) = mpsc::channel();
    let start = || {
        let (next, sender) = (Arc::clone(&next), sender.clone());
        thread::spawn(move || work(&next, end, &sender));
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    (0..threads).for_each(|_| start());
    let mut open: BTreeSet<u64> = (first..end).collect();
    let mut failed = Vec::new();
    while !open.is_empty() && (all || failed.is_empty()) {
        if let Ok((seed, wrong)) = receiver.recv_timeout(STUCK) {
            open.remove(&seed);
            failed.extend(wrong.map(|wrong| (seed, wrong)));
            continue;
        }
        let begun = next.load(Ordering::Relaxed);
        let stuck: Vec<u64> = open.range(..begun).copied().collect();
        for seed in stuck {
            open.remove(&seed);
            failed.push((seed, "  never ends".to_owned()));
            start();
        }
    }
    failed
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
    let (seed, what) = match number("FREESTONE_SEED") {
        Some(seed) => (seed, String::new()),
        None => match failures(count, false).into_iter().min() {
            Some(first) => first,
            None => return,
        },
    };
    assert!(!what.contains("never ends"), "seed {seed} never ends");
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
