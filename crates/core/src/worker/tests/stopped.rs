//! Executors that were stopped, and signs of life.

use super::cases::{Harness, MS, call};
use crate::wire::{FromWorker, SIGSTOP, TaskFailure, ToWorker};
use crate::worker::{Action, Event, Now};
use freestone_base::WorkerId;

const S: Now = 1000 * MS;

/// Lets a second pass; whoever is looked at is found `stopped`. Who was killed.
fn second(harness: &mut Harness, stopped: bool) -> Vec<u32> {
    harness.now += S;
    harness.advance();
    let looks: Vec<u32> = harness.done.iter().filter_map(looked_at).collect();
    for executor in looks {
        harness.event(Event::Looked { executor, is_stopped: stopped });
    }
    let killed = harness.done.iter().filter_map(|action| match action {
        Action::Kill(executor) => Some(*executor),
        _ => None,
    });
    let killed = killed.collect();
    harness.done.retain(|action| looked_at(action).is_none());
    killed
}

fn looked_at(action: &Action) -> Option<u32> {
    if let Action::Look { executor, .. } = action { Some(*executor) } else { None }
}

#[test]
fn one_that_stays_stopped_is_killed_and_its_call_counts_as_killed() {
    let mut harness = Harness::new(2);
    harness.run(vec![call(1)]);
    let (executor, calls) = harness.sent().remove(0);
    for _ in 0..10 {
        assert!(second(&mut harness, true).is_empty());
    }
    assert_eq!(second(&mut harness, true), [executor]);
    let claimed = calls[0].sequence;
    harness.event(Event::Died { executor, claimed, signal: Some(9), status: None });
    // It says which signal was to blame, not the one that ended it at last.
    let stopped = TaskFailure::Killed { signal: Some(SIGSTOP), status: None };
    assert_eq!(harness.reports()[0].result, Err(stopped));
}

#[test]
fn a_call_that_had_not_begun_goes_to_another() {
    let mut harness = Harness::new(1);
    harness.run(vec![call(1)]);
    let (executor, _) = harness.sent().remove(0);
    while second(&mut harness, true).is_empty() {}
    harness.event(Event::Died { executor, claimed: 0, signal: Some(9), status: None });
    harness.advance();
    harness.event(Event::Ready { executor });
    harness.advance();
    assert_eq!((harness.sent().len(), harness.reports().len()), (1, 0));
}

#[test]
fn one_that_goes_on_has_all_its_time_again() {
    let mut harness = Harness::new(1);
    harness.run(vec![call(1)]);
    for _ in 0..3 {
        for _ in 0..10 {
            assert!(second(&mut harness, true).is_empty());
        }
        assert!(second(&mut harness, false).is_empty());
    }
}

#[test]
fn nobody_is_killed_when_the_worker_itself_was_stopped() {
    let mut harness = Harness::new(1);
    harness.run(vec![call(1)]);
    assert!(second(&mut harness, true).is_empty());
    harness.now += 3600 * S;
    assert!(second(&mut harness, true).is_empty());
}

#[test]
fn nobody_is_looked_at_who_has_nothing_to_do_or_ends_calls() {
    let mut harness = Harness::new(1);
    harness.now += 10 * S;
    harness.advance();
    harness.run(vec![call(1)]);
    let (executor, calls) = harness.sent().remove(0);
    harness.end(executor, &calls);
    harness.now += S / 2;
    harness.run(vec![call(2)]);
    harness.advance();
    assert!(!harness.done.iter().any(|action| looked_at(action).is_some()));
}

#[test]
fn signs_of_life_are_as_frequent_as_the_manager_wants() {
    for (silence_ns, every_ns) in [(5 * S, S), (1000 * S, 10 * S)] {
        let mut harness = Harness::new(1);
        harness.say(ToWorker::Welcome { worker: WorkerId(0), silence_ns });
        let mut signs = 0;
        for _ in 0..200 {
            harness.now = harness.worker.wakeup();
            harness.advance();
            let is_sign = |action: &Action| matches!(action, Action::Tell(FromWorker::Status(_)));
            if harness.done.iter().any(is_sign) {
                signs += 1;
            }
            harness.done.clear();
            if harness.now > 100 * S {
                break;
            }
        }
        let expected = 100 * S / every_ns;
        assert!(signs >= expected && signs <= expected + 12, "{signs} signs of {expected}");
    }
}
