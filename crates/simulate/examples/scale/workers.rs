//! The process of the workers: many connections, one timer.

use crate::Settings;
use freestone_base::{Name, Resources, WorkerId};
use freestone_core::net::unsent::Unsent;
use freestone_core::net::{Access, Connection, Identity, Poller, Stream, boot_id, monotonic_ns};
use freestone_core::wire::{Address, FromWorker, ToWorker};
use freestone_simulate::{Effect, Random, Script, SimulatedWorker};
use mio::Token;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::error::Error;
use std::io::{self, BufRead, BufWriter, Read, Write};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// What the simulated network has.
const BYTES_PER_S: f64 = 1.25e9;
const FETCH_NS: u64 = 200_000;
/// How often a worker shows a sign of life.
const PULSE_NS: u64 = 5_000_000_000;
const INLINE_NBYTES: u64 = 16 << 10;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Call { run: u64, task: u64, start_ns: u64 },
    Block { transfer: u64, name: Name, source: WorkerId },
    Pulse,
    Write,
    Lose,
    Join,
}

struct Member {
    worker: SimulatedWorker,
    connection: Option<Connection>,
    unsent: Unsent,
    /// When the next look at it is planned.
    write_ns: u64,
    /// Calls that run: which task of the graph, and since when.
    running: HashMap<u64, (u64, u64)>,
}

struct Fleet {
    settings: Settings,
    address: Address,
    access: Option<Access>,
    poller: Poller,
    members: Vec<Member>,
    by_id: HashMap<WorkerId, usize>,
    due: BinaryHeap<Reverse<(u64, usize, Due)>>,
    /// Members that have messages in this turn.
    touched: Vec<usize>,
    /// Lines for the figures: `task INDEX START END`, `joined TIME`, `left TIME`.
    log: Vec<String>,
}

/// Joins workers to the manager at `address`, until it lets them go. The certificate and key, if
/// any, come first on the standard input; then a line with how many seconds the run is going to
/// take at least, when it begins. The log goes to the standard output.
pub fn run(settings: &Settings, address: &Address) {
    let (identity, lines) = input();
    let mut fleet = Fleet {
        settings: settings.clone(),
        address: address.clone(),
        access: identity.map(|identity| Access::new(&identity).unwrap()),
        poller: Poller::new(0).unwrap(),
        members: Vec::new(),
        by_id: HashMap::new(),
        due: BinaryHeap::new(),
        touched: Vec::new(),
        log: Vec::new(),
    };
    for _ in 0..settings.workers {
        fleet.join().unwrap();
    }
    fleet.serve(&lines);
    let mut out = BufWriter::new(io::stdout().lock());
    for line in &fleet.log {
        writeln!(out, "{line}").unwrap();
    }
    let violations = fleet.members.iter().flat_map(|member| &member.worker.violations);
    for violation in violations.filter(|text| !text.starts_with("welcomed")) {
        writeln!(out, "violation {violation}").unwrap();
    }
}

