//! A rank: the state machines, worker threads around them, and a transport.
//!
//! See the `README.md` in this folder for who does what.

mod alive;
mod blocking;
mod body;
mod clients;
mod condition;
pub(crate) mod control;
mod draining;
mod ending;
mod fired;
mod firing;
mod pending;
mod progress;
mod searchers;
#[cfg(test)]
mod searchers_tests;
mod slow;
mod state;
mod statistics;
mod submitting;
mod task;
mod timers;
mod waiter;
mod watching;
mod worker;

pub use crate::payload::Events;
pub use condition::Condition;
pub use ending::Summary;
pub(crate) use fired::say_dropped;
pub use firing::Target;
pub(crate) use firing::check_size;
pub use statistics::Statistics;
pub use submitting::Submit;
pub use task::{Code, Done, Label, SourceLine};

use crate::event::Rank as RankNumber;
use crate::sync::{Apart, lock};
use crate::transport::{Bell, Transport};
use crossbeam_queue::SegQueue;
use ending::Ending;
use fired::Fired;
use firing::Awaited;
use pending::Pending;
use searchers::Searchers;
use slow::Running;
use state::State;
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use task::Job;
use worker::Spare;

/// The event that a program gets when a rank is lost, if it has ever asked for it.
pub const RANK_LOST: &str = "rank_lost";

/// The event that a program gets, from the rank that has joined, when one joins the run.
pub const RANK_JOINED: &str = "rank_joined";

/// Who looks for what arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    /// A worker that has nothing else to do.
    #[default]
    IdleWorker,
    /// A thread of its own.
    Thread,
    /// The program, while it waits and whenever it calls [`Rank::progress`].
    Program,
}

/// What a program's language wants done around the threads of a rank.
pub trait Host: Send + Sync {
    /// Calls `body`, which is all that a worker's thread does.
    fn around(&self, body: &mut (dyn FnMut() + Send));

    /// Whether a wait of this thread is to look for signals.
    fn hears_signals(&self) -> bool {
        true
    }

    /// Whether a wait of the program itself is to be given up, because of a signal. Asked again
    /// and again while it waits, by threads that hear signals.
    fn is_interrupted(&self) -> bool;
}

/// How a rank works.
#[derive(Clone)]
pub struct Config {
    /// How many tasks run at the same time, at least 1.
    pub workers: usize,
    /// The core on which each worker stays, by its number; any, if there are none.
    pub cores: Vec<usize>,
    /// Who looks for what arrives.
    pub progress: Progress,
    /// How long to look for something to do before sleeping.
    pub spin: Duration,
    /// How many ready tasks there may be before what arrives is left in the transport.
    pub backlog: usize,
    /// How many bytes are taken in while all workers run tasks; what comes then waits at its sender.
    pub inbox: usize,
    /// How long an event may wait for room before that is an error; for ever, if nothing.
    pub send_timeout: Option<Duration>,
    /// After how long without progress to say on stderr what waits.
    pub stuck: Option<Duration>,
    /// After how long a task that runs without a wait is reported on stderr; never, if nothing.
    pub slow_task: Option<Duration>,
    /// What the program's language wants; nothing, if none.
    pub host: Option<Arc<dyn Host>>,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} workers, progress by {:?}", self.workers, self.progress)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            workers: 1,
            cores: Vec::new(),
            progress: Progress::default(),
            spin: Duration::from_micros(50),
            backlog: 10_000,
            inbox: 64 << 20,
            send_timeout: None,
            stuck: None,
            slow_task: None,
            host: None,
        }
    }
}

/// A rank of a run. Clones are the same rank.
#[derive(Clone)]
pub struct Rank {
    inner: Arc<Inner>,
}

