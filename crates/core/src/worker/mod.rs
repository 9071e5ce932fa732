//! A node's inputs, executors and cache accounting: a state machine without I/O.
//!
//! What happens comes in as [`Event`]s and what is to be done goes out as [`Action`]s; the same
//! events at the same times give the same actions. See `README.md` in this folder.

pub mod api;
mod cache;
mod calls;
pub mod claim;
mod dispatch;
mod executors;
mod fetches;
mod held;
mod on_executor;
mod on_manager;
mod on_storage;
mod paused;
mod scrub;
mod stopped;
mod take_back;
#[cfg(test)]
mod tests;

pub use api::{Action, Adopted, Event, ExternalFile, FileStamp, Now, TransferError, WorkerConfig};
pub use claim::Claims;

use crate::wire::{BlockDesc, FromWorker, Keep, Payload, Report, Spent, TaskFailure, WorkerStatus};
use cache::{Cache, Location, Presence};
use calls::{Call, Calls, Stage};
use executors::{Executor, Health};
use fetches::Fetches;
use freestone_base::{FunctionId, Name, Resources, TaskId};
use held::Holders;
use scrub::Scrub;
use std::collections::{HashMap, HashSet};

/// While figures change, the manager is told them this often.
const STATUS_NS: Now = 2_000_000_000;
/// In the beginning sooner, and each time twice as late: short runs have figures, too.
const FIRST_STATUS_NS: Now = 5_000_000;
/// A sign of life is given this often,
const ALIVE_NS: Now = 10_000_000_000;
/// and so many times in the time for which the manager lets a worker be silent.
const SIGNS_OF_LIFE: Now = 5;

/// Who waits until a block can be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Waiter {
    Call(TaskId),
    Pin,
    Question(u64),
}

/// What is known of a function.
#[derive(Debug)]
struct Function {
    label: String,
    definition: Payload,
    /// How long it takes, as seen here.
    mean_ns: Option<u64>,
    /// Bytes of blocks that a call of it leaves in the cache, as seen here.
    mean_nbytes: Option<u64>,
}

/// Calls that the manager wants back, while executors are asked.
#[derive(Debug)]
struct Returning {
    asked: Vec<TaskId>,
    returned: Vec<TaskId>,
    /// Executors that have not answered.
    awaited: Vec<u32>,
}

/// A worker.
#[derive(Debug)]
pub struct Worker {
    config: WorkerConfig,
    cache: Cache,
    calls: Calls,
    executors: Vec<Executor>,
    /// What no executor has leased.
    free: Resources,
    functions: HashMap<FunctionId, Function>,
    /// Bytes that calls which leave blocks left on average, whatever their functions.
    mean_nbytes: u64,
    waiters: HashMap<Name, Vec<Waiter>>,
    fetches: Fetches,
    /// What executors hold mapped, groups and blocks, and which ones do.
    holders: Holders,
    /// How long blocks stay whose files are being moved into place.
    adopting: HashMap<Name, Keep>,
    /// Blocks that the manager was told are lost, and that did not come back since.
    lost: HashSet<Name>,
    returning: Vec<Returning>,
    /// Blocks that are being copied to those that are kept.
    preserving: u32,
    status: WorkerStatus,
    last_status: WorkerStatus,
    last_status_at: Now,
    /// How long after that changed figures are told.
    status_ns: Now,
    /// How often a sign of life is given, at least.
    alive_ns: Now,
    /// When files of calls were last measured, and whether they are being.
    measured_at: Now,
    measuring: bool,
    scrub: Scrub,
    ending: bool,
    ended: bool,
}