/// The identity, and what comes later.
fn input() -> (Option<Identity>, Receiver<String>) {
    let stdin = io::stdin();
    let mut sizes = String::new();
    stdin.lock().read_line(&mut sizes).unwrap();
    let mut parts = sizes.split_whitespace().map(|size| {
        let mut bytes = vec![0; size.parse().unwrap()];
        stdin.lock().read_exact(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    });
    let (certificate, private_key) = (parts.next().unwrap(), parts.next().unwrap());
    let identity = Identity { certificate, private_key };
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    ((!identity.certificate.is_empty()).then_some(identity), lines)
}

impl Fleet {
    fn join(&mut self) -> Result<(), Box<dyn Error>> {
        let index = self.members.len();
        let stream = Stream::connect(&self.address, self.access.as_ref())?;
        let mut connection = Connection::new(stream, self.poller.registry(), Token(index))?;
        let cores = self.settings.cores;
        let resources = Resources { cores, memory: 1 << 40, ..Resources::default() };
        // The manager gives the id when it welcomes.
        let id = WorkerId(u32::MAX);
        let worker = SimulatedWorker::new(id, resources, cores, INLINE_NBYTES, Vec::new());
        let mut hello = worker.hello("key", None);
        if let FromWorker::Hello { boot, now_ns, .. } = &mut hello {
            (*boot, *now_ns) = (boot_id(), monotonic_ns());
        }
        connection.send(&hello)?;
        connection.flush(self.poller.registry())?;
        let running = HashMap::new();
        let (connection, unsent) = (Some(connection), Unsent::default());
        self.members.push(Member { worker, connection, unsent, write_ns: 0, running });
        self.log.push(format!("joined {}", monotonic_ns()));
        self.plan(PULSE_NS, index, Due::Pulse);
        Ok(())
    }

    fn plan(&mut self, after_ns: u64, index: usize, due: Due) {
        self.due.push(Reverse((monotonic_ns() + after_ns, index, due)));
    }

    fn serve(&mut self, lines: &Receiver<String>) {
        while self.members.iter().any(|member| member.connection.is_some()) {
            if let Ok(seconds) = lines.try_recv() {
                self.plan_losses(seconds.trim().parse().unwrap());
            }
            let next = self.due.peek().map(|Reverse((at_ns, ..))| *at_ns);
            let now = monotonic_ns();
            let patience = Duration::from_nanos(next.map_or(PULSE_NS, |at| at.saturating_sub(now)));
            let patience = patience.min(Duration::from_millis(100));
            let events: Vec<_> = match self.poller.wait(Some(patience), || false) {
                Ok(events) => events.iter().cloned().collect(),
                Err(error) => panic!("{error}"),
            };
            for event in &events {
                self.hear(event);
            }
            self.happen();
            self.write();
        }
    }

    /// Writes messages, as a worker does at the end of each turn.
    fn write(&mut self) {
        for index in std::mem::take(&mut self.touched) {
            self.write_for(index);
        }
    }

    fn write_for(&mut self, index: usize) {
        let member = &mut self.members[index];
        let (now, has_calls) = (monotonic_ns(), member.worker.has_calls_to_begin());
        let Some(connection) = &mut member.connection else { return };
        if member.unsent.is_due(has_calls, now) {
            member.unsent.clear();
            if connection.flush(self.poller.registry()).is_err() {
                self.leave(index);
            }
        } else if let Some(due_ns) =
            member.unsent.due_ns().filter(|due_ns| *due_ns != member.write_ns)
        {
            member.write_ns = due_ns;
            self.due.push(Reverse((due_ns, index, Due::Write)));
        }
    }

    fn plan_losses(&mut self, run_s: f64) {
        let mut random = Random::new(1);
        let mut victims: Vec<usize> = (0..self.members.len()).collect();
        let lost = (victims.len() as f64 * self.settings.lost).round() as usize;
        for _ in 0..lost {
            let victim = victims.swap_remove(random.index(victims.len()));
            let after_s = random.unit() * run_s;
            self.plan((after_s * 1e9) as u64, victim, Due::Lose);
            self.plan(((after_s + self.settings.away_s) * 1e9) as u64, victim, Due::Join);
        }
    }

    fn hear(&mut self, event: &mio::event::Event) {
        let index = event.token().0;
        let connection = self.members.get_mut(index).and_then(|member| member.connection.as_mut());
        let Some(connection) = connection else { return };
        connection.note(event);
        let mut messages: Vec<ToWorker> = Vec::new();
        let received = connection.receive(|message| messages.push(message));
        let flushed = received.and_then(|_| {
            if event.is_writable() { connection.flush(self.poller.registry()) } else { Ok(()) }
        });
        for message in messages {
            if let ToWorker::Welcome { worker, .. } = &message {
                self.members[index].worker.id = *worker;
                self.by_id.insert(*worker, index);
            }
            self.on_member(index, |worker, now, effects| worker.handle(message, now, effects));
        }
        if flushed.is_err() {
            self.leave(index);
        }
    }

    /// What is due happens, for one worker after the other, and is told together.
    fn happen(&mut self) {
        let now = monotonic_ns();
        while self.due.peek().is_some_and(|Reverse((at_ns, ..))| *at_ns <= now) {
            let Some(Reverse((_, index, due))) = self.due.pop() else { return };
            if due == Due::Join {
                // The run may have ended meanwhile, and the manager with it.
                let _ = self.join();
                continue;
            }
            if self.members[index].connection.is_none() {
                continue;
            }
            match due {
                Due::Call { run, task, start_ns } => {
                    self.members[index].running.remove(&run);
                    self.log.push(format!("task {task} {start_ns} {now}"));
                    self.on_member(index, |worker, now, out| worker.end(run, None, now, out));
                }
                Due::Block { transfer, name, source } => {
                    let source = self.by_id.get(&source).map(|index| &self.members[*index]);
                    let source = source.filter(|source| source.connection.is_some());
                    let held = source.and_then(|source| source.worker.block(&name));
                    let result = held.map(|held| held.desc.checksum);
                    let result = result.ok_or_else(|| ("it is not there".to_owned(), true));
                    self.on_member(index, |worker, now, out| {
                        worker.fetched(name, transfer, result, now, out);
                    });
                }
                Due::Pulse => {
                    let status = self.members[index].worker.status();
                    self.tell(index, &status);
                    self.plan(PULSE_NS, index, Due::Pulse);
                }
                Due::Write => self.write_for(index),
                Due::Lose => self.leave(index),
                Due::Join => {}
            }
        }
    }

    /// Its connection ends, and with it all that it ran.
    fn leave(&mut self, index: usize) {
        let now = monotonic_ns();
        let member = &mut self.members[index];
        if let Some(mut connection) = member.connection.take() {
            connection.deregister(self.poller.registry());
            self.log.push(format!("left {now}"));
        }
        for (_, (_, start_ns)) in member.running.drain() {
            self.log.push(format!("broken {start_ns} {now}"));
        }
    }

    fn on_member(
        &mut self,
        index: usize,
        work: impl FnOnce(&mut SimulatedWorker, u64, &mut Vec<Effect>),
    ) {
        let now = monotonic_ns();
        let mut effects = Vec::new();
        work(&mut self.members[index].worker, now, &mut effects);
        for effect in effects {
            match effect {
                Effect::Tell(message) => self.tell(index, &message),
                Effect::Begin { run, task } => {
                    let member = &mut self.members[index];
                    let Some(call) = member.worker.call(task) else { continue };
                    let script = Script::decode(call.assignment.arguments.as_slice()).unwrap();
                    member.running.insert(run, (script.salt, now));
                    let due = Due::Call { run, task: script.salt, start_ns: now };
                    self.due.push(Reverse((now + script.duration_ns, index, due)));
                }
                Effect::Receive { transfer, name, source } => {
                    let holder = self.by_id.get(&source).map(|index| &self.members[*index].worker);
                    let held = holder.and_then(|holder| holder.block(&name));
                    let nbytes = held.map_or(0, |held| held.desc.nbytes);
                    let sent_ns = FETCH_NS + (nbytes as f64 / BYTES_PER_S * 1e9) as u64;
                    self.due.push(Reverse((
                        now + sent_ns,
                        index,
                        Due::Block { transfer, name, source },
                    )));
                }
                Effect::End => self.leave(index),
            }
        }
    }

    fn tell(&mut self, index: usize, message: &FromWorker) {
        let member = &mut self.members[index];
        let Some(connection) = &mut member.connection else { return };
        connection.send(message).unwrap();
        member.unsent.note(message, monotonic_ns());
        self.touched.push(index);
    }
}
