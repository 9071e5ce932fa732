//! The process of a worker: carries out what the worker's state machine decides.

pub use super::worker_options::{WorkerError, WorkerOptions};

use super::admission::Admission;
use super::connection::{Connection, ConnectionError};
use super::executors::{ExecutorOptions, Process};
use super::fork_server::ForkServer;
use super::listener::Listener;
use super::poller::{Poller, WAKER, Waker};
use super::pool::Pool;
use super::rate::Rate;
use super::scratch;
use super::signals::Signals;
use super::stream::Stream;
use super::transfer::Receiving;
use super::worker_folders::{self, WorkerFolders};
use super::worker_link::{Link, hostname};
use crate::store::forever::Forever;
use crate::store::ledger::{self, Ledger};
use crate::store::{Folder, Tier};
use crate::wire::{CallResult, FromExecutor, Output, Report};
use crate::worker::{Action, Adopted, Event, Now, Worker};
use freestone_base::Name;
use mio::unix::SourceFd;
use mio::{Interest, Token};
use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// So many blocks are read and checked at once.
const CHECKS: u32 = 2;

/// Who has a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Manager,
    Listener,
    Signals,
    /// What an executor says.
    Spoke(u32),
    /// What an executor prints.
    Printed(u32),
    /// That an executor ended.
    Ended(u32),
    ForkServer,
    Peer,
}

/// Runs a worker until its manager ends it or goes away for good, or lets it go after SIGTERM. Afterwards neither a
/// process nor a socket nor a folder of it is left, except for the blocks that are kept.
///
/// # Errors
/// [`WorkerError`].
pub fn run_worker(options: &WorkerOptions) -> Result<(), WorkerError> {
    Shell::new(options)?.run()
}

pub(super) struct Shell {
    pub(super) worker: Worker,
    pub(super) key: String,
    pub(super) poller: Poller,
    pub(super) roles: HashMap<Token, Role>,
    next_token: usize,
    pub(super) link: Link,
    pub(super) listener: Listener,
    pub(super) executor_options: ExecutorOptions,
    pub(super) fork_server: Option<ForkServer>,
    /// Executors that are to be forked once the server is ready.
    pub(super) unborn: Vec<u32>,
    pub(super) executors: Vec<Option<Process>>,
    /// Executors with output that is to be written in this turn.
    pub(super) touched: Vec<u32>,
    /// Those that ask for blocks, and since when.
    pub(super) peers: HashMap<Token, (Connection, Instant)>,
    /// Those of them that are not trusted yet.
    pub(super) admission: Admission,
    pub(super) refusals: Rate,
    /// Those of them that have asked for one, and wait.
    pub(super) asked: HashSet<Token>,
    /// Where peers that asked want links.
    pub(super) links: HashMap<Token, PathBuf>,
    /// Reports that go to the manager in one message.
    pub(super) reports: Vec<Report>,
    pub(super) actions: VecDeque<Action>,
    pub(super) end: Option<Result<(), WorkerError>>,
    pub(super) done: Sender<Event>,
    finished: Receiver<Event>,
    /// Streams on which peers may ask for more.
    pub(super) answered: Sender<Stream>,
    reusable: Receiver<Stream>,
    /// Something finished that was found while looking for work.
    stash: Option<Event>,
    pub(super) waker: Waker,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) receiving: Receiving,
    pub(super) folder: Folder,
    ledger: Arc<Ledger>,
    pub(super) forever: Option<Forever>,
    // Dropped in this order: threads before the folders that they use.
    pub(super) incoming: Pool,
    pub(super) outgoing: Pool,
    pub(super) mover: Pool,
    pub(super) checker: Pool,
    _folders: WorkerFolders,
    signals: Signals,
}

