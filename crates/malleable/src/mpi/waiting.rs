//! Waiting so that whoever shares the core can work, and never for ever.

use crate::error::{MalleableError, Result};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Looks at once; whoever answers soon is not kept waiting.
const LOOKS: u32 = 50;
/// A look that took longer has moved data, and there may be more.
const MOVED: Duration = Duration::from_micros(50);
const MIN_PAUSE: Duration = Duration::from_micros(20);
const MAX_PAUSE: Duration = Duration::from_millis(1);

/// By when something has to be done.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    begin: Instant,
    timeout: Duration,
}

impl Deadline {
    /// So long from now.
    pub fn after(timeout: Duration) -> Self {
        Self { begin: Instant::now(), timeout }
    }

    /// Whether it has passed.
    pub fn is_over(&self) -> bool {
        self.begin.elapsed() > self.timeout
    }
}

/// Looks until something is done, and sleeps ever longer in between: MPI's own waits poll, and take
/// the core from whoever computes on it. False if it is not done in time.
///
/// # Errors
///
/// What a look returns.
pub fn wait(deadline: Deadline, mut is_done: impl FnMut() -> Result<bool>) -> Result<bool> {
    let (mut looks, mut pause) = (0, MIN_PAUSE);
    loop {
        let began = Instant::now();
        if is_done()? {
            return Ok(true);
        }
        if deadline.is_over() {
            return Ok(false);
        }
        looks = if began.elapsed() > MOVED { 0 } else { looks + 1 };
        if looks <= LOOKS {
            pause = MIN_PAUSE;
            thread::yield_now();
        } else {
            thread::sleep(pause);
            pause = (pause * 3 / 2).min(MAX_PAUSE);
        }
    }
}

/// Makes a call of MPI's that waits by itself, and ends this process, and so the job, if it does not
/// return in time: nothing else can be done then.
///
/// # Errors
///
/// What the call returns, or that there is no thread.
pub fn guarded<T>(what: &str, timeout: Duration, call: impl FnOnce() -> Result<T>) -> Result<T> {
    let (done, is_done) = mpsc::channel::<()>();
    let problem = format!(
        "freestone: {what} was not done after {} s, and MPI can't take it back: the job ends (can \
         the launcher start processes there? give a larger timeout)",
        timeout.as_secs_f64()
    );
    let watch = move || {
        if is_done.recv_timeout(timeout) == Err(mpsc::RecvTimeoutError::Timeout) {
            eprintln!("{problem}");
            // SAFETY: ends the process; nothing of it can be used any more.
            unsafe { libc::_exit(1) };
        }
    };
    thread::Builder::new()
        .name("freestone-watch".to_owned())
        .spawn(watch)
        .map_err(|error| MalleableError::BadCall(format!("a thread can't be started: {error}")))?;
    let result = call();
    drop(done);
    result
}
