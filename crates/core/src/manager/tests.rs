//! Small direct tests: one feature each, with workers played by hand.

use super::table::{Slot, TaskSlot};
use super::*;
use crate::wire::{
    Address, Assignment, BlockDesc, CallOptions, FileProblem, Form, FromWorker, Keep, Output,
    PROTOCOL, Payload, Report, Spent, TaskFailure, ToWorker,
};
use freestone_base::{FunctionId, Name, Resources, Ticket, WorkerId};
use smallvec::smallvec;
use std::sync::Arc;

pub(super) fn name(number: u32) -> Name {
    Name::of(&number.to_le_bytes())
}

const SPENT: Spent = Spent {
    start_ns: 0,
    opening_ns: 0,
    duration_ns: 1000,
    storing_ns: 0,
    memory: 0,
    pid: 0,
    resident: 0,
};

/// A manager, and what it did last.
pub(super) struct Play {
    pub manager: Manager,
    pub now: Now,
    pub out: Vec<Action>,
}

pub(super) fn play() -> Play {
    play_with(Config::default())
}

pub(super) fn play_with(config: Config) -> Play {
    Play { manager: Manager::new(config), now: 0, out: Vec::new() }
}

impl Play {
    pub fn handle(&mut self, event: Event) {
        self.now += 1000;
        self.out.clear();
        self.manager.handle(event, self.now, &mut self.out);
        self.manager.check();
    }

    pub fn request(&mut self, request: Request) {
        self.handle(Event::Client(request));
    }

    pub fn says(&mut self, worker: u32, message: FromWorker) {
        self.handle(Event::Worker(WorkerId(worker), message));
    }

    pub fn join(&mut self, worker: u32, slots: u32) {
        self.join_with(
            worker,
            slots,
            Resources { cores: slots, memory: 1 << 30, ..Resources::default() },
        );
    }

    pub fn join_with(&mut self, worker: u32, slots: u32, resources: Resources) {
        self.says(worker, hello(slots, resources, Vec::new()));
    }

    /// What was sent to a worker.
    pub fn sent(&self, worker: u32) -> Vec<&ToWorker> {
        let sent = self.out.iter().filter_map(|action| match action {
            Action::Send(id, message) if id.0 == worker => Some(message),
            _ => None,
        });
        sent.collect()
    }

    pub fn runs(&self, worker: u32) -> Vec<Assignment> {
        let runs = self.sent(worker).into_iter().filter_map(|message| match message {
            ToWorker::Run(assignments) => Some(assignments.clone()),
            _ => None,
        });
        runs.flatten().collect()
    }

    /// How tickets ended.
    pub fn outcomes(&self) -> Vec<(u64, Outcome)> {
        let outcomes = self.out.iter().filter_map(|action| match action {
            Action::Resolve(ticket, outcome) => Some((ticket.0, outcome.clone())),
            _ => None,
        });
        outcomes.collect()
    }

    pub fn done(&mut self, worker: u32, assignment: &Assignment, output: Output) {
        self.ends(worker, assignment, Ok(smallvec![output]));
    }

    pub fn fails(&mut self, worker: u32, assignment: &Assignment, failure: TaskFailure) {
        self.ends(worker, assignment, Err(failure));
    }

    fn ends(
        &mut self,
        worker: u32,
        assignment: &Assignment,
        result: Result<smallvec::SmallVec<[Output; 1]>, TaskFailure>,
    ) {
        let Assignment { task, attempt, .. } = *assignment;
        let spent = Spent { start_ns: self.now, ..SPENT };
        let report = Report { task, attempt, spent, result };
        self.says(worker, FromWorker::Done(vec![report]));
    }

    pub fn statistics(&mut self) -> Statistics {
        self.request(Request::Statistics { ticket: Ticket(999) });
        match self.outcomes().pop() {
            Some((999, Outcome::Statistics(statistics))) => *statistics,
            other => panic!("no statistics but {other:?}"),
        }
    }

    /// Nothing of any graph is left.
    pub fn assert_empty(&mut self) {
        let statistics = self.statistics();
        assert_eq!((statistics.tasks, statistics.blocks, statistics.inline_nbytes), (0, 0, 0));
    }
}

