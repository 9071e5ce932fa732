//! Workers that stay between pipelines: threads that sleep until there is a job.
//!
//! Whoever waits, a worker for a job or the caller for its end, looks for a moment before it sleeps:
//! one small pipeline follows another, and to wake a thread takes longer than some of them.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::numa;

/// How long to look before sleeping: a few times what it takes to be woken. In between, threads of
/// others go first.
const LOOKED_FOR: Duration = Duration::from_micros(100);

/// What every worker does: it is given its number.
type Job = dyn Fn(usize) + Sync;

struct State {
    /// Counts jobs; a worker that has not seen the last one has something to do.
    round: u64,
    job: Option<&'static Job>,
    workers: usize,
    places: Option<Vec<usize>>,
    panicked: bool,
    threads: usize,
    /// Workers that sleep.
    asleep: usize,
    /// Whether who gave the job sleeps.
    is_awaited: bool,
}

struct Shared {
    state: Mutex<State>,
    /// The state's round, to be looked at without the lock.
    round: AtomicU64,
    /// Workers that have not ended the job.
    busy: AtomicUsize,
    /// Workers wait for a job.
    wake: Condvar,
    /// Who gave the job waits for its end.
    done: Condvar,
}

/// Threads that run jobs together with the thread that gives them.
pub struct Pool {
    shared: Arc<Shared>,
    /// One job at a time.
    turn: Mutex<()>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic of a job is told by `panicked`; the state itself is always whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// The pool of this process; a forked child makes its own.
    pub fn global() -> &'static Self {
        static POOLS: OnceLock<Mutex<Vec<(u32, &'static Pool)>>> = OnceLock::new();
        let mut pools = locked(POOLS.get_or_init(Mutex::default));
        let process = std::process::id();
        if let Some((_, pool)) = pools.iter().find(|(id, _)| *id == process) {
            return pool;
        }
        let state = State {
            round: 0,
            job: None,
            workers: 0,
            places: None,
            panicked: false,
            threads: 0,
            asleep: 0,
            is_awaited: false,
        };
        let shared = Shared {
            state: Mutex::new(state),
            round: AtomicU64::new(0),
            busy: AtomicUsize::new(0),
            wake: Condvar::new(),
            done: Condvar::new(),
        };
        let pool: &'static Self =
            Box::leak(Box::new(Self { shared: Arc::new(shared), turn: Mutex::new(()) }));
        pools.push((process, pool));
        pool
    }

    /// Runs `job(0)` to `job(workers - 1)`, the first here, the others on threads of their own.
    ///
    /// With `places`, each worker stays on its processor meanwhile.
    ///
    /// # Panics
    ///
    /// If a job panics; the pool goes on.
    pub fn run(&self, workers: usize, places: Option<&[usize]>, job: &(dyn Fn(usize) + Sync)) {
        let _turn = locked(&self.turn);
        let before = places.map(|_| numa::pinned());
        let threads = self.grown(workers.saturating_sub(1));
        // A system that gives no more threads gets fewer workers: whoever runs takes all tasks.
        let workers = workers.min(threads + 1);
        // SAFETY: the job is forgotten before this function returns, and no worker has it then.
        let lasting: &'static Job =
            unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static Job>(job) };
        if workers > 1 {
            self.shared.give(lasting, workers, places);
        }
        if let Some(places) = places {
            numa::pin(&places[..1.min(places.len())]);
        }
        let own = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job(0)));
        if let Some(before) = before {
            numa::pin(&before);
        }
        let panicked = workers > 1 && self.shared.ended();
        if let Err(payload) = own {
            std::panic::resume_unwind(payload);
        }
        assert!(!panicked, "a worker of the vector engine panicked");
    }

    fn grown(&self, wanted: usize) -> usize {
        let mut state = locked(&self.shared.state);
        while state.threads < wanted {
            let (shared, number) = (Arc::clone(&self.shared), state.threads + 1);
            let seen = state.round;
            let name = format!("freestone-vector-{number}");
            let body = move || work(&shared, number, seen);
            if thread::Builder::new().name(name).spawn(body).is_err() {
                break;
            }
            state.threads += 1;
        }
        state.threads
    }
}

