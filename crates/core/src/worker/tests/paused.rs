//! Calls that wait for others.

use super::super::paused::TURN;
use super::cases::{Harness, MS, call};
use crate::wire::{Assignment, Call, FromWorker, ToExecutor};
use crate::worker::{Action, Event};
use freestone_base::Custom;
use std::sync::Arc;

impl Harness {
    /// The only call that was sent just now, and its executor.
    fn begun(&mut self) -> (u32, Call) {
        let mut sent = self.sent();
        assert_eq!(sent.len(), 1, "{sent:?}");
        let (executor, mut calls) = sent.remove(0);
        assert_eq!(calls.len(), 1, "{calls:?}");
        (executor, calls.remove(0))
    }

    fn pause(&mut self, executor: u32, call: &Call) {
        self.event(Event::Paused { executor, sequence: call.sequence, what: "a lock".into() });
        self.advance();
    }

    /// Has executors that are started say that they are ready; how many there were.
    fn ready(&mut self) -> usize {
        let spawned = |action: &Action| match action {
            Action::Spawn(executor) => Some(*executor),
            _ => None,
        };
        let started: Vec<u32> = self.done.iter().filter_map(spawned).collect();
        self.done.retain(|action| spawned(action).is_none());
        for executor in &started {
            self.event(Event::Ready { executor: *executor });
        }
        self.advance();
        started.len()
    }

    fn goes_on(&mut self, executor: u32) -> bool {
        let before = self.done.len();
        self.done.retain(|action| *action != Action::Continue(executor));
        before > self.done.len()
    }
}

/// A worker of one slot, of which none is sent behind another; a call that waits, and its executor;
/// and how further calls are made.
fn with_parent() -> (Harness, u32, Call, impl Fn(u64) -> Assignment) {
    let mut harness = Harness::new(1);
    harness.duration_ns = 1000 * MS;
    let call = |number| Assignment { expected_ns: Some(1000 * MS), ..call(number) };
    harness.run(vec![call(0)]);
    let (first, parent) = harness.begun();
    harness.pause(first, &parent);
    (harness, first, parent, call)
}

#[test]
fn no_depth_of_nesting_stalls() {
    const DEPTH: u64 = 50;
    let mut harness = Harness::new(1);
    let mut waiting = Vec::new();
    for depth in 0..DEPTH {
        harness.run(vec![call(depth)]);
        // Those that stand in are started one by one, as they are needed.
        assert_eq!(harness.ready(), usize::from(depth > 0));
        let (executor, call) = harness.begun();
        harness.pause(executor, &call);
        waiting.push((executor, call));
    }
    assert_eq!(harness.ready(), 0, "nothing waits for an executor");
    let reported =
        harness.done.iter().filter(|done| matches!(done, Action::Tell(FromWorker::Paused { .. })));
    assert_eq!(reported.count() as u64, DEPTH);
    for (executor, call) in waiting.into_iter().rev() {
        harness.event(Event::Resuming { executor, sequence: call.sequence });
        harness.advance();
        assert!(harness.goes_on(executor));
        harness.end(executor, &[call]);
    }
    assert_eq!(harness.reports().len() as u64, DEPTH);
    assert_eq!(harness.worker.busy(), 0);
}

#[test]
fn one_that_could_go_on_waits_for_a_slot_and_nothing_begins_before_it() {
    let (mut harness, first, parent, call) = with_parent();
    harness.run(vec![call(1)]);
    harness.ready();
    let (second, child) = harness.begun();
    harness.event(Event::Resuming { executor: first, sequence: parent.sequence });
    harness.run(vec![call(2)]);
    assert!(!harness.goes_on(first), "one slot, and two calls that run");
    let reported = harness.done.iter().filter(
        |done| matches!(done, Action::Tell(FromWorker::Paused { what, .. }) if what == TURN),
    );
    assert_eq!(reported.count(), 1);
    harness.end(second, &[child]);
    assert!(harness.goes_on(first));
    assert!(harness.sent().is_empty());
    harness.end(first, &[parent]);
    assert_eq!(harness.sent().len(), 1);
}

#[test]
fn a_thread_that_waits_while_another_could_go_on_keeps_nothing() {
    let (mut harness, first, parent, call) = with_parent();
    harness.run(vec![call(1), call(2)]);
    harness.ready();
    let (second, child) = harness.begun();
    harness.event(Event::Resuming { executor: first, sequence: parent.sequence });
    assert!(!harness.goes_on(first), "one slot, and two calls that run");
    // A second thread of the parent waits, for the call that is queued.
    harness.pause(first, &parent);
    assert!(harness.goes_on(first), "the first thread waits for nothing that others have");
    harness.end(second, &[child]);
    assert!(!harness.goes_on(first));
    let (second, child) = harness.begun();
    harness.end(second, &[child]);
    harness.event(Event::Resuming { executor: first, sequence: parent.sequence });
    harness.advance();
    assert!(harness.goes_on(first));
    harness.end(first, &[parent]);
    assert_eq!(harness.worker.busy(), 0);
}

