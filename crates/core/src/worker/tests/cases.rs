//! Single rules, each by itself.

use super::world::config;
use crate::store::Tier;
use crate::wire::{
    Assignment, BlockDesc, Call, CallOptions, CallResult, FileProblem, Form, FromWorker, Input,
    Output, Report, Spent, TaskFailure, ToExecutor, ToWorker, WorkerStatus,
};
use crate::worker::{Action, Adopted, Event, ExternalFile, FileStamp, Now, Worker};
use freestone_base::{FunctionId, Name, Resources, TaskId, Tenant};
use smallvec::smallvec;
use std::sync::Arc;

pub(super) const MS: Now = 1_000_000;

pub(super) struct Harness {
    pub worker: Worker,
    pub now: Now,
    /// How long its calls take.
    pub duration_ns: u64,
    pub done: Vec<Action>,
}

impl Harness {
    pub fn new(slots: u32) -> Self {
        let worker = Worker::new(config(slots), Vec::new());
        let mut harness = Self { worker, now: 1, duration_ns: 1000, done: Vec::new() };
        harness.advance();
        for executor in 0..slots {
            harness.event(Event::Ready { executor });
        }
        let (label, definition) = (String::new(), Vec::new().into());
        harness.say(ToWorker::Define { function: FunctionId(0), label, definition });
        harness.done.clear();
        harness
    }

    pub fn event(&mut self, event: Event) {
        self.worker.handle(event, self.now, &mut self.done);
    }

    pub fn say(&mut self, message: ToWorker) {
        self.event(Event::Manager(message));
    }

    pub fn advance(&mut self) {
        self.worker.advance(self.now, &mut self.done);
    }

    /// Time passes.
    pub fn pass(&mut self, duration_ns: Now) {
        self.now += duration_ns;
        self.advance();
    }

    pub fn run(&mut self, calls: Vec<Assignment>) {
        self.say(ToWorker::Run(calls));
        self.advance();
    }

    /// Calls that were sent since the last question, with their executors.
    pub fn sent(&mut self) -> Vec<(u32, Vec<Call>)> {
        let mut sent = Vec::new();
        self.done.retain(|action| match action {
            Action::Send(executor, ToExecutor::Calls(calls)) => {
                sent.push((*executor, calls.clone()));
                false
            }
            _ => true,
        });
        sent
    }

    pub fn end(&mut self, executor: u32, calls: &[Call]) {
        let end = |call: &Call| CallResult {
            sequence: call.sequence,
            spent: Spent { start_ns: 1, duration_ns: self.duration_ns, ..Spent::default() },
            result: Ok(smallvec![Output::Inline(Vec::new().into())]),
        };
        let results = calls.iter().map(end).collect();
        let (unmapped, on_disk) = (Vec::new(), Vec::new());
        self.event(Event::Results { executor, results, unmapped, on_disk });
        self.advance();
    }

    pub fn reports(&mut self) -> Vec<Report> {
        let mut reports = Vec::new();
        self.done.retain(|action| match action {
            Action::Report(report) => {
                reports.push(report.clone());
                false
            }
            _ => true,
        });
        reports
    }
}

pub(super) fn call(number: u64) -> Assignment {
    Assignment {
        task: TaskId(number),
        attempt: 1,
        function: FunctionId(0),
        arguments: Vec::new().into(),
        inputs: Vec::new(),
        outputs: smallvec![Name::of(&number.to_le_bytes())],
        options: Arc::new(CallOptions::default()),
        priority: 0,
        tenant: Tenant::default(),
        expected_ns: Some(1000),
    }
}

fn with_cores(number: u64, cores: u32) -> Assignment {
    let mut call = call(number);
    Arc::make_mut(&mut call.options).resources = Resources { cores, ..Resources::default() };
    call
}

pub(super) fn block(number: u8) -> BlockDesc {
    BlockDesc { name: Name([number; 16]), nbytes: 10, checksum: 1, form: Form::Value }
}

fn tasks(sent: &[(u32, Vec<Call>)], calls: &[Assignment]) -> Vec<TaskId> {
    let of = |sent: &Call| calls.iter().find(|call| call.outputs == sent.outputs).unwrap().task;
    sent.iter().flat_map(|(_, calls)| calls).map(of).collect()
}

#[test]
fn tiny_calls_travel_together_and_are_shared_out() {
    let mut harness = Harness::new(2);
    harness.run((0..1000).map(call).collect());
    let sent = harness.sent();
    assert_eq!(sent.len(), 2);
    let counts = [sent[0].1.len(), sent[1].1.len()];
    assert!(counts[0] > 100 && counts[0].abs_diff(counts[1]) <= 1, "{counts:?}");
}

