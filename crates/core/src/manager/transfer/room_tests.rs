//! Kept blocks make room, what can't be had again stays, and nothing waits for room for ever.

use super::GRACE_NS;
use crate::manager::tests::{Play, call, desc, name, play, stored};
use crate::manager::*;
use crate::wire::{Assignment, CallOptions, FromWorker, Keep, TaskFailure, ToWorker};
use freestone_base::{Name, Ticket, WorkerId};
use std::sync::Arc;

fn full(needed: u64) -> TaskFailure {
    TaskFailure::StorageFull { needed, free: 0, folder: "/f".to_owned() }
}

/// Makes block `output` of 10 bytes at worker 0.
fn make(play: &mut Play, output: u32, inputs: &[u32], keep: Keep) {
    let options = Arc::new(CallOptions { keep, twice: true, ..CallOptions::default() });
    play.request(Request::Submit(vec![Submission { options, ..call(output, inputs) }]));
    play.done(0, &play.runs(0)[0].clone(), stored(output, 10));
}

fn release(play: &mut Play, output: u32) {
    play.request(Request::Release(vec![name(output)]));
}

/// Submits the task that makes block 99, for which there is no room; gives it as it was sent.
fn cramp(play: &mut Play, inputs: &[u32]) -> Assignment {
    play.request(Request::Submit(vec![call(99, inputs)]));
    let run = play.runs(0).remove(0);
    play.fails(0, &run, full(20));
    run
}

fn dropped(play: &Play, worker: u32) -> Vec<u32> {
    let of = |block: &Name| (1..100).find(|number| name(*number) == *block);
    let drops = play.sent(worker).into_iter().filter_map(|message| match message {
        ToWorker::Drop(names) => Some(names.iter().filter_map(of).collect::<Vec<u32>>()),
        _ => None,
    });
    drops.flatten().collect()
}

fn failed(play: &Play, ticket: u64) -> bool {
    play.outcomes()
        .iter()
        .any(|(resolved, outcome)| *resolved == ticket && matches!(outcome, Outcome::Failed(_)))
}

#[test]
fn kept_blocks_go_oldest_first_and_as_few_as_are_needed() {
    let mut play = play();
    play.join(0, 1);
    for block in 1..=4 {
        make(&mut play, block, &[], if block == 2 { Keep::Worker } else { Keep::Session });
        release(&mut play, block);
    }
    // Block 1 is used again, so 2 and 3 are older.
    make(&mut play, 5, &[1], Keep::Task);
    let first = cramp(&mut play, &[]);
    assert_eq!(dropped(&play, 0), [2, 3]);
    let again = play.runs(0).remove(0);
    assert_eq!((again.task, again.attempt), (first.task, 2));
    play.done(0, &again, stored(99, 20));
    assert_eq!(play.statistics().failed, 0);
}

#[test]
fn a_result_that_is_held_goes_if_its_task_can_make_it_again_and_comes_back() {
    let mut play = play();
    play.join(0, 1);
    make(&mut play, 1, &[], Keep::Task);
    cramp(&mut play, &[]);
    assert_eq!(dropped(&play, 0), [1]);
    play.done(0, &play.runs(0)[0].clone(), stored(99, 20));
    assert_eq!(play.statistics().recovered, 0);
    play.request(Request::Gather { name: name(1), worker: WorkerId(0), ticket: Ticket(500) });
    assert_eq!(play.runs(0)[0].outputs[0], name(1));
    assert_eq!(play.statistics().recovered, 1);
}

#[test]
fn what_cannot_be_had_again_stays_and_the_task_is_refused() {
    let mut play = play();
    play.join(0, 1);
    let block = desc(1, 10);
    let (path, ticket, worker) = ("/p".to_owned(), Ticket(1), WorkerId(0));
    play.request(Request::Put { block, path, owned: true, worker, keep: Keep::Task, ticket });
    play.says(0, FromWorker::Have { block: desc(1, 10), fetched: None });
    // A call that must not run twice is not run again for want of room.
    play.request(Request::Submit(vec![Submission {
        options: Arc::new(CallOptions { twice: false, ..CallOptions::default() }),
        ..call(2, &[])
    }]));
    play.done(0, &play.runs(0)[0].clone(), stored(2, 10));
    cramp(&mut play, &[]);
    assert!(dropped(&play, 0).is_empty() && !failed(&play, 99));
    // It is tried once more when nothing runs, and then refused.
    play.handle(Event::Tick);
    play.fails(0, &play.runs(0)[0].clone(), full(20));
    assert!(!failed(&play, 99));
    play.now += GRACE_NS;
    play.handle(Event::Tick);
    assert!(failed(&play, 99), "{:?}", play.out);
    assert!(dropped(&play, 0).is_empty());
    for block in [1, 2, 99] {
        release(&mut play, block);
    }
    play.assert_empty();
}

#[test]
fn a_task_waits_for_room_as_long_as_something_runs() {
    let mut play = play();
    play.join(0, 2);
    play.request(Request::Submit(vec![call(1, &[]), call(2, &[])]));
    let runs = play.runs(0);
    play.fails(0, &runs[1], full(20));
    play.now += 10 * GRACE_NS;
    play.handle(Event::Tick);
    play.now += 10 * GRACE_NS;
    play.handle(Event::Tick);
    assert!(play.runs(0).is_empty() && !failed(&play, 2));
    play.done(0, &runs[0], stored(1, 10));
    assert_eq!(play.runs(0)[0].outputs[0], name(2));
    assert!(!failed(&play, 2));
}

