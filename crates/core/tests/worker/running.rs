//! Calls run, are taken back, cancelled, killed.

use crate::executor::Order;
use crate::manager::{assignment, failure, start, value, wait_until};
use freestone_base::TaskId;
use freestone_core::wire::{FromWorker, TaskFailure, ToWorker};
use std::sync::Arc;

#[test]
fn calls_run_and_their_values_come_back_once_each() {
    let mut harness = start(2, |_| {});
    let calls = 5000;
    let assignments = (0..calls).map(|n| assignment(n, &Order::Echo(n * 7), Vec::new())).collect();
    harness.say(&ToWorker::Run(assignments));
    let mut seen = vec![false; calls as usize];
    for report in harness.reports(calls as usize) {
        assert_eq!(value::<u64>(&report), report.task.0 * 7);
        assert!(!std::mem::replace(&mut seen[report.task.0 as usize], true));
    }
    harness.shut_down();
}

#[test]
fn a_call_that_kills_its_executor_is_reported_and_the_others_run() {
    let mut harness = start(1, |_| {});
    let orders = [Order::Echo(1), Order::Exit(3), Order::Echo(2), Order::Abort, Order::Echo(3)];
    let assignments = (0..).zip(&orders).map(|(n, order)| assignment(n, order, Vec::new()));
    harness.say(&ToWorker::Run(assignments.collect()));
    let mut reports = harness.reports(5);
    reports.sort_unstable_by_key(|report| report.task);
    assert_eq!(value::<u64>(&reports[0]), 1);
    assert_eq!(*failure(&reports[1]), TaskFailure::Killed { signal: None, status: Some(3) });
    assert_eq!(value::<u64>(&reports[2]), 2);
    assert_eq!(
        *failure(&reports[3]),
        TaskFailure::Killed { signal: Some(libc::SIGABRT), status: None }
    );
    assert_eq!(value::<u64>(&reports[4]), 3);
    harness.shut_down();
}

#[test]
fn an_executor_killed_from_outside_is_replaced() {
    let mut harness = start(1, |_| {});
    for number in 0..5 {
        harness.run(2 * number, &Order::Who);
        let pid: u32 = value(&harness.report());
        let path = harness.file(&format!("begun-{number}"));
        harness.run(2 * number + 1, &Order::Hang(path.display().to_string()));
        wait_until("the call begins", || path.exists());
        // SAFETY: a process that this worker started and has not reaped.
        unsafe { libc::kill(pid.cast_signed(), libc::SIGKILL) };
        let report = harness.report();
        assert_eq!(
            *failure(&report),
            TaskFailure::Killed { signal: Some(libc::SIGKILL), status: None }
        );
    }
    harness.shut_down();
}

#[test]
fn a_running_call_is_cancelled_and_a_waiting_one_given_back() {
    let mut harness = start(1, |_| {});
    let path = harness.file("begun");
    let hang = Order::Hang(path.display().to_string());
    let orders = [hang, Order::Echo(1), Order::Echo(2), Order::Echo(3)];
    let assignments = (0..).zip(&orders).map(|(n, order)| assignment(n, order, Vec::new()));
    harness.say(&ToWorker::Run(assignments.collect()));
    wait_until("the call begins", || path.exists());
    harness.say(&ToWorker::Return(vec![TaskId(1), TaskId(3), TaskId(77)]));
    let (asked, mut returned) = harness.hear(|message| match message {
        FromWorker::Returned { asked, returned } => Some((asked.clone(), returned.clone())),
        _ => None,
    });
    assert_eq!(asked, [TaskId(1), TaskId(3), TaskId(77)]);
    returned.sort_unstable();
    assert_eq!(returned, [TaskId(1), TaskId(3)]);
    harness.say(&ToWorker::Cancel(vec![TaskId(0)]));
    let reports = harness.reports(2);
    assert_eq!((reports[0].task, failure(&reports[0])), (TaskId(0), &TaskFailure::Cancelled));
    assert_eq!((reports[1].task, value::<u64>(&reports[1])), (TaskId(2), 2));
    harness.shut_down();
}

#[test]
fn a_call_that_takes_too_long_is_ended_with_all_that_it_started() {
    let mut harness = start(1, |_| {});
    let path = harness.file("nested").display().to_string();
    let mut nested = assignment(1, &Order::Nest(path.clone()), Vec::new());
    // Long enough for an executor to start the process, whatever else the machine does.
    Arc::make_mut(&mut nested.options).timeout_ns = Some(2_000_000_000);
    harness.say(&ToWorker::Run(vec![nested]));
    let report = harness.report();
    assert_eq!(*failure(&report), TaskFailure::TimedOut { timeout_ns: 2_000_000_000 });
    let nested: i32 = std::fs::read_to_string(path).unwrap().parse().unwrap();
    wait_until("the nested process ends", || is_gone(nested));
    harness.run(2, &Order::Echo(5));
    assert_eq!(value::<u64>(&harness.report()), 5);
    harness.shut_down();
}

/// Whether a process is dead; it may wait for whoever reaps it.
pub fn is_gone(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.map_or(true, |stat| stat.contains(") Z "))
}