/// What the threads of a rank share.
struct Inner {
    transport: Box<dyn Transport>,
    config: Config,
    state: Mutex<State>,
    /// How many ranks there are, as far as this one has heard.
    ranks: AtomicU32,
    /// What is to run, first in first out; pushed to with the state locked where order matters.
    ready: SegQueue<Job>,
    /// What is to run before what is in `ready`: taken from there too early, or ready when nothing was in there.
    first: Mutex<VecDeque<Job>>,
    first_len: AtomicUsize,
    /// Tasks that are ready or run.
    pending: Pending,
    /// Workers that look for something to do, and find what is pushed meanwhile.
    searchers: Apart<Searchers>,
    /// Events sent, by target.
    sent: Vec<AtomicU64>,
    /// What was fired at each client.
    fired: Vec<Mutex<Fired>>,
    /// Threads that wait for room elsewhere, and for what.
    pressed: AtomicU64,
    awaited: Mutex<BTreeMap<u64, Awaited>>,
    /// By thread, where slow tasks are reported.
    running: Mutex<BTreeMap<u64, Running>>,
    /// Bytes that were taken in since a worker had nothing to do.
    drained: Apart<AtomicUsize>,
    /// Who drains sleeps here.
    drainer: Bell,
    /// Whether it sleeps until there is a task.
    drainer_sleeps: AtomicBool,
    /// Locked by who sends an event in pieces, by target.
    sending: Vec<Mutex<()>>,
    /// Grows whenever who looks for what arrives has to look at the state again before sleeping.
    rests: AtomicU64,
    /// Locked by who looks for what arrives.
    polling: Apart<Mutex<()>>,
    /// Workers that have nothing to do sleep here.
    idle: Bell,
    /// Those sleep here that look from time to time how the run goes.
    watchers: Bell,
    /// Whether somebody sleeps until something arrives.
    sleeps: AtomicBool,
    /// Written to in order to wake the thread that watches the machine, if there is one.
    watcher: Mutex<Option<UnixStream>>,
    spares: Mutex<Vec<Arc<Spare>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    is_over: AtomicBool,
    ending: OnceLock<Ending>,
    /// When the next timer is due, in nanoseconds since `start`; `u64::MAX` if there is none.
    due: AtomicU64,
    start: Instant,
}

thread_local! {
    /// The rank whose worker this thread is, as an address.
    static WORKER_OF: Cell<usize> = const { Cell::new(0) };
    /// The place that this thread has, or had last, as a worker.
    static PLACE: Cell<usize> = const { Cell::new(0) };
    /// Whether the task that this thread runs has taken a lock.
    static HAS_LOCKS: Cell<bool> = const { Cell::new(false) };
    static THREAD: u64 = {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        COUNT.fetch_add(1, Ordering::Relaxed)
    };
}

impl Rank {
    /// Starts a rank on a transport, with its workers.
    ///
    /// # Errors
    ///
    /// If a thread cannot be started.
    pub fn start(
        transport: Box<dyn Transport>,
        config: Config,
    ) -> Result<Self, crate::error::EventsError> {
        crate::limits::renew()?;
        // Who is outside of the run has a number, too.
        let room = transport.room() + transport.clients();
        let inner = Arc::new(Inner {
            state: Mutex::new(State::new(&*transport)),
            ranks: AtomicU32::new(transport.ranks()),
            ready: SegQueue::new(),
            first: Mutex::new(VecDeque::new()),
            first_len: AtomicUsize::new(0),
            pending: Pending::default(),
            searchers: Apart::default(),
            sent: (0..room).map(|_| AtomicU64::new(0)).collect(),
            fired: (0..transport.clients()).map(|_| Mutex::default()).collect(),
            sending: (0..room).map(|_| Mutex::new(())).collect(),
            pressed: AtomicU64::new(0),
            awaited: Mutex::new(BTreeMap::new()),
            running: Mutex::new(BTreeMap::new()),
            drained: Apart(AtomicUsize::new(0)),
            drainer: Bell::default(),
            drainer_sleeps: AtomicBool::new(false),
            rests: AtomicU64::new(0),
            polling: Apart::default(),
            idle: Bell::default(),
            watchers: Bell::default(),
            sleeps: AtomicBool::new(false),
            watcher: Mutex::new(None),
            spares: Mutex::new(Vec::new()),
            threads: Mutex::new(Vec::new()),
            is_over: AtomicBool::new(false),
            ending: OnceLock::new(),
            due: AtomicU64::new(u64::MAX),
            start: Instant::now(),
            transport,
            config,
        });
        for place in 0..inner.config.workers.max(1) {
            Inner::spawn(&inner, move |inner| inner.work(None, place))?;
        }
        match inner.config.progress {
            Progress::Thread => Inner::spawn(&inner, |inner| inner.keep_polling())?,
            Progress::IdleWorker => Inner::spawn(&inner, |inner| inner.keep_draining())?,
            Progress::Program => {}
        }
        if let Some(period) = inner.config.stuck {
            Inner::spawn(&inner, move |inner| inner.watch(period))?;
        }
        if let Some(period) = inner.config.slow_task {
            Inner::spawn(&inner, move |inner| inner.watch_tasks(period))?;
        }
        let stopped = crate::limits::get().stopped_timeout;
        if let Some(stopped) = stopped.filter(|_| inner.transport.shows_life()) {
            Inner::spawn(&inner, move |inner| inner.keep_showing_life(stopped))?;
        }
        Ok(Self { inner })
    }

