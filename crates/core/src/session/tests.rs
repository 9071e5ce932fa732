use super::*;
use crate::manager::{
    Action, Config, Event, Given, Item, LockRequest, Manager, QueueRequest, Submission, Waiter,
};
use crate::wire::CallOptions;
use smallvec::smallvec;
use std::sync::Arc;

/// A manager with clients.
struct Play {
    manager: Manager,
    sessions: Sessions,
    functions: u32,
    now: u64,
    /// What clients were cancelled, by client and ticket.
    answers: Vec<(ClientId, u64, Outcome)>,
}

struct Port<'a>(&'a Manager, &'a mut u32);

impl Graph for Port<'_> {
    fn dependents(&self, names: &[Name]) -> Vec<Name> {
        self.0.dependents(names)
    }

    fn next_function(&mut self) -> FunctionId {
        *self.1 += 1;
        FunctionId(*self.1 - 1)
    }
}

impl Play {
    fn new() -> Self {
        let manager = Manager::new(Config::default());
        let sessions = Sessions::default();
        Self { manager, sessions, functions: 0, now: 0, answers: Vec::new() }
    }

    fn handle(&mut self, request: Request) {
        self.now += 1000;
        let mut actions = Vec::new();
        self.manager.handle(Event::Client(request), self.now, &mut actions);
        for action in actions {
            let Action::Resolve(ticket, outcome) = action else { continue };
            assert!(ticket.is_remote());
            if let Answer::For(client, ticket) = self.sessions.on_outcome(ticket, &outcome) {
                self.answers.push((client, ticket.0, outcome));
            }
        }
    }

    fn ask(&mut self, client: ClientId, request: Request) -> Result<(), Violation> {
        let mut port = Port(&self.manager, &mut self.functions);
        if let Some(request) = self.sessions.on_request(client, request, &mut port)? {
            self.handle(request);
        }
        self.stop();
        Ok(())
    }

    fn cancel_tagged(&mut self, tag: &str) -> u64 {
        let port = Port(&self.manager, &mut self.functions);
        let (count, request) = self.sessions.cancel_tagged(tag, &port);
        if let Some(request) = request {
            self.handle(request);
        }
        self.stop();
        count
    }

    /// Clients hear of what was stopped for them.
    fn stop(&mut self) {
        let (stopped, requests) = self.sessions.take_stopped();
        for request in requests {
            self.handle(request);
        }
        for (client, stopped) in stopped {
            let stopped = stopped.into_iter();
            self.answers.extend(stopped.map(|(ticket, outcome)| (client, ticket.0, outcome)));
        }
    }

    fn leave(&mut self, client: ClientId) {
        let port = Port(&self.manager, &mut self.functions);
        for request in self.sessions.close(client, &port) {
            self.handle(request);
        }
    }

    fn define(&mut self, client: ClientId, number: u32, code: &[u8]) -> Result<(), Violation> {
        let (function, definition) = (FunctionId(number), code.into());
        self.ask(client, Request::Define { function, label: "f".to_owned(), definition })
    }

    fn left(&mut self) -> (u64, u64) {
        let mut actions = Vec::new();
        let ticket = Ticket(1);
        let event = Event::Client(Request::Statistics { ticket });
        self.manager.handle(event, self.now, &mut actions);
        let Some(Action::Resolve(_, Outcome::Statistics(statistics))) = actions.pop() else {
            panic!("no statistics");
        };
        (statistics.tasks, statistics.blocks)
    }
}

fn name(number: u8) -> Name {
    Name::of(&[number])
}

fn call(output: u8, inputs: &[u8]) -> Submission {
    Submission {
        outputs: smallvec![name(output)],
        inputs: inputs.iter().map(|input| name(*input)).collect(),
        tickets: smallvec![Ticket(u64::from(output))],
        ..Submission::new(FunctionId(0), b"".as_slice().into())
    }
}

fn submit(calls: &[(u8, &[u8])]) -> Request {
    Request::Submit(calls.iter().map(|(output, inputs)| call(*output, inputs)).collect())
}

#[test]
fn one_with_many_calls_that_have_not_ended_may_submit_no_more() {
    let mut play = Play { sessions: Sessions::new(2), ..Play::new() };
    let (one, other) = (play.sessions.open(), play.sessions.open());
    play.define(one, 0, b"f").unwrap();
    play.define(other, 0, b"f").unwrap();
    play.ask(one, submit(&[(1, &[]), (2, &[]), (3, &[]), (4, &[])])).unwrap();
    let limit = Why::TooManyCalls { limit: 2 };
    let refused: Vec<_> = play.answers.drain(..).collect();
    assert_eq!(
        refused.iter().map(|(to, ticket, _)| (*to, *ticket)).collect::<Vec<_>>(),
        [(one, 3), (one, 4)]
    );
    for (_, _, outcome) in refused {
        assert!(matches!(outcome, Outcome::Failed(failure) if failure.why == limit));
    }
    assert_eq!(play.left().0, 2);
    // Others may, and this one once some have ended.
    play.ask(other, submit(&[(5, &[])])).unwrap();
    play.ask(one, Request::Release(vec![name(3)])).unwrap();
    play.ask(one, Request::Cancel(vec![name(1)])).unwrap();
    play.answers.clear();
    play.ask(one, submit(&[(6, &[]), (7, &[])])).unwrap();
    assert_eq!(play.answers.iter().map(|(_, ticket, _)| *ticket).collect::<Vec<_>>(), [7]);
}

