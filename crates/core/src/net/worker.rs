//! The process of a worker: carries out what the worker's state machine decides.

use super::connection::{Connection, ConnectionError, Stream};
use super::executors::{ExecutorOptions, Process};
use super::poller::{Poller, WAKER, Waker};
use super::pool::Pool;
use super::signals::Signals;
use super::transfer::Receiving;
use crate::store::forever::Forever;
use crate::store::lock::Lock;
use crate::store::{Folder, StoreError};
use crate::wire::{
    Address, BlockAnswer, BlockRequest, FromExecutor, FromWorker, Output, PROTOCOL, Report,
    ToWorker,
};
use crate::worker::{Action, Event, Now, Worker, WorkerConfig};
use freestone_base::Resources;
use mio::net::UnixListener;
use mio::unix::SourceFd;
use mio::{Interest, Token};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// How to start a worker.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    /// Where the manager listens.
    pub manager: Address,
    /// Proof that this worker may join, which its peers must show as well.
    pub key: String,
    /// The unix socket at which peers ask for blocks; made here, removed at the end.
    pub socket: PathBuf,
    /// What calls may take together.
    pub resources: Resources,
    /// How many executors.
    pub slots: u32,
    /// The folder of the blocks in memory: in tmpfs. Removed at the end.
    pub memory_dir: PathBuf,
    /// The folder of the blocks on disk. Removed at the end.
    pub disk_dir: PathBuf,
    /// The folder of the blocks that are kept for later runs, if there shall be any.
    pub forever_dir: Option<PathBuf>,
    /// Bytes of the memory tier, those of freed segments among them.
    pub memory_quota: u64,
    /// Bytes of the disk tier.
    pub disk_quota: u64,
    /// The program that is an executor, and its arguments.
    pub executor_command: Vec<String>,
    /// Variables set for executors, besides those of this process.
    pub environment: Vec<(String, String)>,
    /// How long to look for work before sleeping, in microseconds; 0 is not at all.
    pub spin_us: u64,
    /// The most blocks received at once.
    pub transfers_in: u32,
    /// The most blocks sent at once.
    pub transfers_out: u32,
}

/// Why a worker could not be started, or ended early.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The manager can't be reached.
    #[error("the manager at {address:?} can't be reached: {source}")]
    Manager {
        /// Where it should be.
        address: Address,
        /// Why.
        source: io::Error,
    },
    /// The socket for peers can't be made.
    #[error("the worker can't listen at {}: {source}", path.display())]
    Listen {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The cache's folders can't be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It can't do its work, for instance since executors do not start.
    #[error("the worker gives up: {reason}")]
    Ended {
        /// Why.
        reason: String,
    },
    /// The operating system says no.
    #[error("the worker can't go on: {0}")]
    Io(#[from] io::Error),
}

/// Part of the memory quota that is left to freed segments, and the most of it.
const FREE_SHARE: u64 = 8;
const MOST_FREE: u64 = 1 << 30;

/// Who has a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Manager,
    Listener,
    Signals,
    /// What an executor says.
    Said(u32),
    /// That an executor ended.
    Ended(u32),
    Peer,
}

/// Runs a worker until its manager ends it or goes away, or SIGTERM comes. Afterwards neither a
/// process nor a socket nor a folder of it is left, except for the blocks that are kept.
///
/// # Errors
/// [`WorkerError`].
pub fn run_worker(options: WorkerOptions) -> Result<(), WorkerError> {
    Shell::new(options)?.run()
}

/// What a worker leaves nothing of.
struct Leftovers {
    folder: Folder,
    /// Once it is ours.
    socket: Option<PathBuf>,
    _locks: [Lock; 2],
}

impl Drop for Leftovers {
    fn drop(&mut self) {
        // What can't be removed now is swept by a later run.
        let _ = self.socket.as_ref().map(std::fs::remove_file);
        let _ = self.folder.remove_all();
    }
}

