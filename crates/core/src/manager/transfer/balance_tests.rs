//! Workers that come and go: blocks of collections move, and none is lost.

use super::JOIN_DELAY_NS;
use crate::manager::tests::{Play, call, desc, name, play, stored};
use crate::manager::*;
use crate::wire::{FromWorker, ToWorker};
use freestone_base::{Name, Ticket, WorkerId};

/// Worker 0 with blocks 1 to `blocks`, of 10 bytes each, of one collection.
fn with_blocks(blocks: u32) -> Play {
    let mut play = play();
    play.join(0, 1);
    for block in 1..=blocks {
        make(&mut play, block);
    }
    collect(&mut play, 1, 1..=blocks);
    play
}

fn make(play: &mut Play, block: u32) {
    play.request(Request::Submit(vec![call(block, &[])]));
    play.done(0, &play.runs(0)[0].clone(), stored(block, 10));
}

fn collect(play: &mut Play, collection: u64, blocks: impl Iterator<Item = u32>) {
    play.request(Request::Collect { collection, blocks: blocks.map(name).collect() });
}

/// The blocks that a worker is told to fetch.
fn fetches(play: &Play, worker: u32) -> Vec<u32> {
    let sent = play.sent(worker);
    let of = |block: Name| (1..100).find(|number| name(*number) == block);
    let fetches = sent.iter().filter_map(|message| match message {
        ToWorker::Fetch { block, .. } => of(block.name),
        _ => None,
    });
    fetches.collect()
}

fn fetched(play: &mut Play, worker: u32, block: u32, source: u32) {
    let fetched = Some((WorkerId(source), 5));
    play.says(worker, FromWorker::Have { block: desc(block, 10), fetched });
}

fn dropped(play: &Play, worker: u32) -> bool {
    play.sent(worker).iter().any(|message| matches!(message, ToWorker::Drop(_)))
}

#[test]
fn a_joining_worker_gets_its_share_some_at_once() {
    let mut play = with_blocks(6);
    play.join(1, 1);
    assert!(fetches(&play, 1).is_empty());
    play.request(Request::Balance);
    assert_eq!(fetches(&play, 1), [4, 5]);
    assert_eq!(play.statistics().moving, 3);
    fetched(&mut play, 1, 4, 0);
    assert_eq!(fetches(&play, 1), [6]);
    assert_eq!(play.sent(0), [&ToWorker::Drop(vec![name(4)])]);
    fetched(&mut play, 1, 5, 0);
    fetched(&mut play, 1, 6, 0);
    assert!(dropped(&play, 0));
    let statistics = play.statistics();
    assert_eq!((statistics.moving, statistics.transferred_nbytes), (0, 30));
    play.request(Request::Balance);
    assert!(fetches(&play, 0).is_empty() && fetches(&play, 1).is_empty());
}

#[test]
fn blocks_move_when_nobody_has_joined_for_a_while() {
    let mut play = with_blocks(6);
    for worker in [1, 2] {
        play.join(worker, 1);
        play.now += JOIN_DELAY_NS / 2;
        play.handle(Event::Tick);
        assert!(fetches(&play, 1).is_empty());
    }
    play.now += JOIN_DELAY_NS / 2;
    play.handle(Event::Tick);
    assert_eq!((fetches(&play, 1).len(), fetches(&play, 2).len()), (2, 2));
}

#[test]
fn workers_that_joined_before_a_collection_came_move_none_of_it() {
    let mut play = play();
    play.join(0, 1);
    play.join(1, 1);
    for block in 1..=4 {
        let here = Submission { worker: Some(WorkerId(0)), ..call(block, &[]) };
        play.request(Request::Submit(vec![here]));
        play.done(0, &play.runs(0)[0].clone(), stored(block, 10));
    }
    collect(&mut play, 1, 1..=4);
    play.now += JOIN_DELAY_NS;
    play.handle(Event::Tick);
    assert!(fetches(&play, 1).is_empty());
    play.join(2, 1);
    play.now += JOIN_DELAY_NS;
    play.handle(Event::Tick);
    assert_eq!((fetches(&play, 1).len(), fetches(&play, 2).len()), (1, 1));
}

#[test]
fn who_has_twice_the_executors_gets_twice_as_much() {
    let mut play = with_blocks(6);
    play.join(1, 2);
    play.request(Request::Balance);
    assert_eq!(play.statistics().moving, 4);
}

