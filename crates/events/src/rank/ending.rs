//! How runs end.

use super::firing::Awaited;
use super::state::{Blocked, State};
use super::task::Work;
use super::waiter::Waiter;
use super::{Inner, Progress, Rank};
use crate::error::{EventsError, Failure};
use crate::event::Rank as RankNumber;
use crate::matching::Leftover;
use crate::payload::{Data, Payload};
use crate::sync::lock;
use crate::termination::Stage;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How a run ended.
#[derive(Clone, Debug)]
pub(super) enum Ending {
    Ended,
    Failed(RankNumber, Failure),
    Lost(RankNumber),
    Stuck(String),
    Broken(String),
}

impl Ending {
    pub fn error(&self) -> Option<EventsError> {
        match self.clone() {
            Self::Ended => None,
            Self::Failed(rank, failure) => Some(EventsError::TaskFailed { rank, failure }),
            Self::Lost(rank) => Some(EventsError::RankLost { rank }),
            Self::Stuck(report) => Some(EventsError::Stuck { report }),
            Self::Broken(what) => {
                let source = std::io::Error::other("the run cannot go on");
                Some(EventsError::Transport(crate::transport::TransportError::Io { what, source }))
            }
        }
    }
}

/// What is left when a run has ended well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Events that persistent tasks took and for which the others never came.
    pub held: Vec<Leftover>,
}

impl Rank {
    /// Waits until nothing is left to do on any rank, and goes on: all tasks that are not
    /// persistent have run, and all events are consumed. Every rank has to call it, or be at its end.
    ///
    /// # Errors
    ///
    /// If the run ends meanwhile, or this is a task.
    pub fn drain(&self) -> Result<(), EventsError> {
        let inner = &self.inner;
        let waiter = inner.rest(Stage::Draining, "drain")?;
        inner.block(&waiter);
        let mut state = inner.state();
        state.blocked.remove(&Inner::thread());
        inner.check_interrupted(&mut state, &waiter)?;
        inner.check_over()
    }

    /// Waits for the end of the run, up to `timeout`; whether it has come. The program is done,
    /// and submits and fires nothing any more.
    ///
    /// # Errors
    ///
    /// If this is a task.
    pub fn wait_end(&self, timeout: Option<Duration>) -> Result<bool, EventsError> {
        let inner = &self.inner;
        if inner.is_over() {
            return Ok(true);
        }
        let waiter = inner.rest(Stage::Ending, "finish")?;
        inner.note_rest();
        let woken = if inner.config.progress == Progress::Program {
            inner.poll_until(&waiter, timeout);
            waiter.is_woken()
        } else {
            waiter.sleep(timeout)
        };
        Ok(woken || inner.is_over())
    }

    /// Waits for the end of the run and of the rank's threads.
    ///
    /// # Errors
    ///
    /// If the run did not end well, or this is a task.
    pub fn finish(&self) -> Result<Summary, EventsError> {
        while !self.wait_end(None)? {}
        let inner = &self.inner;
        inner.join();
        inner.transport.leave();
        inner.say_dropped();
        let by_value = |payload: &Payload| !matches!(payload.data, Data::Value(_));
        let mut state = inner.state();
        let held = state.matcher.held(by_value);
        // Tasks may refer to this rank: together they would stay for ever.
        let matcher = std::mem::take(&mut state.matcher);
        drop(state);
        drop(matcher);
        while inner.pop().is_some() {}
        inner.check_ended().map(|()| Summary { held })
    }

    /// Ends the run with a failure, on all ranks.
    pub fn fail(&self, failure: Failure) {
        self.inner.fail(failure);
    }

    /// What waits on this rank, and for what, for people.
    pub fn report(&self) -> String {
        self.inner.describe(&self.inner.state())
    }

    /// Whether the run is over.
    pub fn is_over(&self) -> bool {
        self.inner.is_over()
    }

    /// What has ended the run, if it has not ended well.
    pub fn error(&self) -> Option<EventsError> {
        self.inner.ending.get().and_then(Ending::error)
    }
}

impl Inner {
    /// The program has come to a rest.
    fn rest(&self, at: Stage, call: &'static str) -> Result<Arc<Waiter>, EventsError> {
        if self.in_task() {
            return Err(EventsError::InTask { call });
        }
        let waiter = Arc::new(Waiter::new(false));
        let mut state = self.state();
        if self.is_over() {
            waiter.wake();
            return Ok(waiter);
        }
        if state.stage != Some(at) {
            state.activity += 1;
        }
        state.stage = Some(at);
        let blocked = Blocked { waiter: Arc::clone(&waiter), lock: None, label: None };
        state.blocked.insert(Self::thread(), blocked);
        Ok(waiter)
    }