impl Worker {
    /// A worker that has `kept` blocks from former runs. Its executors are started by the first
    /// [`advance`](Self::advance).
    pub fn new(config: WorkerConfig, kept: Vec<BlockDesc>) -> Self {
        let mut cache = Cache::new(config.clone());
        for block in kept {
            // Nothing is here yet that would have to be done away with.
            cache.insert(block, Location::Forever, Keep::Forever, &mut Vec::new());
        }
        let dead = || Executor { health: Health::Dead { again_at: 0 }, ..Executor::new() };
        Self {
            cache,
            calls: Calls::default(),
            executors: (0..config.slots).map(|_| dead()).collect(),
            free: config.resources.clone(),
            functions: HashMap::new(),
            mean_nbytes: 0,
            waiters: HashMap::new(),
            fetches: Fetches::default(),
            holders: Holders::default(),
            adopting: HashMap::new(),
            lost: HashSet::new(),
            returning: Vec::new(),
            preserving: 0,
            status: WorkerStatus::default(),
            last_status: WorkerStatus::default(),
            status_ns: FIRST_STATUS_NS,
            alive_ns: ALIVE_NS,
            last_status_at: 0,
            measured_at: 0,
            measuring: false,
            scrub: Scrub::new(config.scrub_nbytes_s),
            ending: false,
            ended: false,
            config,
        }
    }

    /// Takes note of an event. What follows from several events together is done by
    /// [`advance`](Self::advance).
    pub fn handle(&mut self, event: Event, now: Now, out: &mut Vec<Action>) {
        match event {
            Event::Manager(message) => self.on_manager(message, now, out),
            Event::Parted => self.on_parted(now, out),
            Event::Ready { executor } => self.on_ready(executor, now),
            Event::Results { executor, results, unmapped, on_disk } => {
                self.on_results(executor, results, &unmapped, &on_disk, now, out);
            }
            Event::Open { executor, group, members } => {
                self.on_open(executor, group, &members, out);
            }
            Event::Paused { executor, sequence, what } => {
                self.on_paused(executor, sequence, what, out);
            }
            Event::Resuming { executor, sequence } => self.on_resuming(executor, sequence, now),
            Event::Died { executor, claimed, signal, status } => {
                self.on_died(executor, claimed, TaskFailure::Killed { signal, status }, now, out);
            }
            Event::Revoked { executor, first, claimed, is_unread } => {
                self.on_revoked(executor, first, (claimed, is_unread), now, out);
            }
            Event::Checked { task, result } => self.on_checked(task, result, now, out),
            Event::Adopted { block, result } => self.on_adopted(block, result, now, out),
            Event::Arrived { name, result, duration_ns } => {
                self.on_arrived(name, result, duration_ns, now, out);
            }
            Event::Moved { name, result } => self.on_moved(name, result.is_ok(), now, out),
            Event::Verified { block, path, intact } => {
                self.on_verified(&block, &path, intact, now, out);
            }
            Event::Scrubbed { block, intact } => self.on_scrubbed(&block, intact, now, out),
            Event::Preserved { name, result } => self.on_preserved(name, result.is_ok(), out),
            Event::Measured { nbytes } => {
                self.measuring = false;
                self.cache.note_scratch(nbytes);
            }
            Event::Looked { executor, is_stopped } => {
                self.on_looked(executor, is_stopped, now, out);
            }
            Event::Asked { question, name } => self.on_asked(question, name, out),
            Event::Served { name, nbytes, changed } => {
                self.on_served(name, nbytes, changed, now, out);
            }
        }
    }

    /// Whether a call is here that could begin, once others have ended.
    pub fn has_calls_to_begin(&self) -> bool {
        self.calls.queued() > 0
    }

    /// Does what is due: to be called after each turn's events, and when [`wakeup`](Self::wakeup)
    /// says.
    pub fn advance(&mut self, now: Now, out: &mut Vec<Action>) {
        if self.ended {
            return;
        }
        if self.ending {
            if self.preserving == 0 {
                self.ended = true;
                out.push(Action::End(None));
            }
            return;
        }
        self.revive_executors(now, out);
        self.kill_late(now, out);
        self.look_for_stopped(now, out);
        self.ask_again(now, out);
        // What is made next goes to memory, and what was not used for long to disk.
        let coming = self.mean_nbytes.saturating_mul(self.config.slots.into());
        self.cache.enforce(coming.min(self.config.memory_quota / 8), out);
        if self.cache.is_pressed() {
            self.forget_all(out);
        }
        self.start_fetches(now, out);
        // What waited goes on before anything begins.
        if self.resume(now, out) {
            self.dispatch(now, out);
        }
        self.stand_in(now, out);
        self.share(now, out);
        self.tell_status(now, out);
        self.measure(now, out);
        self.scrub(now, out);
    }

