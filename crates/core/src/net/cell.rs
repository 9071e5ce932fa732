//! What a client waits on: a cell that is resolved once, by the manager's thread.

use crate::manager::Outcome;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A place for one outcome.
#[derive(Debug, Default)]
pub struct Cell {
    /// Pairs with itself: set after `inner.outcome`, so whoever sees it set sees the outcome.
    resolved: AtomicBool,
    inner: Mutex<Inner>,
    ready: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    outcome: Option<Outcome>,
    waiting: bool,
    listeners: Vec<(Arc<Completions>, u64)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.resolved.load(Ordering::Acquire)
    }

    /// The outcome, if there is one.
    pub fn outcome(&self) -> Option<Outcome> {
        if self.is_resolved() { lock(&self.inner).outcome.clone() } else { None }
    }

    /// Looks at the outcome, if there is one, without a copy.
    pub fn inspect<R>(&self, look: impl FnOnce(&Outcome) -> R) -> Option<R> {
        if self.is_resolved() { lock(&self.inner).outcome.as_ref().map(look) } else { None }
    }

    /// Puts the outcome in and wakes whoever waits. The first outcome stays.
    pub fn resolve(&self, outcome: Outcome) {
        let mut inner = lock(&self.inner);
        if inner.outcome.is_some() {
            return;
        }
        inner.outcome = Some(outcome);
        self.resolved.store(true, Ordering::Release);
        let listeners = std::mem::take(&mut inner.listeners);
        let waiting = inner.waiting;
        drop(inner);
        if waiting {
            self.ready.notify_all();
        }
        for (completions, key) in listeners {
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
        let mut inner = lock(&self.inner);
        while inner.outcome.is_none() {
            let Some(left) = timeout.checked_sub(start.elapsed()) else { return false };
            inner.waiting = true;
            let (guard, _) =
                self.ready.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner);
            inner = guard;
        }
        true
    }

    /// Pushes `key` to `completions` as soon as there is an outcome, at once if there is one.
    pub fn listen(&self, completions: &Arc<Completions>, key: u64) {
        let mut inner = lock(&self.inner);
        if inner.outcome.is_some() {
            drop(inner);
            completions.push(key);
        } else {
            inner.listeners.push((Arc::clone(completions), key));
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
        let cell = Arc::new(Cell::default());
        let other = Arc::clone(&cell);
        let thread = std::thread::spawn(move || other.resolve(outcome()));
        assert!(cell.wait(Duration::ZERO, Duration::from_secs(60)));
        assert_eq!(cell.outcome(), Some(outcome()));
        thread.join().expect("the thread ends");
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
