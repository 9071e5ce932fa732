//! What a client waits on: a cell that is resolved once, by the manager's thread.

use crate::manager::Outcome;
use crate::wire::{Output, Payload};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A place for one outcome; clones of it are the same place.
///
/// Each call that has not ended has one, so it is small: 24 bytes until somebody waits or the outcome
/// comes.
#[derive(Clone, Debug, Default)]
pub struct Cell(triomphe::Arc<Mutex<Option<Box<State>>>>);

#[derive(Debug)]
enum State {
    /// Somebody waits.
    Awaited(Awaited),
    /// A small value, as most calls give.
    Inline(Payload),
    /// Any other outcome.
    Resolved(Box<Outcome>),
}

#[derive(Debug, Default)]
struct Awaited {
    /// Notified if there are threads that wait for it.
    ready: Option<Arc<Condvar>>,
    listeners: Vec<(Arc<Completions>, u64)>,
}

impl State {
    fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Ready(Output::Inline(bytes)) => Self::Inline(bytes),
            outcome => Self::Resolved(Box::new(outcome)),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_resolved(state: Option<&State>) -> bool {
    matches!(state, Some(State::Inline(_) | State::Resolved(_)))
}

/// Who waits, from now on at the latest.
fn awaited(state: &mut Option<Box<State>>) -> Option<&mut Awaited> {
    let state = state.get_or_insert_with(|| Box::new(State::Awaited(Awaited::default())));
    match &mut **state {
        State::Awaited(awaited) => Some(awaited),
        State::Inline(_) | State::Resolved(_) => None,
    }
}

impl Cell {
    /// A cell that is resolved from the start.
    pub fn resolved(outcome: Outcome) -> Self {
        let cell = Self::default();
        cell.resolve(outcome);
        cell
    }

    /// Whether there is an outcome.
    pub fn is_resolved(&self) -> bool {
        is_resolved(lock(&self.0).as_deref())
    }

    /// The outcome, if there is one.
    pub fn outcome(&self) -> Option<Outcome> {
        self.inspect(Outcome::clone)
    }

    /// Looks at the outcome, if there is one.
    pub fn inspect<R>(&self, look: impl FnOnce(&Outcome) -> R) -> Option<R> {
        match lock(&self.0).as_deref()? {
            State::Awaited(_) => None,
            State::Inline(bytes) => Some(look(&Outcome::Ready(Output::Inline(bytes.clone())))),
            State::Resolved(outcome) => Some(look(outcome)),
        }
    }

    /// Puts the outcome in and wakes whoever waits. The first outcome stays.
    pub fn resolve(&self, outcome: Outcome) {
        let mut state = lock(&self.0);
        if is_resolved(state.as_deref()) {
            return;
        }
        let former = state.replace(Box::new(State::of(outcome)));
        drop(state);
        let Some(State::Awaited(awaited)) = former.map(|state| *state) else { return };
        if let Some(ready) = awaited.ready {
            ready.notify_all();
        }
        for (completions, key) in awaited.listeners {
            completions.push(key);
        }
    }

    /// Waits until there is an outcome: first `spin` by yielding the processor, which sees it
    /// after microseconds, then asleep. False when `timeout` ends first.
    pub fn wait(&self, spin: Duration, timeout: Duration) -> bool {
        if self.is_resolved() {
            return true;
        }
        let start = Instant::now();
        while start.elapsed() < spin.min(timeout) {
            std::thread::yield_now();
            if self.is_resolved() {
                return true;
            }
        }
        let mut state = lock(&self.0);
        while let Some(awaited) = awaited(&mut state) {
            let Some(left) = timeout.checked_sub(start.elapsed()) else { return false };
            let ready = Arc::clone(awaited.ready.get_or_insert_default());
            let (guard, _) =
                ready.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
            state = guard;
        }
        true
    }

    /// Pushes `key` to `completions` as soon as there is an outcome, at once if there is one.
    pub fn listen(&self, completions: &Arc<Completions>, key: u64) {
        let mut state = lock(&self.0);
        if let Some(awaited) = awaited(&mut state) {
            awaited.listeners.push((Arc::clone(completions), key));
        } else {
            drop(state);
            completions.push(key);
        }
    }
}

/// Keys of cells in the order in which they were resolved.
#[derive(Debug, Default)]
pub struct Completions {
    keys: Mutex<VecDeque<u64>>,
    ready: Condvar,
}

impl Completions {
    /// Adds a key.
    pub fn push(&self, key: u64) {
        lock(&self.keys).push_back(key);
        self.ready.notify_one();
    }

    /// The keys so far, after waiting for the first one up to `timeout`.
    pub fn take(&self, timeout: Duration) -> Vec<u64> {
        let keys = lock(&self.keys);
        let (mut keys, _) = self
            .ready
            .wait_timeout_while(keys, timeout, |keys| keys.is_empty())
            .unwrap_or_else(PoisonError::into_inner);
        keys.drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome() -> Outcome {
        Outcome::Statistics(Box::default())
    }

    #[test]
    fn a_waiter_sees_what_another_thread_resolves() {
        let cell = Cell::default();
        let other = cell.clone();
        let thread = std::thread::spawn(move || other.resolve(outcome()));
        assert!(cell.wait(Duration::ZERO, Duration::from_secs(60)));
        assert_eq!(cell.outcome(), Some(outcome()));
        thread.join().expect("the thread ends");
    }

    #[test]
    fn a_cell_that_nobody_waits_for_is_small() {
        assert_eq!(size_of::<Cell>(), 8);
        assert_eq!(size_of::<Mutex<Option<Box<State>>>>(), 16);
    }

    #[test]
    fn a_small_value_comes_back_as_the_outcome_that_it_is() {
        let value = Outcome::Ready(Output::Inline(Payload::from(&b"value"[..])));
        let cell = Cell::resolved(value.clone());
        cell.resolve(outcome());
        assert!(cell.is_resolved());
        assert_eq!(cell.outcome(), Some(value));
    }

    #[test]
    fn a_wait_ends() {
        assert!(!Cell::default().wait(Duration::from_micros(10), Duration::from_millis(1)));
    }

    #[test]
    fn listeners_are_notified_once_before_or_after() {
        let completions = Arc::new(Completions::default());
        let cell = Cell::default();
        cell.listen(&completions, 1);
        cell.resolve(outcome());
        cell.resolve(outcome());
        cell.listen(&completions, 2);
        assert_eq!(completions.take(Duration::ZERO), [1, 2]);
        assert!(completions.take(Duration::ZERO).is_empty());
    }
}
