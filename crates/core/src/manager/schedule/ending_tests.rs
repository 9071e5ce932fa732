//! The order of tasks near the end.

use crate::manager::tests::{Play, call, inline, name, play, stored};
use crate::manager::*;
use crate::wire::{Assignment, FromWorker, Report, Spent, ToWorker};
use freestone_base::{Name, WorkerId};

/// Two workers with four slots, and as many calls that run and are ahead there; which worker runs call 1.
fn busy() -> (Play, u32, Assignment) {
    let mut play = play();
    play.join(0, 1);
    play.join(1, 3);
    let filling = [1, 11, 12, 13, 14, 15, 16, 17];
    play.request(Request::Submit(filling.map(|one| call(one, &[])).into()));
    let runs = (0..2).flat_map(|id| play.runs(id).into_iter().map(move |run| (id, run)));
    let (id, running) = runs.into_iter().find(|(_, run)| run.outputs[0] == name(1)).unwrap();
    (play, id, running)
}

/// Which call is sent next to the worker that runs call 1 when that ends, of which call 5 can be made: the
/// deepest. Call 2 begins a chain of three. `others` wait besides.
fn next_after_one(others: u32) -> Name {
    let (mut play, id, running) = busy();
    let calls = vec![call(5, &[1]), call(2, &[]), call(3, &[2]), call(4, &[3])];
    play.request(Request::Submit(calls));
    play.request(Request::Submit((100..100 + others).map(|one| call(one, &[])).collect()));
    assert!(play.runs(id).is_empty(), "one call runs for each slot, and one is ahead");
    play.handle(Event::Tick);
    play.done(id, &running, inline(b"x"));
    play.runs(id).remove(0).outputs[0]
}

#[test]
fn the_longest_chain_goes_first_when_little_else_is_left() {
    assert_eq!(next_after_one(0), name(2));
}

#[test]
fn tasks_go_depth_first_while_much_is_left() {
    assert_eq!(next_after_one(200), name(5));
}

#[test]
fn the_order_is_by_depth_again_when_much_comes() {
    let (mut play, id, running) = busy();
    play.request(Request::Submit(vec![call(2, &[]), call(3, &[2]), call(4, &[3]), call(5, &[1])]));
    play.handle(Event::Tick);
    play.request(Request::Submit((100..200).map(|one| call(one, &[])).collect()));
    play.handle(Event::Tick);
    play.done(id, &running, inline(b"x"));
    assert_eq!(play.runs(id).remove(0).outputs[0], name(5));
}

const SECOND: u64 = 1_000_000_000;

/// A worker of three is lost, the first in a long time. Call 1 ends, which took a second; call 2 needs it, and waits
/// for call 3. Whether block 1 is copied when time passes, while `others` wait besides.
fn is_copied(others: u32) -> bool {
    let mut play = play();
    play.handle(Event::Tick);
    play.now += 1000 * SECOND;
    (0..3).for_each(|id| play.join(id, 1));
    play.handle(Event::Left(WorkerId(2)));
    let calls = vec![call(1, &[]), call(3, &[]), call(2, &[1, 3])];
    play.request(Request::Submit(calls));
    let place = |id: &u32| play.runs(*id).iter().any(|run| run.outputs[0] == name(1));
    let id = (0..2).find(place).unwrap();
    let Assignment { task, attempt, .. } = play.runs(id).remove(0);
    play.request(Request::Submit((100..100 + others).map(|one| call(one, &[])).collect()));
    let spent = Spent { start_ns: play.now, duration_ns: SECOND, ..Spent::default() };
    play.now += SECOND;
    let result = Ok(smallvec::smallvec![stored(1, 1000)]);
    play.says(id, FromWorker::Done(vec![Report { task, attempt, spent, result }]));
    play.handle(Event::Tick);
    play.handle(Event::Tick);
    let is_fetch = |message: &&ToWorker| matches!(message, ToWorker::Fetch { .. });
    play.sent(1 - id).iter().any(is_fetch)
}

#[test]
fn what_waits_near_the_end_is_copied_where_workers_are_lost() {
    assert!(is_copied(0));
    assert!(!is_copied(200));
}

/// Call 4 needs block 1, which is lost and made again while calls that are as urgent wait.
#[test]
fn what_is_lost_is_made_again_before_its_like() {
    let mut play = play();
    play.join(0, 1);
    play.join(1, 1);
    play.request(Request::Submit(vec![call(1, &[]), call(2, &[])]));
    let place = |id: &u32| play.runs(*id).iter().any(|run| run.outputs[0] == name(1));
    let id = (0..2).find(place).unwrap();
    let (one, two) = (play.runs(id).remove(0), play.runs(1 - id).remove(0));
    play.request(Request::Submit(vec![call(4, &[1, 2])]));
    play.done(id, &one, stored(1, 1000));
    play.request(Request::Submit((100..120).map(|other| call(other, &[])).collect()));
    play.handle(Event::Left(WorkerId(id)));
    play.done(1 - id, &two, inline(b"x"));
    assert_eq!(play.runs(1 - id).remove(0).outputs[0], name(1));
}
