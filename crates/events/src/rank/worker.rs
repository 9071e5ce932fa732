//! Workers: threads that run tasks, and look for what arrives when there are none.
//!
//! As many threads as there are workers have a *place*. A thread that waits inside of a task
//! gives its place away, with the job to run there, and gets one back when its turn has come.

use super::task::{Done, Job};
use super::waiter::Waiter;
use super::{HAS_LOCKS, Inner, PLACE, Progress, Rank, WORKER_OF};
use crate::cores;
use crate::error::Failure;
use crate::matching::Given;
use crate::sync::lock;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// A thread without a place.
#[derive(Default)]
pub(super) struct Spare {
    gift: Mutex<Option<(Job, usize)>>,
    given: Condvar,
}

/// How many looks in a row before the processor is offered to others.
const LOOKS: u32 = 32;

/// What a thread with a place goes on with.
pub(super) enum Next {
    Job(Job),
    /// What it waits for is there.
    Woken,
    Over,
}

impl Inner {
    /// What a worker's thread does.
    pub(super) fn work(self: &Arc<Self>, first: Option<Job>, place: usize) {
        WORKER_OF.set(Arc::as_ptr(self).addr());
        self.take_place(place);
        let rank = Rank { inner: Arc::clone(self) };
        let mut job = first;
        loop {
            job = match job {
                None => match self.next(None) {
                    Next::Job(job) => Some(job),
                    Next::Woken | Next::Over => break,
                },
                Some(Job::Resume(waiter)) => {
                    waiter.set_place(PLACE.get());
                    if waiter.wake() {
                        match self.wait_for_place() {
                            Some((job, place)) => {
                                self.take_place(place);
                                Some(job)
                            }
                            None => break,
                        }
                    } else {
                        self.notify_all();
                        None
                    }
                }
                Some(job) => {
                    self.run(&rank, job);
                    None
                }
            };
        }
        WORKER_OF.set(0);
    }

    /// Finds something to do, or sleeps until there is. `waiter` is who asks, if it waits.
    pub(super) fn next(&self, waiter: Option<&Waiter>) -> Next {
        if let Some(next) = self.next_at_once(waiter) {
            return next;
        }
        self.searchers.begin();
        let (next, has_polled) = self.search(waiter);
        // Who pushed something meanwhile has left it to this thread, and somebody has to look for what arrives.
        if self.searchers.end() && self.has_job() {
            self.notify(1);
        } else if has_polled && self.workers() > 1 {
            self.idle.ring(1);
        }
        next
    }

    /// Looks for something to do until there is; and whether it has looked for what arrives.
    fn search(&self, waiter: Option<&Waiter>) -> (Next, bool) {
        let is_woken = || waiter.is_some_and(Waiter::is_woken);
        let is_idle = || !self.has_job() && !self.is_over() && !is_woken();
        let polls = self.config.progress == Progress::IdleWorker;
        let nobody_polls = || polls && self.try_polling().is_some();
        let (mut since, mut looks, mut has_polled) = (None, 0, false);
        loop {
            if let Some(next) = self.next_at_once(waiter) {
                return (next, has_polled);
            }
            let Some(polling) = polls.then(|| self.try_polling()).flatten() else {
                // Who polls has to see that nothing is left to do.
                if self.pending.count() == 0 {
                    self.note_rest();
                }
                self.searchers.pause(|look| {
                    let is_idle = || {
                        look();
                        is_idle() && !nobody_polls()
                    };
                    self.idle.sleep(&is_idle, None);
                });
                continue;
            };
            has_polled = true;
            // All that came before was taken by tasks, or waits for other events.
            self.drained.store(0, Ordering::Relaxed);
            let (found, first) = self.poll_searching();
            if let Some(job) = first {
                return (Self::go_on_with(job, waiter), has_polled);
            }
            if found > 0 {
                since = None;
            } else if is_idle() && !self.looks_on(&mut since, &mut looks) {
                // Not before: waves would slow down those who only wait for each other.
                let rests = self.rests.load(Ordering::Acquire);
                let again = self.detect_end();
                self.searchers.pause(|look| {
                    let is_idle = || {
                        look();
                        is_idle()
                    };
                    self.sleep_in_transport(&is_idle, rests, again);
                });
            }
            drop(polling);
        }
    }

    pub(super) fn has_job(&self) -> bool {
        !self.ready.is_empty() || self.first_len.load(Ordering::Acquire) > 0
    }

    /// What there is to do without waiting.
    fn next_at_once(&self, waiter: Option<&Waiter>) -> Option<Next> {
        if self.is_over() {
            return Some(Next::Over);
        }
        if waiter.is_some_and(Waiter::is_woken) {
            return Some(Next::Woken);
        }
        self.pop().map(|job| Self::go_on_with(job, waiter))
    }