    /// Ends the run for this rank.
    pub(super) fn end(&self, state: &mut State, ending: Ending) {
        if self.ending.set(ending).is_err() {
            return;
        }
        self.is_over.store(true, Ordering::Release);
        for blocked in state.blocked.values() {
            blocked.waiter.wake();
        }
        self.wake_spares();
        self.wake_watcher();
        self.notify_all();
    }

    /// Ends the run with a failure, for all ranks.
    pub(super) fn fail(&self, failure: Failure) {
        let mut state = self.state();
        if self.is_over() {
            return;
        }
        self.tell_failure(&mut state, &failure);
        self.end(&mut state, Ending::Failed(self.rank(), failure));
    }

    /// Ends the run for all ranks, because this one can't go on.
    pub(super) fn break_off(&self, state: &mut State, what: String) {
        if self.is_over() {
            return;
        }
        self.tell_failure(state, &Failure::text(&format!("the rank cannot go on: {what}")));
        self.end(state, Ending::Broken(what));
    }

    fn tell_failure(&self, state: &mut State, failure: &Failure) {
        let bytes = super::control::Control::Failed(failure.clone()).encode();
        for target in 0..self.ranks() {
            self.send_control(state, target, bytes.clone());
        }
        self.dismiss(state, &super::control::Control::Failed(failure.clone()));
    }

    fn check_ended(&self) -> Result<(), EventsError> {
        self.ending.get().and_then(Ending::error).map_or(Ok(()), Err)
    }

    /// Waits for the threads, and sends what is left to say.
    fn join(&self) {
        loop {
            let Some(thread) = lock(&self.threads).pop() else { break };
            let _ = thread.join();
        }
        let end = Instant::now() + Duration::from_secs(1);
        while !self.flush_outbox() && Instant::now() < end {
            std::thread::yield_now();
        }
    }

    /// What waits, for people.
    pub(super) fn describe(&self, state: &State) -> String {
        let mut text = format!("rank {}:", self.rank());
        for waiting in state.matcher.waiting() {
            let what = match &waiting.task.work {
                Work::Wake(_) => "a wait of",
                _ if waiting.persistent => "persistent task",
                _ => "task",
            };
            if waiting.persistent && waiting.holds == 0 {
                continue;
            }
            let lacks: Vec<_> = waiting.lacks.iter().take(5).map(ToString::to_string).collect();
            let more = waiting.lacks.len().saturating_sub(5);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let label = &waiting.task.label;
            let holds = waiting.holds;
            let lacks = lacks.join(", ");
            let _ = write!(text, "\n  {what} {label} lacks {lacks}{more}; it has {holds} events");
        }
        for blocked in state.blocked.values() {
            if let (Some(name), Some(label)) = (&blocked.lock, &blocked.label) {
                let _ = write!(text, "\n  {label} waits for lock '{name}'");
            }
        }
        for leftover in state.matcher.unconsumed().iter().take(20) {
            let _ = write!(text, "\n  nobody consumes {leftover}");
        }
        for awaited in lock(&self.awaited).values() {
            let Awaited { target, id, since } = awaited;
            let waited = since.elapsed();
            let _ = write!(
                text,
                "\n  fire of '{id}' has waited {waited:.1?} for room at rank {target}: its tasks are busy"
            );
        }
        for (condition, id) in &state.watches {
            let _ = write!(text, "\n  '{id}' comes when the machine is {condition:?}");
        }
        for line in state.clients.describe() {
            let _ = write!(text, "\n  {line}");
        }
        let pending = self.pending.count();
        if pending > 0 {
            let _ = write!(text, "\n  {pending} tasks are ready or run");
        }
        if state.stage.is_none() {
            let _ = write!(text, "\n  the program itself runs");
        }
        if text.ends_with(':') {
            text.push_str(" nothing waits here");
        }
        text
    }

    /// Says on stderr what waits, whenever nothing has happened for `period`.
    pub(super) fn watch(&self, period: Duration) {
        let (mut before, mut since) = (None, Instant::now());
        while !self.is_over() {
            self.watchers.sleep(&|| !self.is_over(), Some(period.min(Duration::from_secs(1)) / 2));
            let state = self.state();
            let now = (state.activity, self.pending.begun());
            if before != Some(now) {
                (before, since) = (Some(now), Instant::now());
            } else if since.elapsed() >= period && !self.is_over() {
                let report = self.describe(&state);
                drop(state);
                let what = format!("nothing has happened for {period:?}\n{report}");
                crate::say(&format!("freestone events: {what}"));
                since = Instant::now();
            }
        }
    }
}
