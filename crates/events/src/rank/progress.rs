//! Looking for what arrives, and finding out when the run is over.

use super::Inner;
use super::control::Control;
use super::draining::EVENT_NBYTES;
use super::ending::Ending;
use super::state::State;
use super::task::Job;
use super::waiter::Waiter;
use crate::error::EventsError;
use crate::event::Rank;
use crate::limits;
use crate::sync::lock;
use crate::termination::{Action, Stage, Verdict};
use crate::transport::{Incoming, Joining, Outgoing, TransportError};
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

/// The shortest pause between waves that find nothing new, and before another attempt to send.
const MIN_PAUSE: Duration = Duration::from_micros(200);

/// How long a rank that has taken in all that it may leaves its tasks alone.
const FULL_PAUSE: Duration = Duration::from_millis(1);
/// The most messages that one call of [`Rank::progress`](super::Rank::progress) takes in.
const MESSAGES: usize = 256;

impl super::Rank {
    /// Takes in what has arrived and sends what waits, where the program has to see to that
    /// ([`Progress::Program`](super::Progress::Program)), and anywhere else; how many events and
    /// messages that was.
    ///
    /// # Errors
    ///
    /// If the run is over.
    pub fn progress(&self) -> Result<usize, EventsError> {
        let inner = &self.inner;
        let mut count = 0;
        if let Some(_polling) = inner.try_polling() {
            for _ in 0..MESSAGES {
                match inner.poll() {
                    0 => break,
                    found => count += found,
                }
            }
            inner.flush_outbox();
        }
        inner.check_over()?;
        Ok(count)
    }
}

impl Inner {
    /// Takes in what has arrived and does what is due; how much that was. Only with `polling`
    /// locked.
    pub(super) fn poll(&self) -> usize {
        self.poll_with(|_| {})
    }

    /// The same, by a worker that looks for something to do: it finds what is ready itself, and is given the first job at
    /// once, if no other comes before it.
    pub(super) fn poll_searching(&self) -> (usize, Option<Job>) {
        let mut next = None;
        let count = self.poll_with(|state| {
            // What is left when the run is over is not run.
            if self.has_job() || self.is_over() {
                self.publish(&mut state.jobs);
            } else if !state.jobs.is_empty() {
                self.pending.begin(state.jobs.len() as u64);
                next = state.jobs.pop_front();
                if !state.jobs.is_empty() {
                    self.change_first(|first| first.append(&mut state.jobs));
                }
                self.note_busy();
            }
        });
        (count, next)
    }

    fn poll_with(&self, taken_in: impl FnOnce(&mut State)) -> usize {
        let mut count = self.fire_timers();
        if self.is_full() {
            return count;
        }
        let (mut state, mut nbytes) = (None, 0);
        let found = self.transport.poll(&mut |source, incoming| {
            let state = state.get_or_insert_with(|| self.state());
            nbytes += EVENT_NBYTES + incoming.nbytes();
            self.receive(state, source, incoming);
        });
        if let Some(mut state) = state {
            taken_in(&mut state);
        }
        if nbytes > 0 {
            // Only who polls writes it, and `polling` is locked.
            self.drained.store(self.drained.load(Ordering::Relaxed) + nbytes, Ordering::Relaxed);
        }
        match found {
            Ok(found) => count += found,
            Err(error) => self.break_off(&mut self.state(), error.to_string()),
        }
        count
    }

    /// Whether what arrives is left where it is while tasks are there to run: a producer that is faster
    /// than they are would fill the memory. Only with `polling` locked.
    pub(super) fn is_full(&self) -> bool {
        if self.pending.count() == 0 {
            // All that came before was taken by tasks, or waits for other events.
            self.drained.store(0, Ordering::Relaxed);
            return false;
        }
        let holds_much = self.drained.load(Ordering::Relaxed) > self.config.inbox
            || self.jobs() > self.config.backlog;
        // Not if a task waits for room itself: those who are to make it may wait for room here.
        holds_much && self.pressed.load(Ordering::Acquire) == 0
    }