#[test]
fn long_and_unknown_calls_travel_alone() {
    for expected_ns in [None, Some(10 * MS)] {
        let mut harness = Harness::new(2);
        harness.run((0..10).map(|number| Assignment { expected_ns, ..call(number) }).collect());
        let counts: Vec<usize> = harness.sent().iter().map(|(_, calls)| calls.len()).collect();
        assert_eq!(counts, [1, 1]);
    }
}

#[test]
fn what_comes_first_or_matters_more_goes_first() {
    let mut harness = Harness::new(1);
    let mut calls: Vec<Assignment> = (0..6).map(call).collect();
    calls[4].priority = 5;
    calls[5].priority = -1;
    harness.run(calls.clone());
    let mut order = Vec::new();
    loop {
        let sent = harness.sent();
        order.extend(tasks(&sent, &calls));
        let Some((executor, sent)) = sent.first() else { break };
        harness.end(*executor, sent);
    }
    assert_eq!(order, [4, 0, 1, 2, 3, 5].map(TaskId));
}

#[test]
fn a_call_for_the_whole_node_does_not_starve() {
    let mut harness = Harness::new(2);
    let mut calls: Vec<Assignment> = (0..2000).map(|number| with_cores(number, 1)).collect();
    calls[1] = with_cores(1, 2);
    for call in &mut calls {
        call.expected_ns = Some(2 * MS);
    }
    harness.duration_ns = 2 * MS;
    harness.run(calls.clone());
    let mut running: Vec<(u32, Vec<Call>)> = Vec::new();
    let mut before = 0;
    loop {
        running.extend(harness.sent());
        let (executor, ended) = running.remove(0);
        if tasks(&[(executor, ended.clone())], &calls).contains(&TaskId(1)) {
            break;
        }
        before += ended.len();
        assert!(before < 100, "it starves");
        harness.now += MS;
        harness.end(executor, &ended);
    }
    assert!(running.is_empty(), "it is not alone");
}

/// Ends what was sent to other executors than `stuck`, and how many calls that were.
fn end_all_but(harness: &mut Harness, stuck: u32) -> usize {
    let mut ended = 0;
    loop {
        let sent = harness.sent();
        if sent.is_empty() {
            return ended;
        }
        for (executor, calls) in sent {
            assert_ne!(executor, stuck);
            ended += calls.len();
            harness.end(executor, &calls);
        }
    }
}

#[test]
fn what_waits_behind_a_call_that_got_stuck_goes_to_an_idle_executor() {
    let mut harness = Harness::new(2);
    harness.run((0..8).map(call).collect());
    let mut sent = harness.sent();
    let (idle, calls) = sent.remove(1);
    let (stuck, held) = sent.remove(0);
    assert!(held.len() > 1);
    harness.end(idle, &calls);
    let before = calls.len() + end_all_but(&mut harness, stuck);
    assert!(harness.worker.wakeup() > harness.now);
    harness.now += 6 * MS;
    assert!(harness.worker.wakeup() <= harness.now);
    harness.advance();
    let second = held[1].sequence;
    assert!(harness.done.contains(&Action::Revoke { executor: stuck, from: second, again: false }));
    let claimed = held[0].sequence;
    let (first, is_unread) = (Some(second), false);
    harness.event(Event::Revoked { executor: stuck, first, claimed, is_unread });
    harness.advance();
    assert!(harness.done.contains(&Action::Send(stuck, ToExecutor::Resume)));
    assert_eq!(before + end_all_but(&mut harness, stuck), 7);
    assert_eq!(harness.reports().len(), 7);
}

#[test]
fn a_call_with_a_limit_is_alone_and_is_ended_when_it_is_over() {
    let mut harness = Harness::new(1);
    let mut limited = call(0);
    Arc::make_mut(&mut limited.options).timeout_ns = Some(3 * MS);
    harness.run(vec![limited, call(1), call(2)]);
    let sent = harness.sent();
    assert_eq!((sent.len(), sent[0].1.len()), (1, 1));
    assert_eq!(harness.worker.wakeup(), harness.now + 3 * MS);
    harness.now += 3 * MS;
    harness.advance();
    assert!(harness.done.contains(&Action::Kill(0)));
    let claimed = sent[0].1[0].sequence;
    harness.event(Event::Died { executor: 0, claimed, signal: Some(9), status: None });
    let failure = &harness.reports()[0].result;
    assert_eq!(*failure, Err(TaskFailure::TimedOut { timeout_ns: 3 * MS }));
    harness.advance();
    harness.event(Event::Ready { executor: 0 });
    harness.advance();
    assert_eq!(harness.sent()[0].1.len(), 2);
}

