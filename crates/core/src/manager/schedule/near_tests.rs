//! Where tasks run that are tied to a place: near a worker, near an input, and over a group.

use crate::manager::tests::{Play, call, desc, inline, name, play, stored};
use crate::manager::*;
use crate::wire::{
    Assignment, BlockDesc, CallOptions, Form, FromWorker, Output, Report, Spent, TaskFailure,
    ToWorker,
};
use freestone_base::{Name, Resources, WorkerId};
use smallvec::smallvec;
use std::sync::Arc;

fn near(output: u32, inputs: &[u32], near: Near) -> Submission {
    Submission { near: Some(near), ..call(output, inputs) }
}

fn at(output: u32, worker: u32) -> Submission {
    near(output, &[], Near::Worker(WorkerId(worker)))
}

fn submit(play: &mut Play, calls: Vec<Submission>) {
    play.request(Request::Submit(calls));
}

fn group(number: u32) -> Output {
    Output::Stored(BlockDesc { form: Form::Group, ..desc(number, 10) })
}

fn returned(play: &Play, worker: u32) -> bool {
    play.sent(worker).iter().any(|message| matches!(message, ToWorker::Return(_)))
}

/// A call ends after a second, so that others of its function are worth moving.
fn done_late(play: &mut Play, worker: u32, run: &Assignment, output: Output) {
    let Assignment { task, attempt, .. } = *run;
    let result = Ok(smallvec![output]);
    let spent = Spent { duration_ns: 1_000_000_000, ..Spent::default() };
    let report = Report { task, attempt, spent, result };
    play.says(worker, FromWorker::Done(vec![report]));
}

/// Two workers of one slot; worker 0 holds block 1.
fn two_workers() -> (Play, Assignment) {
    let mut play = play();
    play.join(0, 1);
    play.join(1, 1);
    submit(&mut play, vec![at(1, 0)]);
    let run = play.runs(0).remove(0);
    (play, run)
}

#[test]
fn what_is_near_a_worker_is_not_taken_from_it() {
    let mut play = play();
    play.join(0, 1);
    play.join(1, 1);
    submit(&mut play, (1..=6).map(|output| at(output, 0)).collect());
    assert!(!play.runs(0).is_empty());
    assert!(play.runs(1).is_empty());
    play.handle(Event::Tick);
    assert!(!returned(&play, 0) && play.runs(1).is_empty());
}

#[test]
fn what_is_near_a_worker_that_left_runs_elsewhere() {
    let (mut play, _) = two_workers();
    play.handle(Event::Left(WorkerId(0)));
    assert_eq!(play.runs(1).len(), 1);
    submit(&mut play, vec![at(2, 0), at(3, 7)]);
    play.done(1, &play.runs(1)[0].clone(), inline(b"x"));
    assert!(!play.outcomes().is_empty());
}

#[test]
fn what_a_near_worker_cannot_hold_runs_where_it_can() {
    let mut play = play();
    play.join(0, 1);
    play.join_with(1, 1, Resources { gpus: 1, ..Resources::ONE_CORE });
    let resources = Resources { gpus: 1, ..Resources::ONE_CORE };
    let options = Arc::new(CallOptions { resources, ..CallOptions::default() });
    submit(&mut play, vec![Submission { options, ..at(1, 0) }]);
    assert!(play.runs(0).is_empty());
    assert_eq!(play.runs(1).len(), 1);
}

#[test]
fn what_is_near_its_input_runs_there_however_busy_that_is() {
    let (mut play, run) = two_workers();
    done_late(&mut play, 0, &run, stored(1, 10));
    submit(&mut play, (2..=9).map(|output| near(output, &[1], Near::Input)).collect());
    assert!(!play.runs(0).is_empty());
    assert!(play.runs(1).is_empty());
    play.handle(Event::Tick);
    assert!(!returned(&play, 0) && play.runs(1).is_empty());
}

#[test]
fn without_that_a_busy_worker_shares_what_needs_its_block() {
    let (mut play, run) = two_workers();
    done_late(&mut play, 0, &run, stored(1, 10));
    submit(&mut play, (2..=9).map(|output| call(output, &[1])).collect());
    assert!(!play.runs(1).is_empty());
}

#[test]
fn a_call_over_a_group_goes_where_the_group_is() {
    let (mut play, run) = two_workers();
    done_late(&mut play, 0, &run, group(1));
    submit(&mut play, (2..=9).map(|output| call(output, &[1])).collect());
    assert!(!play.runs(0).is_empty());
    assert!(play.runs(1).is_empty());
    assert!(!play.sent(1).iter().any(|message| matches!(message, ToWorker::Fetch { .. })));
}

