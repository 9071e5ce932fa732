//! What happens in a simulated cluster, one thing at a time.

use super::cluster::{Cluster, Standing};
use super::faults::Fate;
use super::queue::Happening;
use super::runs::{Run, RunEnd};
use super::worker::{Effect, HeldBlock};
use freestone_base::{Name, TaskId, WorkerId};
use freestone_core::manager::Event;
use freestone_core::wire::{FromWorker, Keep, Output, ToWorker};

impl Cluster {
    /// Lets one thing happen. `Some` number: the client's turn has come that was planned with it;
    /// `None`: something else, or nothing is left to happen.
    pub fn step(&mut self) -> Option<u64> {
        let (at_ns, what) = self.queue.next()?;
        self.now = at_ns;
        let take_up = self.options.faults.take_up;
        if take_up > 0.0 && self.random.chance(take_up) {
            self.take_up();
        }
        match what {
            Happening::ToWorker(worker, message) => self.worker_hears(worker, *message),
            Happening::FromWorker(worker, message) => {
                if !self.links[worker.0 as usize].closed {
                    self.queue_results(worker, *message);
                }
            }
            Happening::Left(worker) => self.on_left(worker),
            Happening::CallEnds { worker, run, failure } => {
                self.note_end(worker, run, failure.is_some());
                self.on_worker(worker, |worker, now, effects| {
                    worker.end(run, failure.map(|failure| *failure), now, effects);
                });
            }
            Happening::TransferEnds { target, source, transfer, name, result } => {
                self.on_transfer(target, source, transfer, name, result);
            }
            Happening::Served => self.on_served(),
            Happening::WritesDue => self.on_writes_due(),
            Happening::Pulse => self.on_pulse(),
            Happening::Lose(worker) => self.end_worker(worker, false),
            Happening::Replace(worker) => self.replace(worker),
            Happening::Reconnect(worker) => self.reconnect(worker),
            Happening::Wake(token) => return Some(token),
        }
        None
    }

    /// Plans the client's turn: [`step`](Self::step) gives `token` back then.
    pub fn wake(&mut self, at_ns: u64, token: u64) {
        self.queue.plan(at_ns.max(self.now), Happening::Wake(token));
    }

    /// A worker is lost at a moment.
    pub fn lose(&mut self, at_ns: u64, worker: WorkerId) {
        self.queue.plan(at_ns.max(self.now), Happening::Lose(worker));
    }

    /// A worker like `worker` joins at a moment.
    pub fn join_like(&mut self, at_ns: u64, worker: WorkerId) {
        self.queue.plan(at_ns.max(self.now), Happening::Replace(worker));
    }

    /// Whether nothing is going to happen by itself, but for signs of life.
    pub fn is_quiet(&self) -> bool {
        self.queue.is_quiet()
    }

    /// When something happens next.
    pub fn next_at(&self) -> Option<u64> {
        self.queue.next_at()
    }

    fn worker_hears(&mut self, worker: WorkerId, message: ToWorker) {
        self.on_worker(worker, |worker, now, effects| worker.handle(message, now, effects));
    }

    pub(super) fn on_left(&mut self, worker: WorkerId) {
        let link = &mut self.links[worker.0 as usize];
        link.closed = true;
        link.standing = Standing::Left;
        self.tell(Event::Left(worker));
    }

    /// What is kept on the disk of a worker's machine is there again when it comes back.
    fn replace(&mut self, worker: WorkerId) {
        let former = &self.links[worker.0 as usize].worker;
        let (resources, slots) = (former.resources.clone(), former.slots);
        let kept = |held: &&HeldBlock| held.keep == Keep::Forever;
        let blocks = former.blocks().filter(kept).filter_map(HeldBlock::as_announced).collect();
        self.join(resources, slots, blocks);
    }

    /// A worker that was out of reach announces its whole cache.
    fn reconnect(&mut self, worker: WorkerId) {
        let former = &self.links[worker.0 as usize].worker;
        let (resources, slots) = (former.resources.clone(), former.slots);
        let blocks = former.blocks().filter_map(HeldBlock::as_announced).collect();
        self.join_as(Some(worker), resources, slots, blocks);
    }

    fn on_pulse(&mut self) {
        let Some(pulse_ns) = self.options.pulse_ns else { return };
        self.queue.plan(self.now + pulse_ns, Happening::Pulse);
        for index in 0..self.links.len() {
            let link = &self.links[index];
            if link.alive && !link.silent {
                let status = link.worker.status();
                self.manager_hears(WorkerId(index as u32), status);
            }
        }
        self.tell(Event::Tick);
    }

    /// Lets a worker do something, and carries out what it wants.
    pub(super) fn on_worker(
        &mut self,
        id: WorkerId,
        work: impl FnOnce(&mut super::SimulatedWorker, u64, &mut Vec<Effect>),
    ) {
        let now = self.now;
        let Some(link) = self.links.get_mut(id.0 as usize) else { return };
        if !link.alive || link.silent {
            return;
        }
        let mut effects = Vec::new();
        work(&mut link.worker, now, &mut effects);
        for effect in effects {
            match effect {
                Effect::Tell(message) => {
                    if self.options.checked {
                        self.check_values(&message);
                    }
                    self.manager_hears(id, message);
                }
                Effect::Begin { run, task } => self.on_begin(id, run, task),
                Effect::Receive { transfer, name, source } => {
                    self.on_receive(id, transfer, name, source);
                }
                Effect::End => self.end_worker(id, true),
            }
        }
        if self.options.checked {
            self.check_worker(id);
        }
    }

