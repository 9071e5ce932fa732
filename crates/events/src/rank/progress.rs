//! Looking for what arrives, and finding out when the run is over.

use super::Inner;
use super::control::Control;
use super::draining::EVENT_NBYTES;
use super::ending::Ending;
use super::state::State;
use crate::event::Rank;
use crate::sync::lock;
use crate::termination::{Action, Stage, Verdict};
use crate::transport::{Incoming, Joining, Outgoing, TransportError};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The shortest and the longest pause between waves that find nothing new.
const PAUSES: [Duration; 2] = [Duration::from_micros(200), Duration::from_millis(50)];

impl Inner {
    /// Takes in what has arrived and does what is due; how much that was. Only with `polling`
    /// locked.
    pub(super) fn poll(&self) -> usize {
        let mut count = self.fire_timers();
        // While tasks are there to run, what arrives can wait where it is: a producer that is
        // faster than they are is slowed down. Not if a task waits for room itself: those who
        // are to make it may wait for room here.
        let is_pressed = self.pressed.load(Ordering::Acquire) > 0;
        if self.ready.len() > self.config.backlog && !is_pressed {
            return count;
        }
        let (mut state, mut nbytes) = (None, 0);
        let found = self.transport.poll(&mut |source, incoming| {
            let state = state.get_or_insert_with(|| self.state());
            nbytes += EVENT_NBYTES + incoming.nbytes();
            self.receive(state, source, incoming);
        });
        drop(state);
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

    fn receive(&self, state: &mut State, source: Rank, incoming: Incoming) {
        match incoming {
            Incoming::Event(event) => {
                state.received[source as usize] += 1;
                self.deliver(state, event);
            }
            Incoming::Piece(piece, total) => self.deliver_piece(state, piece, total),
            Incoming::Lost => self.on_lost(state, source),
            Incoming::Credit(_) => {}
            Incoming::Joining(news) => self.on_joining(state, news),
            Incoming::Control(bytes) => match Control::decode(&bytes) {
                Some(Control::Termination(message)) => {
                    let mut actions = Vec::new();
                    state.detector.on_message(source, message, &mut actions);
                    self.act(state, actions);
                }
                Some(Control::Failed(failure)) => {
                    self.end(state, Ending::Failed(source, failure));
                }
                None => {
                    let what = format!("rank {source} sent {} bytes of no meaning", bytes.len());
                    self.break_off(state, what);
                }
            },
        }
    }

    /// A rank without work takes part in finding out how the run stands; when to try again.
    pub(super) fn detect_end(&self) -> Option<Duration> {
        if self.pending.load(Ordering::Acquire) > 0 {
            return None;
        }
        let mut state = self.state();
        self.send_outbox(&mut state);
        let mut wait = (!state.outbox.is_empty()).then_some(PAUSES[0]);
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
            wait = (!state.outbox.is_empty()).then_some(PAUSES[0]);
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
                    state.pause = (state.pause * 2).clamp(PAUSES[0], PAUSES[1]);
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

    /// What a thread does that only looks for what arrives.
    pub(super) fn keep_polling(&self) {
        let polling = lock(&self.polling);
        let mut looking = Instant::now();
        while !self.is_over() {
            if self.poll() > 0 {
                looking = Instant::now();
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
        self.transport.sleep(&is_idle, timeout);
    }
}
