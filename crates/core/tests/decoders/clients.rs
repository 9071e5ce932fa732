//! At least one message of each kind between clients and a manager.

use super::samples;
use freestone_base::{FunctionId, Name, Resources, Tenant, Ticket, WorkerId};
use freestone_core::manager::{
    Arguments, Attempt, BlockFigures, Entry, Explanation, Failure, FunctionFigures, Given,
    GraphNode, Item, LockRequest, Near, Outcome, Overview, Pause, Publication, Query, QueueRequest,
    RecentFailure, Reduction, Request, SharedRequest, Statistics, Submission, TaskFigures,
    TaskGraph, VariableRequest, Waiter, Why, WorkerFigures,
};
use freestone_core::session::{FromClient, HomeCache, ToClient};
use freestone_core::wire::{Address, CallOptions, Keep, Printed, PrintedOf, Stream, WorkerStatus};
use smallvec::smallvec;
use std::sync::Arc;

const TICKET: Ticket = Ticket(1 << 40);
const WORKER: WorkerId = WorkerId(3);

fn name(number: u8) -> Name {
    Name::of(&[number])
}

fn submission(near: Option<Near>) -> Submission {
    Submission {
        outputs: smallvec![name(1), name(2)],
        function: FunctionId(4),
        arguments: vec![7; 30].into(),
        inputs: smallvec![name(3), name(4), name(5)],
        options: Arc::new(CallOptions { category: 2, ..CallOptions::default() }),
        retries: 3,
        priority: -5,
        tenant: None,
        worker: Some(WORKER),
        near,
        tickets: smallvec![TICKET, Ticket(1)],
    }
}

fn reduction() -> Reduction {
    Reduction {
        output: name(1),
        function: FunctionId(4),
        arguments: vec![vec![1].into(), vec![2, 3].into()],
        inputs: vec![name(2), name(3)],
        arity: 3,
        commutes: true,
        options: Arc::default(),
        retries: 1,
        priority: 2,
        tenant: Some(Tenant(4)),
        ticket: TICKET,
    }
}

fn publication() -> Publication {
    Publication { title: "hist".to_owned(), name: name(1), label: "fill".to_owned() }
}

fn item() -> Item {
    Item { name: name(1), label: "fill".to_owned() }
}

fn waiter() -> Waiter {
    Waiter { hold: 1 << 50, owner: 3, worker: Some(WORKER), ticket: TICKET }
}

