//! Workers that stay between pipelines: threads that sleep until there is a job.
//!
//! See docs/decisions/113-threads-that-get-no-processor-are-not-waited-for.md

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::numa;

/// How long a thread looks for what it waits for before it sleeps: to be woken takes longer than
/// a short pipeline, and the next one often comes at once. Not on the processor of who gave the job,
/// which would stand still meanwhile.
const SPIN: Duration = Duration::from_micros(100);

/// A worker that is waited for longer than this after all parts were taken has lost its processor, as a rule.
const LOST: Duration = Duration::from_micros(500);

/// How long no worker moves to another processor after one has lost its own.
const STAY: Duration = Duration::from_millis(50);

/// What every worker does: it is given its number.
type Job = dyn Fn(usize) + Sync;

struct State {
    /// Counts jobs.
    round: u64,
    /// What workers may still join.
    job: Option<&'static Job>,
    workers: usize,
    places: Option<Vec<usize>>,
    /// The processor that who gave the job ran on.
    processor: i32,
    /// Workers that have joined, and have not ended.
    busy: usize,
    /// Whether one of them has joined on the processor of who gave the job.
    crowded: bool,
    /// Until when other processors are taken to have enough to do.
    full_until: Option<Instant>,
    panicked: bool,
    threads: usize,
}

impl State {
    /// Whether a worker on the processor of who gave the job should move to another one.
    fn has_others_free(&self) -> bool {
        self.full_until.is_none_or(|end| Instant::now() >= end)
    }
}

struct Shared {
    state: Mutex<State>,
    /// Changes when there is a job, and when the last worker has ended it; for who spins.
    changes: AtomicU64,
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

impl Shared {
    /// Tells who spins that the state has changed; it is locked.
    fn change(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// Returns the state once it is as wanted: looks for so long, then sleeps until it is woken.
    fn when(
        &self,
        signal: &Condvar,
        spin: Duration,
        wanted: impl Fn(&State) -> bool,
    ) -> MutexGuard<'_, State> {
        let begin = Instant::now();
        loop {
            let changes = self.changes.load(Ordering::Acquire);
            let state = locked(&self.state);
            if wanted(&state) {
                return state;
            }
            drop(state);
            while self.changes.load(Ordering::Acquire) == changes {
                if begin.elapsed() >= spin {
                    let state = locked(&self.state);
                    return signal
                        .wait_while(state, |state| !wanted(state))
                        .unwrap_or_else(PoisonError::into_inner);
                }
                // No yielding: a thread of a library that spins as well would keep the processor
                // for its whole turn, and who is woken from sleep comes before it.
                std::hint::spin_loop();
            }
        }
    }
}

impl Pool {
    fn new() -> Self {
        let state = State {
            round: 0,
            job: None,
            workers: 0,
            places: None,
            processor: -1,
            busy: 0,
            crowded: false,
            full_until: None,
            panicked: false,
            threads: 0,
        };
        let shared = Shared {
            state: Mutex::new(state),
            changes: AtomicU64::new(0),
            wake: Condvar::new(),
            done: Condvar::new(),
        };
        Self { shared: Arc::new(shared), turn: Mutex::new(()) }
    }

    /// The pool of this process; a forked child makes its own.
    pub fn global() -> &'static Self {
        static POOLS: OnceLock<Mutex<Vec<(u32, &'static Pool)>>> = OnceLock::new();
        let mut pools = locked(POOLS.get_or_init(Mutex::default));
        let process = std::process::id();
        if let Some((_, pool)) = pools.iter().find(|(id, _)| *id == process) {
            return pool;
        }
        let pool: &'static Self = Box::leak(Box::new(Self::new()));
        pools.push((process, pool));
        pool
    }

    /// Runs `job(0)` here, and up to `job(workers - 1)` on threads of their own meanwhile.
    ///
    /// Whoever runs takes all that is left to do: a thread that gets no processor before `job(0)` has
    /// ended is not waited for, and does not run. With `places`, each worker stays on its processor.
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
        if let Some(places) = places {
            numa::pin(&places[..1.min(places.len())]);
        }
        {
            let mut state = locked(&self.shared.state);
            state.round += 1;
            state.job = Some(lasting);
            state.workers = workers;
            state.places = places.map(<[usize]>::to_vec);
            state.panicked = false;
            state.processor = numa::processor();
            state.crowded = false;
            self.shared.change();
        }
        if workers > 1 {
            self.shared.wake.notify_all();
        }
        let own = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job(0)));
        if let Some(before) = before {
            numa::pin(&before);
        }
        let begin = Instant::now();
        let spin = {
            let mut state = locked(&self.shared.state);
            state.job = None;
            // Who is waited for needs this processor.
            if state.crowded { Duration::ZERO } else { SPIN }
        };
        let mut state = self.shared.when(&self.shared.done, spin, |state| state.busy == 0);
        if begin.elapsed() > LOST {
            state.full_until = Some(Instant::now() + STAY);
        }
        let panicked = state.panicked;
        drop(state);
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

