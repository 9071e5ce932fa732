//! No bytes make a decoder panic, or take more memory than they are worth.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]

mod memory;
mod mutations;
mod samples;

use freestone_core::store::format;
use freestone_core::wire::{
    BlockAnswer, BlockDesc, BlockRequest, Form, Frames, FromExecutor, FromWorker, Output,
    TaskFailure, ToExecutor, ToWorker, frame,
};
use mutations::Dice;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::fmt::Debug;

const ROUNDS: u64 = 300_000;
/// An element may take this much more memory than bytes: an empty list of a structure is one byte.
const AMPLIFICATION: usize = 256;
/// Buffers of the decoder itself, and messages of errors.
const BASE: usize = 512 << 10;

/// Feeds a stream to a decoder in pieces, and takes all messages that come.
fn take_all<T: DeserializeOwned>(stream: &[u8], piece: usize) -> Vec<T> {
    let mut frames = Frames::default();
    let mut messages = Vec::new();
    for piece in stream.chunks(piece.max(1)) {
        frames.extend(piece);
        loop {
            match frames.next() {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(_) => return messages,
            }
        }
    }
    messages
}

/// Asserts that among some values there is one of each kind.
macro_rules! every {
    ($samples:expr, $type:ident: $($kind:ident),+) => {
        let kind = |sample: &$type| match sample { $($type::$kind { .. } => stringify!($kind)),+ };
        let found: BTreeSet<&str> = $samples.iter().map(kind).collect();
        assert_eq!(found, BTreeSet::from([$(stringify!($kind)),+]));
    };
}

fn fuzz<T: Serialize + DeserializeOwned + PartialEq + Debug>(samples: &[T]) {
    let encoded: Vec<Vec<u8>> = samples
        .iter()
        .map(|sample| {
            let mut bytes = Vec::new();
            frame::encode(sample, &mut bytes).unwrap();
            bytes
        })
        .collect();
    let whole = encoded.concat();
    assert_eq!(take_all::<T>(&whole, 7), samples);
    assert_eq!(take_all::<T>(&whole, usize::MAX), samples);
    for seed in 0..ROUNDS {
        let mut dice = Dice::new(seed);
        let stream = mutations::mutate(&encoded, &mut dice);
        let piece = 1 + dice.below(2 * stream.len());
        let peak = memory::peak_of(|| {
            take_all::<T>(&stream, piece);
        });
        assert!(peak <= BASE + AMPLIFICATION * stream.len(), "seed {seed}: {peak} bytes");
    }
}

#[test]
fn what_the_manager_says_to_a_worker() {
    fuzz::<ToWorker>(&samples::to_worker());
}

#[test]
fn what_a_worker_says_to_the_manager() {
    fuzz::<FromWorker>(&samples::from_worker());
}

#[test]
fn what_a_worker_says_to_an_executor() {
    fuzz::<ToExecutor>(&samples::to_executor());
}

#[test]
fn what_an_executor_says_to_its_worker() {
    fuzz::<FromExecutor>(&samples::from_executor());
}

#[test]
fn what_workers_ask_one_another() {
    fuzz::<BlockRequest>(&samples::requests());
}

#[test]
fn what_workers_answer_one_another() {
    fuzz::<BlockAnswer>(&samples::answers());
}

#[test]
fn what_lies_beside_a_block_that_is_kept() {
    fuzz::<BlockDesc>(&samples::kept());
}

/// The samples have all kinds of messages, failures and places; a kind that is new does not compile
/// until it stands here.
#[test]
fn there_is_a_sample_of_every_kind() {
    every!(samples::to_worker(), ToWorker: Welcome, Refused, Define, Run, Fetch, Adopt, Pin, Unpin,
        Drop, Return, Cancel, Shutdown);
    every!(samples::from_worker(), FromWorker: Hello, Done, Returned, Have, FetchFailed, Pinned, Lost,
        Status, Leaving);
    every!(samples::to_executor(), ToExecutor: Define, Calls, Resume, Opened, Forget, Shutdown);
    every!(samples::from_executor(), FromExecutor: Ready, Results, Stored, Open);
    every!(samples::answers(), BlockAnswer: Follows, Linked, Missing, Refused);
    every!(samples::failures(), TaskFailure: Raised, Killed, TimedOut, MemoryExceeded, DiskExceeded,
        Cancelled, InputLost, StorageFull, FileChanged, TooLarge);
    every!(samples::outputs(), Output: Inline, Stored);
    every!(samples::forms(), Form: Value, File, Group);
}

#[test]
fn the_file_of_a_value() {
    let files = samples::files();
    for file in &files {
        assert!(format::parse(file).is_ok());
    }
    for seed in 0..ROUNDS {
        let mut dice = Dice::new(seed);
        let file = mutations::mutate(&files, &mut dice);
        let mut parsed = None;
        let peak = memory::peak_of(|| parsed = format::parse(&file).ok());
        assert!(peak <= BASE + 4 * file.len(), "seed {seed}: {peak} bytes");
        let Some(parsed) = parsed else { continue };
        let mut end = 0;
        for part in std::iter::once(&parsed.pickle).chain(&parsed.buffers) {
            assert!(part.start >= end && file.get(part.clone()).is_some(), "seed {seed}");
            end = part.end;
        }
    }
}