    fn go_on_with(job: Job, waiter: Option<&Waiter>) -> Next {
        match (job, waiter) {
            (Job::Resume(other), Some(me)) if std::ptr::eq(me, &raw const *other) => {
                other.wake();
                Next::Woken
            }
            (job, _) => Next::Job(job),
        }
    }

    pub(super) fn try_polling(&self) -> Option<std::sync::MutexGuard<'_, ()>> {
        if !self.transport.may_poll() {
            return None;
        }
        match self.polling.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Whether to look once more before sleeping; `since` when it was found first that there is nothing. The clock is
    /// read seldom: that takes as long as many looks.
    fn looks_on(&self, since: &mut Option<Instant>, looks: &mut u32) -> bool {
        if self.config.spin.is_zero() {
            return false;
        }
        *looks += 1;
        if !looks.is_multiple_of(LOOKS) {
            std::hint::spin_loop();
            return true;
        }
        std::thread::yield_now();
        since.get_or_insert_with(Instant::now).elapsed() < self.config.spin
    }

    /// Changes what is to run before `ready`.
    pub(super) fn change_first<R>(&self, change: impl FnOnce(&mut VecDeque<Job>) -> R) -> R {
        let mut first = lock(&self.first);
        let result = change(&mut first);
        // Its partners are the loads of those who look whether there is a job.
        self.first_len.store(first.len(), Ordering::Release);
        result
    }

    pub(super) fn pop(&self) -> Option<Job> {
        if self.first_len.load(Ordering::Acquire) > 0 {
            let job = self.change_first(VecDeque::pop_front);
            if job.is_some() {
                return job;
            }
        }
        self.ready.pop()
    }

    /// This thread is a worker now, on the worker's core.
    pub(super) fn take_place(&self, place: usize) {
        PLACE.set(place);
        let cores = &self.config.cores;
        if cores.is_empty() {
            return;
        }
        let core = cores[place % cores.len()];
        if let Err(error) = cores::pin(core) {
            let what = format!("worker {place} of rank {} is not on core {core}", self.rank());
            crate::say(&format!("freestone events: {what}: {error}"));
        }
    }

    /// Runs a job in the place of a thread that waits; false if the thread may go on after all.
    pub(super) fn give_place(self: &Arc<Self>, waiter: &Waiter, job: Job) -> bool {
        if !waiter.park() {
            self.change_first(|first| first.push_front(job));
            self.notify(1);
            return false;
        }
        let (spare, place) = (lock(&self.spares).pop(), PLACE.get());
        if let Some(spare) = spare {
            *lock(&spare.gift) = Some((job, place));
            spare.given.notify_one();
        } else if let Err(error) = Self::spawn(self, move |inner| inner.work(Some(job), place)) {
            self.break_off(&mut self.state(), error.to_string());
        }
        true
    }

    /// Sleeps until somebody gives its place away, with a job; none at the end of the run.
    fn wait_for_place(&self) -> Option<(Job, usize)> {
        let spare = Arc::new(Spare::default());
        lock(&self.spares).push(Arc::clone(&spare));
        let mut gift = lock(&spare.gift);
        loop {
            if let Some(given) = gift.take() {
                return Some(given);
            }
            if self.is_over() {
                return None;
            }
            // The end may be told between the look and the sleep.
            let step = Duration::from_millis(100);
            let woken = spare.given.wait_timeout(gift, step);
            gift = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(super) fn wake_spares(&self) {
        for spare in lock(&self.spares).iter() {
            spare.given.notify_one();
        }
    }

    fn run(&self, rank: &Rank, job: Job) {
        let done = catch_unwind(AssertUnwindSafe(|| match job {
            Job::Call(body) => body.call(rank, Vec::new()),
            Job::Run(task, Given::Events(events)) => {
                self.note_begun(&task, &events);
                task.run(rank, events)
            }
            Job::Run(task, Given::All(id)) => {
                let mut state = self.state();
                let mut ready = Vec::new();
                let events = state.matcher.gather(id, &mut ready);
                self.enqueue(&mut state, &mut ready);
                drop(state);
                self.note_begun(&task, &events);
                task.run(rank, events)
            }
            // Neither is a task.
            Job::Resume(_) | Job::Run(_, Given::Begun(_)) => Ok(()),
        }));
        self.finish_task(done.unwrap_or_else(|panic| Err(panic_text(&*panic))));
    }

    fn finish_task(&self, done: Done) {
        self.note_paused();
        if HAS_LOCKS.take() {
            let mut state = self.state();
            let mut granted = Vec::new();
            state.locks.let_go(Self::thread(), &mut granted);
            self.grant(&mut state, granted);
        }
        if let Err(failure) = done {
            self.fail(failure);
        }
        self.pending.end();
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> Failure {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Failure::text(&format!("it panicked: {}", text.unwrap_or("without a message")))
}
