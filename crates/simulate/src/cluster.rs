//! A manager, simulated workers and a network, driven by one seeded scheduler.

use super::dispatcher::{Charges, Dispatcher};
use super::faults::{Faults, Injected};
use super::journal::Journal;
use super::post::Post;
use super::queue::{Happening, Queue};
use super::random::Random;
use super::recording::Recording;
use super::runs::Runs;
use super::worker::{HeldBlock, SimulatedWorker};
use freestone_base::hash::ByName;
use freestone_base::{Name, Resources, Ticket, WorkerId};
use freestone_core::manager::{Action, Config, Event, Manager, Outcome, Request};
use freestone_core::wire::{FromWorker, ToWorker};
use std::collections::VecDeque;

/// Settings of a simulated cluster.
#[derive(Clone, Debug)]
pub struct Options {
    /// The manager's settings.
    pub config: Config,
    /// The same seed gives the same run.
    pub seed: u64,
    /// The shortest and the longest time that a message takes.
    pub latency_ns: (u64, u64),
    /// What a transfer has, in bytes per second.
    pub bandwidth: f64,
    /// Outputs up to this size travel inline.
    pub inline_nbytes: u64,
    /// Bytes of blocks that workers have room for, if that is limited; may be changed at any time.
    pub quota: Option<u64>,
    /// How often workers show a sign of life; `None`: never, and the manager sees no ticks.
    pub pulse_ns: Option<u64>,
    /// Whether to check every step.
    pub checked: bool,
    /// How many of the last events to remember as text.
    pub log: usize,
    /// How long the manager is busy with each call.
    pub charges: Charges,
    /// Whether messages wait for others to the same worker, as the manager's shell has them wait.
    pub holds: bool,
    /// What goes wrong.
    pub faults: Faults,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            config: Config::default(),
            seed: 0,
            latency_ns: (100_000, 100_000),
            bandwidth: 1e9,
            inline_nbytes: 16 << 10,
            quota: None,
            pulse_ns: None,
            checked: false,
            log: 0,
            charges: Charges::default(),
            holds: false,
            faults: Faults::default(),
        }
    }
}

/// How far the manager knows a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Standing {
    /// It takes calls.
    Here,
    /// The client asked that it be let go.
    Retiring,
    /// The manager shut it down, ended its connection, or was told that it left.
    Left,
}

#[derive(Debug)]
pub(super) struct Link {
    pub worker: SimulatedWorker,
    pub standing: Standing,
    /// Its process is there.
    pub alive: bool,
    /// It neither hears nor says anything.
    pub silent: bool,
    /// The manager saw its connection end.
    pub closed: bool,
    to_ns: u64,
    from_ns: u64,
}

/// A manager with simulated workers.
pub struct Cluster {
    /// What it was started with; faults may be changed at any time.
    pub options: Options,
    /// The clock.
    pub now: u64,
    /// Outcomes since somebody last looked.
    pub resolved: Vec<(Ticket, Outcome)>,
    /// What was wrong so far.
    pub violations: Vec<String>,
    /// What was injected so far.
    pub injected: Injected,
    /// All events, if they are recorded.
    pub record: Option<Recording>,
    /// What ran where, if that is recorded.
    pub runs: Option<Runs>,
    /// The last events, if they are remembered.
    pub log: VecDeque<String>,
    /// Where chance comes from.
    pub random: Random,
    pub(super) manager: Manager,
    pub(super) queue: Queue,
    pub(super) links: Vec<Link>,
    pub(super) values: ByName<u64>,
    pub(super) dispatcher: Dispatcher,
    pub(super) journal: Journal,
    pub(super) post: Post,
    actions: Vec<Action>,
}

impl Cluster {
    /// A cluster without workers.
    pub fn new(options: Options) -> Self {
        let mut queue = Queue::default();
        if let Some(pulse_ns) = options.pulse_ns {
            queue.plan(pulse_ns, Happening::Pulse);
        }
        Self {
            now: 0,
            resolved: Vec::new(),
            violations: Vec::new(),
            injected: Injected::default(),
            record: None,
            runs: None,
            log: VecDeque::new(),
            random: Random::new(options.seed),
            manager: Manager::new(options.config.clone()),
            queue,
            links: Vec::new(),
            values: ByName::default(),
            dispatcher: Dispatcher::default(),
            journal: Journal::default(),
            post: Post::default(),
            actions: Vec::new(),
            options,
        }
    }