pub(super) fn hello(slots: u32, resources: Resources, blocks: Vec<BlockDesc>) -> FromWorker {
    FromWorker::Hello {
        former: None,
        boot: String::new(),
        now_ns: 0,
        protocol: PROTOCOL,
        key: String::new(),
        resources,
        slots,
        address: Address::Unix("a".into()),
        pid: 1,
        host: "h".into(),
        folder: "f".into(),
        blocks,
    }
}

/// The task that makes block `output` (with the ticket of that number) of `inputs`.
pub(super) fn call(output: u32, inputs: &[u32]) -> Submission {
    Submission {
        outputs: smallvec![name(output)],
        inputs: inputs.iter().map(|input| name(*input)).collect(),
        tickets: smallvec![Ticket(u64::from(output))],
        ..Submission::new(FunctionId(0), Payload::default())
    }
}

pub(super) fn inline(value: &[u8]) -> Output {
    Output::Inline(value.into())
}

pub(super) fn desc(block: u32, nbytes: u64) -> BlockDesc {
    BlockDesc { name: name(block), nbytes, checksum: 7, form: Form::Value }
}

pub(super) fn stored(block: u32, nbytes: u64) -> Output {
    Output::Stored(desc(block, nbytes))
}

#[test]
fn a_call_runs_and_is_forgotten() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[])]));
    let runs = play.runs(0);
    assert_eq!(runs.len(), 1);
    play.done(0, &runs[0], inline(b"x"));
    assert_eq!(play.outcomes(), [(1, Outcome::Ready(inline(b"x")))]);
    play.request(Request::Submit(vec![call(1, &[])]));
    assert_eq!(play.outcomes().len(), 1);
    assert_eq!(play.statistics().answered, 1);
    play.request(Request::Release(vec![name(1), name(1)]));
    play.assert_empty();
}

#[test]
fn a_chain_runs_where_its_input_is_and_drops_it() {
    let mut play = play();
    play.join(0, 1);
    play.join(1, 1);
    play.request(Request::Submit(vec![call(1, &[]), call(2, &[1])]));
    play.request(Request::Release(vec![name(1)]));
    let run = play.manager.graph.tasks.id(TaskSlot::of(0));
    let (worker, attempt) = (0, 1);
    let result = Ok(smallvec![stored(1, 1 << 20)]);
    let report = Report { task: run, attempt, spent: SPENT, result };
    play.says(worker, FromWorker::Done(vec![report]));
    let runs = play.runs(0);
    assert_eq!(runs.len(), 1, "{:?}", play.out);
    play.done(0, &runs[0], inline(b"y"));
    assert_eq!(play.sent(0), [&ToWorker::Drop(vec![name(1)])]);
    play.request(Request::Release(vec![name(2)]));
    play.assert_empty();
}

#[test]
fn a_failure_fails_what_depends_on_it() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[]), call(2, &[1]), call(3, &[2])]));
    let runs = play.manager.graph.tasks.id(TaskSlot::of(0));
    let failure = TaskFailure::TimedOut { timeout_ns: 1 };
    let report = Report { task: runs, attempt: 1, spent: SPENT, result: Err(failure) };
    play.says(0, FromWorker::Done(vec![report]));
    let failed: Vec<u64> = play.outcomes().iter().map(|(ticket, _)| *ticket).collect();
    assert_eq!(failed, [1, 2, 3]);
    play.request(Request::Release(vec![name(1), name(2), name(3)]));
    play.assert_empty();
}

#[test]
fn a_lost_block_is_made_again() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[])]));
    let runs = play.runs(0);
    play.done(0, &runs[0], stored(1, 10));
    play.request(Request::Submit(vec![call(2, &[1])]));
    let runs = play.runs(0);
    play.done(0, &runs[0], stored(2, 10));
    play.request(Request::Release(vec![name(1)]));
    play.join(1, 1);
    play.handle(Event::Left(WorkerId(0)));
    let runs = play.runs(1);
    assert_eq!(runs[0].outputs[0], name(1));
    play.done(1, &runs[0], stored(1, 10));
    let runs = play.runs(1);
    assert_eq!(runs[0].outputs[0], name(2));
    play.done(1, &runs[0], stored(2, 10));
    assert!(play.outcomes().is_empty());
    assert_eq!(play.statistics().recovered, 2);
    play.request(Request::Release(vec![name(2)]));
    play.assert_empty();
}