#[test]
fn a_group_whose_members_are_gone_is_made_again() {
    let (mut play, run) = two_workers();
    play.done(0, &run, group(1));
    submit(&mut play, vec![call(2, &[1])]);
    let over = play.runs(0).remove(0);
    play.fails(0, &over, TaskFailure::InputLost { name: name(1) });
    let again = play.runs(0).remove(0);
    assert_eq!(again.outputs, run.outputs);
    play.done(0, &again, group(1));
    let over = play.runs(0).remove(0);
    play.done(0, &over, inline(b"x"));
    assert_eq!(play.outcomes(), [(2, Outcome::Ready(inline(b"x")))]);
}

#[test]
fn a_worker_that_retires_does_not_hand_a_group_over() {
    let (mut play, run) = two_workers();
    play.done(0, &run, group(1));
    play.request(Request::Retire(vec![WorkerId(0)]));
    // It would be of no use there: it is made anew, over members that are there by then.
    let runs = play.runs(1);
    assert_eq!((runs.len(), &runs[0].outputs), (1, &run.outputs));
    assert!(!play.sent(1).iter().any(|message| matches!(message, ToWorker::Fetch { .. })));
    assert_eq!(play.sent(0), [&ToWorker::Shutdown]);
}

/// Two workers of one slot; worker 0 holds group 2, whose member is block 1 there.
fn with_member() -> Play {
    let (mut play, run) = two_workers();
    play.done(0, &run, stored(1, 10));
    submit(&mut play, vec![near(2, &[1], Near::Worker(WorkerId(0)))]);
    let run = play.runs(0).remove(0);
    play.done(0, &run, group(2));
    play
}

/// What a worker is to fetch, by number; it says at once that it has it.
fn fetches(play: &mut Play, worker: u32, source: u32) -> Vec<BlockDesc> {
    let fetched = play.sent(worker).into_iter().filter_map(|message| match message {
        ToWorker::Fetch { block, .. } => Some(block.clone()),
        _ => None,
    });
    let fetched: Vec<BlockDesc> = fetched.collect();
    for block in fetched.clone() {
        play.says(worker, FromWorker::Have { block, fetched: Some((WorkerId(source), 10)) });
    }
    fetched
}

#[test]
fn a_call_over_a_group_of_a_worker_that_retires_takes_the_members_along() {
    let mut play = with_member();
    submit(&mut play, vec![at(3, 0)]);
    let busy = play.runs(0).remove(0);
    play.request(Request::Retire(vec![WorkerId(0)]));
    submit(&mut play, vec![call(4, &[2])]);
    let run = play.runs(1).remove(0);
    let names: Vec<Name> = fetches(&mut play, 1, 0).into_iter().map(|block| block.name).collect();
    assert!(names.contains(&name(1)) && names.contains(&name(2)), "{names:?}");
    assert_eq!(run.inputs.len(), 2, "the group and its member");
    play.done(1, &run, inline(b"x"));
    assert_eq!(play.outcomes(), [(4, Outcome::Ready(inline(b"x")))]);
    play.done(0, &busy, inline(b"y"));
    play.request(Request::Release((1..=4).map(name).collect()));
    assert_eq!(play.statistics().blocks, 0);
}

#[test]
fn a_call_over_a_group_that_has_to_run_elsewhere_takes_the_members_along() {
    let mut play = with_member();
    submit(&mut play, vec![Submission { worker: Some(WorkerId(1)), ..call(3, &[2]) }]);
    assert_eq!(play.runs(1)[0].inputs.len(), 2);
    let fetched = fetches(&mut play, 1, 0);
    assert_eq!(fetched.len(), 2);
    // From now on both can run what needs the group.
    submit(&mut play, (4..=9).map(|output| call(output, &[2])).collect());
    assert!(play.runs(0).iter().chain(&play.runs(1)).all(|run| run.inputs.len() == 1));
}

#[test]
fn a_group_is_not_copied_for_its_own_sake() {
    let (mut play, run) = two_workers();
    play.done(0, &run, stored(1, 10));
    let options = Arc::new(CallOptions { replicas: 2, ..CallOptions::default() });
    submit(&mut play, vec![Submission { options, ..near(2, &[1], Near::Worker(WorkerId(0))) }]);
    let run = play.runs(0).remove(0);
    play.done(0, &run, group(2));
    play.handle(Event::Tick);
    assert!(!play.sent(1).iter().any(|message| matches!(message, ToWorker::Fetch { .. })));
}
