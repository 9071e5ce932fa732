//! A thread that waits, for events or for a lock.

use crate::event::Dependency;
use crate::payload::Events;
use crate::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use crate::sync::lock;
use crate::transport::futex;
use std::sync::Mutex;
use std::time::Duration;

/// Keeps its worker's place, and helps with progress.
const HELPING: u32 = 0;
/// Sleeps, and has given its place away.
const PARKED: u32 = 1;
/// May go on.
const WOKEN: u32 = 2;

/// A thread that waits.
#[derive(Debug)]
pub(super) struct Waiter {
    /// Whether it is a worker's, which runs something else meanwhile.
    pub in_task: bool,
    state: AtomicU32,
    /// What it waited for, or what of it had not come in time.
    outcome: Mutex<Option<Result<Events, Vec<Dependency>>>>,
    /// As which worker it goes on, if it gave its place away.
    place: AtomicUsize,
}

impl Waiter {
    /// A thread that is about to wait.
    pub fn new(in_task: bool) -> Self {
        let state = if in_task { HELPING } else { PARKED };
        let (state, place) = (AtomicU32::new(state), AtomicUsize::new(0));
        Self { in_task, state, outcome: Mutex::new(None), place }
    }

    /// What it waited for.
    pub fn fill(&self, events: Events) {
        *lock(&self.outcome) = Some(Ok(events));
    }

    /// Its time is over, and this has not come.
    pub fn expire(&self, lacks: Vec<Dependency>) {
        *lock(&self.outcome) = Some(Err(lacks));
    }

    /// What it waited for, or what of it had not come in time; none if it waits no more for another reason.
    pub fn take(&self) -> Option<Result<Events, Vec<Dependency>>> {
        lock(&self.outcome).take()
    }

    /// Says as which worker it goes on, before it is woken.
    pub fn set_place(&self, place: usize) {
        // Its partner is the load below, after the thread has seen that it may go on.
        self.place.store(place, Ordering::Relaxed);
    }

    /// As which worker it goes on.
    pub fn place(&self) -> usize {
        self.place.load(Ordering::Relaxed)
    }

    /// Lets the thread go on; whether it sleeps, so that it needs a worker's place.
    pub fn wake(&self) -> bool {
        // Its partners are the loads below: what it waited for is there.
        let before = self.state.swap(WOKEN, Ordering::AcqRel);
        if before == PARKED {
            futex::wake(&self.state, 1);
        }
        before == PARKED
    }

    /// Whether the thread may go on.
    pub fn is_woken(&self) -> bool {
        self.state.load(Ordering::Acquire) == WOKEN
    }

    /// The thread gives its place away and is about to sleep; false if it may go on instead.
    pub fn park(&self) -> bool {
        let order = Ordering::AcqRel;
        self.state.compare_exchange(HELPING, PARKED, order, Ordering::Acquire).is_ok()
    }

    /// Sleeps until it may go on or `timeout` is over; whether it may go on.
    pub fn sleep(&self, timeout: Option<Duration>) -> bool {
        loop {
            if self.is_woken() {
                return true;
            }
            futex::wait(&self.state, PARKED, timeout);
            if timeout.is_some() {
                return self.is_woken();
            }
        }
    }
}
