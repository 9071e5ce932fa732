//! Executors that were stopped, and signs of life.

use super::cases::{Bench, MS, call};
use crate::wire::{FromWorker, SIGSTOP, TaskFailure, ToWorker};
use crate::worker::{Action, Event, Now};
use freestone_base::WorkerId;

const S: Now = 1000 * MS;

/// Lets a second pass; whoever is looked at is found `stopped`. Who was killed.
fn second(bench: &mut Bench, stopped: bool) -> Vec<u32> {
    bench.now += S;
    bench.advance();
    let looks: Vec<u32> = bench.done.iter().filter_map(looked_at).collect();
    for executor in looks {
        bench.event(Event::Looked { executor, is_stopped: stopped });
    }
    let killed = bench.done.iter().filter_map(|action| match action {
        Action::Kill(executor) => Some(*executor),
        _ => None,
    });
    let killed = killed.collect();
    bench.done.retain(|action| looked_at(action).is_none());
    killed
}

fn looked_at(action: &Action) -> Option<u32> {
    if let Action::Look(executor) = action { Some(*executor) } else { None }
}

#[test]
fn one_that_stays_stopped_is_killed_and_its_call_counts_as_killed() {
    let mut bench = Bench::new(2);
    bench.run(vec![call(1)]);
    let (executor, calls) = bench.sent().remove(0);
    for _ in 0..10 {
        assert!(second(&mut bench, true).is_empty());
    }
    assert_eq!(second(&mut bench, true), [executor]);
    let claimed = calls[0].sequence;
    bench.event(Event::Died { executor, claimed, signal: Some(9), status: None });
    // It says which signal was to blame, not the one that ended it at last.
    let stopped = TaskFailure::Killed { signal: Some(SIGSTOP), status: None };
    assert_eq!(bench.reports()[0].result, Err(stopped));
}

#[test]
fn a_call_that_had_not_begun_goes_to_another() {
    let mut bench = Bench::new(1);
    bench.run(vec![call(1)]);
    let (executor, _) = bench.sent().remove(0);
    while second(&mut bench, true).is_empty() {}
    bench.event(Event::Died { executor, claimed: 0, signal: Some(9), status: None });
    bench.advance();
    bench.event(Event::Ready { executor });
    bench.advance();
    assert_eq!((bench.sent().len(), bench.reports().len()), (1, 0));
}

#[test]
fn one_that_goes_on_has_all_its_time_again() {
    let mut bench = Bench::new(1);
    bench.run(vec![call(1)]);
    for _ in 0..3 {
        for _ in 0..10 {
            assert!(second(&mut bench, true).is_empty());
        }
        assert!(second(&mut bench, false).is_empty());
    }
}

#[test]
fn nobody_is_killed_when_the_worker_itself_was_stopped() {
    let mut bench = Bench::new(1);
    bench.run(vec![call(1)]);
    assert!(second(&mut bench, true).is_empty());
    bench.now += 3600 * S;
    assert!(second(&mut bench, true).is_empty());
}

#[test]
fn nobody_is_looked_at_who_has_nothing_to_do_or_ends_calls() {
    let mut bench = Bench::new(1);
    bench.now += 10 * S;
    bench.advance();
    bench.run(vec![call(1)]);
    let (executor, calls) = bench.sent().remove(0);
    bench.end(executor, &calls);
    bench.now += S / 2;
    bench.run(vec![call(2)]);
    bench.advance();
    assert!(!bench.done.iter().any(|action| looked_at(action).is_some()));
}

#[test]
fn signs_of_life_are_as_frequent_as_the_manager_wants() {
    for (silence_ns, every_ns) in [(5 * S, S), (1000 * S, 10 * S)] {
        let mut bench = Bench::new(1);
        bench.say(ToWorker::Welcome { worker: WorkerId(0), silence_ns });
        let mut signs = 0;
        for _ in 0..200 {
            bench.now = bench.worker.wakeup();
            bench.advance();
            let is_sign = |action: &Action| matches!(action, Action::Tell(FromWorker::Status(_)));
            if bench.done.iter().any(is_sign) {
                signs += 1;
            }
            bench.done.clear();
            if bench.now > 100 * S {
                break;
            }
        }
        let expected = 100 * S / every_ns;
        assert!(signs >= expected && signs <= expected + 12, "{signs} signs of {expected}");
    }
}
