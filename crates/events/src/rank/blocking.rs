//! Waiting for events and for locks.

use super::state::Blocked;
use super::task::{Label, Task, Work};
use super::timers::Timer;
use super::waiter::Waiter;
use super::worker::Next;
use super::{HAS_LOCKS, Inner, Progress, Rank};
use crate::error::EventsError;
use crate::event::Dependency;
use crate::limits;
use crate::matching::{Given, Submission};
use crate::payload::Events;
use crate::termination::Stage;
use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

impl Rank {
    /// Waits for events; they come in the order of the dependencies. Inside of a task its locks
    /// are let go meanwhile, and its worker runs other tasks.
    ///
    /// # Errors
    ///
    /// If the run ends before, or `timeout` is over.
    #[track_caller]
    pub fn wait(
        &self,
        on: Vec<Dependency>,
        timeout: Option<Duration>,
    ) -> Result<Events, EventsError> {
        self.check(&on)?;
        self.inner.wait(on, timeout, Label::Place(Location::caller()))
    }

    /// The same, for what people know by this name.
    ///
    /// # Errors
    ///
    /// Those of [`wait`](Self::wait).
    pub fn wait_as(
        &self,
        label: Label,
        on: Vec<Dependency>,
        timeout: Option<Duration>,
    ) -> Result<Events, EventsError> {
        self.check(&on)?;
        self.inner.wait(on, timeout, label)
    }

    /// Takes at most one event for each dependency, of those that are there: with the index of
    /// the dependency. Does not wait.
    ///
    /// # Errors
    ///
    /// If a dependency names a rank that there is not.
    pub fn retrieve_any(
        &self,
        on: &[Dependency],
    ) -> Result<Vec<(usize, crate::Event<crate::payload::Payload>)>, EventsError> {
        self.check(on)?;
        Ok(self.inner.state().matcher.retrieve(on))
    }

    /// Takes a lock of this rank, waiting for it. It is let go at the end of the task, if not
    /// before.
    ///
    /// # Errors
    ///
    /// If the run ends before.
    #[track_caller]
    pub fn lock(&self, name: &str) -> Result<(), EventsError> {
        self.inner.lock(name, Label::Place(Location::caller()))
    }

    /// The same, for what people know by `label`.
    ///
    /// # Errors
    ///
    /// Those of [`lock`](Self::lock).
    pub fn lock_as(&self, label: Label, name: &str) -> Result<(), EventsError> {
        self.inner.lock(name, label)
    }

    /// Takes a lock if nobody else has it; whether this task has it now.
    pub fn try_lock(&self, name: &str) -> bool {
        HAS_LOCKS.set(true);
        self.inner.state().locks.try_lock(Inner::thread(), name)
    }

    /// Whether this task has a lock.
    pub fn holds_lock(&self, name: &str) -> bool {
        self.inner.state().locks.holds(Inner::thread(), name)
    }

    /// The locks of this task, in the order in which it took them.
    pub fn held_locks(&self) -> Vec<String> {
        if !HAS_LOCKS.get() {
            return Vec::new();
        }
        self.inner.state().locks.of(Inner::thread())
    }

    /// Lets go of a lock.
    ///
    /// # Errors
    ///
    /// If this task does not have it.
    pub fn unlock(&self, name: &str) -> Result<(), EventsError> {
        let mut state = self.inner.state();
        let mut granted = Vec::new();
        state.locks.unlock(Inner::thread(), name, &mut granted)?;
        self.inner.grant(&mut state, granted);
        Ok(())
    }
}

