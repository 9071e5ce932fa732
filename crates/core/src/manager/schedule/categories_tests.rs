//! What calls of a category get, by what was seen of those before.

use crate::manager::tests::{Play, call, inline, play};
use crate::manager::*;
use crate::wire::{Assignment, CallOptions, FromWorker, Report, Spent, TaskFailure};
use freestone_base::Resources;
use smallvec::smallvec;
use std::sync::Arc;

const MB: u64 = 1 << 20;
const GB: u64 = 1 << 30;

fn submit(play: &mut Play, outputs: std::ops::Range<u32>) {
    let options = Arc::new(CallOptions { category: 1, ..CallOptions::default() });
    let calls = outputs.map(|output| Submission { options: options.clone(), ..call(output, &[]) });
    play.request(Request::Submit(calls.collect()));
}

/// A call ends that took so much.
fn took(play: &mut Play, run: &Assignment, memory: u64) {
    let Assignment { task, attempt, .. } = *run;
    let result = Ok(smallvec![inline(b"x")]);
    let spent = Spent { duration_ns: 1000, memory, ..Spent::default() };
    let report = Report { task, attempt, spent, result };
    play.says(0, FromWorker::Done(vec![report]));
}

fn memory(runs: &[Assignment]) -> Vec<u64> {
    runs.iter().map(|run| run.options.resources.memory).collect()
}

/// A worker of four slots and 1 GiB; three calls of a category took up to 100 MiB. Nobody knew what
/// they need: each was given all.
fn measured() -> Play {
    let mut play = play();
    play.join(0, 4);
    submit(&mut play, 0..3);
    let mut runs = play.runs(0);
    for (index, nbytes) in [50, 100, 80].into_iter().enumerate() {
        assert_eq!(runs[index].options.resources.memory, GB);
        took(&mut play, &runs[index].clone(), nbytes * MB);
        runs.extend(play.runs(0));
    }
    play
}

#[test]
fn calls_get_what_the_largest_took_and_a_quarter_more() {
    let mut play = measured();
    submit(&mut play, 3..7);
    // 125 MiB, in steps of 16.
    assert_eq!(memory(&play.runs(0)), [128 * MB; 4]);
}

#[test]
fn one_that_takes_more_is_tried_again_with_all_there_is() {
    let mut play = measured();
    submit(&mut play, 3..4);
    let run = play.runs(0).remove(0);
    play.fails(0, &run, TaskFailure::MemoryExceeded { limit: 128 * MB });
    let again = play.runs(0).remove(0);
    assert_eq!((again.attempt, memory(std::slice::from_ref(&again))), (2, vec![GB]));
    took(&mut play, &again, 700 * MB);
    assert_eq!(play.outcomes().len(), 1);
    submit(&mut play, 10..11);
    assert_eq!(memory(&play.runs(0)), [896 * MB]);
}

#[test]
fn one_that_takes_more_than_there_is_fails() {
    let mut play = measured();
    submit(&mut play, 3..4);
    let run = play.runs(0).remove(0);
    play.fails(0, &run, TaskFailure::MemoryExceeded { limit: 128 * MB });
    let again = play.runs(0).remove(0);
    let why = TaskFailure::MemoryExceeded { limit: GB };
    play.fails(0, &again, why.clone());
    let outcomes = play.outcomes();
    let [(3, Outcome::Failed(failure))] = &outcomes[..] else { panic!("{outcomes:?}") };
    assert_eq!(failure.why, Why::Attempt(why));
}

#[test]
fn one_that_asked_for_resources_is_not_tried_again() {
    let mut play = play();
    play.join(0, 1);
    let resources = Resources { memory: 64 * MB, ..Resources::ONE_CORE };
    let options = Arc::new(CallOptions { resources, ..CallOptions::default() });
    play.request(Request::Submit(vec![Submission { options, ..call(1, &[]) }]));
    let run = play.runs(0).remove(0);
    play.fails(0, &run, TaskFailure::MemoryExceeded { limit: 64 * MB });
    assert_eq!(play.outcomes().len(), 1);
}

#[test]
fn what_waits_when_a_larger_worker_leaves_gets_what_is_left() {
    let mut play = play();
    play.join(0, 1);
    play.join_with(1, 1, Resources { cores: 1, memory: 4 * GB, ..Resources::default() });
    submit(&mut play, 0..2);
    // One runs, and one was sent ahead.
    assert_eq!(memory(&play.runs(1)), [4 * GB; 2]);
    play.handle(Event::Left(freestone_base::WorkerId(1)));
    assert!(play.outcomes().is_empty());
    assert_eq!(memory(&play.runs(0)), [GB; 2]);
}