    fn measure(&mut self, now: Now, out: &mut Vec<Action>) {
        if !self.measuring && now.saturating_sub(self.measured_at) >= STATUS_NS {
            (self.measuring, self.measured_at) = (true, now);
            out.push(Action::Measure);
        }
    }

    /// When [`advance`](Self::advance) is to be called even if nothing happens.
    pub fn wakeup(&self) -> Now {
        if self.ending {
            // Only what comes to an end is waited for.
            return Now::MAX;
        }
        let interval =
            if self.figures() == self.last_status { self.alive_ns } else { self.status_ns };
        let status = (self.last_status_at + interval).min(self.scrub.wakeup(&self.cache));
        let executors = self.executors.iter();
        let due = executors
            .filter_map(|one| self.executor_wakeup(one).into_iter().chain(one.look_at()).min())
            .chain(self.dismissal());
        due.min().map_or(status, |due| due.min(status))
    }

    /// The task of a call that an executor was sent and has not answered.
    pub fn task_of(&self, executor: u32, sequence: u32) -> Option<TaskId> {
        self.executors.get(executor as usize)?.task_of(sequence)
    }

    /// What is here, for a manager that does not know.
    pub fn blocks(&self) -> Vec<BlockDesc> {
        self.cache.descriptions()
    }

    /// Bytes in memory and on disk that blocks have here, and that are promised to some.
    pub fn held_nbytes(&self) -> [u64; 2] {
        self.cache.held_nbytes()
    }

    /// Others have taken so many bytes in memory and on disk, for blocks not heard of so far.
    pub fn note_taken(&mut self, nbytes: [u64; 2]) {
        self.cache.note_taken(nbytes);
    }