fn work(shared: &Shared, number: usize, mut seen: u64) {
    let everywhere = numa::pinned();
    let mut is_pinned = false;
    let mut spin = SPIN;
    loop {
        let (job, place) = {
            let mut state = shared.when(&shared.wake, spin, |state| state.round != seen);
            if state.processor == numa::processor() {
                // Woken where who gave the job runs: it goes on, and this thread elsewhere.
                let moves = state.has_others_free();
                drop(state);
                if !(moves && numa::leave()) {
                    thread::yield_now();
                }
                state = locked(&shared.state);
            }
            seen = state.round;
            let Some(job) = state.job.filter(|_| number < state.workers) else { continue };
            state.busy += 1;
            let beside = state.processor != numa::processor();
            state.crowded |= !beside;
            spin = if beside { SPIN } else { Duration::ZERO };
            let place = state.places.as_ref().and_then(|places| places.get(number).copied());
            (job, place)
        };
        if let Some(place) = place {
            numa::pin(&[place]);
            is_pinned = true;
        } else if is_pinned {
            numa::pin(&everywhere);
            is_pinned = false;
        }
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job(number)));
        let mut state = locked(&shared.state);
        state.panicked |= result.is_err();
        state.busy -= 1;
        if state.busy == 0 {
            shared.change();
            shared.done.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// Runs a job on all of some workers: nobody ends before all have begun.
    fn run_all(workers: usize, places: Option<&[usize]>, job: &(dyn Fn(usize) + Sync)) {
        let begun = Barrier::new(workers);
        Pool::global().run(workers, places, &|number| {
            begun.wait();
            job(number);
        });
    }

    #[test]
    fn every_worker_runs_each_job_once() {
        for workers in [1, 3, 2, 5, 1, 4] {
            let bits = AtomicU64::new(0);
            run_all(workers, None, &|number| {
                bits.fetch_add(1 << (8 * number), Ordering::Relaxed);
            });
            let expected = (0..workers).map(|number| 1 << (8 * number)).sum::<u64>();
            assert_eq!(bits.load(Ordering::Relaxed), expected);
        }
    }

    #[test]
    fn a_thread_that_gets_no_processor_is_not_waited_for() {
        let pool = Pool::new();
        // As if its thread were there, and never ran.
        locked(&pool.shared.state).threads = 1;
        let ran = Mutex::new(Vec::new());
        for _ in 0..3 {
            pool.run(2, None, &|number| locked(&ran).push(number));
        }
        assert_eq!(*locked(&ran), [0, 0, 0]);
        assert!(locked(&pool.shared.state).job.is_none());
    }

    #[test]
    fn no_worker_moves_after_one_was_waited_for() {
        let pool = Pool::new();
        pool.run(1, None, &|_| ());
        assert!(locked(&pool.shared.state).has_others_free());
        let begun = Barrier::new(2);
        pool.run(2, None, &|number| {
            begun.wait();
            if number == 1 {
                while locked(&pool.shared.state).job.is_some() {
                    thread::yield_now();
                }
                thread::sleep(2 * LOST);
            }
        });
        assert!(locked(&pool.shared.state).full_until.is_some());
    }

    #[test]
    fn workers_stay_on_their_processors_and_are_let_go() {
        let all = numa::pinned();
        let one = all[all.len() - 1];
        // What a worker sees is kept, not asserted there: its panic would hide the values.
        let seen = |places: Option<&[usize]>| {
            let found = Mutex::new(Vec::new());
            run_all(3, places, &|_| locked(&found).push(numa::pinned()));
            found.into_inner().unwrap_or_else(PoisonError::into_inner)
        };
        assert_eq!(seen(Some(&[one, one, one])), vec![vec![one]; 3]);
        assert_eq!(seen(None), vec![all.clone(); 3]);
        assert_eq!(numa::pinned(), all);
    }

    #[test]
    fn a_panic_is_reported_and_the_pool_goes_on() {
        let broken = std::panic::catch_unwind(|| {
            run_all(2, None, &|number| assert!(number == 0, "meant to panic"));
        });
        assert!(broken.is_err());
        let count = AtomicU64::new(0);
        run_all(2, None, &|_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(count.load(Ordering::Relaxed), 2);
    }
}