impl Shell {
    fn new(options: &WorkerOptions) -> Result<Self, WorkerError> {
        let signals = Signals::install(options.is_interruptible)?;
        let folders = WorkerFolders::open(options)?;
        let poller = Poller::new(options.spin_us)?;
        let manager = Stream::connect(&options.manager, options.access.as_ref())
            .map_err(|source| WorkerError::Manager { address: options.manager.clone(), source })?;
        let manager = Connection::new(manager, poller.registry(), Token(0))?;
        let listener = worker_folders::listen(options, manager.local_ip())?;
        let admission = Admission::new(listener.descriptors());
        // Where all interfaces are listened at, others take the one that leads to the manager.
        let peers =
            listener.address(&manager.local_ip().map_or_else(hostname, |ip| ip.to_string()));
        let (done, finished) = channel();
        let (answered, reusable) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let mut shell = Self {
            worker: Worker::new(folders.config(options), folders.kept.clone()),
            key: options.key.clone(),
            waker: poller.waker(),
            roles: HashMap::from([(Token(0), Role::Manager)]),
            next_token: 1,
            link: Link::new(options, manager, peers),
            listener,
            signals,
            executors: (0..options.slots).map(|_| None).collect(),
            executor_options: executor_options(options),
            fork_server: options.fork_server.as_ref().map(ForkServer::new).transpose()?,
            unborn: Vec::new(),
            touched: Vec::new(),
            peers: HashMap::new(),
            admission,
            refusals: Rate::default(),
            asked: HashSet::new(),
            links: HashMap::new(),
            reports: Vec::new(),
            actions: VecDeque::new(),
            end: None,
            done,
            finished,
            answered,
            reusable,
            stash: None,
            receiving: receiving(&folders.folder, options, &stop),
            stop,
            folder: folders.folder.clone(),
            ledger: Arc::clone(&folders.ledger),
            forever: folders.forever.clone(),
            incoming: Pool::new("freestone-in", options.transfers_in)?,
            outgoing: Pool::new("freestone-out", options.transfers_out)?,
            mover: Pool::new("freestone-disk", 1)?,
            checker: Pool::new("freestone-check", CHECKS)?,
            poller,
            _folders: folders,
        };
        shell.register()?;
        shell.greet();
        Ok(shell)
    }

    fn register(&mut self) -> Result<(), WorkerError> {
        let token = self.token(Role::Listener);
        self.listener.register(self.poller.registry(), token)?;
        let token = self.token(Role::Signals);
        let signals = self.signals.as_raw_fd();
        self.poller.registry().register(&mut SourceFd(&signals), token, Interest::READABLE)?;
        self.listen_to_fork_server().map_err(WorkerError::from)
    }

    pub(super) fn listen_to_fork_server(&mut self) -> io::Result<()> {
        let Some(server) = self.fork_server.as_ref().map(ForkServer::as_raw_fd) else {
            return Ok(());
        };
        let token = self.token(Role::ForkServer);
        self.poller.registry().register(&mut SourceFd(&server), token, Interest::READABLE)
    }

    pub(super) fn token(&mut self, role: Role) -> Token {
        // Never given twice, so a late event about a former holder is told apart.
        let token = Token(self.next_token);
        self.next_token += 1;
        self.roles.insert(token, role);
        token
    }

    fn run(mut self) -> Result<(), WorkerError> {
        let ended = self.turn_until_end();
        self.stop.store(true, Ordering::Relaxed);
        self.executors.clear();
        self.send_reports();
        self.flush_manager();
        ended
    }

    fn turn_until_end(&mut self) -> Result<(), WorkerError> {
        loop {
            self.advance();
            self.flush();
            if let Some(end) = self.end.take() {
                return end;
            }
            for event in self.wait()? {
                self.on_event(&event);
            }
            while let Some(event) = self.stash.take().or_else(|| self.finished.try_recv().ok()) {
                self.handle(event);
            }
            while let Ok(stream) = self.reusable.try_recv() {
                self.listen_to(stream);
            }
            self.read_paused_prints();
            self.receiving.expire();
            self.look_after_manager();
            self.look_after_peers();
        }
    }

