//! Workers die, blocks move and room is short: what was put is there all the same, at its home.

use super::super::transfers::MAX_FAILURES;
use crate::manager::tests::{Play, call, desc, inline, name, play, stored};
use crate::manager::*;
use crate::wire::{Assignment, FromWorker, Keep, TaskFailure, ToWorker, WorkerStatus};
use freestone_base::{Name, Ticket, WorkerId};

/// Block `block` of 10 bytes is put at worker 0, its home.
fn put(play: &mut Play, block: u32) {
    ask_to_put(play, block);
    play.says(0, FromWorker::Have { block: desc(block, 10), fetched: None });
}

fn ask_to_put(play: &mut Play, block: u32) {
    let path = format!("/put/{block}");
    let (worker, ticket) = (WorkerId(0), Ticket(u64::from(block)));
    let (block, keep) = (desc(block, 10), Keep::Task);
    play.request(Request::Put { block, path, owned: true, worker, keep, ticket });
}

/// Runs the call that makes `output` of `input` at worker 1, which fetches the input.
fn make_at_1(play: &mut Play, output: u32, input: u32) {
    let run = submit_at_1(play, output, input);
    fetched(play, 1, input, 0);
    play.done(1, &run, stored(output, 10));
}

fn submit_at_1(play: &mut Play, output: u32, input: u32) -> Assignment {
    let worker = Some(WorkerId(1));
    play.request(Request::Submit(vec![Submission { worker, ..call(output, &[input]) }]));
    assert!(fetches(play, 1, input), "{:?}", play.out);
    play.runs(1).remove(0)
}

fn fetched(play: &mut Play, worker: u32, block: u32, source: u32) {
    let fetched = Some((WorkerId(source), 5));
    play.says(worker, FromWorker::Have { block: desc(block, 10), fetched });
}

fn fetches(play: &Play, worker: u32, block: u32) -> bool {
    let is_it = |message: &&ToWorker| matches!(message, ToWorker::Fetch { block: found, .. } if found.name == name(block));
    play.sent(worker).iter().any(is_it)
}

fn fails_to_fetch(play: &mut Play, block: u32, missing_there: bool) {
    let (name, source, reason) = (name(block), WorkerId(0), String::new());
    play.says(1, FromWorker::FetchFailed { name, source, reason, missing_there, free: None });
}

fn release(play: &mut Play, block: u32) {
    play.request(Request::Release(vec![name(block)]));
}

fn places(play: &mut Play, block: u32) -> Vec<WorkerId> {
    play.request(Request::WhoHas { names: vec![name(block)], ticket: Ticket(500) });
    match play.outcomes().pop() {
        Some((500, Outcome::Locations(mut places))) => places.remove(0),
        other => panic!("{other:?}"),
    }
}

fn dropped(play: &Play, worker: u32) -> Vec<Name> {
    let drops = play.sent(worker).into_iter().filter_map(|message| match message {
        ToWorker::Drop(names) => Some(names.clone()),
        _ => None,
    });
    drops.flatten().collect()
}

/// A home, and a worker that comes and goes.
fn two() -> Play {
    let mut play = play();
    play.join(0, 1);
    play.join(1, 1);
    play
}

#[test]
fn what_was_put_and_released_stays_at_home_until_what_was_made_of_it_is_released() {
    let mut play = two();
    put(&mut play, 1);
    make_at_1(&mut play, 2, 1);
    release(&mut play, 1);
    assert_eq!(dropped(&play, 1), [name(1)]);
    assert_eq!(places(&mut play, 1), [WorkerId(0)]);
    release(&mut play, 2);
    assert_eq!((dropped(&play, 0), dropped(&play, 1)), (vec![name(1)], vec![name(2)]));
    play.assert_empty();
}

#[test]
fn a_result_that_is_lost_is_made_again_of_what_was_put_and_released() {
    let mut play = two();
    put(&mut play, 1);
    play.request(Request::Submit(vec![call(2, &[1]), call(3, &[2])]));
    let run = play.runs(0).remove(0);
    play.done(0, &run, stored(2, 10));
    let run = play.runs(0).remove(0);
    play.done(0, &run, stored(3, 10));
    for block in [1, 2] {
        release(&mut play, block);
    }
    play.says(0, FromWorker::Lost { names: vec![name(3)], reason: "damaged".to_owned() });
    for output in [2, 3] {
        let run = play.runs(0).remove(0);
        assert_eq!(run.outputs[0], name(output));
        play.done(0, &run, stored(output, 10));
    }
    assert_eq!(places(&mut play, 3), [WorkerId(0)]);
    release(&mut play, 3);
    play.assert_empty();
}

#[test]
fn results_that_are_safe_keep_nothing_that_was_put() {
    let mut play = two();
    put(&mut play, 1);
    play.request(Request::Submit(vec![call(2, &[1])]));
    let run = play.runs(0).remove(0);
    release(&mut play, 1);
    play.done(0, &run, inline(b"x"));
    assert_eq!(dropped(&play, 0), [name(1)]);
    release(&mut play, 2);
    play.assert_empty();
}