impl Inner {
    fn wait(
        self: &Arc<Self>,
        on: Vec<Dependency>,
        timeout: Option<Duration>,
        label: Label,
    ) -> Result<Events, EventsError> {
        let (thread, in_task) = (Self::thread(), self.in_task());
        let waiter = Arc::new(Waiter::new(in_task));
        let mut state = self.state();
        self.check_over()?;
        let work = Work::Wake(Arc::clone(&waiter));
        let task = Task { label: label.clone(), work, within: Duration::ZERO };
        let mut ready = Vec::new();
        let request = state.matcher.submit(Submission::once(Arc::new(task), on), &mut ready);
        if let Some(ready) = ready.pop()
            && let Given::Events(events) = ready.given
        {
            return Ok(events);
        }
        let mut granted = Vec::new();
        let names = state.locks.let_go(thread, &mut granted);
        self.grant(&mut state, granted);
        let timer = timeout.map(|timeout| {
            let timer = Timer::Expire(request, Arc::clone(&waiter));
            self.add_timer(&mut state, Instant::now() + timeout, timer)
        });
        let blocked = Blocked { waiter: Arc::clone(&waiter), lock: None, label: None };
        state.blocked.insert(thread, blocked);
        if !in_task {
            state.stage = Some(Stage::Waiting);
        }
        drop(state);
        self.block(&waiter);
        let outcome = waiter.take();
        let mut state = self.state();
        state.blocked.remove(&thread);
        if let Some(key) = timer {
            state.timers.remove(key);
        }
        let interrupted = self.check_interrupted(&mut state, &waiter);
        if interrupted.is_err() {
            let mut ready = Vec::new();
            state.matcher.withdraw(request, &mut ready);
            self.enqueue(&mut state, &mut ready);
        }
        self.take_back(state, names, label)?;
        interrupted?;
        match outcome {
            Some(Ok(events)) => Ok(events),
            Some(Err(lacks)) => {
                self.check_over()?;
                Err(EventsError::timeout(&lacks, timeout.unwrap_or_default()))
            }
            // Only the end of the run wakes a wait otherwise.
            None => self.check_over().and(Err(EventsError::Over)),
        }
    }

    fn lock(self: &Arc<Self>, name: &str, label: Label) -> Result<(), EventsError> {
        HAS_LOCKS.set(true);
        let mut state = self.state();
        self.check_over()?;
        if state.locks.lock(Self::thread(), name) {
            return Ok(());
        }
        self.wait_for_lock(state, name.to_owned(), label)
    }

    fn take_back(
        self: &Arc<Self>,
        mut state: super::Held<'_>,
        names: Vec<String>,
        label: Label,
    ) -> Result<(), EventsError> {
        if names.is_empty() {
            return Ok(());
        }
        HAS_LOCKS.set(true);
        let all = names.join(", ");
        if state.locks.take_back(Self::thread(), names) {
            return Ok(());
        }
        self.wait_for_lock(state, all, label)
    }

    fn wait_for_lock(
        self: &Arc<Self>,
        mut state: super::Held<'_>,
        name: String,
        label: Label,
    ) -> Result<(), EventsError> {
        let (thread, in_task) = (Self::thread(), self.in_task());
        let waiter = Arc::new(Waiter::new(in_task));
        let blocked = Blocked { waiter: Arc::clone(&waiter), lock: Some(name), label: Some(label) };
        state.blocked.insert(thread, blocked);
        if !in_task {
            state.stage = Some(Stage::Waiting);
        }
        drop(state);
        self.block(&waiter);
        let mut state = self.state();
        state.blocked.remove(&thread);
        self.check_interrupted(&mut state, &waiter)?;
        self.check_over()
    }

    /// Sleeps until the waiter is woken or the run is over. In a task the worker does something
    /// else meanwhile.
    pub(super) fn block(self: &Arc<Self>, waiter: &Waiter) {
        if !waiter.in_task {
            self.block_program(waiter);
            return;
        }
        self.pending.end();
        let paused = self.note_paused();
        while let Next::Job(job) = self.next(Some(waiter)) {
            if self.give_place(waiter, job) {
                waiter.sleep(None);
                self.take_place(waiter.place());
                break;
            }
        }
        self.note_resumed(paused);
    }

    fn block_program(&self, waiter: &Waiter) {
        // Whoever polls has to see that the program waits.
        self.note_rest();
        if self.config.progress == Progress::Program && self.transport.may_poll() {
            self.poll_until(waiter, None);
            return;
        }
        let Some(host) = self.config.host.as_ref().filter(|host| host.hears_signals()) else {
            waiter.sleep(None);
            return;
        };
        let interval = Some(limits::get().signal_interval);
        while !waiter.sleep(interval) && !host.is_interrupted() {}
    }

    /// An error if a wait was given up: it is as if the program had not waited.
    pub(super) fn check_interrupted(
        &self,
        state: &mut super::State,
        waiter: &Waiter,
    ) -> Result<(), EventsError> {
        if waiter.is_woken() || waiter.in_task {
            return Ok(());
        }
        state.stage = None;
        state.activity += 1;
        self.check_over()?;
        Err(EventsError::Interrupted)
    }

    pub(super) fn check_over(&self) -> Result<(), EventsError> {
        match self.ending.get() {
            None => Ok(()),
            Some(ending) => Err(ending.error().unwrap_or(EventsError::Over)),
        }
    }
}