    fn wait(&mut self) -> io::Result<Vec<mio::event::Event>> {
        let timeout = Duration::from_nanos(self.worker.wakeup().saturating_sub(now()));
        let timeout = timeout.min(self.link.patience()).min(self.peers_patience());
        let timeout = timeout.min(self.prints_patience()).min(self.unsent_patience());
        let (finished, stash) = (&self.finished, &mut self.stash);
        let ready = || {
            if stash.is_none() {
                *stash = finished.try_recv().ok();
            }
            stash.is_some()
        };
        let events = self.poller.wait(Some(timeout), ready)?;
        Ok(events.iter().cloned().collect())
    }

    /// Hands an event to the state machine and carries out what it decides.
    pub(super) fn handle(&mut self, event: Event) {
        let taken = taken_for(&event);
        let mut out = Vec::new();
        self.worker.handle(event, now(), &mut out);
        self.actions.extend(out);
        self.carry_out();
        if !taken.is_empty() {
            self.hold();
            for (writer, tier, nbytes) in taken {
                self.ledger.give_back(writer, tier, nbytes);
            }
        }
    }

    /// Tells all who write here how much the cache holds.
    fn hold(&self) {
        let [memory, disk] = self.worker.held_nbytes();
        self.ledger.hold(Tier::Memory, memory);
        self.ledger.hold(Tier::Disk, disk);
    }

    fn advance(&mut self) {
        // Answers that come at once may make more possible.
        loop {
            let mut out = Vec::new();
            self.hold();
            let held = self.worker.held_nbytes();
            let taken = [Tier::Memory, Tier::Disk].map(|tier| self.ledger.taken(tier));
            self.worker
                .note_taken([taken[0] - held[0].min(taken[0]), taken[1] - held[1].min(taken[1])]);
            self.worker.advance(now(), &mut out);
            // What was promised just now is not for others any more.
            self.hold();
            if out.is_empty() {
                return;
            }
            self.actions.extend(out);
            self.carry_out();
        }
    }

    /// Writes what was collected in this turn.
    fn flush(&mut self) {
        self.send_reports();
        for executor in std::mem::take(&mut self.touched) {
            if let Some(Some(process)) = self.executors.get_mut(executor as usize) {
                // If it is dead, its end is told as an event of its own.
                let _ = process.connection.flush(self.poller.registry());
            }
        }
        self.flush_unsent();
    }

    fn on_event(&mut self, event: &mio::event::Event) {
        let token = event.token();
        if token == WAKER {
            return;
        }
        match self.roles.get(&token) {
            Some(Role::Manager) => self.on_manager(event),
            Some(Role::Listener) => self.accept(),
            Some(Role::Signals) if self.signals.take() => self.on_terminated(),
            Some(Role::Spoke(executor)) => self.on_executor(*executor, event),
            Some(Role::Printed(executor)) => self.on_printed(*executor),
            Some(Role::Ended(executor)) => self.on_executor_ended(*executor),
            Some(Role::ForkServer) => self.on_fork_server(),
            Some(Role::Peer) => self.on_peer(token, event),
            Some(Role::Signals) | None => {}
        }
    }

    fn on_executor(&mut self, executor: u32, event: &mio::event::Event) {
        if let Some(Some(process)) = self.executors.get_mut(executor as usize) {
            process.connection.note(event);
            if self.hear(executor).is_err() {
                // Its end is told as an event of its own; this makes sure that it ends.
                if let Some(Some(process)) = self.executors.get(executor as usize) {
                    process.kill();
                }
            } else if event.is_writable() {
                self.touched.push(executor);
            }
        }
    }