    /// All ranks of a run as ranks of this process.
    ///
    /// # Errors
    ///
    /// If there is no memory or no thread for them.
    pub fn start_threads(
        ranks: u32,
        arena: usize,
        config: &Config,
    ) -> Result<Vec<Self>, crate::error::EventsError> {
        let nodes = crate::transport::Node::threads(ranks, arena)?;
        nodes.into_iter().map(|node| Self::start(Box::new(node), config.clone())).collect()
    }

    /// Which rank this is.
    pub fn rank(&self) -> RankNumber {
        self.inner.transport.rank()
    }

    /// How many there are: those that have joined count from their [`RANK_JOINED`] on.
    pub fn ranks(&self) -> u32 {
        self.inner.ranks()
    }

    /// How many processes are outside of the run and take part in it: their numbers follow those of
    /// the ranks.
    pub fn clients(&self) -> u32 {
        self.inner.transport.clients()
    }

    /// Whether this rank joined a run that was on.
    pub fn has_joined(&self) -> bool {
        self.inner.transport.lost_before().is_some()
    }
}

impl fmt::Debug for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {}", self.rank(), self.ranks())
    }
}

/// The state, locked; new jobs go to the workers, all at once, when it is let go.
struct Held<'a> {
    inner: &'a Inner,
    guard: MutexGuard<'a, State>,
}

impl Deref for Held<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.guard
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.guard
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        match self.guard.jobs.len() {
            0 => {}
            count => {
                self.inner.publish(&mut self.guard.jobs);
                self.inner.notify(count.try_into().unwrap_or(i32::MAX));
            }
        }
    }
}

impl Inner {
    fn rank(&self) -> RankNumber {
        self.transport.rank()
    }

    fn ranks(&self) -> u32 {
        self.ranks.load(Ordering::Acquire)
    }

    fn state(&self) -> Held<'_> {
        Held { inner: self, guard: lock(&self.state) }
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Whether this thread runs a task of this rank.
    fn in_task(&self) -> bool {
        WORKER_OF.get() == std::ptr::from_ref(self).addr()
    }

    fn thread() -> u64 {
        THREAD.with(|thread| *thread)
    }

    fn spawn(
        inner: &Arc<Self>,
        body: impl FnOnce(&Arc<Self>) + Send + 'static,
    ) -> Result<(), crate::error::EventsError> {
        let shared = Arc::clone(inner);
        let name = format!("events-{}", inner.rank());
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            let mut body = Some(body);
            let mut call = || {
                if let Some(body) = body.take() {
                    body(&shared);
                }
            };
            match &shared.config.host {
                Some(host) => host.around(&mut call),
                None => call(),
            }
        });
        lock(&inner.threads).push(thread.map_err(crate::error::EventsError::NoThread)?);
        Ok(())
    }

    /// Adds a job at the end of the queue.
    fn push_at_once(&self, job: Job) {
        self.pending.begin(1);
        self.ready.push(job);
        self.note_busy();
        self.notify(1);
    }

    /// How many jobs wait for a worker.
    fn jobs(&self) -> usize {
        self.first_len.load(Ordering::Acquire) + self.ready.len()
    }

    /// Adds jobs at the end of the queue, before the state is let go; whoever does that tells the workers.
    fn publish(&self, jobs: &mut VecDeque<Job>) {
        self.pending.begin(jobs.len() as u64);
        jobs.drain(..).for_each(|job| self.ready.push(job));
        self.note_busy();
    }

    /// Some of those without work look at the queue again, unless somebody is about to who is awake: that one wakes
    /// another if it finds more than it takes.
    fn notify(&self, count: i32) {
        let sleeps = || self.sleeps.load(Ordering::Relaxed);
        if self.searchers.is_left_to_sleepers(&self.idle, sleeps) {
            let rung = self.idle.ring(count);
            // Who sleeps in the transport is one more, and may be the only one that is left.
            if !rung || count > 1 {
                self.transport.wake();
            }
        }
    }

    /// Who looks for what arrives looks at the state again, too.
    fn note_rest(&self) {
        self.rests.fetch_add(1, Ordering::AcqRel);
        self.transport.wake();
    }

    fn notify_all(&self) {
        self.idle.ring(i32::MAX);
        self.drainer.ring(1);
        self.watchers.ring(i32::MAX);
        self.transport.wake();
    }
}