pub fn asked() -> Vec<Request> {
    let block = samples::kept().remove(0);
    let (ticket, worker, title) = (TICKET, WORKER, "hist".to_owned());
    let query = Query { limit: 9, label: Some("f".to_owned()), stage: None, graph: Some(8) };
    vec![
        Request::Define {
            function: FunctionId(4),
            label: "f".to_owned(),
            definition: vec![1].into(),
        },
        Request::Submit(vec![submission(None), submission(Some(Near::Input))]),
        Request::Submit(vec![submission(Some(Near::Worker(WORKER)))]),
        Request::Reduce(reduction()),
        Request::Put {
            block,
            path: "/a".to_owned(),
            owned: true,
            worker,
            keep: Keep::Task,
            ticket,
        },
        Request::from(LockRequest::Enter {
            title: title.clone(),
            limit: std::num::NonZeroU32::new(4),
            hold: 1 << 50,
            holder: "a task".to_owned(),
            worker: Some(WORKER),
            ticket,
        }),
        LockRequest::Await { hold: 3, ticket }.into(),
        SharedRequest::Leave { hold: 3 }.into(),
        SharedRequest::Withdraw { hold: 3 }.into(),
        SharedRequest::Finish { hold: 3, ticket }.into(),
        QueueRequest::Put { title: title.clone(), capacity: Some(3), item: item(), by: waiter() }
            .into(),
        QueueRequest::Open { title: title.clone(), capacity: 3, by: waiter() }.into(),
        QueueRequest::Take { title: title.clone(), capacity: None, by: waiter(), moves: true }
            .into(),
        QueueRequest::Close { title: title.clone(), capacity: Some(0), ticket }.into(),
        QueueRequest::Delete { title: title.clone(), ticket }.into(),
        QueueRequest::Count { title: title.clone(), ticket }.into(),
        VariableRequest::Set { title: title.clone(), item: item(), expected: Some(2), ticket }
            .into(),
        VariableRequest::Get { title: title.clone(), waits: true, by: waiter() }.into(),
        VariableRequest::Delete { title: title.clone(), ticket }.into(),
        Request::PutInline { name: name(1), bytes: vec![5; 9].into() },
        Request::Watch { name: name(1), ticket },
        Request::Release(vec![name(1), name(1)]),
        Request::Gather { name: name(1), worker, ticket },
        Request::Unpin { name: name(1), worker },
        Request::Cancel(vec![name(1)]),
        Request::CancelForAll(vec![name(1)]),
        Request::CancelTagged { tag: title.clone(), ticket },
        Request::Fail { name: name(1), worker, failure: samples::failures().remove(0) },
        Request::Abandon(vec![(name(1), 2)]),
        Request::Publish { publication: publication(), replace: true, ticket },
        Request::Unpublish { title, ticket },
        Request::Publications { ticket },
        Request::Detach(vec![name(1)]),
        Request::Retire(vec![worker]),
        Request::Restart { abandoned: None },
        Request::Restart { abandoned: Some(vec![(name(1), 3)]) },
        Request::Collect { collection: 1 << 63, blocks: vec![name(1)] },
        Request::Disperse { collection: 1 },
        Request::Balance,
        Request::WhoHas { names: vec![name(1)], ticket },
        Request::Explain { name: name(1), ticket },
        Request::Statistics { ticket },
        Request::Overview { query, ticket },
        Request::Observe(true),
        Request::Shutdown,
    ]
}

pub fn from_client() -> Vec<FromClient> {
    let each = asked().into_iter().map(|request| FromClient::Requests(vec![request]));
    let rest = [FromClient::Requests(asked()), FromClient::Received(1 << 40), FromClient::Leave];
    each.chain(rest).collect()
}

fn failures() -> Vec<Why> {
    let (needs, largest) = (Resources::ONE_CORE, Resources::default());
    let mut failures: Vec<Why> = samples::failures().into_iter().map(Why::Attempt).collect();
    let last = samples::failures().remove(0);
    failures.extend([
        Why::Killed { kills: 3, last },
        Why::Unschedulable { needs, largest },
        Why::WorkerAbsent { worker: WORKER, gone_ns: Some(5), present: vec![WORKER] },
        Why::TooManyCalls { limit: 5_000_000 },
        Why::UnknownInput(name(1)),
        Why::InputLost(name(2)),
        Why::Interrupted,
        Why::Cancelled,
        Why::Closed,
    ]);
    failures
}

fn attempt() -> Attempt {
    Attempt { worker: WORKER, sent_ns: 1, start_ns: 2, duration_ns: 3, ended: "done".to_owned() }
}

fn overview() -> Overview {
    let task = TaskFigures {
        name: name(1),
        label: "f".to_owned(),
        arguments: Some(Arguments { bytes: vec![2].into(), inputs: vec!["g".to_owned()] }),
        stage: "waiting".into(),
        worker: Some(WORKER),
        running: true,
        since_ns: 1,
        missing: 2,
        pause: Some(Pause { what: "a lock".to_owned(), since_ns: 2 }),
    };
    let block =
        BlockFigures { name: name(1), label: "f".to_owned(), nbytes: 3, replicas: vec![WORKER] };
    let failure = RecentFailure {
        at_ns: 1,
        label: "f".to_owned(),
        name: name(1),
        worker: None,
        attempts: 2,
        ended: "raised".into(),
        message: "m".to_owned(),
        traceback: "t".to_owned(),
    };
    Overview {
        now_ns: 1,
        functions: vec![FunctionFigures::default()],
        tasks: vec![task],
        blocks: vec![block],
        failures: vec![failure],
        graph: Some(TaskGraph {
            unfinished: 3,
            nodes: vec![GraphNode {
                name: name(1),
                function: Some(0),
                stage: "ready".into(),
                worker: Some(WORKER),
            }],
            edges: vec![(0, 0)],
            between: vec![(0, 1, 2)],
        }),
    }
}