#[test]
fn what_was_sent_behind_one_that_waits_is_taken_back() {
    let mut harness = Harness::new(1);
    harness.run((0..4).map(call).collect());
    let (executor, calls) = harness.sent().remove(0);
    assert!(calls.len() > 1);
    harness.pause(executor, &calls[0]);
    let from = calls[1].sequence;
    assert!(harness.done.contains(&Action::Revoke { executor, from, again: false }));
    let claimed = calls[0].sequence;
    harness.event(Event::Revoked { executor, first: Some(from), claimed, is_unread: false });
    harness.advance();
    assert!(harness.done.contains(&Action::Send(executor, ToExecutor::Resume)));
    assert_eq!(harness.ready(), 1);
    let (other, again) = harness.sent().remove(0);
    assert_ne!(other, executor);
    assert!(again.len() >= calls.len() - 1);
}

#[test]
fn executors_that_stood_in_are_ended_when_they_are_idle() {
    let mut harness = Harness::new(1);
    harness.run(vec![call(0)]);
    let (first, parent) = harness.begun();
    harness.pause(first, &parent);
    harness.run(vec![call(1)]);
    harness.ready();
    let (second, child) = harness.begun();
    harness.end(second, &[child]);
    harness.event(Event::Resuming { executor: first, sequence: parent.sequence });
    harness.advance();
    harness.end(first, &[parent]);
    harness.pass(4000 * MS);
    assert!(!harness.done.iter().any(|done| matches!(done, Action::Kill(_))));
    assert!(harness.worker.wakeup() > harness.now);
    harness.pass(2000 * MS);
    assert!(harness.done.contains(&Action::Kill(second)));
    harness.event(Event::Died { executor: second, claimed: 0, signal: Some(9), status: None });
    harness.advance();
    assert!(harness.worker.wakeup() > harness.now);
    assert_eq!(harness.ready(), 0, "none is started in its place");
    harness.run(vec![call(2)]);
    assert_eq!(harness.begun().0, first);
}

#[test]
fn the_death_of_an_executor_whose_call_waits_ends_the_waiting() {
    let mut harness = Harness::new(1);
    harness.run(vec![call(0)]);
    let (first, parent) = harness.begun();
    harness.pause(first, &parent);
    let claimed = parent.sequence;
    harness.event(Event::Died { executor: first, claimed, signal: Some(9), status: None });
    harness.advance();
    assert_eq!(harness.reports().len(), 1);
    assert_eq!(harness.ready(), 1);
    harness.run(vec![call(1)]);
    harness.begun();
    // What it had still to say is of no use.
    harness.event(Event::Resuming { executor: first, sequence: claimed });
    harness.advance();
    assert!(!harness.goes_on(first));
}

/// A call that takes the only licence of a worker with so many slots, which pauses.
fn with_licensed_parent(slots: u32) -> (Harness, u32, Call, impl Fn(u64) -> Assignment) {
    let licence = || Custom::from_iter([("licence", 1)]);
    let mut harness = Harness::new(slots);
    harness.duration_ns = 1000 * MS;
    harness.worker.free.custom = licence();
    harness.worker.config.resources.custom = licence();
    let licensed = move |number| {
        let mut call = Assignment { expected_ns: Some(1000 * MS), ..call(number) };
        Arc::make_mut(&mut call.options).resources.custom = licence();
        call
    };
    harness.run(vec![licensed(0)]);
    let (first, parent) = harness.begun();
    (harness, first, parent, licensed)
}

#[test]
fn a_call_that_waits_keeps_its_custom_resources() {
    let (mut harness, first, parent, licensed) = with_licensed_parent(1);
    harness.pause(first, &parent);
    assert_eq!((harness.worker.busy(), harness.worker.free.cores), (0, 1));
    harness.run(vec![licensed(1), call(2)]);
    harness.ready();
    let (second, plain) = harness.begun();
    harness.end(second, &[plain]);
    assert!(harness.sent().is_empty(), "the licence is held");
    harness.event(Event::Resuming { executor: first, sequence: parent.sequence });
    harness.advance();
    assert!(harness.goes_on(first));
    assert_eq!((harness.worker.busy(), harness.worker.free.cores), (1, 0));
    harness.end(first, &[parent]);
    assert_eq!(harness.sent().len(), 1, "the licence is free");
}