    /// A worker joins, with some blocks in its cache already.
    pub fn join(&mut self, resources: Resources, slots: u32, blocks: Vec<HeldBlock>) -> WorkerId {
        self.join_as(None, resources, slots, blocks)
    }

    /// A worker joins that may have been here before.
    pub(super) fn join_as(
        &mut self,
        former: Option<WorkerId>,
        resources: Resources,
        slots: u32,
        blocks: Vec<HeldBlock>,
    ) -> WorkerId {
        let id = WorkerId(self.links.len() as u32);
        let mut worker =
            SimulatedWorker::new(id, resources, slots, self.options.inline_nbytes, blocks);
        worker.quota = self.options.quota;
        self.injected.cramped |= worker.quota.is_some();
        let hello = worker.hello(&self.options.config.key, former);
        self.links.push(Link {
            worker,
            standing: Standing::Here,
            alive: true,
            silent: false,
            closed: false,
            to_ns: self.now,
            from_ns: self.now,
        });
        self.tell(Event::Connected(id));
        self.manager_hears(id, hello);
        id
    }

    /// The workers whose processes are there.
    pub fn workers(&self) -> impl Iterator<Item = &SimulatedWorker> {
        self.links.iter().filter(|link| link.alive).map(|link| &link.worker)
    }

    /// The workers that the manager may give calls to.
    pub fn usable(&self) -> impl Iterator<Item = &SimulatedWorker> {
        let usable = |link: &&Link| link.alive && !link.silent && link.standing == Standing::Here;
        self.links.iter().filter(usable).map(|link| &link.worker)
    }

    /// Whether a worker that is gone, or is let go, holds a block.
    pub fn is_gone_with(&self, name: &Name) -> bool {
        let mut gone = self.injected.gone.iter();
        gone.any(|id| self.links[id.0 as usize].worker.block(name).is_some())
    }

    /// The client asks for something.
    pub fn ask(&mut self, request: Request) {
        if let Request::Retire(workers) = &request {
            for worker in workers {
                let Some(link) = self.links.get_mut(worker.0 as usize) else { continue };
                link.standing = link.standing.max_retiring();
                self.injected.gone.insert(*worker);
            }
        }
        self.tell(Event::Client(request));
    }

    /// Tells the manager what happened and does what it wants.
    pub(super) fn tell(&mut self, event: Event) {
        let pulse = matches!(event, Event::Tick | Event::Worker(_, FromWorker::Status(_)));
        if self.options.log > 0 && !pulse {
            self.note(&format!("{event:?}"));
        }
        let heard = match event {
            Event::Worker(worker, _) => Some(worker),
            _ => None,
        };
        let mut actions = std::mem::take(&mut self.actions);
        if let Some(record) = &mut self.record {
            record.keep(self.now, &event);
        }
        let is_noted = self.options.faults.take_up > 0.0;
        if is_noted {
            self.journal.note(self.now, &event);
        }
        self.manager.handle(event, self.now, &mut actions);
        if is_noted {
            self.journal.note_done(&actions);
            let after = self.options.faults.compact_after;
            if after.is_some_and(|events| self.journal.events() >= events) {
                self.journal.compact(self.now, &self.manager);
            }
        }
        // A pulse upon which the manager does nothing is looked at along with the next event.
        if self.options.checked && !(pulse && actions.is_empty()) {
            self.manager.check();
        }
        for action in actions.drain(..) {
            if self.options.log > 0 {
                self.note(&format!("  -> {action:?}"));
            }
            self.carry_out(action);
        }
        self.actions = actions;
        if self.options.holds {
            self.write_posts(heard);
        }
    }

    fn note(&mut self, what: &str) {
        while self.log.len() >= self.options.log {
            self.log.pop_front();
        }
        self.log.push_back(format!("{:.6} {what}", self.now as f64 / 1e9));
    }