    fn on_begin(&mut self, id: WorkerId, run: u64, task: TaskId) {
        let worker = &self.links[id.0 as usize].worker;
        let Some(call) = worker.call(task) else { return };
        let Fate { after_ns, failure } =
            self.options.faults.fate(&call.assignment, &mut self.random, &mut self.injected);
        if let (Some(runs), Some(name)) = (&mut self.runs, call.assignment.outputs.first()) {
            let (start_ns, end_ns) = (self.now, self.now + after_ns);
            let begun = Run { name: *name, worker: id, start_ns, end_ns, end: RunEnd::Cut };
            runs.begin(run, begun);
        }
        let failure = failure.map(Box::new);
        self.queue.plan(self.now + after_ns, Happening::CallEnds { worker: id, run, failure });
    }

    fn note_end(&mut self, id: WorkerId, run: u64, failed: bool) {
        let (Some(runs), Some(link)) = (&mut self.runs, self.links.get(id.0 as usize)) else {
            return;
        };
        if link.alive && !link.silent && link.worker.is_running(run) {
            runs.end(id, run, if failed { RunEnd::Failed } else { RunEnd::Done });
        }
    }

    /// The source is asked at once: it has the block now or the transfer fails.
    fn on_receive(&mut self, target: WorkerId, transfer: u64, name: Name, source: WorkerId) {
        if self.random.chance(self.options.faults.missing) {
            self.evict(source, name);
        }
        let fails = self.random.chance(self.options.faults.fetch);
        let link = self.links.get(source.0 as usize);
        let held = link.and_then(|link| link.worker.block(&name));
        let there = link.is_some_and(|link| link.alive && !link.silent) && !fails;
        let nbytes = held.map_or(0, |held| held.desc.nbytes);
        let result = held.map(|held| held.desc.checksum).ok_or(true);
        let result = if there { result } else { Err(false) };
        let (low, high) = self.options.latency_ns;
        let latency = self.random.between(low, high);
        let sent_ns = (nbytes as f64 / self.options.bandwidth * 1e9) as u64;
        let at_ns = self.now + latency + if result.is_ok() { sent_ns } else { 0 };
        let ends = Happening::TransferEnds { target, source, transfer, name, result };
        self.queue.plan(at_ns, ends);
    }

    fn on_transfer(
        &mut self,
        target: WorkerId,
        source: WorkerId,
        transfer: u64,
        name: Name,
        result: Result<u64, bool>,
    ) {
        let link = &self.links[source.0 as usize];
        let broken = !link.alive || link.silent;
        let result = if broken { result.and(Err(false)) } else { result };
        if result.is_err() {
            self.injected.at(name).unfetched += 1;
        }
        let result = result.map_err(|missing| ("as injected".to_owned(), missing));
        self.on_worker(target, |worker, now, effects| {
            worker.fetched(name, transfer, result, now, effects);
        });
    }

    /// A worker evicts a block, if it may.
    pub(super) fn evict(&mut self, id: WorkerId, name: Name) {
        let report = self.random.chance(0.5);
        let mut evicted = false;
        self.on_worker(id, |worker, now, effects| {
            evicted = worker.evict(name, report, now, effects);
        });
        if evicted {
            self.injected.at(name).lost += 1;
        }
    }

    /// With every message of the manager, something may go wrong somewhere.
    pub(super) fn inject(&mut self) {
        let faults = self.options.faults;
        if self.links.is_empty() {
            return;
        }
        let victim = WorkerId(self.random.index(self.links.len()) as u32);
        if self.random.chance(faults.lose) {
            self.end_worker(victim, false);
        }
        if self.random.chance(faults.silence) {
            let link = &mut self.links[victim.0 as usize];
            link.silent = link.alive;
        }
        if self.random.chance(faults.evict) {
            let worker = &self.links[victim.0 as usize].worker;
            let count = worker.blocks.len().max(1);
            let name = worker.blocks.keys().nth(self.random.index(count)).copied();
            if let Some(name) = name {
                self.evict(victim, name);
            }
        }
    }

    /// No block ever has two values.
    fn check_values(&mut self, message: &FromWorker) {
        let mut blocks = Vec::new();
        match message {
            FromWorker::Have { block, .. } => blocks.push(block),
            FromWorker::Done(reports) => {
                for output in reports.iter().filter_map(|report| report.result.as_ref().ok()) {
                    blocks.extend(output.iter().filter_map(|output| match output {
                        Output::Stored(block) => Some(block),
                        Output::Inline(_) => None,
                    }));
                }
            }
            _ => {}
        }
        let mut wrong = Vec::new();
        for block in blocks {
            let value = *self.values.entry(block.name).or_insert(block.checksum);
            if value != block.checksum {
                wrong.push(format!("{} has two values", block.name));
            }
        }
        for what in wrong {
            self.violation(what);
        }
    }

    /// Resources, slots and transfers are within bounds.
    fn check_worker(&mut self, id: WorkerId) {
        let link = &mut self.links[id.0 as usize];
        let mut wrong = std::mem::take(&mut link.worker.violations);
        if link.worker.free().is_none() {
            wrong.push("takes more than it has".to_owned());
        }
        let config = &self.options.config;
        if link.worker.receiving() > config.transfers_in as usize {
            wrong.push(format!("receives {} blocks at once", link.worker.receiving()));
        }
        let sources: Vec<WorkerId> = link.worker.sources().collect();
        for source in sources {
            let receivers = self.workers().flat_map(super::SimulatedWorker::sources);
            let sending = receivers.filter(|sender| *sender == source).count();
            if sending > self.options.config.transfers_out as usize {
                wrong.push(format!("{source} sends {sending} blocks at once"));
            }
        }
        for what in wrong {
            self.violation(format!("{id}: {what}"));
        }
    }
}