#[test]
fn an_input_elsewhere_is_fetched() {
    let mut play = play();
    play.join(0, 1);
    play.join(1, 1);
    let both = |play: &mut Play| {
        play.request(Request::Submit(vec![call(1, &[]), call(2, &[])]));
        (play.runs(0), play.runs(1))
    };
    let (first, second) = both(&mut play);
    play.done(0, &first[0], stored(1, 10));
    play.done(1, &second[0], stored(2, 1 << 30));
    play.request(Request::Submit(vec![call(3, &[1, 2])]));
    let runs = play.runs(1);
    assert_eq!(runs.len(), 1);
    assert!(matches!(play.sent(1).last(), Some(ToWorker::Fetch { source: WorkerId(0), .. })));
    play.says(1, FromWorker::Have { block: desc(1, 10), fetched: Some((WorkerId(0), 5)) });
    play.done(1, &runs[0], inline(b"z"));
    play.request(Request::Gather { name: name(2), worker: WorkerId(0), ticket: Ticket(50) });
    assert!(matches!(play.sent(0).last(), Some(ToWorker::Fetch { .. })));
    play.says(0, FromWorker::Have { block: desc(2, 1 << 30), fetched: Some((WorkerId(1), 5)) });
    assert_eq!(play.sent(0), [&ToWorker::Pin(name(2))]);
    play.says(0, FromWorker::Pinned { name: name(2), path: Some("p".into()) });
    assert_eq!(play.outcomes().len(), 1);
    play.request(Request::Release(vec![name(1), name(2), name(3)]));
    assert_eq!(play.statistics().blocks, 1, "what is pinned stays");
    play.request(Request::Unpin { name: name(2), worker: WorkerId(0) });
    play.assert_empty();
}

#[test]
fn a_put_is_adopted_and_lost_with_its_worker() {
    let mut play = play();
    play.join(0, 1);
    let put = Request::Put {
        block: desc(1, 10),
        path: "p".into(),
        owned: true,
        worker: WorkerId(0),
        keep: Keep::Task,
        ticket: Ticket(1),
    };
    play.request(put);
    assert!(matches!(play.sent(0)[..], [ToWorker::Adopt { .. }]));
    play.request(Request::Submit(vec![call(2, &[1])]));
    assert!(play.runs(0).is_empty());
    play.says(0, FromWorker::Have { block: desc(1, 10), fetched: None });
    assert_eq!(play.outcomes(), [(1, Outcome::Ready(stored(1, 10)))]);
    assert_eq!(play.runs(0).len(), 1);
    play.handle(Event::Left(WorkerId(0)));
    let lost = play.outcomes();
    assert!(matches!(&lost[..], [(2, Outcome::Failed(why))] if why.why == Why::InputLost(name(1))));
}

pub(super) fn reduction(output: u32, inputs: &[u32], arity: u32, commutes: bool) -> Reduction {
    Reduction {
        output: name(output),
        function: FunctionId(0),
        arguments: (2..=arity).map(|inputs| Payload::from(&[inputs as u8][..])).collect(),
        inputs: inputs.iter().map(|input| name(*input)).collect(),
        arity,
        commutes,
        options: Arc::new(CallOptions::default()),
        retries: 0,
        priority: 0,
        tenant: None,
        ticket: Ticket(u64::from(output)),
    }
}

fn reduce(output: u32, inputs: &[u32], arity: u32, commutes: bool) -> Request {
    Request::Reduce(reduction(output, inputs, arity, commutes))
}

/// Runs everything on the workers given until nothing is sent, each output made by `output`;
/// gives the calls in order.
pub(super) fn run_all(
    play: &mut Play,
    workers: &[u32],
    output: impl Fn(&Assignment, u32) -> Output,
) -> Vec<Assignment> {
    let mut todo: Vec<(u32, Assignment)> = Vec::new();
    let mut all = Vec::new();
    loop {
        for worker in workers {
            todo.extend(play.runs(*worker).into_iter().map(|run| (*worker, run)));
            let fetches: Vec<FromWorker> = play
                .sent(*worker)
                .into_iter()
                .filter_map(|message| match message {
                    ToWorker::Fetch { block, source, .. } => Some(FromWorker::Have {
                        block: block.clone(),
                        fetched: Some((*source, 10)),
                    }),
                    _ => None,
                })
                .collect();
            if !fetches.is_empty() {
                for fetch in fetches {
                    play.says(*worker, fetch);
                }
                break;
            }
        }
        if todo.is_empty() {
            return all;
        }
        let (worker, run) = todo.remove(0);
        let made = output(&run, worker);
        play.done(worker, &run, made);
        all.push(run);
    }
}