#[test]
fn clients_have_their_own_numbers_and_the_same_function_one() {
    let mut play = Play::new();
    let (one, two) = (play.sessions.open(), play.sessions.open());
    play.define(one, 0, b"a").unwrap();
    play.define(one, 1, b"b").unwrap();
    play.define(two, 0, b"b").unwrap();
    play.define(two, 1, b"c").unwrap();
    assert_eq!(play.functions, 3);
    assert_eq!(play.define(two, 7, b"d"), Err(Violation::Function(FunctionId(7))));
    let mut unknown = call(1, &[]);
    unknown.function = FunctionId(2);
    let refused = play.ask(two, Request::Submit(vec![unknown]));
    assert_eq!(refused, Err(Violation::Function(FunctionId(2))));
}

#[test]
fn a_client_that_goes_leaves_nothing() {
    let mut play = Play::new();
    let client = play.sessions.open();
    play.define(client, 0, b"a").unwrap();
    play.ask(client, submit(&[(1, &[]), (2, &[1]), (3, &[])])).unwrap();
    // A future that it has dropped: the call is its own all the same.
    play.ask(client, Request::Release(vec![name(3)])).unwrap();
    let bytes = b"x".as_slice().into();
    play.ask(client, Request::PutInline { name: name(4), bytes }).unwrap();
    play.ask(client, Request::Watch { name: name(5), ticket: Ticket(5) }).unwrap();
    play.ask(client, Request::Collect { collection: 0, blocks: vec![name(4)] }).unwrap();
    assert_eq!(play.left().0, 3);
    play.leave(client);
    assert_eq!(play.left(), (0, 0));
    assert!(play.sessions.is_empty() && play.sessions.orphans.is_empty());
}

#[test]
fn it_leaves_what_others_need() {
    let mut play = Play::new();
    let (one, two) = (play.sessions.open(), play.sessions.open());
    for client in [one, two] {
        play.define(client, 0, b"a").unwrap();
    }
    play.ask(one, submit(&[(1, &[]), (2, &[1]), (3, &[1])])).unwrap();
    play.ask(two, submit(&[(2, &[1])])).unwrap();
    play.leave(one);
    assert_eq!(play.left().0, 2);
    play.leave(two);
    assert_eq!(play.left(), (0, 0));
}

#[test]
fn a_client_releases_only_what_it_holds() {
    let mut play = Play::new();
    let (one, two) = (play.sessions.open(), play.sessions.open());
    let bytes = || b"x".as_slice().into();
    play.ask(one, Request::PutInline { name: name(1), bytes: bytes() }).unwrap();
    play.ask(two, Request::Release(vec![name(1), name(1)])).unwrap();
    assert_eq!(play.left(), (0, 1));
    play.ask(one, Request::Release(vec![name(1), name(1)])).unwrap();
    assert_eq!(play.left(), (0, 0));
}

#[test]
fn cancelling_ends_a_clients_own_waiting_and_spares_the_others_call() {
    let mut play = Play::new();
    let (one, two) = (play.sessions.open(), play.sessions.open());
    for client in [one, two] {
        play.define(client, 0, b"a").unwrap();
        play.ask(client, submit(&[(1, &[])])).unwrap();
    }
    play.ask(one, submit(&[(2, &[1])])).unwrap();
    play.answers.clear();
    play.ask(one, Request::Cancel(vec![name(1)])).unwrap();
    let mut cancelled: Vec<(ClientId, u64)> =
        play.answers.iter().map(|(client, ticket, _)| (*client, *ticket)).collect();
    cancelled.sort_unstable();
    assert_eq!(cancelled, [(one, 1), (one, 2)]);
    assert_eq!(play.left().0, 1);
    play.answers.clear();
    // It asks for the call again, and lets go of its first future: the second one counts.
    play.ask(one, submit(&[(1, &[])])).unwrap();
    play.ask(one, Request::Release(vec![name(1)])).unwrap();
    play.ask(two, Request::Cancel(vec![name(1)])).unwrap();
    assert_eq!(play.answers.len(), 1);
    assert_eq!(play.left().0, 1);
    play.ask(one, Request::Cancel(vec![name(1)])).unwrap();
    assert_eq!(play.left().0, 0);
}