fn statistics() -> Statistics {
    let figures = WorkerFigures {
        worker: WORKER,
        pid: 77,
        host: "h".to_owned(),
        folder: "/f".to_owned(),
        address: Address::Unix("a".to_owned()),
        resources: Resources::ONE_CORE,
        free: Resources::default(),
        slots: 2,
        leaving: true,
        assigned: 1,
        done: 1 << 40,
        blocks: 3,
        nbytes: 4,
        executors: vec![(5, 6)],
        status: WorkerStatus::default(),
    };
    Statistics { done: 9, workers: vec![figures], ..Statistics::default() }
}

pub fn outcomes() -> Vec<Outcome> {
    let block = samples::kept().remove(0);
    let failed = failures().into_iter().map(|why| {
        let (worker, last_attempts) = (Some(WORKER), vec![attempt()]);
        let label = "f".to_owned();
        Outcome::Failed(Arc::new(Failure {
            label,
            name: name(1),
            worker,
            attempts: 2,
            last_attempts,
            why,
        }))
    });
    let explanation = Explanation {
        stage: "done".into(),
        waits_for: vec![name(1)],
        attempts: vec![attempt()],
        replicas: vec![WORKER],
        nbytes: Some(5),
        ..Explanation::default()
    };
    let mut outcomes: Vec<Outcome> =
        samples::outputs().into_iter().map(Outcome::Ready).chain(failed).collect();
    outcomes.extend([
        Outcome::Pinned { block, path: "/a".to_owned() },
        Outcome::Locations(vec![vec![WORKER], vec![]]),
        Outcome::Explained(Box::new(explanation)),
        Outcome::Statistics(Box::new(statistics())),
        Outcome::Overview(Box::new(overview())),
        Outcome::Accepted(true),
        Outcome::Entered(Entry::Granted),
        Outcome::Entered(Entry::Queued { holders: vec!["a task".to_owned()] }),
        Outcome::Entered(Entry::Other { limit: None }),
        Outcome::Given(Given::Item { item: item(), version: 7 }),
        Outcome::Given(Given::Other { capacity: 3 }),
        Outcome::Given(Given::Count { items: 9 }),
        Outcome::Given(Given::Closed),
        Outcome::Publications(vec![publication()]),
        Outcome::Counted(3),
    ]);
    outcomes
}

pub fn to_client() -> Vec<ToClient> {
    let tier = |folder: &str| (folder.to_owned(), 1 << 30);
    let home = HomeCache { worker: WORKER, memory: tier("/m"), disk: tier("/d") };
    let tickets = (0..).map(Ticket);
    let welcome = |home, session| ToClient::Welcome {
        boot: "b".to_owned(),
        home,
        session,
        received: 1 << 40,
    };
    vec![
        welcome(Some(home.clone()), Some(name(3))),
        welcome(None, None),
        ToClient::Received(7),
        ToClient::Renumbered { former: WORKER, worker: WorkerId(9) },
        ToClient::Refused("why".to_owned()),
        ToClient::Outcomes(tickets.zip(outcomes()).collect()),
        ToClient::Home(home),
        ToClient::Closed,
        ToClient::Printed(Box::new(PrintedOf {
            name: Some(name(1)),
            label: "f".to_owned(),
            worker: WORKER,
            is_own: true,
            printed: Printed {
                task: None,
                stream: Stream::Profile,
                text: (&b"printed"[..]).into(),
                left_out: 1 << 40,
            },
        })),
    ]
}
