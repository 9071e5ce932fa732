//! Many trials, one seed each, on several threads: what fails is given out as it comes.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// So long takes no trial.
const STUCK: Duration = Duration::from_secs(60);
/// How often threads are looked at that may be stuck.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// How often a survey reports how far it is.
const PROGRESS: Duration = Duration::from_secs(30);
/// What stands for the failure of a trial that does not end.
pub const NEVER_ENDS: &str = "  never ends";
/// What stands for the seed of a thread that runs no trial, or whose place another one took.
const NONE: u64 = u64::MAX;

/// The trial of one seed; what went wrong in it, if anything.
type Trial = fn(u64) -> Option<String>;

/// What a survey says.
pub enum Finding {
    /// The trial of a seed failed.
    Wrong(u64, String),
    /// It goes on for so long already.
    Progress(Duration),
}

/// Trials that are to be run, by all threads.
struct Trials {
    trial: Trial,
    next: AtomicU64,
    end: u64,
    ended: AtomicU64,
}

impl Trials {
    /// Runs trials one after another, each noted in `at`; tells what fails, and at last that there
    /// are no more.
    fn work(&self, at: &AtomicU64, tell: &mpsc::Sender<Option<(u64, String)>>) {
        // The orders pair with nothing: only the numbers matter.
        loop {
            let seed = self.next.fetch_add(1, Ordering::Relaxed);
            if seed >= self.end {
                let _ = tell.send(None);
                return;
            }
            at.store(seed, Ordering::Relaxed);
            let wrong = catch_unwind(AssertUnwindSafe(|| (self.trial)(seed)));
            if at.swap(NONE, Ordering::Relaxed) == NONE {
                return;
            }
            self.ended.fetch_add(1, Ordering::Relaxed);
            let wrong = wrong.unwrap_or_else(|panic| Some(words_of(&*panic)));
            if wrong.is_some_and(|wrong| tell.send(Some((seed, wrong))).is_err()) {
                return;
            }
        }
    }
}

fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let words = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("of something");
    format!("  a panic: {words}")
}

/// A thread as it was last seen: in which trial, and since when.
struct Worker {
    at: Arc<AtomicU64>,
    seed: u64,
    since: Instant,
}

/// The findings of a survey, in the order in which they come. When they are dropped, the threads
/// end with the next one.
pub struct Survey {
    trials: Arc<Trials>,
    tell: mpsc::Sender<Option<(u64, String)>>,
    findings: mpsc::Receiver<Option<(u64, String)>>,
    workers: Vec<Worker>,
    left: usize,
    began: Instant,
    reported: Instant,
    looked: Instant,
}

impl Survey {
    /// Runs the trials of seeds on so many threads. Threads that are stuck in a trial are left
    /// alone, and others go on in their place.
    pub fn new(seeds: Range<u64>, threads: usize, trial: Trial) -> Self {
        let (next, ended) = (AtomicU64::new(seeds.start), AtomicU64::new(0));
        let (tell, findings) = mpsc::channel();
        let now = Instant::now();
        let mut survey = Self {
            trials: Arc::new(Trials { trial, next, end: seeds.end, ended }),
            tell,
            findings,
            workers: Vec::new(),
            left: threads,
            began: now,
            reported: now,
            looked: now,
        };
        survey.workers = (0..threads).map(|_| survey.start()).collect();
        survey
    }

    /// How many trials have ended.
    pub fn ended(&self) -> u64 {
        self.trials.ended.load(Ordering::Relaxed)
    }

    fn start(&self) -> Worker {
        let at = Arc::new(AtomicU64::new(NONE));
        let (trials, tell, its) = (Arc::clone(&self.trials), self.tell.clone(), Arc::clone(&at));
        thread::spawn(move || trials.work(&its, &tell));
        Worker { at, seed: NONE, since: Instant::now() }
    }

    /// The trial that takes far too long, if there is one; another thread goes on in its place.
    fn stuck(&mut self) -> Option<u64> {
        for index in 0..self.workers.len() {
            let worker = &mut self.workers[index];
            let seed = worker.at.load(Ordering::Relaxed);
            if seed == NONE || seed != worker.seed {
                (worker.seed, worker.since) = (seed, Instant::now());
            } else if worker.since.elapsed() >= STUCK {
                let order = Ordering::Relaxed;
                if worker.at.compare_exchange(seed, NONE, order, order).is_ok() {
                    self.workers[index] = self.start();
                    return Some(seed);
                }
            }
        }
        None
    }
}

impl Iterator for Survey {
    type Item = Finding;

    fn next(&mut self) -> Option<Finding> {
        while self.left > 0 {
            match self.findings.recv_timeout(POLL_INTERVAL) {
                Ok(Some((seed, wrong))) => return Some(Finding::Wrong(seed, wrong)),
                Ok(None) => self.left -= 1,
                Err(_) => {}
            }
            if self.looked.elapsed() >= POLL_INTERVAL {
                self.looked = Instant::now();
                if let Some(seed) = self.stuck() {
                    return Some(Finding::Wrong(seed, NEVER_ENDS.to_owned()));
                }
            }
            if self.reported.elapsed() >= PROGRESS {
                self.reported = Instant::now();
                return Some(Finding::Progress(self.began.elapsed()));
            }
        }
        None
    }
}

/// The first line that says what is wrong.
pub fn gist(wrong: &str) -> &str {
    wrong.lines().find(|line| line.starts_with("  ")).unwrap_or(wrong).trim()
}

/// What failures have in common that read the same but for names and numbers.
pub fn cause(wrong: &str) -> String {
    let word = |word| if str::contains(word, |c: char| c.is_ascii_digit()) { "#" } else { word };
    gist(wrong).split_whitespace().take(12).map(word).collect::<Vec<_>>().join(" ")
}