    /// Takes what an executor says.
    fn hear(&mut self, executor: u32) -> Result<(), ConnectionError> {
        let Some(Some(process)) = self.executors.get_mut(executor as usize) else { return Ok(()) };
        let mut messages = Vec::new();
        let received = process.connection.receive(|message| messages.push(message));
        for message in messages {
            match message {
                FromExecutor::Ready { .. } => self.handle(Event::Ready { executor }),
                FromExecutor::Results { results, unmapped } => {
                    self.finish_prints(executor, &results);
                    let on_disk = self.outputs_on_disk(&results);
                    self.handle(Event::Results { executor, results, unmapped, on_disk });
                }
                FromExecutor::Open { group, members } => {
                    self.handle(Event::Open { executor, group, members });
                }
                FromExecutor::Paused { sequence, what } => {
                    self.handle(Event::Paused { executor, sequence, what });
                }
                FromExecutor::Resuming { sequence } => {
                    self.handle(Event::Resuming { executor, sequence });
                }
                FromExecutor::Profiled { sequence, samples } => {
                    self.tell_profiled(executor, sequence, samples);
                }
                FromExecutor::Stored(_) => {}
            }
        }
        received.map(|_| ())
    }

    fn outputs_on_disk(&self, results: &[CallResult]) -> Vec<Name> {
        let outputs = results.iter().flat_map(|result| result.result.iter().flatten());
        outputs
            .filter_map(|output| match output {
                Output::Inline(_) => None,
                Output::Stored(block) => {
                    let (_, tier) = self.folder.path(block.name, &block.form)?;
                    (tier == Tier::Disk).then_some(block.name)
                }
            })
            .collect()
    }

    fn on_executor_ended(&mut self, executor: u32) {
        // What it said before counts; that it said no more is no news.
        let _ = self.hear(executor);
        self.finish_all_prints(executor);
        let process = self.executors.get_mut(executor as usize).and_then(Option::take);
        if let Some(process) = process {
            let of_it = [Role::Spoke, Role::Printed, Role::Ended].map(|role| role(executor));
            self.roles.retain(|_, role| !of_it.contains(role));
            let ended = process.end(self.poller.registry());
            let (claimed, signal, status) = (ended.claimed, ended.signal, ended.status);
            self.ledger.forget(ledger::executor(executor));
            self.handle(Event::Died { executor, claimed, signal, status });
        }
    }
}

/// What writers took of the quotas for blocks that the worker hears of now.
fn taken_for(event: &Event) -> Vec<(ledger::Writer, Tier, u64)> {
    match event {
        Event::Results { executor, results, on_disk, .. } => {
            let outputs = results.iter().flat_map(|result| result.result.iter().flatten());
            let taken = outputs.filter_map(|output| match output {
                Output::Inline(_) => None,
                Output::Stored(block) => {
                    let is_on_disk = on_disk.contains(&block.name);
                    let tier = if is_on_disk { Tier::Disk } else { Tier::Memory };
                    Some((ledger::executor(*executor), tier, block.nbytes))
                }
            });
            taken.collect()
        }
        Event::Adopted { block, result: Ok(Adopted::Owned(Tier::Memory)) } => {
            vec![(ledger::WORKER, Tier::Memory, block.nbytes)]
        }
        _ => Vec::new(),
    }
}

fn executor_options(options: &WorkerOptions) -> ExecutorOptions {
    ExecutorOptions {
        command: options.executor_command.clone(),
        environment: options.environment.clone(),
        memory_dir: options.memory_dir.clone(),
        disk_dir: options.disk_dir.clone(),
        scratch_dir: scratch::folder(&options.disk_dir),
    }
}

fn receiving(folder: &Folder, options: &WorkerOptions, stop: &Arc<AtomicBool>) -> Receiving {
    let (folder, key, access) = (folder.clone(), options.key.clone(), options.access.clone());
    let (links, stop, idle) = (options.links, Arc::clone(stop), Arc::default());
    Receiving { folder, key, access, links, stop, idle }
}

/// Nanoseconds of the machine's monotonic clock, which its executors use as well.
pub(super) fn now() -> Now {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a clock that every Linux has, and room for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}