/// Two tasks that each have a block and no room for another: gives the first as it was sent for
/// which the other's block made way.
fn displace(play: &mut Play) -> Assignment {
    play.join(0, 1);
    for block in [1, 2] {
        make(play, block, &[], Keep::Task);
    }
    play.request(Request::Submit(vec![call(3, &[1]), call(4, &[2])]));
    // At first they are sent, and again when nothing runs any more.
    for _ in 0..2 {
        for run in play.runs(0) {
            play.fails(0, &run, full(10));
        }
        assert!(dropped(play, 0).is_empty());
        play.handle(Event::Tick);
    }
    assert_eq!(dropped(play, 0), [2]);
    let runs = play.runs(0);
    assert_eq!((runs.len(), runs[0].outputs[0]), (1, name(3)));
    runs[0].clone()
}

#[test]
fn what_waits_makes_way_for_one_task_and_is_made_again_after_it() {
    let mut play = play();
    let favoured = displace(&mut play);
    assert_eq!(play.statistics().recovered, 0);
    play.done(0, &favoured, stored(3, 10));
    let again = play.runs(0).remove(0);
    assert_eq!((again.outputs[0], play.statistics().recovered), (name(2), 1));
    play.done(0, &again, stored(2, 10));
    play.done(0, &play.runs(0)[0].clone(), stored(4, 10));
    assert_eq!(play.statistics().failed, 0);
    for block in [1, 2, 3, 4] {
        release(&mut play, block);
    }
    play.assert_empty();
}

#[test]
fn what_made_way_for_a_task_comes_back_if_that_is_cancelled() {
    let mut play = play();
    displace(&mut play);
    play.request(Request::Cancel(vec![name(3)]));
    assert_eq!(play.runs(0)[0].outputs[0], name(2));
}

#[test]
fn tasks_that_take_each_others_room_are_refused_in_the_end() {
    let mut play = play();
    let first = displace(&mut play);
    // There is room for nothing, whatever makes way.
    let (mut runs, mut refused) = (vec![first], Vec::new());
    for _ in 0..1000 {
        if let Some(run) = runs.pop() {
            play.fails(0, &run, full(10));
        } else {
            play.now += GRACE_NS;
            play.handle(Event::Tick);
        }
        runs.extend(play.runs(0));
        refused.extend([3, 4].into_iter().filter(|ticket| failed(&play, *ticket)));
    }
    refused.sort_unstable();
    assert_eq!(refused, [3, 4]);
}

#[test]
fn what_is_let_go_of_is_room_for_a_task_that_waits() {
    let mut play = play();
    play.join(0, 1);
    let options = Arc::new(CallOptions { twice: false, ..CallOptions::default() });
    play.request(Request::Submit(vec![Submission { options, ..call(1, &[]) }]));
    play.done(0, &play.runs(0)[0].clone(), stored(1, 10));
    cramp(&mut play, &[]);
    assert!(play.runs(0).is_empty());
    release(&mut play, 1);
    assert_eq!((dropped(&play, 0), play.runs(0).len()), (vec![1], 1));
}

#[test]
fn a_second_copy_is_spare() {
    let mut play = play();
    play.join(0, 1);
    play.join(1, 1);
    let options = Arc::new(CallOptions { twice: false, ..CallOptions::default() });
    let worker = Some(WorkerId(0));
    play.request(Request::Submit(vec![Submission { options, worker, ..call(1, &[]) }]));
    play.done(0, &play.runs(0)[0].clone(), stored(1, 10));
    play.request(Request::Gather { name: name(1), worker: WorkerId(1), ticket: Ticket(500) });
    play.says(1, FromWorker::Have { block: desc(1, 10), fetched: Some((WorkerId(0), 5)) });
    play.request(Request::Submit(vec![Submission { worker, ..call(99, &[]) }]));
    play.fails(0, &play.runs(0)[0].clone(), full(20));
    assert_eq!((dropped(&play, 0), dropped(&play, 1)), (vec![1], vec![]));
}

#[test]
fn what_a_task_needs_does_not_make_way_for_it() {
    let mut play = play();
    play.join(0, 1);
    play.join(1, 1);
    let at = |worker| Some(WorkerId(worker));
    play.request(Request::Submit(vec![Submission { worker: at(1), ..call(1, &[]) }]));
    play.done(1, &play.runs(1)[0].clone(), stored(1, 10));
    play.request(Request::Submit(vec![Submission { worker: at(0), ..call(99, &[1]) }]));
    let run = play.runs(0).remove(0);
    play.says(0, FromWorker::Have { block: desc(1, 10), fetched: Some((WorkerId(1), 5)) });
    play.fails(0, &run, full(20));
    assert!(dropped(&play, 0).is_empty() && play.runs(0).is_empty());
}

#[test]
fn a_place_without_room_costs_no_copy_elsewhere() {
    let mut play = play();
    play.join(0, 1);
    play.join(1, 1);
    let worker = Some(WorkerId(0));
    play.request(Request::Submit(vec![Submission { worker, ..call(1, &[]) }]));
    play.done(0, &play.runs(0)[0].clone(), stored(1, 10));
    play.request(Request::Gather { name: name(1), worker: WorkerId(1), ticket: Ticket(500) });
    for _ in 0..20 {
        play.says(
            1,
            FromWorker::FetchFailed {
                name: name(1),
                source: WorkerId(0),
                reason: "no room".to_owned(),
                missing_there: false,
                free: Some(3),
            },
        );
        if failed(&play, 500) {
            break;
        }
        play.handle(Event::Tick);
    }
    assert!(failed(&play, 500));
    let statistics = play.statistics();
    assert_eq!((statistics.workers[0].blocks, statistics.recovered), (1, 0));
}
