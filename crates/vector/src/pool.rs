//! Workers that stay between pipelines: threads that sleep until there is a job.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::numa;

/// How long a thread looks for what it waits for before it sleeps: to be woken takes longer than
/// a short pipeline, and the next one often comes at once.
const SPIN: Duration = Duration::from_micros(100);

/// What every worker does: it is given its number.
type Job = dyn Fn(usize) + Sync;

struct State {
    /// Counts jobs; a worker that has not seen the last one has something to do.
    round: u64,
    job: Option<&'static Job>,
    workers: usize,
    places: Option<Vec<usize>>,
    busy: usize,
    panicked: bool,
    threads: usize,
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

    /// Returns the state once it is as wanted: looks for a while, then sleeps until it is told.
    fn when(&self, signal: &Condvar, wanted: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let begin = Instant::now();
        loop {
            let changes = self.changes.load(Ordering::Acquire);
            let state = locked(&self.state);
            if wanted(&state) {
                return state;
            }
            drop(state);
            while self.changes.load(Ordering::Acquire) == changes {
                if begin.elapsed() > SPIN {
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
            busy: 0,
            panicked: false,
            threads: 0,
        };
        let shared = Shared {
            state: Mutex::new(state),
            changes: AtomicU64::new(0),
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
        {
            let mut state = locked(&self.shared.state);
            state.round += 1;
            state.job = Some(lasting);
            state.workers = workers;
            state.places = places.map(<[usize]>::to_vec);
            state.busy = workers.saturating_sub(1);
            state.panicked = false;
            self.shared.change();
        }
        if workers > 1 {
            self.shared.wake.notify_all();
        }
        if let Some(places) = places {
            numa::pin(&places[..1.min(places.len())]);
        }
        let own = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job(0)));
        if let Some(before) = before {
            numa::pin(&before);
        }
        let mut state = self.shared.when(&self.shared.done, |state| state.busy == 0);
        state.job = None;
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
    loop {
        let (job, place) = {
            let state = shared.when(&shared.wake, |state| state.round != seen);
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
    fn a_panic_is_reported_and_the_pool_goes_on() {
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