#[test]
fn only_the_call_that_was_claimed_is_blamed() {
    let mut harness = Harness::new(1);
    harness.run((0..20).map(call).collect());
    let calls = harness.sent().remove(0).1;
    let claimed = calls[2].sequence;
    harness.event(Event::Died { executor: 0, claimed, signal: Some(11), status: None });
    let reports = harness.reports();
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].task, TaskId(2));
    assert_eq!(reports[0].result, Err(TaskFailure::Killed { signal: Some(11), status: None }));
}

#[test]
fn a_call_whose_input_was_just_lost_ends_at_once() {
    let mut harness = Harness::new(1);
    let mut needs = call(0);
    needs.inputs = vec![Input::Stored(block(1))];
    let path = "/user/file".to_owned();
    let keep = crate::wire::Keep::Task;
    let (owned, verify) = (false, false);
    harness.say(ToWorker::Adopt { block: block(1), path: path.clone(), owned, keep, verify });
    let stamp = FileStamp { nbytes: 10, modified_ns: 1 };
    let result = Ok(Adopted::External(ExternalFile { path: path.clone(), stamp }));
    harness.event(Event::Adopted { block: block(1), result });
    harness.run(vec![needs.clone()]);
    let problem = FileProblem::Changed("changed".to_owned());
    let result = Err((path.clone(), problem.clone()));
    harness.event(Event::Checked { task: TaskId(0), result });
    let changed = TaskFailure::File { path, problem };
    assert_eq!(harness.reports()[0].result, Err(changed));
    needs.task = TaskId(1);
    harness.run(vec![needs]);
    let lost = TaskFailure::InputLost { name: block(1).name };
    assert_eq!(harness.reports()[0].result, Err(lost));
}

#[test]
fn a_block_that_fits_nowhere_ends_the_calls_that_wait_for_it() {
    let mut harness = Harness::new(1);
    let large = BlockDesc { nbytes: 5000, ..block(1) };
    let mut needs = call(0);
    needs.inputs = vec![Input::Stored(large.clone())];
    harness.run(vec![needs]);
    let address = crate::wire::Address::Unix(String::new());
    let (source, keep) = (freestone_base::WorkerId(1), crate::wire::Keep::Task);
    harness.say(ToWorker::Fetch { block: large, source, address, keep });
    harness.advance();
    let folder = "/disk".to_owned();
    let full = TaskFailure::StorageFull { needed: 5000, free: 2000, folder };
    assert_eq!(harness.reports()[0].result, Err(full));
}

#[test]
fn an_output_that_lies_on_disk_counts_there() {
    let mut harness = Harness::new(1);
    harness.run(vec![call(0)]);
    let sequence = harness.sent()[0].1[0].sequence;
    let result = Ok(smallvec![Output::Stored(block(1))]);
    let results = vec![CallResult { sequence, spent: Spent::default(), result }];
    let (unmapped, on_disk) = (Vec::new(), vec![block(1).name]);
    harness.event(Event::Results { executor: 0, results, unmapped, on_disk });
    assert_eq!((harness.worker.cache.memory_nbytes(), harness.worker.cache.disk_nbytes()), (0, 10));
    harness.say(ToWorker::Drop(vec![block(1).name]));
    let removed = Action::Remove { name: block(1).name, form: Form::Value, tier: Tier::Disk };
    assert!(harness.done.contains(&removed));
}

/// Whether the manager is told figures now.
fn sends_status(harness: &mut Harness) -> bool {
    harness.advance();
    let is_status = |action: &Action| matches!(action, Action::Tell(FromWorker::Status(_)));
    let sent = harness.done.iter().any(is_status);
    harness.done.clear();
    sent
}

#[test]
fn the_first_figures_are_sent_soon() {
    let mut harness = Harness::new(1);
    harness.run(vec![call(0)]);
    harness.now += 4 * MS;
    assert!(!sends_status(&mut harness));
    harness.now += 2 * MS;
    assert!(sends_status(&mut harness));
    assert_eq!(harness.worker.last_status.running, 1);
    harness.run(vec![call(1)]);
    harness.now += 9 * MS;
    assert!(!sends_status(&mut harness));
    harness.now += 2 * MS;
    assert!(sends_status(&mut harness));
    assert_eq!(harness.worker.last_status.running + harness.worker.last_status.waiting, 2);
}