pub(super) struct Shell {
    pub(super) worker: Worker,
    pub(super) key: String,
    pub(super) poller: Poller,
    pub(super) roles: HashMap<Token, Role>,
    next_token: usize,
    pub(super) manager: Connection,
    listener: UnixListener,
    pub(super) executor_options: ExecutorOptions,
    pub(super) executors: Vec<Option<Process>>,
    /// Executors with output that is to be written in this turn.
    pub(super) touched: Vec<u32>,
    pub(super) peers: HashMap<Token, Connection>,
    /// Reports that go to the manager in one message.
    pub(super) reports: Vec<Report>,
    pub(super) actions: VecDeque<Action>,
    pub(super) end: Option<Result<(), String>>,
    pub(super) done: Sender<Event>,
    finished: Receiver<Event>,
    /// Something finished that was found while looking for work.
    stash: Option<Event>,
    pub(super) waker: Waker,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) receiving: Receiving,
    pub(super) folder: Folder,
    pub(super) forever: Option<Forever>,
    // Dropped in this order: threads before the folders that they use.
    pub(super) incoming: Pool,
    pub(super) outgoing: Pool,
    pub(super) mover: Pool,
    _leftovers: Leftovers,
    signals: Signals,
}

impl Shell {
    fn new(options: WorkerOptions) -> Result<Self, WorkerError> {
        let signals = Signals::install()?;
        let free_limit = (options.memory_quota / FREE_SHARE).min(MOST_FREE);
        let folder = Folder::open(&options.memory_dir, &options.disk_dir)?;
        let folder = folder.with_free_limit(free_limit);
        let locks = [Lock::take(&options.memory_dir)?, Lock::take(&options.disk_dir)?];
        let mut leftovers = Leftovers { folder: folder.clone(), socket: None, _locks: locks };
        let forever = options.forever_dir.as_deref().map(Forever::open).transpose()?;
        let kept = forever.as_ref().map(Forever::blocks).transpose()?.unwrap_or_default();
        let poller = Poller::new(options.spin_us)?;
        let listener = UnixListener::bind(&options.socket)
            .map_err(|source| WorkerError::Listen { path: options.socket.clone(), source })?;
        leftovers.socket = Some(options.socket.clone());
        let manager = Stream::connect(&options.manager)
            .map_err(|source| WorkerError::Manager { address: options.manager.clone(), source })?;
        let manager = Connection::new(manager, poller.registry(), Token(0))?;
        let config = WorkerConfig {
            resources: options.resources,
            slots: options.slots,
            memory_quota: options.memory_quota - free_limit,
            disk_quota: options.disk_quota,
            memory_folder: options.memory_dir.clone(),
            disk_folder: options.disk_dir.clone(),
            forever_folder: options.forever_dir.clone(),
            transfers_in: options.transfers_in,
        };
        let (done, finished) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let mut shell = Self {
            worker: Worker::new(config, kept.clone()),
            key: options.key.clone(),
            waker: poller.waker(),
            roles: HashMap::new(),
            next_token: 1,
            manager,
            listener,
            signals,
            executors: (0..options.slots).map(|_| None).collect(),
            executor_options: ExecutorOptions {
                command: options.executor_command.clone(),
                environment: options.environment.clone(),
                memory_dir: options.memory_dir.clone(),
                disk_dir: options.disk_dir.clone(),
            },
            touched: Vec::new(),
            peers: HashMap::new(),
            reports: Vec::new(),
            actions: VecDeque::new(),
            end: None,
            done,
            finished,
            stash: None,
            receiving: Receiving {
                folder: folder.clone(),
                key: options.key.clone(),
                stop: Arc::clone(&stop),
            },
            stop,
            folder,
            forever,
            incoming: Pool::new("freestone-in", options.transfers_in)?,
            outgoing: Pool::new("freestone-out", options.transfers_out)?,
            mover: Pool::new("freestone-disk", 1)?,
            poller,
            _leftovers: leftovers,
        };
        shell.register()?;
        shell.greet(options, kept);
        Ok(shell)
    }