    fn receive(&self, state: &mut State, source: Rank, incoming: Incoming) {
        match incoming {
            Incoming::Event(event) => {
                state.received[source as usize] += 1;
                self.deliver(state, event);
            }
            Incoming::Piece(piece, total) => self.deliver_piece(state, piece, total),
            Incoming::Lost => self.on_lost(state, source),
            Incoming::Credit(_) | Incoming::Apart(..) | Incoming::Alive => {}
            Incoming::Joining(news) => self.on_joining(state, news),
            Incoming::Control(bytes) => match Control::decode(&bytes) {
                Some(Control::Termination(message)) => {
                    let mut actions = Vec::new();
                    state.detector.on_message(source, message, &mut actions);
                    self.act(state, actions);
                }
                Some(Control::Failed(failure)) => {
                    self.dismiss(state, &Control::Failed(failure.clone()));
                    self.end(state, Ending::Failed(source, failure));
                }
                Some(Control::Lost(rank)) if (rank as usize) < state.lost.len() => {
                    self.transport.lose(rank);
                    self.on_lost(state, rank);
                }
                Some(Control::Detached { sent, received }) => {
                    self.on_detached(state, source, sent, &received);
                }
                Some(Control::Waits(wait)) => {
                    state.clients.on_waits(source, wait);
                    state.activity += 1;
                }
                Some(Control::Resumes) => {
                    state.clients.on_resumes(source);
                    state.activity += 1;
                }
                Some(Control::Left { client, received }) => self.on_left(state, client, received),
                Some(Control::Lost(_) | Control::Stuck(_)) | None => {
                    let what = format!("rank {source} sent {} bytes of no meaning", bytes.len());
                    self.break_off(state, what);
                }
            },
        }
    }

    /// A rank without work takes part in finding out how the run stands; when to try again.
    pub(super) fn detect_end(&self) -> Option<Duration> {
        if self.pending.count() > 0 {
            return None;
        }
        let mut state = self.state();
        self.send_outbox(&mut state);
        let mut wait = (!state.outbox.is_empty()).then_some(MIN_PAUSE);
        while !self.is_over() && state.detector.is_asked() {
            let left = state.pause_until.map(|end| end.saturating_duration_since(Instant::now()));
            if let Some(left) = left.filter(|left| !left.is_zero()) {
                return Some(wait.map_or(left, |wait| wait.min(left)));
            }
            state.pause_until = None;
            let Some(quiet) = self.quiet(&state) else { break };
            let mut actions = Vec::new();
            state.detector.advance(quiet, &mut actions);
            self.act(&mut state, actions);
            wait = (!state.outbox.is_empty()).then_some(MIN_PAUSE);
        }
        wait
    }

    fn on_joining(&self, state: &mut State, news: Joining) {
        let mut actions = Vec::new();
        match news {
            Joining::Asks => {
                let lost: Vec<Rank> =
                    (0..self.ranks()).filter(|rank| state.lost[*rank as usize]).collect();
                if let Some(number) = state.detector.admit() {
                    self.transport.admit(number, &lost);
                }
            }
            Joining::Came => state.detector.on_come(&mut actions),
            Joining::Gone => state.detector.on_gone(),
        }
        self.act(state, actions);
    }

