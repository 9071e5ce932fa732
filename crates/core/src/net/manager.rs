//! The manager's thread: carries out what the manager's state machine decides.

use super::arrivals::{Arrival, Arrivals};
use super::client::Client;
use super::clients::Clients;
use super::clock::monotonic_ns;
use super::connection::Connection;
use super::held::{Held, may_be_held};
use super::journal::{Journal, JournalError, Replay};
use super::listener::Listener;
use super::poller::{Poller, WAKER};
use super::records::Records;
use crate::journal::Entry;
use crate::manager::{Action, Config, Event, Manager, Now, Outcome, Request};
use crate::session::ClientId;
use crate::wire::{Address, Assignment, FromWorker, Report, Spent, TaskFailure, ToWorker, frame};
use freestone_base::{Ticket, WorkerId};
use freestone_tls::{Access, Revoked};
use mio::Token;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const LISTENER: Token = Token(usize::MAX - 1);
/// How often the manager looks at its clock when nothing else happens.
const TICK: Duration = Duration::from_millis(100);
/// The most requests taken before workers are listened to again.
const REQUESTS_PER_TURN: usize = 1024;
/// How long workers may take to leave once they were told to.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(2);

/// Why one is refused whose access was revoked.
const REVOKED: &str = "its access to the cluster was revoked";

/// How to start a manager.
#[derive(Debug)]
pub struct ManagerOptions {
    /// The unix socket that workers connect to; made here, removed at the end.
    pub socket: PathBuf,
    /// Where to listen for workers of other machines, if that is asked for.
    pub listen: Option<Listen>,
    /// Settings of the state machine.
    pub config: Config,
    /// How long to look for work before sleeping, in microseconds.
    pub spin_us: u64,
    /// The folder of a journal, by which another process can go on with this manager. What stands
    /// there is gone on with.
    pub journal: Option<PathBuf>,
}

/// Where to listen for workers of other machines.
#[derive(Clone, Debug)]
pub struct Listen {
    /// A host and port; port 0 is any that is free.
    pub place: String,
    /// What others are told in place of an interface that stands for all.
    pub host: String,
    /// The cluster's certificate.
    pub access: Access,
}