#[test]
fn a_reduction_takes_at_most_its_arity() {
    for commutes in [false, true] {
        let mut play = play();
        play.join(0, 1);
        for input in 1..=10 {
            play.request(Request::PutInline {
                name: name(input),
                bytes: (&[input as u8][..]).into(),
            });
        }
        play.request(reduce(100, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 3, commutes));
        let runs = run_all(&mut play, &[0], |run, _| {
            let bytes = run.inputs.iter().flat_map(|input| match input {
                crate::wire::Input::Inline(bytes) => bytes.as_slice().to_vec(),
                crate::wire::Input::Stored(_) => panic!("all are inline"),
            });
            Output::Inline(bytes.collect::<Vec<u8>>().into())
        });
        assert!(runs.iter().all(|run| run.arguments.as_slice() == [run.inputs.len() as u8]));
        assert_eq!(runs.len(), 5);
        play.request(Request::Watch { name: name(100), ticket: Ticket(5) });
        let outcomes = play.outcomes();
        let Outcome::Ready(Output::Inline(bytes)) = &outcomes[0].1 else { panic!("{outcomes:?}") };
        let mut bytes = bytes.as_slice().to_vec();
        if commutes {
            bytes.sort_unstable();
        }
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        play.request(Request::Release((1..=10).chain([100, 100]).map(name).collect()));
        play.assert_empty();
    }
}

#[test]
fn a_reduction_combines_at_each_worker_first() {
    let mut play = play();
    for worker in 0..2 {
        let blocks = (0..3).map(|index| desc(worker * 3 + index, 1 << 28)).collect();
        play.says(worker, hello(1, Resources { cores: 1, ..Resources::default() }, blocks));
    }
    play.request(reduce(100, &[0, 3, 1, 4, 2, 5], 3, true));
    let runs = run_all(&mut play, &[0, 1], |run, _| {
        let name = run.outputs[0];
        Output::Stored(BlockDesc { name, nbytes: 100, checksum: 1, form: Form::Value })
    });
    assert_eq!(runs.len(), 3);
    assert_eq!(play.statistics().transfers, 1);
    play.request(Request::Release(vec![name(100)]));
    assert_eq!((play.statistics().tasks, play.statistics().blocks), (0, 6));
}

#[test]
fn a_reduction_of_one_is_that_one() {
    let mut play = play();
    play.request(Request::PutInline { name: name(1), bytes: (&b"x"[..]).into() });
    play.request(reduce(100, &[1], 3, true));
    assert_eq!(play.outcomes(), [(100, Outcome::Ready(inline(b"x")))]);
    play.request(Request::Release(vec![name(1)]));
    play.request(Request::Watch { name: name(100), ticket: Ticket(5) });
    assert_eq!(play.outcomes(), [(5, Outcome::Ready(inline(b"x")))]);
    play.request(Request::Release(vec![name(100), name(100)]));
    play.assert_empty();
}

#[test]
fn a_failed_input_fails_the_reduction() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[]), call(2, &[])]));
    let runs = play.runs(0);
    play.request(reduce(100, &[1, 2], 2, false));
    play.fails(0, &runs[0], TaskFailure::TimedOut { timeout_ns: 1 });
    let failed: Vec<u64> = play.outcomes().iter().map(|(ticket, _)| *ticket).collect();
    assert_eq!(failed, [1, 100]);
    play.done(0, &runs[1], inline(b"x"));
    play.request(Request::Release(vec![name(1), name(2), name(100)]));
    play.assert_empty();
}

#[test]
fn an_idle_worker_gets_what_another_has_not_begun() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit((1..=2).map(|output| call(output, &[])).collect()));
    let runs = play.runs(0);
    assert_eq!(runs.len(), 2);
    play.join(1, 1);
    let asked = vec![runs[1].task];
    assert!(play.sent(0).contains(&&ToWorker::Return(asked.clone())));
    play.says(0, FromWorker::Returned { asked: asked.clone(), returned: asked });
    let stolen = play.runs(1);
    assert_eq!((stolen[0].task, stolen[0].attempt), (runs[1].task, 2));
    play.done(0, &runs[1], inline(b"stale"));
    assert!(play.outcomes().is_empty());
    play.done(1, &stolen[0], inline(b"x"));
    assert_eq!(play.outcomes().len(), 1);
    assert_eq!(play.statistics().stolen, 1);
}