#[test]
fn what_was_released_takes_a_part_of_the_memory_and_the_oldest_goes() {
    let mut play = two();
    let status = WorkerStatus { memory_quota: 160, ..WorkerStatus::default() };
    play.says(0, FromWorker::Status(status));
    let mut gone = Vec::new();
    for block in 1..=5 {
        put(&mut play, block);
        make_at_1(&mut play, 10 + block, block);
        release(&mut play, block);
        gone.extend(dropped(&play, 0));
    }
    // 40 bytes are allowed, and 20 are left once there are more.
    assert_eq!(gone, [name(1), name(2), name(3)]);
    for block in 1..=5 {
        release(&mut play, 10 + block);
    }
    play.assert_empty();
}

#[test]
fn room_that_a_task_needs_is_not_kept_for_what_was_released() {
    let mut play = two();
    put(&mut play, 1);
    make_at_1(&mut play, 2, 1);
    release(&mut play, 1);
    let worker = Some(WorkerId(0));
    play.request(Request::Submit(vec![Submission { worker, ..call(3, &[]) }]));
    let full = TaskFailure::StorageFull { needed: 10, free: 0, folder: "/f".to_owned() };
    play.fails(0, &play.runs(0)[0].clone(), full);
    assert_eq!(dropped(&play, 0), [name(1)]);
    assert_eq!(play.runs(0).len(), 1);
}

#[test]
fn room_is_made_elsewhere_than_at_home() {
    let mut play = two();
    put(&mut play, 1);
    make_at_1(&mut play, 2, 1);
    let full = || TaskFailure::StorageFull { needed: 10, free: 0, folder: "/f".to_owned() };
    for (worker, made) in [(0, vec![]), (1, vec![name(1)])] {
        let pinned = Some(WorkerId(worker));
        let submission = Submission { worker: pinned, ..call(3 + worker, &[]) };
        play.request(Request::Submit(vec![submission]));
        play.fails(worker, &play.runs(worker)[0].clone(), full());
        assert_eq!(dropped(&play, worker), made, "{worker}");
    }
    assert_eq!(places(&mut play, 1), [WorkerId(0)]);
}

#[test]
fn what_moves_to_even_workers_out_stays_at_home_besides() {
    let mut play = play();
    play.join(0, 1);
    for block in 1..=2 {
        put(&mut play, block);
    }
    play.request(Request::Collect { collection: 1, blocks: vec![name(1), name(2)] });
    play.join(1, 1);
    play.request(Request::Balance);
    fetched(&mut play, 1, 2, 0);
    assert!(dropped(&play, 0).is_empty());
    assert_eq!(places(&mut play, 2), [WorkerId(0), WorkerId(1)]);
    // It counts as being where it moved to, and moves on from there.
    play.request(Request::Balance);
    assert!(!fetches(&play, 1, 1) && dropped(&play, 1).is_empty());
    play.join(2, 1);
    play.request(Request::Retire(vec![WorkerId(1)]));
    assert!(fetches(&play, 2, 2), "{:?}", play.out);
    fetched(&mut play, 2, 2, 0);
    play.handle(Event::Left(WorkerId(2)));
    assert_eq!(places(&mut play, 2), [WorkerId(0)]);
}

#[test]
fn a_home_that_retires_hands_over_what_was_released() {
    let mut play = two();
    put(&mut play, 1);
    make_at_1(&mut play, 2, 1);
    release(&mut play, 1);
    play.request(Request::Retire(vec![WorkerId(0)]));
    assert!(fetches(&play, 1, 1), "{:?}", play.out);
    fetched(&mut play, 1, 1, 0);
    assert_eq!(places(&mut play, 1), [WorkerId(1)]);
    play.handle(Event::Left(WorkerId(0)));
    release(&mut play, 2);
    assert_eq!(dropped(&play, 1), [name(2), name(1)]);
    play.assert_empty();
}

#[test]
fn a_worker_that_can_not_reach_the_home_runs_nothing_with_its_blocks() {
    let mut play = play();
    play.join(0, 0);
    play.join(1, 1);
    put(&mut play, 1);
    play.request(Request::Submit(vec![call(2, &[1])]));
    assert_eq!(play.runs(1).len(), 1);
    play.join(2, 1);
    play.request(Request::Gather { name: name(1), worker: WorkerId(1), ticket: Ticket(50) });
    for failures in 1..=MAX_FAILURES {
        assert!(play.outcomes().is_empty() && play.runs(2).is_empty());
        fails_to_fetch(&mut play, 1, false);
        if failures < MAX_FAILURES {
            play.handle(Event::Tick);
        }
    }
    let refused = play.outcomes();
    assert!(
        matches!(&refused[..], [(50, Outcome::Failed(why))] if why.why == Why::InputLost(name(1)))
    );
    let run = play.runs(2).remove(0);
    fetched(&mut play, 2, 1, 0);
    play.done(2, &run, inline(b"x"));
    assert_eq!(places(&mut play, 1), [WorkerId(0), WorkerId(2)]);
    for block in [1, 2] {
        release(&mut play, block);
    }
    play.assert_empty();
}

#[test]
fn a_transfer_that_found_a_block_gone_says_nothing_of_one_that_was_put_again() {
    let mut play = two();
    put(&mut play, 1);
    submit_at_1(&mut play, 2, 1);
    // While the block is on its way, nothing needs it any more, and it is dropped.
    play.request(Request::Cancel(vec![name(2)]));
    for block in [1, 2] {
        release(&mut play, block);
    }
    assert_eq!(places(&mut play, 1), []);
    put(&mut play, 1);
    fails_to_fetch(&mut play, 1, true);
    assert_eq!(places(&mut play, 1), [WorkerId(0)]);
    release(&mut play, 1);
    play.assert_empty();
}