#[test]
fn figures_are_sent_while_they_change_and_as_a_sign_of_life() {
    let mut harness = Harness::new(1);
    let memory_quota = harness.worker.cache.memory_quota();
    let nothing = WorkerStatus { memory_quota, ..WorkerStatus::default() };
    // How much memory there is, is told first.
    harness.now = 5 * MS;
    assert!(sends_status(&mut harness));
    assert_eq!(harness.worker.last_status, nothing);
    harness.now = 10_000 * MS;
    assert!(!sends_status(&mut harness));
    harness.now = 10_006 * MS;
    assert!(sends_status(&mut harness));
    assert_eq!(harness.worker.last_status, nothing);
    // However much they change, they are told at most every two seconds in the end.
    let mut waits_ms = Vec::new();
    for task in 0..11 {
        harness.run(vec![call(task)]);
        let before = harness.now;
        while !sends_status(&mut harness) {
            harness.now = harness.worker.wakeup();
        }
        waits_ms.push((harness.now - before) / MS);
    }
    assert_eq!(waits_ms, [20, 40, 80, 160, 320, 640, 1280, 2000, 2000, 2000, 2000]);
}

/// A result that a call left in the cache.
pub(super) fn stored(call: &Call) -> CallResult {
    let block = BlockDesc { name: call.outputs[0], ..block(0) };
    let result = Ok(smallvec![Output::Stored(block)]);
    let spent = Spent { start_ns: 1, duration_ns: 1000, ..Spent::default() };
    CallResult { sequence: call.sequence, spent, result }
}

pub(super) fn removed(harness: &Harness) -> Vec<Name> {
    let name = |action: &Action| match action {
        Action::Remove { name, .. } => Some(*name),
        _ => None,
    };
    harness.done.iter().filter_map(name).collect()
}

pub(super) fn results(executor: u32, results: Vec<CallResult>, unmapped: Vec<Name>) -> Event {
    Event::Results { executor, results, unmapped, on_disk: Vec::new() }
}

/// Calls 1 and 2 make one block in two executors; nobody wants the first any more.
fn made_twice() -> (Harness, Vec<(u32, Vec<Call>)>, Name) {
    let mut harness = Harness::new(2);
    let unknown = |number| Assignment { expected_ns: None, ..call(number) };
    let outputs = unknown(1).outputs;
    let name = outputs[0];
    harness.run(vec![unknown(1), Assignment { outputs, ..unknown(2) }]);
    let sent = harness.sent();
    assert_eq!(sent.len(), 2);
    harness.say(ToWorker::Cancel(vec![TaskId(1)]));
    (harness, sent, name)
}

#[test]
fn what_a_cancelled_call_left_is_not_removed_while_another_call_makes_it() {
    let (mut harness, sent, name) = made_twice();
    // The second has put its file in place by now, and is about to say so.
    harness.event(results(sent[0].0, vec![stored(&sent[0].1[0])], Vec::new()));
    assert_eq!(removed(&harness), []);
    harness.event(results(sent[1].0, vec![stored(&sent[1].1[0])], Vec::new()));
    harness.say(ToWorker::Pin(name));
    assert_eq!(removed(&harness), []);
    let pinned =
        |action: &Action| matches!(action, Action::Tell(FromWorker::Pinned { path: Some(_), .. }));
    assert!(harness.done.iter().any(pinned));
}

#[test]
fn what_nobody_wants_is_removed_when_no_call_makes_it_any_more() {
    let (mut harness, sent, name) = made_twice();
    harness.event(results(sent[0].0, vec![stored(&sent[0].1[0])], Vec::new()));
    let failed = Err(TaskFailure::Cancelled);
    let second = CallResult { result: failed, ..stored(&sent[1].1[0]) };
    harness.event(results(sent[1].0, vec![second], Vec::new()));
    assert_eq!(removed(&harness), [name]);
}

#[test]
fn a_dropped_block_stays_while_it_is_made_anew() {
    let mut harness = Harness::new(2);
    harness.run(vec![call(1)]);
    let first = harness.sent().remove(0);
    harness.event(results(first.0, vec![stored(&first.1[0])], Vec::new()));
    let name = first.1[0].outputs[0];
    let reader =
        Assignment { inputs: vec![Input::Stored(BlockDesc { name, ..block(0) })], ..call(2) };
    harness.run(vec![reader]);
    let reader = harness.sent().remove(0);
    harness.event(results(reader.0, vec![stored(&reader.1[0])], Vec::new()));
    // It is dropped while an executor still maps it, made again, and only then let go.
    harness.say(ToWorker::Drop(vec![name]));
    harness.run(vec![Assignment { outputs: smallvec![name], ..call(3) }]);
    let again = harness.sent().remove(0);
    harness.event(results(reader.0, Vec::new(), vec![name]));
    assert_eq!(removed(&harness), []);
    harness.event(results(again.0, vec![stored(&again.1[0])], Vec::new()));
    assert_eq!(removed(&harness), []);
    harness.say(ToWorker::Drop(vec![name]));
    assert_eq!(removed(&harness), [name]);
}