    fn register(&mut self) -> Result<(), WorkerError> {
        self.roles.insert(self.manager.token(), Role::Manager);
        let token = self.token(Role::Listener);
        self.poller.registry().register(&mut self.listener, token, Interest::READABLE)?;
        let token = self.token(Role::Signals);
        let signals = self.signals.as_raw_fd();
        self.poller.registry().register(&mut SourceFd(&signals), token, Interest::READABLE)?;
        Ok(())
    }

    fn greet(&mut self, options: WorkerOptions, blocks: Vec<crate::wire::BlockDesc>) {
        let hello = FromWorker::Hello {
            protocol: PROTOCOL,
            key: options.key,
            resources: options.resources,
            slots: options.slots,
            address: Address::Unix(options.socket.display().to_string()),
            pid: std::process::id(),
            host: hostname(),
            folder: options.memory_dir.display().to_string(),
            blocks,
        };
        self.tell(&hello);
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
        // The manager may be gone, and may be why we end.
        let _ = self.manager.flush(self.poller.registry());
        ended
    }

    fn turn_until_end(&mut self) -> Result<(), WorkerError> {
        loop {
            self.advance();
            if let Some(end) = self.end.take() {
                return end.map_err(|reason| WorkerError::Ended { reason });
            }
            if !self.flush() {
                return Ok(());
            }
            for event in self.wait()? {
                if !self.on_event(&event) {
                    return Ok(());
                }
            }
            while let Some(event) = self.stash.take().or_else(|| self.finished.try_recv().ok()) {
                self.handle(event);
            }
        }
    }

    fn wait(&mut self) -> io::Result<Vec<mio::event::Event>> {
        let timeout = self.worker.wakeup().saturating_sub(now());
        let (finished, stash) = (&self.finished, &mut self.stash);
        let ready = || {
            if stash.is_none() {
                *stash = finished.try_recv().ok();
            }
            stash.is_some()
        };
        let events = self.poller.wait(Some(Duration::from_nanos(timeout)), ready)?;
        Ok(events.iter().cloned().collect())
    }

    /// Hands an event to the state machine and carries out what it decides.
    pub(super) fn handle(&mut self, event: Event) {
        let mut out = Vec::new();
        self.worker.handle(event, now(), &mut out);
        self.actions.extend(out);
        self.carry_out();
    }

    fn advance(&mut self) {
        // Answers that come at once may make more possible.
        loop {
            let mut out = Vec::new();
            self.worker.advance(now(), &mut out);
            if out.is_empty() {
                return;
            }
            self.actions.extend(out);
            self.carry_out();
        }
    }

    /// Writes what was collected in this turn. False: the manager is gone.
    fn flush(&mut self) -> bool {
        self.send_reports();
        for executor in std::mem::take(&mut self.touched) {
            if let Some(Some(process)) = self.executors.get_mut(executor as usize) {
                // If it is dead, its end is told as an event of its own.
                let _ = process.connection.flush(self.poller.registry());
            }
        }
        self.manager.flush(self.poller.registry()).is_ok()
    }

    /// False: the worker ends.
    fn on_event(&mut self, event: &mio::event::Event) -> bool {
        let token = event.token();
        if token == WAKER {
            return true;
        }
        match self.roles.get(&token) {
            Some(Role::Manager) => return self.on_manager(event),
            Some(Role::Listener) => self.accept(),
            Some(Role::Signals) => return !self.signals.take(),
            Some(Role::Said(executor)) => self.on_executor(*executor, event),
            Some(Role::Ended(executor)) => self.on_executor_ended(*executor),
            Some(Role::Peer) => self.on_peer(token, event),
            None => {}
        }
        true
    }

