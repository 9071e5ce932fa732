//! Executors that were stopped by a signal, they or the process in which they run a call: they end
//! nothing, and nobody else ends them.
//!
//! One that has something to do and has not ended a call for a second is looked at each second. One
//! that is found stopped each time, for as long as the settings say, is killed: its calls go to
//! others, or to the one that is started in its place.

use super::Worker;
use super::api::{Action, Now};
use super::executors::{Executor, Health};
use crate::wire::{SIGSTOP, TaskFailure};

/// How often those that should be doing something are looked at.
const POLL_INTERVAL_NS: Now = 1_000_000_000;
/// After a longer gap this process was stopped itself, and what it saw before says nothing.
const GAP_NS: Now = 3 * POLL_INTERVAL_NS;

fn is_busy(executor: &Executor) -> bool {
    match executor.health {
        Health::Starting => true,
        Health::Ready => !executor.in_flight.is_empty(),
        Health::Dying | Health::Dead { .. } | Health::Absent => false,
    }
}

impl Executor {
    /// Whether it is being killed since it stayed stopped.
    fn is_ended_for_being_stopped(&self) -> bool {
        self.health == Health::Dying && self.killed_for.is_none() && self.stopped_since.is_some()
    }

    /// Why it died: one that stayed stopped did so by the signal that stopped it, if only in the end.
    pub(super) fn cause(&self, why: TaskFailure) -> TaskFailure {
        if self.is_ended_for_being_stopped() {
            return TaskFailure::Killed { signal: Some(SIGSTOP), status: None };
        }
        why
    }

    /// When to look whether it is stopped.
    pub(super) fn look_at(&self) -> Option<Now> {
        is_busy(self).then(|| self.moved_at.max(self.looked_at) + POLL_INTERVAL_NS)
    }
}

impl Worker {
    /// Has executors looked at that should be doing something.
    pub(super) fn look_for_stopped(&mut self, now: Now, out: &mut Vec<Action>) {
        for (index, executor) in (0..).zip(&mut self.executors) {
            if executor.look_at().is_some_and(|at| at <= now) {
                if now - executor.looked_at > GAP_NS {
                    executor.stopped_since = None;
                }
                executor.looked_at = now;
                let is_isolated = executor.in_flight.front().is_some_and(|call| call.is_isolated);
                out.push(Action::Look { executor: index, is_isolated });
            }
        }
    }

    pub(super) fn on_looked(
        &mut self,
        index: u32,
        is_stopped: bool,
        now: Now,
        out: &mut Vec<Action>,
    ) {
        let stopped_ns = self.config.stopped_ns;
        let Some(executor) = self.executors.get_mut(index as usize) else { return };
        if !is_stopped || !is_busy(executor) {
            executor.stopped_since = None;
            return;
        }
        let since = *executor.stopped_since.get_or_insert(now);
        if now.saturating_sub(since) >= stopped_ns {
            executor.kill(index, out);
        }
    }
}
