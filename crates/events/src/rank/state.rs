//! The state of a rank that its threads change one at a time.

use super::clients::Clients;
use super::condition::Condition;
use super::control::Control;
use super::task::{Job, Label, Task, Work};
use super::timers::{Timer, TimerKey, Timers};
use super::waiter::Waiter;
use super::{Inner, Progress, RANK_JOINED, RANK_LOST};
use crate::error::Failure;
use crate::event::{Event, EventId, Lasting, Rank};
use crate::locks::{Locks, Owner};
use crate::matching::{Given, Matcher, Ready, RequestId};
use crate::payload::Payload;
use crate::pieces::Pieces;
use crate::termination::{Detector, Quiet, Stage};
use crate::transport::Transport;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A thread that waits, and what for.
pub(super) struct Blocked {
    pub waiter: Arc<Waiter>,
    /// The lock; none, if it waits for events.
    pub lock: Option<String>,
    pub label: Option<Label>,
}

pub(super) struct State {
    pub matcher: Matcher<Arc<Task>, Payload>,
    pub detector: Detector,
    pub locks: Locks,
    pub timers: Timers,
    /// When the batches are due that are filling.
    pub batches: HashMap<RequestId, TimerKey>,
    /// What the machine is watched for, and the events that tell of it.
    pub watches: Vec<(Condition, EventId)>,
    /// What the program is at; none, while it runs.
    pub stage: Option<Stage>,
    pub blocked: BTreeMap<Owner, Blocked>,
    /// Events received, by source.
    pub received: Vec<u64>,
    pub pieces: Pieces,
    pub clients: Clients,
    pub lost: Vec<bool>,
    /// Whether the program ever asked for the loss of ranks.
    pub expects_loss: bool,
    pub activity: u64,
    /// Events that have arrived here, also from this rank.
    pub arrived: u64,
    /// How often a task has gone on that waited.
    pub resumed: u64,
    /// Jobs that go to the end of the queue when the state is let go.
    pub jobs: VecDeque<Job>,
    /// What could not be sent yet.
    pub outbox: VecDeque<(Rank, Vec<u8>)>,
    /// No wave before this time.
    pub pause_until: Option<Instant>,
    pub pause: Duration,
    /// Kept, so that it is not allocated again and again.
    pub ready: Vec<Ready<Arc<Task>, Payload>>,
}

impl State {
    pub fn new(transport: &dyn Transport) -> Self {
        let (rank, ranks) = (transport.rank(), transport.ranks());
        let room = transport.room() + transport.clients();
        let before = transport.lost_before();
        let is_lost = |rank| before.is_some_and(|lost| lost.contains(&rank));
        Self {
            matcher: Matcher::default(),
            detector: match before {
                None => Detector::new(rank, ranks),
                Some(lost) => Detector::joining(rank, ranks, lost),
            },
            locks: Locks::default(),
            timers: Timers::default(),
            batches: HashMap::new(),
            watches: Vec::new(),
            stage: None,
            blocked: BTreeMap::new(),
            received: vec![0; room as usize],
            pieces: Pieces::default(),
            clients: Clients::new(rank, transport.room(), transport.clients()),
            lost: (0..room).map(is_lost).collect(),
            expects_loss: false,
            activity: 0,
            arrived: 0,
            resumed: 0,
            jobs: VecDeque::new(),
            outbox: VecDeque::new(),
            pause_until: None,
            pause: Duration::ZERO,
            ready: Vec::new(),
        }
    }

    /// Whether a task waits for events or a lock, or an event is unconsumed.
    fn is_outstanding(&self) -> bool {
        let waits_for_lock = |blocked: &Blocked| blocked.lock.is_some();
        self.matcher.is_outstanding() || self.blocked.values().any(waits_for_lock)
    }
}

impl Inner {
    /// Gives an event to the matcher.
    pub(super) fn deliver(&self, state: &mut State, event: Event<Payload>) {
        state.activity += 1;
        state.arrived += 1;
        let mut ready = std::mem::take(&mut state.ready);
        state.matcher.deliver(event, &mut ready);
        self.enqueue(state, &mut ready);
        state.ready = ready;
    }

