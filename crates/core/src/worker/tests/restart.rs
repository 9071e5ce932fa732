//! Executors that are replaced.

use super::cases::{Harness, call};
use crate::wire::{Assignment, TaskFailure, ToWorker};
use crate::worker::{Action, Event};
use freestone_base::TaskId;

fn killed(harness: &Harness) -> Vec<u32> {
    let killed = harness.done.iter().filter_map(|action| match action {
        Action::Kill(executor) => Some(*executor),
        _ => None,
    });
    killed.collect()
}

#[test]
fn executors_are_replaced_and_what_comes_next_runs_in_the_new_ones() {
    let mut harness = Harness::new(2);
    harness.run(vec![call(1)]);
    let (executor, calls) = harness.sent().remove(0);
    harness.say(ToWorker::Cancel(vec![TaskId(1)]));
    harness.say(ToWorker::Restart);
    harness.run(vec![Assignment { attempt: 2, ..call(1) }]);
    assert_eq!(killed(&harness), [0, 1]);
    assert!(harness.sent().is_empty());
    for index in 0..2 {
        let claimed = if index == executor { calls[0].sequence } else { 0 };
        harness.event(Event::Died { executor: index, claimed, signal: Some(9), status: None });
    }
    harness.advance();
    let spawned = [0, 1].map(|index| harness.done.contains(&Action::Spawn(index)));
    assert_eq!(spawned, [true; 2]);
    harness.event(Event::Ready { executor: 1 });
    harness.advance();
    assert_eq!(harness.sent().len(), 1);
    let blamed =
        |result: &Result<_, TaskFailure>| matches!(result, Err(TaskFailure::Killed { .. }));
    assert!(!harness.reports().iter().any(|report| blamed(&report.result)));
}

#[test]
fn one_that_starts_or_dies_is_left_alone() {
    let mut harness = Harness::new(1);
    harness.say(ToWorker::Restart);
    harness.say(ToWorker::Restart);
    assert_eq!(killed(&harness), [0]);
    harness.event(Event::Died { executor: 0, claimed: 0, signal: Some(9), status: None });
    harness.advance();
    harness.say(ToWorker::Restart);
    assert_eq!(killed(&harness), [0]);
}