    /// Whether it has ended.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    fn tell_status(&mut self, now: Now, out: &mut Vec<Action>) {
        let since = now.saturating_sub(self.last_status_at);
        if since < self.status_ns.min(self.alive_ns) {
            return;
        }
        self.cache.unblock_disk();
        let figures = self.figures();
        if figures != self.last_status || since >= self.alive_ns {
            self.last_status = figures;
            self.last_status_at = now;
            self.status_ns = (2 * self.status_ns).min(STATUS_NS);
            out.push(Action::Tell(FromWorker::Status(figures)));
        }
    }

    fn figures(&self) -> WorkerStatus {
        let running: usize = self.executors.iter().map(|executor| executor.in_flight.len()).sum();
        WorkerStatus {
            memory_nbytes: self.cache.memory_nbytes(),
            memory_quota: self.cache.memory_quota(),
            disk_nbytes: self.cache.disk_nbytes(),
            waiting: (self.calls.len().saturating_sub(running)) as u32,
            running: running as u32,
            ..self.status
        }
    }

    /// Ends a call that has not been sent, or was taken back.
    fn fail(&mut self, task: TaskId, why: TaskFailure, now: Now, out: &mut Vec<Action>) {
        if let Some(call) = self.calls.remove(task) {
            self.let_go(&call, out);
            out.push(Action::Report(Report {
                task,
                attempt: call.assignment.attempt,
                spent: Spent { start_ns: now, ..Spent::default() },
                result: Err(why),
            }));
        }
    }

    /// Gives back the uses of the inputs of a call that is here no more, unless an executor has
    /// taken them over.
    fn let_go(&mut self, call: &Call, out: &mut Vec<Action>) {
        if matches!(call.stage, Stage::Sent { .. }) {
            return;
        }
        for name in &call.held {
            self.cache.release(*name, out);
        }
        let waiter = Waiter::Call(call.assignment.task);
        for name in call.inputs.iter().filter(|name| !call.held.contains(name)) {
            if let Some(waiters) = self.waiters.get_mut(name) {
                waiters.retain(|other| *other != waiter);
                if waiters.is_empty() {
                    self.waiters.remove(name);
                }
            }
        }
    }

    /// A block may come from another source: calls go on waiting, others hear that it is not here.
    fn disappoint_others(&mut self, name: Name, out: &mut Vec<Action>) {
        let waiters = self.waiters.remove(&name).unwrap_or_default();
        let (calls, others): (Vec<Waiter>, Vec<Waiter>) =
            waiters.into_iter().partition(|waiter| matches!(waiter, Waiter::Call(_)));
        if !calls.is_empty() {
            self.waiters.insert(name, calls);
        }
        for waiter in others {
            match waiter {
                Waiter::Call(_) => {}
                Waiter::Pin => out.push(Action::Tell(FromWorker::Pinned { name, path: None })),
                Waiter::Question(question) => out.push(Action::Refuse { question }),
            }
        }
    }

    /// A block will not come: calls that wait for it end, others hear that it is not here.
    fn disappoint(&mut self, name: Name, why: &TaskFailure, now: Now, out: &mut Vec<Action>) {
        self.disappoint_others(name, out);
        for waiter in self.waiters.remove(&name).unwrap_or_default() {
            if let Waiter::Call(task) = waiter {
                self.fail(task, why.clone(), now, out);
            }
        }
    }

    /// A block came, or something that was done to it ended: if it can be used now, whoever waits
    /// for it goes on.
    fn on_usable(&mut self, name: Name, out: &mut Vec<Action>) {
        match self.cache.presence(name) {
            Presence::Usable => {}
            Presence::Unverified if self.waiters.contains_key(&name) => {
                return self.verify(name, out);
            }
            _ => return,
        }
        for waiter in self.waiters.remove(&name).unwrap_or_default() {
            match waiter {
                Waiter::Call(task) => {
                    let Some(call) = self.calls.get_mut(task) else { continue };
                    call.held.push(name);
                    let is_complete = call.held.len() == call.inputs.len();
                    self.cache.hold(name);
                    if is_complete {
                        self.calls.enqueue(task);
                    }
                }
                Waiter::Pin => self.pin(name, out),
                Waiter::Question(question) => self.serve(question, name, out),
            }
        }
    }

    /// Waits for a block, and has it verified if that is what it takes.
    fn wait_for(&mut self, name: Name, waiter: Waiter, out: &mut Vec<Action>) {
        self.waiters.entry(name).or_default().push(waiter);
        if self.cache.presence(name) == Presence::Unverified {
            self.verify(name, out);
        }
    }

    fn verify(&mut self, name: Name, out: &mut Vec<Action>) {
        self.cache.set_verifying(name);
        if let (Some(block), Some(path)) = (self.cache.get(name), self.cache.path(name)) {
            out.push(Action::Verify { block: block.desc.clone(), path });
        }
    }

    /// A block is gone from here: calls that need it can't start.
    fn lose(
        &mut self,
        name: Name,
        reason: String,
        why: &TaskFailure,
        now: Now,
        out: &mut Vec<Action>,
    ) {
        self.cache.take_out(name);
        self.forget(&[name], out);
        self.lost.insert(name);
        out.push(Action::Tell(FromWorker::Lost { names: vec![name], reason }));
        let stranded =
            |call: &Call| !matches!(call.stage, Stage::Sent { .. }) && call.inputs.contains(&name);
        let mut tasks: Vec<TaskId> =
            self.calls.iter().filter(|(_, call)| stranded(call)).map(|(task, _)| task).collect();
        tasks.sort_unstable();
        for task in tasks {
            self.fail(task, why.clone(), now, out);
        }
        self.disappoint(name, why, now, out);
    }
}
