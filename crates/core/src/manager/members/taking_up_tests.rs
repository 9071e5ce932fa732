//! Another process goes on: what runs again, and what is reported.

use super::RECONNECT_NS;
use crate::manager::tests::{Play, call, desc, hello, name, play};
use crate::manager::*;
use crate::wire::{CallOptions, FromWorker, ToWorker};
use freestone_base::{Resources, WorkerId};
use std::sync::Arc;

fn once(output: u32, inputs: &[u32], retries: u32) -> Submission {
    let options = Arc::new(CallOptions { once: true, ..CallOptions::default() });
    Submission { options, retries, ..call(output, inputs) }
}

fn interrupted(play: &Play) -> Vec<u64> {
    let ended = play.outcomes().into_iter().filter_map(|(ticket, outcome)| match outcome {
        Outcome::Failed(failure) if failure.why == Why::Interrupted => Some(ticket),
        _ => None,
    });
    ended.collect()
}

#[test]
fn what_may_not_run_twice_and_was_sent_is_reported() {
    let mut play = play();
    play.join(0, 1);
    let waiting = once(4, &[3], 0);
    play.request(Request::Submit(vec![once(1, &[], 0), call(2, &[1]), call(3, &[]), waiting]));
    play.handle(Event::TakenUp(Box::default()));
    assert_eq!(interrupted(&play), [1, 2]);
    play.handle(Event::Left(WorkerId(0)));
    play.join(1, 1);
    let ran = |message: &&ToWorker| matches!(message, ToWorker::Run(_));
    assert!(play.sent(1).iter().any(ran));
    play.request(Request::Cancel(vec![name(3), name(4)]));
    play.request(Request::Release(vec![name(1), name(2), name(3), name(4)]));
    play.assert_empty();
}

#[test]
fn a_retry_allows_it_once_more() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![once(1, &[], 1)]));
    play.handle(Event::TakenUp(Box::default()));
    assert!(interrupted(&play).is_empty());
    play.handle(Event::Left(WorkerId(0)));
    play.join(1, 1);
    play.handle(Event::TakenUp(Box::default()));
    assert_eq!(interrupted(&play), [1]);
}

/// A worker that has a block, and was worker 0 if it reconnects.
fn holder(reconnects: bool) -> FromWorker {
    let mut hello = hello(1, Resources { cores: 1, ..Resources::default() }, vec![desc(1, 10)]);
    if let FromWorker::Hello { former, .. } = &mut hello {
        *former = reconnects.then_some(WorkerId(0));
    }
    hello
}

#[test]
fn what_only_a_worker_has_is_waited_for() {
    let mut play = play();
    play.says(0, holder(false));
    play.request(Request::Submit(vec![call(2, &[1])]));
    for event in [Event::TakenUp(Box::default()), Event::Left(WorkerId(0)), Event::Tick] {
        play.handle(event);
        assert!(play.outcomes().is_empty());
    }
    play.request(Request::Submit(vec![call(3, &[1])]));
    assert!(play.outcomes().is_empty());
    play.says(1, holder(true));
    assert_eq!(play.runs(1).len(), 2);
}

#[test]
fn what_does_not_come_back_is_lost_after_a_while() {
    let mut play = play();
    play.says(0, holder(false));
    play.request(Request::Submit(vec![call(2, &[1])]));
    play.handle(Event::TakenUp(Box::default()));
    play.handle(Event::Left(WorkerId(0)));
    play.now += RECONNECT_NS;
    play.handle(Event::Tick);
    let lost = play.outcomes();
    assert!(matches!(&lost[..], [(2, Outcome::Failed(why))] if why.why == Why::InputLost(name(1))));
    play.request(Request::Release(vec![name(2)]));
    play.assert_empty();
}

#[test]
fn what_a_worker_that_is_here_has_lost_is_not_waited_for() {
    let mut play = play();
    play.says(0, holder(false));
    play.request(Request::Submit(vec![call(2, &[1])]));
    play.handle(Event::TakenUp(Box::default()));
    play.handle(Event::Left(WorkerId(0)));
    play.says(1, holder(true));
    assert_eq!(play.runs(1).len(), 1);
    play.says(1, FromWorker::Lost { names: vec![name(1)], reason: "evicted".to_owned() });
    assert!(play.outcomes().is_empty());
    play.handle(Event::Tick);
    let lost = play.outcomes();
    assert!(matches!(&lost[..], [(2, Outcome::Failed(why))] if why.why == Why::InputLost(name(1))));
}
