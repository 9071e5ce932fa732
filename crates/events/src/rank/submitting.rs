//! Submitting tasks.

use super::body::OnceBody;
use super::firing::LONGEST_ID;
use super::task::{Done, Job, Label, Task, Work};
use super::{RANK_LOST, Rank};
use crate::error::EventsError;
use crate::event::{Dependency, Source};
use crate::matching::{Mode, Submission};
use crate::payload::Events;
use std::panic::Location;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How a task is to be submitted.
#[derive(Clone, Debug, Default)]
pub struct Submit {
    /// The events that it needs.
    pub on: Vec<Dependency>,
    /// Whether it persists, and whether it is greedy.
    pub mode: Mode,
    /// By what it can be found and removed.
    pub name: Option<String>,
    /// What people call it; where it was submitted, if nothing.
    pub label: Option<Label>,
    /// For how long its first event waits until there are `mode.at_least`.
    pub within: Duration,
}

impl Submit {
    /// A task that runs when `on` is met.
    pub fn on(on: Vec<Dependency>) -> Self {
        Self { on, ..Self::default() }
    }

    /// The same, that stays.
    #[must_use]
    pub fn persistent(mut self) -> Self {
        self.mode.persistent = true;
        self
    }

    /// The same, that takes all events that are there.
    #[must_use]
    pub fn greedy(mut self) -> Self {
        self.mode.greedy = true;
        self
    }

    /// The same, with a name.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }
}

impl Rank {
    /// Submits a task that runs once, when its dependencies are met; at once if it has none.
    /// Never waits.
    ///
    /// # Errors
    ///
    /// If a dependency names a rank that there is not, or the run is over.
    #[track_caller]
    pub fn submit(
        &self,
        submit: Submit,
        body: impl FnOnce(&Rank, Events) -> Done + Send + 'static,
    ) -> Result<(), EventsError> {
        let inner = &self.inner;
        // Who reports slow tasks has to know what this one is called.
        let is_watched = inner.config.slow_task.is_some();
        if submit.on.is_empty() && submit.name.is_none() && !is_watched {
            if inner.is_over() {
                return inner.check_over();
            }
            inner.push_at_once(Job::Call(OnceBody::new(body)));
            return Ok(());
        }
        let place = Location::caller();
        self.submit_work(submit, place, Work::Once(Mutex::new(Some(OnceBody::new(body)))))
    }

    /// Submits a task that can run any number of times, if `submit` says that it persists.
    ///
    /// # Errors
    ///
    /// If a dependency names a rank that there is not, or the run is over.
    #[track_caller]
    pub fn submit_many(
        &self,
        submit: Submit,
        body: impl Fn(&Rank, Events) -> Done + Send + Sync + 'static,
    ) -> Result<(), EventsError> {
        self.submit_work(submit, Location::caller(), Work::Many(Box::new(body)))
    }

    /// Whether a task of this name waits for events.
    pub fn is_submitted(&self, name: &str) -> bool {
        self.inner.state().matcher.is_submitted(name)
    }

    /// Removes the tasks of this name that are not ready; how many. Events that they have taken
    /// go to others, or wait.
    pub fn remove(&self, name: &str) -> usize {
        let mut state = self.inner.state();
        let mut ready = Vec::new();
        let removed = state.matcher.remove(name, &mut ready);
        self.inner.enqueue(&mut state, &mut ready);
        state.activity += 1;
        // Who drops a task may fire an event.
        drop(state);
        removed.len()
    }

    fn submit_work(
        &self,
        submit: Submit,
        place: &'static Location<'static>,
        work: Work,
    ) -> Result<(), EventsError> {
        self.check(&submit.on)?;
        let Submit { on, mode, name, label, within } = submit;
        if mode.at_least > 0 && !mode.greedy {
            return Err(EventsError::NotGreedy { at_least: mode.at_least });
        }
        let label = label.unwrap_or(Label::Place(place));
        let task = Arc::new(Task { label, work, within });
        let mut state = self.inner.state();
        self.inner.check_over()?;
        state.activity += 1;
        let mut ready = std::mem::take(&mut state.ready);
        state.expects_loss |= on.iter().any(is_loss);
        state.matcher.submit(Submission { task, on, mode, name }, &mut ready);
        self.inner.enqueue(&mut state, &mut ready);
        state.ready = ready;
        Ok(())
    }

    /// Looks for ranks that there are not and identifiers that are too long.
    pub(super) fn check(&self, on: &[Dependency]) -> Result<(), EventsError> {
        let (ranks, clients) = (self.ranks(), self.clients());
        for dependency in on {
            match dependency.source {
                Source::Rank(rank) if rank >= ranks + clients => {
                    return Err(EventsError::NoSuchRank { rank, ranks });
                }
                _ => {}
            }
            let len = dependency.id.as_bytes().len();
            if len > LONGEST_ID {
                return Err(EventsError::LongId { len, limit: LONGEST_ID });
            }
        }
        if on.iter().any(is_loss) {
            self.inner.state().expects_loss = true;
        }
        Ok(())
    }
}

fn is_loss(dependency: &Dependency) -> bool {
    dependency.id.as_bytes() == RANK_LOST.as_bytes()
}