    /// Puts a piece to those that came before; the last one completes the event.
    pub(super) fn deliver_piece(&self, state: &mut State, piece: Event<Payload>, total: u64) {
        match state.pieces.add(piece, total) {
            Ok(None) => {}
            Ok(Some(event)) => {
                state.received[event.source as usize] += 1;
                self.deliver(state, event);
            }
            Err(error) => self.break_off(state, error.to_string()),
        }
    }

    /// Puts tasks at the end of the queue, and lets threads go on that have what they wait for.
    pub(super) fn enqueue(&self, state: &mut State, ready: &mut Vec<Ready<Arc<Task>, Payload>>) {
        for Ready { task, given } in ready.drain(..) {
            state.activity += 1;
            match (&task.work, given) {
                (Work::Wake(waiter), Given::Events(events)) => {
                    waiter.fill(events);
                    self.wake(state, waiter);
                }
                (_, Given::Begun(id)) => self.begin_batch(state, id, task.within),
                (_, given) => {
                    if let Given::All(id) = &given
                        && let Some(key) = state.batches.remove(id)
                    {
                        state.timers.remove(key);
                    }
                    state.jobs.push_back(Job::Run(task, given));
                }
            }
        }
    }

    fn begin_batch(&self, state: &mut State, id: RequestId, within: Duration) {
        let key = self.add_timer(state, Instant::now() + within, Timer::Batch(id));
        state.batches.insert(id, key);
        // Whoever sleeps until the next timer sleeps too long now.
        self.note_rest();
    }

    /// Lets a thread go on: a worker's in its turn, the program's at once.
    pub(super) fn wake(&self, state: &mut State, waiter: &Arc<Waiter>) {
        state.activity += 1;
        if waiter.in_task {
            state.resumed += 1;
            state.jobs.push_back(Job::Resume(Arc::clone(waiter)));
        } else {
            state.stage = None;
            waiter.wake();
            if self.config.progress == Progress::Program {
                // It sleeps where what arrives wakes it.
                self.transport.wake();
            }
        }
    }

    /// Lets those go on who have the locks that they waited for.
    pub(super) fn grant(&self, state: &mut State, granted: Vec<Owner>) {
        for owner in granted {
            if let Some(blocked) = state.blocked.get_mut(&owner) {
                blocked.lock = None;
                let waiter = Arc::clone(&blocked.waiter);
                self.wake(state, &waiter);
            }
        }
    }

    /// How the rank stands, if it has nothing to do.
    pub(super) fn quiet(&self, state: &State) -> Option<Quiet> {
        let at = state.stage?;
        if self.pending.count() > 0
            || !state.jobs.is_empty()
            || state.timers.holds()
            || !state.watches.is_empty()
            || state.clients.are_busy()
        {
            return None;
        }
        Some(Quiet {
            stage: at,
            outstanding: state.is_outstanding(),
            hopeful: self.awaits_tick(state) || self.awaits_joining(state),
            attended: state.clients.are_there(),
            flows: state.clients.flows(
                &|target| self.sent[target].load(Ordering::Acquire),
                &state.received,
                &state.lost,
            ),
            activity: state.activity + self.pending.begun(),
        })
    }

    /// Whether a clock will tick: none does while its last tick lies there.
    fn awaits_tick(&self, state: &State) -> bool {
        state.timers.ticking().any(|id| !state.matcher.has_event(self.rank(), id))
    }

    /// Whether a task waits for somebody to join, and that can still be.
    fn awaits_joining(&self, state: &State) -> bool {
        let has_room = self.ranks() < self.transport.room();
        // Rank 0 lets them in.
        let is_open = has_room && !state.lost[0];
        is_open && state.matcher.is_wanted(&EventId::from(RANK_JOINED))
    }

    pub(super) fn add_timer(&self, state: &mut State, at: Instant, timer: Timer) -> TimerKey {
        let key = state.timers.add(at, timer);
        self.note_due(state);
        key
    }

    fn note_due(&self, state: &State) {
        let since_start = |at: Instant| at.saturating_duration_since(self.start).as_nanos() as u64;
        self.due.store(state.timers.next().map_or(u64::MAX, since_start), Ordering::Release);
    }