    fn on_manager(&mut self, event: &mio::event::Event) -> bool {
        self.manager.note(event);
        let mut messages = Vec::new();
        let received = self.manager.receive(|message: ToWorker| messages.push(message));
        for message in messages {
            self.handle(Event::Manager(message));
        }
        received.is_ok()
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
                    let on_disk = self.outputs_on_disk(&results);
                    self.handle(Event::Results { executor, results, unmapped, on_disk });
                }
                FromExecutor::Open { group, members } => {
                    self.handle(Event::Open { executor, group, members });
                }
                FromExecutor::Stored(_) => {}
            }
        }
        received.map(|_| ())
    }

    fn outputs_on_disk(&self, results: &[crate::wire::CallResult]) -> Vec<freestone_base::Name> {
        let outputs = results.iter().flat_map(|result| result.result.iter().flatten());
        outputs
            .filter_map(|output| match output {
                Output::Inline(_) => None,
                Output::Stored(block) => {
                    let (_, tier) = self.folder.path(block.name, &block.form)?;
                    (tier == crate::store::Tier::Disk).then_some(block.name)
                }
            })
            .collect()
    }

    fn on_executor_ended(&mut self, executor: u32) {
        // What it said before counts; that it said no more is no news.
        let _ = self.hear(executor);
        let process = self.executors.get_mut(executor as usize).and_then(Option::take);
        if let Some(process) = process {
            self.roles
                .retain(|_, role| *role != Role::Said(executor) && *role != Role::Ended(executor));
            let ended = process.end(self.poller.registry());
            let (claimed, signal, status) = (ended.claimed, ended.signal, ended.status);
            self.handle(Event::Died { executor, claimed, signal, status });
        }
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            let token = self.token(Role::Peer);
            let connection = Connection::new(Stream::Unix(stream), self.poller.registry(), token);
            match connection {
                Ok(connection) => {
                    self.peers.insert(token, connection);
                }
                Err(_) => {
                    self.roles.remove(&token);
                }
            }
        }
    }

    fn on_peer(&mut self, token: Token, event: &mio::event::Event) {
        let Some(peer) = self.peers.get_mut(&token) else { return };
        peer.note(event);
        let mut request: Option<BlockRequest> = None;
        let received = peer.receive(|message| request = Some(message));
        match request {
            Some(request) if request.protocol != PROTOCOL => {
                self.refuse(token, &BlockAnswer::Refused("another version".to_owned()));
            }
            Some(request) if !is_equal(&request.key, &self.key) => {
                self.refuse(token, &BlockAnswer::Refused("the key is wrong".to_owned()));
            }
            Some(request) => {
                self.handle(Event::Asked { question: token.0 as u64, name: request.name });
            }
            None if received.is_err() => self.forget_peer(token),
            None => {}
        }
    }

    /// Answers a peer and ends the connection.
    pub(super) fn refuse(&mut self, token: Token, answer: &BlockAnswer) {
        if let Some(peer) = self.peers.get_mut(&token) {
            // If the peer is gone, it does not need to know; a few bytes always fit.
            let _ = peer.send(answer).and_then(|()| peer.flush(self.poller.registry()));
        }
        self.forget_peer(token);
    }

    fn forget_peer(&mut self, token: Token) {
        self.roles.remove(&token);
        if let Some(mut peer) = self.peers.remove(&token) {
            peer.deregister(self.poller.registry());
        }
    }
}

/// Nanoseconds of the machine's monotonic clock, which its executors use as well.
pub(super) fn now() -> Now {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a clock that every Linux has, and room for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// Whether two keys are equal, in a time that does not tell where they differ.
fn is_equal(one: &str, other: &str) -> bool {
    one.len() == other.len()
        && one.bytes().zip(other.bytes()).fold(0, |differ, (one, other)| differ | (one ^ other))
            == 0
}

fn hostname() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or_else(|_| "localhost".to_owned(), |name| name.trim().to_owned())
}