    pub(super) fn act(&self, state: &mut State, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Send(target, message) => {
                    let bytes = Control::Termination(message).encode();
                    self.send_control(state, target, bytes);
                }
                Action::Conclude(verdict) => self.conclude(state, verdict),
                Action::Pause => {
                    state.pause =
                        (state.pause * 2).clamp(MIN_PAUSE, limits::get().wave_pause.max(MIN_PAUSE));
                    state.pause_until = Some(Instant::now() + state.pause);
                }
                Action::Grow(ranks) => self.grow(state, ranks),
            }
        }
    }

    fn conclude(&self, state: &mut State, verdict: Verdict) {
        state.pause = Duration::ZERO;
        match verdict {
            Verdict::Ended => self.end(state, Ending::Ended),
            Verdict::Stuck => {
                let report = self.describe(state);
                self.dismiss(state, &Control::Stuck(report.clone()));
                self.end(state, Ending::Stuck(report));
            }
            Verdict::Drained if state.stage == Some(Stage::Draining) => {
                let thread = state.blocked.iter().find(|(_, blocked)| !blocked.waiter.in_task);
                if let Some(waiter) = thread.map(|(_, blocked)| blocked.waiter.clone()) {
                    self.wake(state, &waiter);
                }
            }
            Verdict::Drained => {}
        }
    }

    /// Sends from runtime to runtime, after what could not be sent before.
    pub(super) fn send_control(&self, state: &mut State, target: Rank, bytes: Vec<u8>) {
        if target == self.rank() {
            return;
        }
        state.outbox.push_back((target, bytes));
        self.send_outbox(state);
    }

    /// Sends what could not be sent before; whether nothing is left.
    pub(super) fn flush_outbox(&self) -> bool {
        let mut state = self.state();
        self.send_outbox(&mut state);
        state.outbox.is_empty()
    }

    fn send_outbox(&self, state: &mut State) {
        let mut full = vec![];
        state.outbox.retain(|(target, bytes)| {
            if full.contains(target) {
                return true;
            }
            let sent = self.transport.send(*target, &Outgoing::Control(bytes));
            let keep = matches!(sent, Err(TransportError::Full));
            if keep {
                full.push(*target);
            }
            keep
        });
        self.transport.flush();
    }

    /// What a program's thread does while it waits, where nobody else looks for what arrives.
    pub(super) fn poll_until(&self, waiter: &Waiter, timeout: Option<Duration>) {
        let (since, mut looking, mut looked) = (Instant::now(), Instant::now(), Instant::now());
        let interval = limits::get().signal_interval;
        let is_late = || timeout.is_some_and(|timeout| since.elapsed() >= timeout);
        while !waiter.is_woken() && !self.is_over() && !is_late() {
            if looked.elapsed() > interval {
                let host = self.config.host.as_ref().filter(|host| host.hears_signals());
                if host.is_some_and(|host| host.is_interrupted()) {
                    return;
                }
                looked = Instant::now();
            }
            let Some(_polling) = self.try_polling() else {
                waiter.sleep(Some(MIN_PAUSE));
                continue;
            };
            if self.poll() > 0 {
                looking = Instant::now();
            } else if looking.elapsed() < self.config.spin {
                std::thread::yield_now();
            } else {
                let rests = self.rests.load(Ordering::Acquire);
                let again = self.detect_end();
                let step = timeout.map_or(interval, |timeout| timeout.min(interval));
                let again = Some(again.map_or(step, |again| again.min(step)));
                self.sleep_in_transport(&|| !waiter.is_woken() && !self.is_over(), rests, again);
            }
        }
    }

    /// What a thread does that only looks for what arrives.
    pub(super) fn keep_polling(&self) {
        let polling = lock(&self.polling);
        let mut looking = Instant::now();
        while !self.is_over() {
            if self.poll() > 0 {
                looking = Instant::now();
            } else if self.is_full() {
                // The transport would not let it sleep.
                self.drainer.sleep(&|| !self.is_over(), Some(FULL_PAUSE));
            } else if looking.elapsed() < self.config.spin {
                std::thread::yield_now();
            } else {
                let rests = self.rests.load(Ordering::Acquire);
                let again = self.detect_end();
                self.sleep_in_transport(&|| !self.is_over(), rests, again);
            }
        }
        drop(polling);
    }

    /// Sleeps until something arrives or is due, unless somebody has come to a rest since `rests`
    /// was read.
    pub(super) fn sleep_in_transport(
        &self,
        is_idle: &dyn Fn() -> bool,
        rests: u64,
        again: Option<Duration>,
    ) {
        let due = self.due.load(Ordering::Acquire);
        let elapsed = self.start.elapsed().as_nanos() as u64;
        let until_due =
            (due != u64::MAX).then(|| Duration::from_nanos(due.saturating_sub(elapsed)));
        let timeout = [again, until_due].into_iter().flatten().min();
        let is_idle = || self.rests.load(Ordering::Acquire) == rests && is_idle();
        self.sleeps.store(true, Ordering::Relaxed);
        // Its partner is in `notify`; `is_idle` is asked after it.
        fence(Ordering::SeqCst);
        self.transport.sleep(&is_idle, timeout);
        self.sleeps.store(false, Ordering::Relaxed);
    }
}
