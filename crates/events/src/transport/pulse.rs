//! Whether the processes of ranks run at all. Each rank counts in a word that all share, in a thread that does
//! nothing else; who has started them looks at these words, and finds those that are stopped.
//!
//! See docs/decisions/111-a-stopped-rank-is-found-by-the-process-that-started-it.md

use super::region::Region;
use super::sleep::Bell;
use crate::event::Rank;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// What the word of a rank says whose process has not come to the run yet.
const NOT_BEGUN: u32 = 0;
/// The same, of one that needs not be looked at any more.
const OVER: u32 = u32::MAX;
/// So often a rank counts, and is looked at, in the time that it may be stopped.
pub const LOOKS: u32 = 4;
/// Why a process may give no sign, and what to do.
pub const WHY: &str = "it is stopped, or gets neither memory nor a core; it may for longer with \
                       FREESTONE_EVENTS_STOPPED_TIMEOUT_S, in seconds or none";

/// How often ranks count if they may be stopped for so long.
pub fn interval(stopped: Duration) -> Duration {
    (stopped / LOOKS).max(Duration::from_millis(1))
}

/// Shows that the process of a rank runs, for as long as it lives.
#[derive(Debug)]
pub struct Pulse {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    region: Arc<Region>,
    at: usize,
    bell: Bell,
}

impl Shared {
    fn word(&self) -> &AtomicU32 {
        self.region.word(self.at)
    }
}

impl Pulse {
    /// Counts every `interval` in the word at `at`.
    ///
    /// # Errors
    ///
    /// If the system has no thread.
    pub fn start(region: &Arc<Region>, at: usize, interval: Duration) -> std::io::Result<Self> {
        let shared = Arc::new(Shared { region: Arc::clone(region), at, bell: Bell::default() });
        // Not by the thread: the process may be stopped before that runs, and would seem never to have begun.
        shared.word().store(NOT_BEGUN + 1, Ordering::Relaxed);
        let counting = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("events-pulse".to_owned());
        thread.spawn(move || count(&counting, interval))?;
        Ok(Self { shared })
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        // The thread is not waited for: a copy of this process, by `fork`, has none.
        self.shared.word().store(OVER, Ordering::Relaxed);
        self.shared.bell.ring(1);
    }
}

fn count(shared: &Shared, interval: Duration) {
    let mut beats = shared.word().load(Ordering::Relaxed);
    while beats != OVER {
        let next = if beats + 1 == OVER { NOT_BEGUN + 1 } else { beats + 1 };
        // Fails once, when it is over.
        if let Err(found) =
            shared.word().compare_exchange(beats, next, Ordering::Relaxed, Ordering::Relaxed)
        {
            beats = found;
            continue;
        }
        beats = next;
        let is_counting = || shared.word().load(Ordering::Relaxed) == next;
        shared.bell.sleep(&is_counting, Some(interval));
    }
}

/// A rank whose process does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Still {
    /// Which.
    pub rank: Rank,
    /// For how long.
    pub since: Duration,
    /// Whether it has ever come to the run.
    pub has_begun: bool,
}

impl fmt::Display for Still {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.since.as_secs_f64();
        if self.has_begun {
            write!(f, "has not run for {seconds:.1} s: {WHY}")
        } else {
            write!(
                f,
                "has not come to the run for {seconds:.1} s: it is stopped, or imports or loads something that \
                 takes long; it may with FREESTONE_EVENTS_MEET_TIMEOUT_S"
            )
        }
    }
}

/// Finds the ranks whose processes do not run, by what their words say from time to time.
#[derive(Debug)]
pub struct Pulses {
    /// How long a rank may take to begin.
    begin: Duration,
    /// How long it may be stopped after that.
    stopped: Duration,
    /// What each word said, and since when.
    seen: Vec<(u32, Instant)>,
    looked: Instant,
}

impl Pulses {
    /// Of so many ranks, from now on.
    pub fn new(ranks: u32, begin: Duration, stopped: Duration, now: Instant) -> Self {
        Self { begin, stopped, seen: vec![(NOT_BEGUN, now); ranks as usize], looked: now }
    }

    /// How long it is until the next look.
    pub fn until_look(&self, now: Instant) -> Duration {
        interval(self.stopped).saturating_sub(now.saturating_duration_since(self.looked))
    }