#[test]
fn partners_stay_together() {
    let mut play = with_blocks(4);
    for block in 5..=8 {
        make(&mut play, block);
    }
    collect(&mut play, 2, 5..=8);
    play.join(1, 1);
    play.request(Request::Balance);
    let mut moved = fetches(&play, 1);
    while let Some(block) = (1..=8).find(|block| moved.contains(block)) {
        moved.retain(|other| *other != block);
        fetched(&mut play, 1, block, 0);
        moved.extend(fetches(&play, 1));
    }
    for block in 1..=8 {
        let names = vec![name(block)];
        play.request(Request::WhoHas { names, ticket: Ticket(70) });
        let there = WorkerId(u32::from(block % 4 == 3 || block % 4 == 0));
        assert_eq!(play.outcomes(), [(70, Outcome::Locations(vec![vec![there]]))], "{block}");
    }
}

#[test]
fn what_is_in_use_stays_until_it_is_not() {
    let mut play = with_blocks(2);
    play.request(Request::Submit(vec![call(9, &[2])]));
    let run = play.runs(0).remove(0);
    play.join(1, 1);
    play.request(Request::Balance);
    assert_eq!(fetches(&play, 1), [2]);
    fetched(&mut play, 1, 2, 0);
    assert!(!dropped(&play, 0));
    play.done(0, &run, stored(9, 1));
    play.handle(Event::Tick);
    assert_eq!(play.sent(0), [&ToWorker::Drop(vec![name(2)])]);
}

#[test]
fn what_the_first_of_two_attempts_uses_stays() {
    let mut play = with_blocks(2);
    play.request(Request::Submit(vec![call(9, &[2])]));
    let first = play.runs(0).remove(0);
    play.join(1, 1);
    play.now += 1_000_000_000;
    // It runs a second time at the worker that joined, which fetches its input for that.
    play.handle(Event::Tick);
    let second = play.runs(1).remove(0);
    assert_eq!((first.attempt, second.attempt, fetches(&play, 1)), (1, 2, vec![2]));
    play.request(Request::Balance);
    fetched(&mut play, 1, 2, 0);
    assert!(!dropped(&play, 0), "{:?}", play.out);
    play.done(1, &second, stored(9, 1));
    play.handle(Event::Tick);
    assert_eq!(play.sent(0), [&ToWorker::Drop(vec![name(2)])]);
}

#[test]
fn what_leavers_hold_goes_where_balance_wants_and_not_to_each_other() {
    let mut play = with_blocks(6);
    for worker in 1..=3 {
        play.join(worker, 1);
    }
    play.request(Request::Balance);
    for (worker, block) in [(1, 6), (2, 5), (3, 4), (1, 3)] {
        fetched(&mut play, worker, block, 0);
    }
    play.request(Request::Retire(vec![WorkerId(2), WorkerId(3)]));
    assert!(fetches(&play, 2).is_empty() && fetches(&play, 3).is_empty());
    assert_eq!((fetches(&play, 0).len(), fetches(&play, 1).len()), (1, 1), "{:?}", play.out);
    let (back, away) = (fetches(&play, 0)[0], fetches(&play, 1)[0]);
    for (worker, block) in [(0, back), (1, away)] {
        fetched(&mut play, worker, block, if block == 5 { 2 } else { 3 });
    }
    play.handle(Event::Left(WorkerId(2)));
    play.handle(Event::Left(WorkerId(3)));
    let statistics = play.statistics();
    let blocks: Vec<u64> = statistics.workers.iter().map(|worker| worker.blocks).collect();
    assert_eq!((blocks, statistics.recovered), (vec![3, 3], 0));
}

#[test]
fn a_joining_worker_that_is_lost_costs_nothing() {
    let mut play = with_blocks(4);
    play.join(1, 1);
    play.request(Request::Balance);
    fetched(&mut play, 1, 4, 0);
    play.handle(Event::Left(WorkerId(1)));
    // Block 4 was at the joining worker alone, and is made again.
    assert_eq!(play.runs(0)[0].outputs[0], name(4));
    let statistics = play.statistics();
    assert_eq!((statistics.moving, statistics.workers[0].blocks), (0, 3));
}

#[test]
fn what_is_released_or_of_no_collection_does_not_move() {
    let mut play = with_blocks(4);
    play.request(Request::Disperse { collection: 1 });
    play.join(1, 1);
    play.request(Request::Balance);
    assert_eq!(play.statistics().moving, 0);
    collect(&mut play, 2, 1..=4);
    play.request(Request::Balance);
    assert_eq!(fetches(&play, 1), [3, 4]);
    play.request(Request::Release((1..=4).map(name).collect()));
    for block in [3, 4] {
        fetched(&mut play, 1, block, 0);
        assert_eq!(play.sent(1), [&ToWorker::Drop(vec![name(block)])]);
    }
    assert_eq!(play.statistics().moving, 0);
}