    /// Does what is due; how much.
    pub(super) fn fire_timers(&self) -> usize {
        let due = self.due.load(Ordering::Acquire);
        if due == u64::MAX || (self.start.elapsed().as_nanos() as u64) < due {
            return 0;
        }
        let mut state = self.state();
        let (now, mut count) = (Instant::now(), 0);
        while let Some(((at, _), timer)) = state.timers.take_due(now) {
            count += 1;
            self.on_timer(&mut state, at, timer, now);
        }
        self.note_due(&state);
        count
    }

    fn on_timer(&self, state: &mut State, at: Instant, timer: Timer, now: Instant) {
        match timer {
            Timer::Once(id) => self.deliver(state, self.own_event(id, Lasting::Once)),
            Timer::Tick(id, period) => {
                if !state.matcher.has_event(self.rank(), &id) {
                    self.deliver(state, self.own_event(id.clone(), Lasting::Weak));
                }
                // Ticks that were missed are not made up for.
                state.timers.add((at + period).max(now), Timer::Tick(id, period));
            }
            Timer::Batch(id) => {
                state.batches.remove(&id);
                let mut ready = Vec::new();
                state.matcher.flush(id, &mut ready);
                self.enqueue(state, &mut ready);
            }
            Timer::Expire(request, waiter) => {
                let mut ready = Vec::new();
                if let Some(lacks) = state.matcher.withdraw(request, &mut ready) {
                    waiter.expire(lacks);
                    self.wake(state, &waiter);
                }
                self.enqueue(state, &mut ready);
            }
        }
    }

    fn own_event(&self, id: EventId, lasting: Lasting) -> Event<Payload> {
        Event { source: self.rank(), id, lasting, payload: Payload::default() }
    }

    /// A rank is gone.
    pub(super) fn on_lost(&self, state: &mut State, rank: Rank) {
        if std::mem::replace(&mut state.lost[rank as usize], true) {
            return;
        }
        state.outbox.retain(|(target, _)| *target != rank);
        let is_informed =
            |other: &Rank| *other != rank && self.transport.is_informed_of_losses(*other);
        for other in (0..self.ranks()).filter(is_informed) {
            self.send_control(state, other, Control::Lost(rank).encode());
        }
        let mut actions = Vec::new();
        if rank < self.ranks() {
            state.detector.on_lost(rank, &mut actions);
        } else {
            // What it fired counts no more; it reports nothing any more.
            state.clients.on_lost(rank);
            state.detector.on_client_lost(&mut actions);
            state.activity += 1;
        }
        self.act(state, actions);
        if state.expects_loss {
            let id = EventId::from(RANK_LOST);
            let payload = Payload::default();
            self.deliver(state, Event { source: rank, id, lasting: Lasting::Weak, payload });
        } else {
            let failure = Failure::text(&format!("rank {rank} is lost"));
            self.dismiss(state, &Control::Failed(failure));
            self.end(state, super::Ending::Lost(rank));
            self.transport.give_up();
        }
    }

    /// Tells the clients of this rank that nothing more comes, and why.
    pub(super) fn dismiss(&self, state: &mut State, why: &Control) {
        for client in state.clients.dismiss() {
            self.send_control(state, client, why.encode());
        }
    }

    /// A client of this rank has fired all that it will: what it is sent counts no more, anywhere.
    pub(super) fn on_detached(&self, state: &mut State, client: Rank, sent: u64, received: &[u64]) {
        if !state.clients.on_detached(client, sent) {
            return;
        }
        for (rank, &received) in (0..self.ranks()).zip(received) {
            if rank == self.rank() {
                self.on_left(state, client, received);
            } else if !state.lost[rank as usize] {
                self.send_control(state, rank, Control::Left { client, received }.encode());
            }
        }
    }

    /// Ranks have joined: from now on they are part of all.
    pub(super) fn grow(&self, state: &mut State, ranks: u32) {
        let (before, room) = (self.ranks(), self.transport.room());
        if ranks > room {
            let what = format!("rank {} has joined, and there is room for {room}", ranks - 1);
            self.break_off(state, what);
            return;
        }
        self.transport.grow(ranks);
        self.ranks.store(ranks, Ordering::Release);
        for source in before..ranks {
            let (id, payload) = (EventId::from(RANK_JOINED), Payload::default());
            self.deliver(state, Event { source, id, lasting: Lasting::Weak, payload });
        }
    }
}