/// Why a manager could not be started, or ended early.
#[derive(Debug, thiserror::Error)]
pub enum ManagerError {
    /// The socket can't be made.
    #[error("the manager can't listen at {}: {source}", path.display())]
    Listen {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Nothing can listen there for workers of other machines.
    #[error("the manager can't listen at {0}")]
    ListenTcp(io::Error),
    /// Its journal can't be used.
    #[error("the manager can't go on: {0}")]
    Journal(#[from] JournalError),
    /// The operating system refuses a poller or a thread.
    #[error("the manager can't start: {0}")]
    Start(#[from] io::Error),
}

/// A manager's thread as its program sees it.
pub struct ManagerThread {
    /// For requests.
    pub client: Client,
    /// Records for the trace, and for whoever looks at the run.
    pub records: Arc<Mutex<Records>>,
    /// Where workers join.
    pub address: Address,
    /// Members that are trusted no longer, if any come from other machines: the connections of those
    /// that are added end within a tick.
    pub revoked: Option<Revoked>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl ManagerThread {
    /// Starts a manager.
    ///
    /// # Errors
    /// When the socket can't be made or the thread not be started.
    pub fn start(options: ManagerOptions) -> Result<Self, ManagerError> {
        let poller = Poller::new(options.spin_us)?;
        let replay = options.journal.as_deref().map(Replay::open).transpose()?;
        let (mut listener, address) = listen(&options)?;
        listener.register(poller.registry(), LISTENER)?;
        let config = options.config.clone();
        let (client, requests) = Client::new(poller.waker());
        let records = Arc::new(Mutex::new(Records::new(!options.config.trace)));
        let revoked = listener.revoked().cloned();
        let clients = Clients::new(options.config.key.clone(), options.config.max_calls);
        let mut shell = Shell {
            manager: Manager::new(options.config),
            clients,
            poller,
            arrivals: Arrivals::new(&listener),
            listener,
            requests,
            client: client.clone(),
            workers: HashMap::new(),
            connections: BTreeMap::new(),
            joined: 0,
            revoked: 0,
            actions: Vec::new(),
            held: Held::default(),
            outcomes: Vec::new(),
            records: Arc::clone(&records),
            stash: None,
            ending: None,
            now: monotonic_ns(),
            ahead_ns: 0,
            journal: None,
        };
        if let Some(replay) = replay {
            shell.take_up(replay, config)?;
        }
        let thread =
            std::thread::Builder::new().name("freestone-manager".into()).spawn(|| shell.run())?;
        Ok(Self { client, records, address, revoked, thread: Some(thread) })
    }

    /// Ends the run: workers are told to leave, what waits is resolved as closed. Waits for the
    /// thread, which takes two seconds at most.
    pub fn close(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.client.request(Request::Shutdown);
            // A panic of the thread has closed the cells already, and was printed.
            let _ = thread.join();
        }
    }
}

impl Drop for ManagerThread {
    fn drop(&mut self) {
        self.close();
    }
}

fn listen(options: &ManagerOptions) -> Result<(Listener, Address), ManagerError> {
    let mut listener = Listener::bind(&options.socket)
        .map_err(|source| ManagerError::Listen { path: options.socket.clone(), source })?;
    let Some(listen) = &options.listen else {
        let address = listener.address("");
        return Ok((listener, address));
    };
    listener.bind_tcp(&listen.place, listen.access.clone()).map_err(ManagerError::ListenTcp)?;
    let address = listener.address(&listen.host);
    Ok((listener, address))
}

pub(super) struct Shell {
    pub(super) manager: Manager,
    pub(super) poller: Poller,
    listener: Listener,
    requests: Receiver<Request>,
    pub(super) client: Client,
    /// Those that have not said hello.
    pub(super) arrivals: Arrivals,
    /// Whose a token is.
    workers: HashMap<Token, WorkerId>,
    pub(super) connections: BTreeMap<WorkerId, Connection>,
    pub(super) clients: Clients,
    pub(super) joined: u32,
    /// How many certificates were revoked when it was last looked.
    revoked: usize,
    pub(super) actions: Vec<Action>,
    /// Workers whose messages wait for more of their like.
    held: Held,
    outcomes: Vec<(Ticket, Outcome)>,
    records: Arc<Mutex<Records>>,
    /// A request that was taken while looking for work.
    stash: Option<Request>,
    pub(super) ending: Option<Instant>,
    /// When the input came that is handled now, by the clock that executors tell their times in.
    pub(super) now: Now,
    /// How far the time goes ahead of that clock, since a journal was begun before this machine was.
    pub(super) ahead_ns: Now,
    pub(super) journal: Option<Journal>,
}

impl Drop for Shell {
    // Also when the thread panics: whoever waits is told.
    fn drop(&mut self) {
        self.client.close();
    }
}

impl Shell {
    fn run(mut self) {
        let mut ticked = Instant::now();
        loop {
            self.take_requests();
            self.read_clients();
            if ticked.elapsed() >= TICK {
                ticked = Instant::now();
                self.client.flush_released();
                self.arrivals.advance(&self.listener, self.poller.registry());
                self.announce_home();
                self.shut_out_revoked();
                self.advance_clients();
                self.note(&Entry::Tick);
                self.handle(Event::Tick);
            }
            self.carry_out();
            self.compact();
            if self.is_over() {
                self.close_clients();
                return;
            }
            for event in self.wait() {
                self.on_event(&event);
            }
        }
    }

    /// Something comes: it is noted, and what follows of it happens at this time.
    pub(super) fn note(&mut self, entry: &Entry<'_>) {
        self.now = monotonic_ns() + self.ahead_ns;
        self.note_at(self.now, entry);
    }

    /// Notes what has the time of what it comes of.
    pub(super) fn note_at(&mut self, now: Now, entry: &Entry<'_>) {
        if let Some(journal) = &mut self.journal {
            journal.note(now, entry);
        }
    }

    /// Writes what was noted: from then on others may hear of what came of it.
    pub(super) fn commit(&mut self) {
        let Some(Err(error)) = self.journal.as_mut().map(Journal::commit) else { return };
        eprintln!(
            "freestone: {error}; the cluster goes on without it: if its process ends, what it knows \
             is lost"
        );
        self.journal = None;
    }

    pub(super) fn handle(&mut self, event: Event) {
        self.manager.handle(event, self.now, &mut self.actions);
    }

    fn is_over(&self) -> bool {
        self.ending
            .is_some_and(|since| self.connections.is_empty() || since.elapsed() > LEAVE_TIMEOUT)
    }

    fn take_requests(&mut self) {
        for _ in 0..REQUESTS_PER_TURN {
            let request = match self.stash.take().map_or_else(|| self.requests.try_recv(), Ok) {
                Ok(request) => request,
                Err(TryRecvError::Empty) => return,
                // It has a client itself; were that gone, there would be nobody to serve.
                Err(TryRecvError::Disconnected) => Request::Shutdown,
            };
            if matches!(request, Request::Shutdown) {
                if self.ending.is_some() {
                    return;
                }
                self.ending = Some(Instant::now());
                // It ends in order. Whoever asks for that knows whether another is to go on with it.
                self.commit();
                self.journal = None;
            }
            self.note_own(&request);
            self.on_own(request);
        }
    }

    /// The manager's own program asks for something.
    pub(super) fn on_own(&mut self, request: Request) {
        match request {
            Request::CancelTagged { tag, ticket } => {
                let count = self.cancel_tagged(&tag);
                self.actions.push(Action::Resolve(ticket, Outcome::Counted(count)));
            }
            request => self.handle(Event::Client(request)),
        }
    }

    fn note_own(&mut self, request: &Request) {
        let body = self.body_for_journal(request);
        self.note(&Entry::Own(&body));
    }

    /// How the journal holds it; empty where there is none.
    fn body_for_journal(&self, message: &impl Serialize) -> Vec<u8> {
        let mut body = Vec::new();
        if self.journal.is_some() {
            // What no frame can carry came in none, and is sent in none.
            let _ = frame::encode_body(message, &mut body);
        }
        body
    }

    fn wait(&mut self) -> Vec<mio::event::Event> {
        let (requests, stash) = (&self.requests, &mut self.stash);
        let have_more = self.clients.have_more();
        let ready = || {
            if stash.is_none() {
                *stash = requests.try_recv().ok();
            }
            have_more || stash.is_some()
        };
        let until_due = |due_ns: u64| Duration::from_nanos(due_ns.saturating_sub(monotonic_ns()));
        let timeout = self.held.next_ns().map_or(TICK, |due_ns| until_due(due_ns).min(TICK));
        match self.poller.wait(Some(timeout), ready) {
            Ok(events) => events.iter().cloned().collect(),
            // Nothing a poller says can be mended here; the next tick looks again.
            Err(_) => Vec::new(),
        }
    }

    fn on_event(&mut self, event: &mio::event::Event) {
        match event.token() {
            LISTENER => self.arrivals.accept(&self.listener, self.poller.registry()),
            WAKER => {}
            token => match (self.workers.get(&token), self.clients.of(token)) {
                (Some(worker), _) => self.on_worker(*worker, event),
                (None, Some(client)) => self.on_client(client, event),
                (None, None) => self.on_stranger(token, event),
            },
        }
    }

    fn on_stranger(&mut self, token: Token, event: &mio::event::Event) {
        let arrival = self.arrivals.on_event(token, event, self.poller.registry());
        let Some(Arrival { mut connection, messages }) = arrival else { return };
        if self.listener.revoked().is_some_and(|revoked| connection.is_revoked(revoked)) {
            self.arrivals.refuse(&mut connection, REVOKED.to_owned(), self.poller.registry());
            return connection.deregister(self.poller.registry());
        }
        if let [FromWorker::Client { protocol, key, attach }] = messages.as_slice() {
            return self.admit_client(connection, (*protocol, key), *attach);
        }
        let worker = WorkerId(self.joined);
        self.joined += 1;
        let revoked = self.listener.revoked().map_or_else(Vec::new, Revoked::all);
        self.workers.insert(token, worker);
        self.connections.insert(worker, connection);
        self.note(&Entry::Connected(worker));
        self.handle(Event::Connected(worker));
        if !revoked.is_empty() {
            self.actions.push(Action::Send(worker, ToWorker::Revoked(revoked)));
        }
        for message in messages {
            let former = message.former();
            self.note_worker(worker, &message);
            self.handle(Event::Worker(worker, message));
            if let Some(former) = former.filter(|_| self.manager.has_joined(worker)) {
                self.renumber(former, worker);
            }
        }
    }

    fn on_worker(&mut self, worker: WorkerId, event: &mio::event::Event) {
        let now = monotonic_ns() + self.ahead_ns;
        let Some(connection) = self.connections.get_mut(&worker) else { return };
        connection.note(event);
        let (manager, actions, journal) = (&mut self.manager, &mut self.actions, &mut self.journal);
        let received = connection.receive_with(|message: FromWorker, body: &[u8]| {
            if let Some(journal) = journal {
                journal.note(now, &Entry::Worker(worker, body));
            }
            manager.handle(Event::Worker(worker, message), now, actions);
        });
        // What is held goes out when it is due, not whenever the worker says something.
        let flushed = received.and_then(|_| {
            if event.is_writable() { connection.flush(self.poller.registry()) } else { Ok(()) }
        });
        if flushed.is_err() {
            self.on_left(worker);
        } else if self.slack_ns(worker) == 0 {
            self.held.hurry(worker);
        }
    }

    fn on_left(&mut self, worker: WorkerId) {
        if let Some(mut connection) = self.connections.remove(&worker) {
            self.workers.remove(&connection.token());
            self.held.release(worker);
            connection.deregister(self.poller.registry());
            // The executors of a worker that was killed may outlive it for a moment.
            for client in self.clients.sessions.of_tasks_at(worker) {
                self.end_client(client);
            }
            self.note(&Entry::Left(worker));
            self.handle(Event::Left(worker));
        }
    }

    fn note_worker(&mut self, worker: WorkerId, message: &FromWorker) {
        let body = self.body_for_journal(message);
        self.note(&Entry::Worker(worker, &body));
    }

    /// Carries all actions out, also those that come up meanwhile, and writes once per worker.
    pub(super) fn carry_out(&mut self) {
        loop {
            while !self.actions.is_empty() {
                self.note(&Entry::CarriedOut);
                self.carry_out_actions();
            }
            // To find that a client or a worker is gone is an event.
            self.flush_clients();
            self.flush_held();
            if self.actions.is_empty() {
                break;
            }
        }
        self.commit();
        self.client.resolve(&mut self.outcomes);
    }

    /// Carries out what there is. What comes of it by the way, such as that a connection has ended, is
    /// handled afterwards: in the order in which it is noted.
    fn carry_out_actions(&mut self) {
        let mut sent = Sent::default();
        for action in std::mem::take(&mut self.actions) {
            match action {
                Action::Send(worker, message) => self.send(worker, message, &mut sent),
                Action::Resolve(ticket, outcome) => self.resolve(ticket, outcome),
                Action::Disconnect(worker, reason) => sent.refused.push((worker, reason)),
                Action::Print(tickets, piece) => sent.clients.extend(self.print(&tickets, *piece)),
                Action::Trace(record) => {
                    self.records.lock().unwrap_or_else(PoisonError::into_inner).push(record);
                }
            }
        }
        self.commit();
        for (worker, at_once) in sent.workers {
            let slack_ns = if at_once { 0 } else { self.slack_ns(worker) };
            if !self.held.holds(worker, slack_ns, monotonic_ns()) {
                self.flush_worker(worker);
            }
        }
        for (worker, reason) in sent.refused {
            self.refuse(worker, reason);
        }
        for client in sent.clients {
            self.flush_client(client);
        }
        for (worker, part, nbytes) in sent.too_large {
            self.on_too_large(worker, part, nbytes);
        }
    }

    /// For how long a worker has calls to begin that were written.
    fn slack_ns(&self, worker: WorkerId) -> u64 {
        self.manager.slack_ns(worker, self.held.calls(worker))
    }

    fn flush_worker(&mut self, worker: WorkerId) {
        self.held.release(worker);
        let connection = self.connections.get_mut(&worker).filter(|to| !to.awaits_room());
        if connection.is_some_and(|to| to.flush(self.poller.registry()).is_err()) {
            self.on_left(worker);
        }
    }

    /// Writes what was held and is due.
    fn flush_held(&mut self) {
        let now_ns = monotonic_ns();
        while let Some(worker) = self.held.take_due(now_ns) {
            self.flush_worker(worker);
        }
    }

    /// Answers this program, or one of another process.
    pub(super) fn resolve(&mut self, ticket: Ticket, outcome: Outcome) {
        if ticket.is_remote() {
            self.answer_client(ticket, outcome);
        } else {
            self.outcomes.push((ticket, outcome));
        }
    }

    /// Ends the connections of members that are trusted no longer, and informs the workers.
    fn shut_out_revoked(&mut self) {
        let Some(revoked) = self.listener.revoked().cloned() else { return };
        let count = revoked.count();
        if count == std::mem::replace(&mut self.revoked, count) {
            return;
        }
        let all = revoked.all();
        for client in self.clients.shut_out(&revoked) {
            self.refuse_client(client, REVOKED);
        }
        for worker in self.connections.keys().copied().collect::<Vec<_>>() {
            if self.connections[&worker].is_revoked(&revoked) {
                self.refuse(worker, REVOKED.to_owned());
            } else {
                self.actions.push(Action::Send(worker, ToWorker::Revoked(all.clone())));
            }
        }
    }

    fn refuse(&mut self, worker: WorkerId, reason: String) {
        if let Some(connection) = self.connections.get_mut(&worker) {
            self.arrivals.refuse(connection, reason, self.poller.registry());
        }
        self.on_left(worker);
    }

    fn send(&mut self, worker: WorkerId, message: ToWorker, sent: &mut Sent) {
        let Some(connection) = self.connections.get_mut(&worker) else { return };
        let at_once = !may_be_held(&message);
        if let ToWorker::Run(calls) = &message {
            self.held.add_calls(worker, calls.len());
        }
        match sent.workers.last_mut() {
            Some((last, urgent)) if *last == worker => *urgent |= at_once,
            _ => sent.workers.push((worker, at_once)),
        }
        let too_large = connection.send_parts(message).into_iter();
        sent.too_large.extend(too_large.map(|(part, nbytes)| (worker, part, nbytes)));
    }

    /// No frame can carry a call: it fails, as if the worker had said so.
    fn on_too_large(&mut self, worker: WorkerId, part: ToWorker, nbytes: usize) {
        let ToWorker::Run(calls) = part else {
            // What is left names one thing, and functions are checked where they are defined.
            eprintln!("freestone: a message of {nbytes} bytes to {worker} is too large to be sent");
            return;
        };
        let failed = |call: Assignment| Report {
            task: call.task,
            attempt: call.attempt,
            spent: Spent { start_ns: monotonic_ns(), ..Spent::default() },
            result: Err(TaskFailure::of_arguments(nbytes)),
        };
        let reports = FromWorker::Done(calls.into_iter().map(failed).collect());
        self.note_worker(worker, &reports);
        self.handle(Event::Worker(worker, reports));
    }
}

/// What came of sending, to be handled when all is sent.
#[derive(Default)]
struct Sent {
    /// Workers to write to, and whether at once.
    workers: Vec<(WorkerId, bool)>,
    /// Clients to write to.
    clients: Vec<ClientId>,
    /// Workers that are not wanted, and why.
    refused: Vec<(WorkerId, String)>,
    /// What no frame can carry.
    too_large: Vec<(WorkerId, ToWorker, usize)>,
}