/// Looks again and again, for a while, whether something holds.
fn looked(holds: impl Fn() -> bool) -> bool {
    let begin = Instant::now();
    while !holds() {
        if begin.elapsed() > LOOKED_FOR {
            return false;
        }
        thread::yield_now();
    }
    true
}

impl Shared {
    /// Gives a job to the workers but the first, who is the caller.
    fn give(&self, job: &'static Job, workers: usize, places: Option<&[usize]>) {
        let mut state = locked(&self.state);
        state.round += 1;
        state.job = Some(job);
        state.workers = workers;
        state.places = places.map(<[usize]>::to_vec);
        state.panicked = false;
        // Relaxed: workers look only when they have had the lock.
        self.busy.store(workers - 1, Ordering::Relaxed);
        // Relaxed: who sees it takes the lock for the rest.
        self.round.store(state.round, Ordering::Relaxed);
        let asleep = state.asleep > 0;
        drop(state);
        if asleep {
            self.wake.notify_all();
        }
    }

    /// Waits until the job has ended; tells whether a worker panicked.
    fn ended(&self) -> bool {
        // Acquire: what workers wrote, they wrote before they were no longer busy (`left`).
        let over = || self.busy.load(Ordering::Acquire) == 0;
        looked(over);
        let mut state = locked(&self.state);
        state.is_awaited = true;
        while !over() {
            state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_awaited = false;
        state.job = None;
        state.panicked
    }

    /// A worker has ended the job.
    fn left(&self, panicked: bool) {
        if panicked {
            locked(&self.state).panicked = true;
        }
        // Release: with `ended`.
        if self.busy.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        // Under the lock: who waits either has not looked yet, or sleeps.
        let is_awaited = locked(&self.state).is_awaited;
        if is_awaited {
            self.done.notify_all();
        }
    }

    /// Waits for a job that comes after the round `seen`.
    fn next(&self, seen: u64) -> MutexGuard<'_, State> {
        // Relaxed: the lock gives the rest.
        looked(|| self.round.load(Ordering::Relaxed) != seen);
        let mut state = locked(&self.state);
        while state.round == seen {
            state.asleep += 1;
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.asleep -= 1;
        }
        state
    }
}

fn work(shared: &Shared, number: usize, mut seen: u64) {
    let everywhere = numa::pinned();
    let mut is_pinned = false;
    loop {
        let (job, place) = {
            let state = shared.next(seen);
            seen = state.round;
            if number >= state.workers {
                continue;
            }
            let place = state.places.as_ref().and_then(|places| places.get(number).copied());
            (state.job.expect("a round that is not over has its job"), place)
        };
        if let Some(place) = place {
            numa::pin(&[place]);
            is_pinned = true;
        } else if is_pinned {
            numa::pin(&everywhere);
            is_pinned = false;
        }
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job(number)));
        shared.left(result.is_err());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn every_worker_runs_each_job_once() {
        for workers in [1, 3, 2, 5, 1, 4] {
            let bits = AtomicU64::new(0);
            Pool::global().run(workers, None, &|number| {
                bits.fetch_add(1 << (8 * number), Ordering::Relaxed);
            });
            let expected = (0..workers).map(|number| 1 << (8 * number)).sum::<u64>();
            assert_eq!(bits.load(Ordering::Relaxed), expected);
        }
    }

    #[test]
    fn workers_stay_on_their_processors_and_are_let_go() {
        let all = numa::pinned();
        let one = all[all.len() - 1];
        // What a worker sees is kept, not asserted there: its panic would hide the values.
        let seen = |places: Option<&[usize]>| {
            let found = Mutex::new(Vec::new());
            Pool::global().run(3, places, &|_| locked(&found).push(numa::pinned()));
            found.into_inner().unwrap_or_else(PoisonError::into_inner)
        };
        assert_eq!(seen(Some(&[one, one, one])), vec![vec![one]; 3]);
        assert_eq!(seen(None), vec![all.clone(); 3]);
        assert_eq!(numa::pinned(), all);
    }

    #[test]
    fn a_panic_is_told_and_the_pool_goes_on() {
        let broken = std::panic::catch_unwind(|| {
            Pool::global().run(2, None, &|number| assert!(number == 0, "meant to panic"));
        });
        assert!(broken.is_err());
        let count = AtomicU64::new(0);
        Pool::global().run(2, None, &|_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(count.load(Ordering::Relaxed), 2);
    }
}