#[test]
fn a_worker_that_retires_hands_over_what_only_it_has() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[]), call(2, &[])]));
    let runs = play.runs(0);
    play.done(0, &runs[0], stored(1, 10));
    play.join(1, 1);
    play.request(Request::Retire(vec![WorkerId(0)]));
    assert!(play.runs(0).is_empty());
    play.done(0, &runs[1], inline(b"x"));
    assert!(matches!(play.sent(1)[..], [ToWorker::Fetch { source: WorkerId(0), .. }]));
    play.says(1, FromWorker::Have { block: desc(1, 10), fetched: Some((WorkerId(0), 3)) });
    assert_eq!(play.sent(0), [&ToWorker::Shutdown]);
    play.handle(Event::Left(WorkerId(0)));
    play.request(Request::Retire(vec![WorkerId(1)]));
    assert_eq!(play.sent(1), [&ToWorker::Shutdown]);
}

#[test]
fn what_no_worker_can_hold_fails() {
    let mut play = play();
    let big = |output| {
        let resources = Resources { cores: 99, ..Resources::ONE_CORE };
        let options = Arc::new(CallOptions { resources, ..CallOptions::default() });
        Request::Submit(vec![Submission { options, ..call(output, &[]) }])
    };
    play.request(big(1));
    assert!(play.outcomes().is_empty());
    play.join(0, 4);
    let failed = play.outcomes();
    assert!(
        matches!(&failed[..], [(1, Outcome::Failed(why))] if matches!(why.why, Why::Unschedulable { .. }))
    );
    play.request(big(2));
    assert_eq!(play.outcomes().len(), 1);
}

#[test]
fn a_changed_file_is_why_all_that_need_it_fail() {
    let mut play = play();
    play.join(0, 1);
    play.join(1, 1);
    play.request(Request::Put {
        block: desc(1, 10),
        path: "/data/x".into(),
        owned: false,
        worker: WorkerId(0),
        keep: Keep::Task,
        ticket: Ticket(1),
    });
    play.says(0, FromWorker::Have { block: desc(1, 10), fetched: None });
    play.request(Request::Submit(vec![call(2, &[1]), call(3, &[2])]));
    let runs = play.runs(0);
    let reason = "its size is not what it was".to_owned();
    play.says(0, FromWorker::Lost { names: vec![name(1)], reason: reason.clone() });
    assert!(play.outcomes().is_empty());
    play.request(Request::Submit(vec![call(4, &[1])]));
    play.fails(
        0,
        &runs[0],
        TaskFailure::File { path: "/data/x".into(), problem: FileProblem::Changed(reason) },
    );
    let mut failed = play.outcomes();
    failed.sort_by_key(|(ticket, _)| *ticket);
    assert_eq!(failed.iter().map(|(ticket, _)| *ticket).collect::<Vec<_>>(), [2, 3, 4]);
    assert!(failed.iter().all(|(_, outcome)| matches!(outcome, Outcome::Failed(failure)
        if matches!(failure.why, Why::Attempt(TaskFailure::File { .. })))));
    play.request(Request::Release((1..=4).map(name).collect()));
    play.assert_empty();
}

#[test]
fn what_vanished_without_a_word_is_lost_after_a_while() {
    let mut play = play();
    let found = vec![desc(1, 10)];
    play.says(0, hello(1, Resources { cores: 1, ..Resources::default() }, found));
    play.request(Request::Submit(vec![call(2, &[1])]));
    assert_eq!(play.runs(0).len(), 1);
    play.says(0, FromWorker::Lost { names: vec![name(1)], reason: "?".into() });
    assert!(play.outcomes().is_empty());
    play.handle(Event::Tick);
    let lost = play.outcomes();
    assert!(matches!(&lost[..], [(2, Outcome::Failed(why))] if why.why == Why::InputLost(name(1))));
    assert!(matches!(play.sent(0)[..], [ToWorker::Cancel(_)]));
}