    /// Looks at the word of each rank; which of them have been still for too long.
    pub fn look(&mut self, now: Instant, word_of: impl Fn(Rank) -> u32) -> Vec<Still> {
        // Who looks late was stopped itself, maybe with all the others.
        let was_stopped = now.saturating_duration_since(self.looked) > interval(self.stopped) * 2;
        self.looked = now;
        let mut still = Vec::new();
        for (rank, (beats, since)) in (0..).zip(&mut self.seen) {
            let found = word_of(rank);
            if found != *beats || found == OVER || was_stopped {
                (*beats, *since) = (found, now);
                continue;
            }
            let has_begun = found != NOT_BEGUN;
            let limit = if has_begun { self.stopped } else { self.begin };
            let since = now.saturating_duration_since(*since);
            if since >= limit {
                still.push(Still { rank, since, has_begun });
            }
        }
        still
    }
}

/// Whether a debugger holds a process.
pub fn is_traced(process: u32) -> bool {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{process}/status")) else {
        return false;
    };
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|tracer| tracer.trim() != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many that a thread of some would not have run yet.
    const RANKS: usize = 64;

    const fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    /// Three ranks that begin within 100 s and may be stopped for 40 s, so that they are looked at every 10 s.
    fn watched() -> (Pulses, Instant) {
        let now = Instant::now();
        (Pulses::new(3, seconds(100), seconds(40), now), now)
    }

    #[test]
    fn who_counts_no_more_is_found_once_its_time_is_over() {
        let (mut pulses, begin) = watched();
        for look in 1..=10 {
            // Rank 1 counts until the third look, and rank 2 is done.
            let beats = [look, look.min(3), OVER];
            let still =
                pulses.look(begin + seconds(10 * u64::from(look)), |rank| beats[rank as usize]);
            let found: Vec<_> = still.iter().map(|one| (one.rank, one.since)).collect();
            let wanted =
                if look < 7 { vec![] } else { vec![(1, seconds(10 * u64::from(look - 3)))] };
            assert_eq!(found, wanted, "{look}");
        }
    }

    #[test]
    fn who_never_comes_has_the_time_of_the_beginning() {
        let (mut pulses, begin) = watched();
        for look in 1..10 {
            assert!(
                pulses
                    .look(begin + seconds(10 * look), |rank| u32::from(rank > 0) * look as u32)
                    .is_empty()
            );
        }
        let still = pulses.look(begin + seconds(100), |rank| u32::from(rank > 0) * 10);
        assert_eq!(still, [Still { rank: 0, since: seconds(100), has_begun: false }]);
        assert!(still[0].to_string().starts_with("has not come to the run for 100.0 s"));
    }

    #[test]
    fn who_looks_late_was_stopped_itself() {
        let (mut pulses, begin) = watched();
        assert!(pulses.look(begin + seconds(10), |_| 1).is_empty());
        assert!(pulses.look(begin + seconds(500), |_| 1).is_empty());
        for look in 1..4 {
            assert!(pulses.look(begin + seconds(500 + 10 * look), |_| 1).is_empty());
        }
        assert_eq!(pulses.look(begin + seconds(540), |_| 1).len(), 3);
    }

    #[test]
    fn looks_come_regularly() {
        let (mut pulses, begin) = watched();
        assert_eq!(pulses.until_look(begin + seconds(4)), seconds(6));
        pulses.look(begin + seconds(12), |_| 1);
        assert_eq!(pulses.until_look(begin + seconds(12)), seconds(10));
        assert_eq!(pulses.until_look(begin + seconds(50)), seconds(0));
    }

    #[test]
    fn a_rank_counts_until_it_is_over() {
        let region = Region::anonymous(4096).unwrap();
        let pulse = Pulse::start(&region, 64, Duration::from_millis(1)).unwrap();
        while region.word(64).load(Ordering::Relaxed) < 3 {
            std::thread::yield_now();
        }
        drop(pulse);
        assert_eq!(region.word(64).load(Ordering::Relaxed), OVER);
    }

    #[test]
    fn a_rank_has_begun_before_its_thread_runs() {
        let region = Region::anonymous(4096 * RANKS).unwrap();
        let places = || (0..RANKS).map(|rank| 4096 * rank);
        let beats_at_once = |at| {
            let pulse = Pulse::start(&region, at, seconds(3600)).unwrap();
            let beats = region.word(at).load(Ordering::Relaxed);
            drop(pulse);
            beats
        };
        assert!(places().map(beats_at_once).all(|beats| beats != NOT_BEGUN));
    }
}
