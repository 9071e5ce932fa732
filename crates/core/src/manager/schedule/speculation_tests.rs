//! Calls that take far longer than their like.

use crate::manager::tests::{call, inline, play};
use crate::manager::*;
use crate::wire::{FromWorker, TaskFailure};

const LATE: TaskFailure = TaskFailure::TimedOut { timeout_ns: 1 };

#[test]
fn a_call_that_is_late_and_fails_is_run_beside_itself_once() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[])]));
    play.done(0, &play.runs(0)[0].clone(), inline(b"x"));
    play.request(Request::Submit(vec![call(2, &[])]));
    let first = play.runs(0).remove(0);
    play.join(1, 1);
    play.now += 10_000_000_000;
    play.handle(Event::Tick);
    let second = play.runs(1).remove(0);
    assert_eq!((first.attempt, second.attempt), (1, 2));
    play.fails(0, &first, LATE);
    assert!(play.out.is_empty(), "the second attempt may do better");
    play.now += 10_000_000_000;
    play.handle(Event::Tick);
    assert!(play.out.is_empty(), "or attempts would follow each other for ever");
    play.fails(1, &second, LATE);
    assert_eq!(play.statistics().failed, 1);
}

#[test]
fn a_call_that_waited_for_others_is_not_run_beside_itself() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[])]));
    play.done(0, &play.runs(0)[0].clone(), inline(b"x"));
    play.request(Request::Submit(vec![call(2, &[])]));
    let run = play.runs(0).remove(0);
    play.join(1, 1);
    let (task, attempt) = (run.task, run.attempt);
    play.says(0, FromWorker::Paused { task, attempt, what: "a lock".into() });
    play.now += 10_000_000_000;
    play.says(0, FromWorker::Resumed { task, attempt });
    play.handle(Event::Tick);
    assert!(play.out.is_empty(), "{:?}", play.out);
    play.done(0, &run, inline(b"y"));
    assert_eq!(play.statistics().done, 2);
}