    /// Something is against the contract.
    pub fn violation(&mut self, what: String) {
        if self.options.log > 0 {
            self.note(&format!("VIOLATION {what}"));
        }
        self.violations.push(what);
    }

    fn carry_out(&mut self, action: Action) {
        match action {
            Action::Send(worker, message) => {
                self.check_send(worker, &message);
                match self.queue_calls(worker, message) {
                    Some(message) if self.options.holds => self.post(worker, message),
                    Some(message) => self.send_after(0, worker, message),
                    None => {}
                }
                self.inject();
            }
            Action::Disconnect(worker, _) => self.on_disconnect(worker),
            Action::Resolve(ticket, outcome) => self.resolved.push((ticket, outcome)),
            Action::Trace(_) | Action::Print(..) => {}
        }
    }

    fn check_send(&mut self, worker: WorkerId, message: &ToWorker) {
        let Some(link) = self.links.get_mut(worker.0 as usize) else {
            return self.violation(format!("{message:?} to {worker}, which is unknown"));
        };
        let standing = link.standing;
        let welcome = match message {
            ToWorker::Run(_) => standing == Standing::Here,
            _ => standing != Standing::Left,
        };
        if matches!(message, ToWorker::Shutdown) {
            link.standing = Standing::Left;
        }
        if !welcome {
            self.violation(format!("{message:?} to {worker}, which is {standing:?}"));
        }
    }

    fn latency(&mut self) -> u64 {
        let (low, high) = self.options.latency_ns;
        if low == high { low } else { self.random.between(low, high) }
    }

    pub(super) fn send_after(&mut self, time_ns: u64, worker: WorkerId, message: ToWorker) {
        let latency = time_ns + self.latency();
        let Some(link) = self.links.get_mut(worker.0 as usize) else { return };
        link.to_ns = link.to_ns.max(self.now + latency);
        self.queue.plan(link.to_ns, Happening::ToWorker(worker, Box::new(message)));
    }

    pub(super) fn manager_hears(&mut self, worker: WorkerId, message: FromWorker) {
        let latency = self.latency();
        let link = &mut self.links[worker.0 as usize];
        if link.silent {
            return;
        }
        link.from_ns = link.from_ns.max(self.now + latency);
        self.queue.plan(link.from_ns, Happening::FromWorker(worker, Box::new(message)));
    }

    fn on_disconnect(&mut self, worker: WorkerId) {
        let link = &mut self.links[worker.0 as usize];
        let heard = link.alive && !link.silent && link.standing == Standing::Here;
        link.standing = Standing::Left;
        if heard {
            self.violation(format!("{worker} disconnected, although it is well"));
        }
        self.end_worker(worker, false);
    }

    /// A worker's process ends; the manager hears of it after what it `said` before, or at once,
    /// and then what is still on its way never arrives.
    pub(super) fn end_worker(&mut self, worker: WorkerId, announced: bool) {
        let latency = self.latency();
        let link = &mut self.links[worker.0 as usize];
        if !link.alive {
            return;
        }
        link.alive = false;
        self.injected.gone.insert(worker);
        let at_ns =
            if announced { link.from_ns.max(self.now + latency) } else { self.now + latency };
        for name in link.worker.blocks.keys() {
            self.injected.at(*name).lost += 1;
        }
        let dismissed = link.standing == Standing::Left;
        self.queue.plan(at_ns, Happening::Left(worker));
        let reconnect = self.options.faults.reconnect;
        if !dismissed && reconnect > 0.0 && self.random.chance(reconnect) {
            // Maybe before its end is noticed.
            let at_ns = self.now + self.random.between(0, 2 * latency);
            return self.queue.plan(at_ns, Happening::Reconnect(worker));
        }
        if self.random.chance(self.options.faults.replace) {
            let at_ns = at_ns + self.random.between(0, 2_000_000_000);
            self.queue.plan(at_ns, Happening::Replace(worker));
        }
    }
}

impl Standing {
    fn max_retiring(self) -> Self {
        if self == Self::Left { self } else { Self::Retiring }
    }
}