#[test]
fn what_is_cancelled_for_all_ends_for_those_who_asked_for_it_too() {
    let mut play = Play::new();
    let (one, two) = (play.sessions.open(), play.sessions.open());
    play.define(one, 0, b"a").unwrap();
    play.ask(one, submit(&[(1, &[])])).unwrap();
    play.ask(one, submit(&[(2, &[1])])).unwrap();
    play.ask(one, submit(&[(3, &[])])).unwrap();
    play.answers.clear();
    play.ask(two, Request::CancelForAll(vec![name(1)])).unwrap();
    let mut ended: Vec<(ClientId, u64)> =
        play.answers.iter().map(|(client, ticket, _)| (*client, *ticket)).collect();
    ended.sort_unstable();
    assert_eq!(ended, [(one, 1), (one, 2)]);
    assert_eq!(play.left().0, 1);
}

#[test]
fn calls_with_a_tag_are_cancelled_for_those_clients_that_have_tagged_them() {
    let mut play = Play::new();
    let clients = [(); 3].map(|()| play.sessions.open());
    for client in clients {
        play.define(client, 0, b"a").unwrap();
    }
    let [one, two, three] = clients;
    let mut tagged = |client, outputs: &[u8], tag: Option<&str>| {
        let options = Arc::new(CallOptions { tag: tag.map(Arc::from), ..CallOptions::default() });
        let calls = outputs
            .iter()
            .map(|output| Submission { options: Arc::clone(&options), ..call(*output, &[]) });
        play.ask(client, Request::Submit(calls.collect())).unwrap();
    };
    // Two of them have tagged the first call, and one of them the second, which another needs as well.
    tagged(one, &[1, 2], Some("scan"));
    tagged(two, &[1], Some("scan"));
    tagged(two, &[2, 3], None);
    tagged(three, &[4], Some("other"));
    // The future of this one is gone.
    play.ask(one, Request::Release(vec![name(1)])).unwrap();
    play.answers.clear();
    assert_eq!(play.cancel_tagged("none"), 0);
    assert_eq!(play.cancel_tagged("scan"), 3);
    let mut cancelled: Vec<(ClientId, u64)> =
        play.answers.drain(..).map(|(client, ticket, _)| (client, ticket)).collect();
    cancelled.sort_unstable();
    assert_eq!(cancelled, [(one, 1), (one, 2), (two, 1)]);
    assert_eq!(play.left().0, 3);
    assert_eq!(play.cancel_tagged("scan"), 0);
    assert_eq!(play.cancel_tagged("other"), 1);
    assert_eq!(play.left().0, 2);
    // Who has no sessions has no tags, and only the manager's own program may ask.
    let ask = |ticket| Request::CancelTagged { tag: "scan".to_owned(), ticket };
    assert_eq!(play.ask(two, ask(Ticket(9))), Err(Violation::Forbidden));
}

#[test]
fn a_client_that_goes_leaves_its_locks() {
    let mut play = Play::new();
    let (one, two) = (play.sessions.open(), play.sessions.open());
    let enter = |hold| {
        let (title, holder) = ("a".to_owned(), "me".to_owned());
        let (limit, worker, ticket) = (None, None, Ticket(hold));
        LockRequest::Enter { title, limit, hold, holder, worker, ticket }.into()
    };
    let wait = |hold| LockRequest::Await { hold, ticket: Ticket(70 + hold) }.into();
    play.ask(one, enter(1)).unwrap();
    play.ask(one, enter(2)).unwrap();
    // The numbers of clients are their own.
    play.ask(two, enter(1)).unwrap();
    play.ask(two, wait(1)).unwrap();
    assert_eq!(play.ask(two, enter(1)), Err(Violation::Hold(1)));
    play.ask(two, SharedRequest::Leave { hold: 2 }.into()).unwrap();
    play.answers.clear();
    play.leave(one);
    assert_eq!(play.answers, [(two, 71, Outcome::Accepted(true))]);
    play.answers.clear();
    play.ask(two, SharedRequest::Leave { hold: 1 }.into()).unwrap();
    play.ask(two, wait(1)).unwrap();
    assert_eq!(play.answers, [(two, 71, Outcome::Accepted(false))]);
}

