//! The order of tasks near the end.

use crate::manager::tests::{call, inline, name, play};
use crate::manager::*;
use freestone_base::Name;

/// Which call is sent next to a worker with one slot when call 1 ends, of which call 5 can be made: the
/// deepest. Call 2 begins a chain of three. `others` wait besides.
fn next_after_one(others: u32) -> Name {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[]), call(9, &[])]));
    let running = play.runs(0).remove(0);
    let calls = vec![call(5, &[1]), call(2, &[]), call(3, &[2]), call(4, &[3])];
    play.request(Request::Submit(calls));
    play.request(Request::Submit((100..100 + others).map(|one| call(one, &[])).collect()));
    assert!(play.runs(0).is_empty(), "one call runs, and one is ahead");
    play.handle(Event::Tick);
    play.done(0, &running, inline(b"x"));
    play.runs(0).remove(0).outputs[0]
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
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[]), call(9, &[])]));
    let running = play.runs(0).remove(0);
    play.request(Request::Submit(vec![call(2, &[]), call(3, &[2]), call(5, &[1])]));
    play.handle(Event::Tick);
    play.request(Request::Submit((100..200).map(|one| call(one, &[])).collect()));
    play.handle(Event::Tick);
    play.done(0, &running, inline(b"x"));
    assert_eq!(play.runs(0).remove(0).outputs[0], name(5));
}
