//! What is to happen at a certain time.

use super::waiter::Waiter;
use crate::event::EventId;
use crate::matching::RequestId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Which timer.
pub(super) type TimerKey = (Instant, u64);

/// What happens.
#[derive(Debug)]
pub(super) enum Timer {
    /// An event of this rank's to itself, once.
    Once(EventId),
    /// The same again and again.
    Tick(EventId, Duration),
    /// A batch has waited long enough for more events.
    Batch(RequestId),
    /// A wait ends without what it was for.
    Expire(RequestId, Arc<Waiter>),
}

/// The timers of a rank.
#[derive(Debug, Default)]
pub(super) struct Timers {
    by_time: BTreeMap<TimerKey, Timer>,
    count: u64,
    ticking: usize,
}

impl Timers {
    pub fn add(&mut self, at: Instant, timer: Timer) -> TimerKey {
        self.count += 1;
        self.ticking += usize::from(matches!(timer, Timer::Tick(..)));
        let key = (at, self.count);
        self.by_time.insert(key, timer);
        key
    }

    pub fn remove(&mut self, key: TimerKey) -> Option<Timer> {
        let timer = self.by_time.remove(&key)?;
        self.ticking -= usize::from(matches!(timer, Timer::Tick(..)));
        Some(timer)
    }

    /// Takes back all events with an identifier that are still to come; how many timers that were.
    pub fn stop(&mut self, id: &EventId) -> usize {
        let fires = |timer: &Timer| matches!(timer, Timer::Once(other) | Timer::Tick(other, _) if other == id);
        let found: Vec<_> =
            self.by_time.iter().filter(|(_, timer)| fires(timer)).map(|(key, _)| *key).collect();
        found.into_iter().filter_map(|key| self.remove(key)).count()
    }

    /// The next that is due.
    pub fn take_due(&mut self, now: Instant) -> Option<(TimerKey, Timer)> {
        let (&key, _) = self.by_time.first_key_value().filter(|((at, _), _)| *at <= now)?;
        self.remove(key).map(|timer| (key, timer))
    }

    /// When the next is due.
    pub fn next(&self) -> Option<Instant> {
        self.by_time.first_key_value().map(|((at, _), _)| *at)
    }

    /// Whether something will happen once.
    pub fn holds(&self) -> bool {
        self.by_time.len() > self.ticking
    }

    /// What is fired again and again.
    pub fn ticking(&self) -> impl Iterator<Item = &EventId> {
        let timers = self.by_time.values().filter(|_| self.ticking > 0);
        timers.filter_map(|timer| match timer {
            Timer::Tick(id, _) => Some(id),
            _ => None,
        })
    }
}
