use crate::manager::table::{Slot, TaskSlot};
use crate::manager::tests::{Play, call, inline, name, play};
use crate::manager::{Arguments, Attempt, Explanation, Outcome, Pause, Request, Submission};
use crate::wire::{FromWorker, Report, Spent, TaskFailure};
use freestone_base::{Ticket, WorkerId};

fn explain(play: &mut Play, block: u32) -> Explanation {
    play.request(Request::Explain { name: name(block), ticket: Ticket(999) });
    match play.outcomes().pop() {
        Some((999, Outcome::Explained(explanation))) => *explanation,
        other => panic!("no explanation but {other:?}"),
    }
}

fn ended(attempts: &[Attempt]) -> Vec<(u32, &str)> {
    attempts.iter().map(|attempt| (attempt.worker.0, attempt.ended.as_str())).collect()
}

const TIMED_OUT: TaskFailure = TaskFailure::TimedOut { timeout_ns: 1 };

/// Fails the call that was just sent, `times` times.
fn fail(play: &mut Play, times: u32) {
    for _ in 0..times {
        let assignment = play.runs(0).remove(0);
        play.fails(0, &assignment, TIMED_OUT);
    }
}

#[test]
fn a_failed_call_is_explained_with_its_attempts() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![Submission { retries: 1, ..call(1, &[]) }, call(2, &[1])]));
    let sent_ns = play.now;
    fail(&mut play, 2);
    for block in [1, 2] {
        let explained = explain(&mut play, block);
        assert_eq!((&*explained.stage, explained.attempted), ("failed", 2));
        assert_eq!(ended(&explained.attempts), [(0, "timed out"), (0, "timed out")]);
        assert_eq!(explained.attempts[0].sent_ns, sent_ns);
        assert!(explained.attempts[1].sent_ns > sent_ns);
        assert_eq!(explained.attempts[0].duration_ns, 1000);
    }
}

#[test]
fn of_many_attempts_the_last_are_explained_and_all_counted() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![Submission { retries: 6, ..call(1, &[]) }]));
    fail(&mut play, 6);
    let explained = explain(&mut play, 1);
    assert_eq!(
        (&*explained.stage, explained.attempted, explained.attempts.len()),
        ("assigned", 7, 5)
    );
    fail_last(&mut play);
    let explained = explain(&mut play, 1);
    assert_eq!(
        (&*explained.stage, explained.attempted, explained.attempts.len()),
        ("failed", 7, 4)
    );
}

/// Fails the seventh attempt at the only task.
fn fail_last(play: &mut Play) {
    let task = play.manager.graph.tasks.id(TaskSlot::of(0));
    let result = Err(TIMED_OUT);
    let report = Report { task, attempt: 7, spent: Spent::default(), result };
    play.says(0, FromWorker::Done(vec![report]));
}

#[test]
fn a_running_call_that_is_cancelled_is_explained_with_its_attempt() {
    let mut play = play();
    play.join(3, 1);
    play.request(Request::Submit(vec![call(1, &[]), call(2, &[])]));
    play.request(Request::Cancel(vec![name(1), name(2)]));
    let explained = explain(&mut play, 1);
    assert_eq!((&*explained.stage, explained.attempted), ("failed", 1));
    assert_eq!(ended(&explained.attempts), [(3, "cancelled")]);
}

#[test]
fn what_was_done_after_a_failure_says_how_many_attempts_it_took() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![Submission { retries: 1, ..call(1, &[]) }]));
    fail(&mut play, 1);
    let assignment = play.runs(0).remove(0);
    play.done(0, &assignment, inline(b"value"));
    let explained = explain(&mut play, 1);
    assert_eq!((&*explained.stage, explained.attempted), ("done", 2));
    assert_eq!(explained.attempts.last().map(|attempt| attempt.worker), Some(WorkerId(0)));
}

#[test]
fn a_call_that_runs_waits_or_has_no_inputs_yet_says_so() {
    let mut play = play();
    play.join(0, 1);
    play.join(1, 1);
    play.request(Request::Submit(vec![call(1, &[])]));
    let sent_ns = play.now;
    let run = play.runs(0).into_iter().chain(play.runs(1)).next().unwrap();
    let there = u32::from(play.runs(0).is_empty());
    let last = |play: &mut Play| explain(play, 1).attempts.pop().unwrap();
    let attempt = last(&mut play);
    assert_eq!((attempt.start_ns, &*attempt.ended), (sent_ns, "running"));
    let (task, attempt) = (run.task, run.attempt);
    play.says(there, FromWorker::Paused { task, attempt, what: "a lock".into() });
    let pause = Pause { what: "a lock".into(), since_ns: play.now };
    assert_eq!(last(&mut play).ended, "waiting for others");
    assert_eq!(explain(&mut play, 1).pause, Some(pause));
    play.says(there, FromWorker::Paused { task, attempt, what: "its turn".into() });
    assert_eq!(explain(&mut play, 1).pause.unwrap().what, "its turn");
    play.says(there, FromWorker::Resumed { task, attempt });
    assert_eq!(last(&mut play).ended, "running");
    assert_eq!(explain(&mut play, 1).pause, None);
}

#[test]
fn calls_are_explained_with_their_arguments_while_these_are_short() {
    let mut play = play();
    play.join(0, 1);
    let long = Submission { arguments: vec![0; 5000].into(), ..call(3, &[2]) };
    play.request(Request::Submit(vec![call(1, &[]), call(2, &[1]), long]));
    let explained = explain(&mut play, 2);
    assert_eq!(
        explained.arguments,
        Some(Arguments { bytes: call(2, &[1]).arguments, inputs: vec![explained.label.clone()] })
    );
    let awaited = &explained.awaited[0];
    assert_eq!((awaited.running, awaited.pause.is_none()), (true, true));
    assert!(awaited.arguments.is_some());
    assert_eq!(explain(&mut play, 3).arguments, None);
}
