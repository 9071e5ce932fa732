//! Tasks that run for long, or never return: a report names each, where its worker is missed.

use super::task::Task;
use super::{Inner, Rank};
use crate::event::Event;
use crate::payload::{Events, Payload};
use crate::sync::lock;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many events of a task are named.
const NAMED: usize = 3;

/// A task that runs, where such are looked for.
pub(super) struct Running {
    task: Arc<Task>,
    /// The events that it was given, for people.
    events: String,
    since: Instant,
    is_reported: bool,
}

impl Inner {
    /// This thread begins with a task, which is given these events.
    pub(super) fn note_begun(&self, task: &Arc<Task>, events: &Events) {
        if self.config.slow_task.is_some() {
            let (task, since) = (Arc::clone(task), Instant::now());
            let running = Running { task, events: listed(events), since, is_reported: false };
            lock(&self.running).insert(Self::thread(), running);
        }
    }

    /// This thread's task has ended, or waits: what it was, to go on with.
    pub(super) fn note_paused(&self) -> Option<Running> {
        self.config.slow_task.and_then(|_| lock(&self.running).remove(&Self::thread()))
    }

    /// This thread's task goes on.
    pub(super) fn note_resumed(&self, paused: Option<Running>) {
        if let Some(running) = paused {
            let running = Running { since: Instant::now(), ..running };
            lock(&self.running).insert(Self::thread(), running);
        }
    }

    /// Says on stderr, once, which task runs for longer than `period` without a wait.
    pub(super) fn watch_tasks(&self, period: Duration) {
        while !self.is_over() {
            self.watchers.sleep(&|| !self.is_over(), Some(period.min(Duration::from_secs(1)) / 2));
            let mut found = Vec::new();
            for running in lock(&self.running).values_mut() {
                if !running.is_reported && running.since.elapsed() >= period {
                    running.is_reported = true;
                    found.push(describe(running));
                }
            }
            for text in found {
                let rank = self.rank();
                crate::say(&format!(
                    "freestone events: rank {rank}: {text}; its worker runs no other task until it returns"
                ));
            }
        }
    }
}

impl Rank {
    /// The tasks that run for longer than [`Config::slow_task`](super::Config::slow_task), for people.
    pub fn slow_tasks(&self) -> Vec<String> {
        let Some(period) = self.inner.config.slow_task else { return Vec::new() };
        let running = lock(&self.inner.running);
        running.values().filter(|one| one.since.elapsed() >= period).map(describe).collect()
    }
}

fn describe(running: &Running) -> String {
    let Running { task, events, since, .. } = running;
    format!("{}{events} has run for {:.1?}", task.label, since.elapsed())
}

/// The first events of a task, and how many more there are.
fn listed(events: &Events) -> String {
    let one = |event: &Event<Payload>| format!("'{}' from rank {}", event.id, event.source);
    let first: Vec<_> = events.iter().take(NAMED).map(one).collect();
    match events.len().saturating_sub(NAMED) {
        0 if first.is_empty() => String::new(),
        0 => format!(", with {},", first.join(", ")),
        more => format!(", with {} and {more} more,", first.join(", ")),
    }
}
