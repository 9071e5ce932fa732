//! What the manager costs: processor time inside its one function.

use std::time::{Duration, Instant};

/// Sums the time spent in the manager, and corrects it for the time in which this thread did not
/// run: the wall clock is read around each event, and the thread's processor clock, whose reading
/// costs more than an event, once around the whole run.
#[derive(Debug)]
pub struct Meter {
    inside: Duration,
    events: u64,
    began: Instant,
    began_cpu: Option<Duration>,
}

impl Default for Meter {
    fn default() -> Self {
        Self { inside: Duration::ZERO, events: 0, began: Instant::now(), began_cpu: thread_cpu() }
    }
}

impl Meter {
    /// Runs something that is to be counted.
    pub fn measure<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let result = work();
        self.inside += began.elapsed();
        self.events += 1;
        result
    }

    /// How many events there were.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Processor time inside the manager so far.
    pub fn cpu(&self) -> Duration {
        let wall = self.began.elapsed().as_secs_f64();
        let cpu = match (self.began_cpu, thread_cpu()) {
            (Some(began), Some(now)) => now.saturating_sub(began).as_secs_f64(),
            _ => wall,
        };
        self.inside.mul_f64((cpu / wall.max(1e-9)).min(1.0))
    }
}

/// Processor time of this thread.
fn thread_cpu() -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock's id is valid, and `time` is a place for the answer.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    (status == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}