#[test]
fn clients_of_tasks_are_found_by_the_worker_of_what_they_share() {
    let mut play = Play::new();
    let (task, moved, program) = (play.sessions.open(), play.sessions.open(), play.sessions.open());
    let enter = |hold, worker: Option<u32>| {
        let (title, holder) = ("a".to_owned(), "me".to_owned());
        let (worker, ticket) = (worker.map(WorkerId), Ticket(hold));
        LockRequest::Enter { title, limit: None, hold, holder, worker, ticket }.into()
    };
    play.ask(task, enter(1, Some(4))).unwrap();
    play.ask(moved, enter(1, Some(4))).unwrap();
    play.ask(moved, enter(2, Some(5))).unwrap();
    play.ask(program, enter(1, None)).unwrap();
    assert_eq!(play.sessions.of_tasks_at(WorkerId(4)), [task]);
    assert_eq!(play.sessions.of_tasks_at(WorkerId(5)), [moved]);
    play.leave(task);
    assert!(play.sessions.of_tasks_at(WorkerId(4)).is_empty());
}

#[test]
fn what_a_client_had_taken_goes_back_when_it_goes() {
    let mut play = Play::new();
    let (one, two) = (play.sessions.open(), play.sessions.open());
    let by = |hold| Waiter { hold, owner: 0, worker: None, ticket: Ticket(hold) };
    let (title, item) = ("a".to_owned(), Item { name: name(1), label: String::new() });
    let bytes = b"x".as_slice().into();
    play.ask(one, Request::PutInline { name: name(1), bytes }).unwrap();
    let put = QueueRequest::Put {
        title: title.clone(),
        capacity: Some(0),
        item: item.clone(),
        by: by(1),
    };
    play.ask(one, put.into()).unwrap();
    let take = |hold| QueueRequest::Take {
        title: title.clone(),
        capacity: Some(0),
        by: by(hold),
        moves: false,
    };
    play.ask(one, take(2).into()).unwrap();
    play.ask(two, take(2).into()).unwrap();
    let close = QueueRequest::Close { title: title.clone(), capacity: Some(0), ticket: Ticket(9) };
    play.ask(two, close.into()).unwrap();
    play.answers.clear();
    // It is not the end: what the first one has may come back, and does.
    play.leave(one);
    let given = Outcome::Given(Given::Item { item, version: 1 });
    assert_eq!(play.answers, [(two, 2, given)]);
    assert_eq!(play.left(), (0, 1));
    play.ask(two, SharedRequest::Finish { hold: 2, ticket: Ticket(3) }.into()).unwrap();
    assert_eq!(play.answers.last(), Some(&(two, 3, Outcome::Accepted(true))));
    assert_eq!(play.left(), (0, 0));
}

#[test]
fn what_no_client_may_ask_is_refused() {
    let mut play = Play::new();
    let client = play.sessions.open();
    play.define(client, 0, b"a").unwrap();
    let mut without = call(1, &[]);
    without.tickets.clear();
    let refused = play.ask(client, Request::Submit(vec![without]));
    assert_eq!(refused, Err(Violation::Outputs { outputs: 1, tickets: 0 }));
    for forbidden in [
        Request::Shutdown,
        Request::Balance,
        Request::Retire(vec![WorkerId(0)]),
        Request::Abandon(vec![(name(1), 9)]),
    ] {
        assert_eq!(play.ask(client, forbidden), Err(Violation::Forbidden));
    }
    let refused = play.ask(client, Request::Disperse { collection: 4 });
    assert_eq!(refused, Err(Violation::Collection(4)));
}

#[test]
fn what_is_pinned_for_a_client_that_is_gone_is_unpinned() {
    let mut play = Play::new();
    let client = play.sessions.open();
    let (ticket, worker) = (Ticket(1), WorkerId(0));
    let mut port = Port(&play.manager, &mut play.functions);
    let gather = Request::Gather { name: name(1), worker, ticket };
    let asked = play.sessions.on_request(client, gather, &mut port).unwrap();
    let Some(Request::Gather { ticket, .. }) = asked else { panic!("{asked:?}") };
    play.leave(client);
    let form = crate::wire::Form::Value;
    let block = crate::wire::BlockDesc { name: name(1), nbytes: 9, checksum: 9, form };
    let pinned = Outcome::Pinned { block, path: "p".to_owned() };
    assert_eq!(play.sessions.on_outcome(ticket, &pinned), Answer::Undo(name(1), worker));
    assert_eq!(play.sessions.on_outcome(ticket, &pinned), Answer::Nobody);
}

#[test]
fn what_is_printed_goes_to_those_who_wait_each_once() {
    let mut sessions = Sessions::default();
    let (first, second) = (sessions.open(), sessions.open());
    let [one, two] = [ticket_of(first, 3), ticket_of(second, 4)];
    assert_eq!(sessions.owners(&[one, ticket_of(first, 5), two]), (vec![first, second], false));
    assert_eq!(sessions.owners(&[one, Ticket(7)]), (vec![first], true));
    assert_eq!(sessions.owners(&[]), (vec![], true));
    let gone = ticket_of(second + 1, 0);
    assert_eq!(sessions.owners(&[gone]), (vec![], true));
}
