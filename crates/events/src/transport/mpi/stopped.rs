//! Which processes of this machine are stopped by a signal, where none of their threads may call MPI to show that
//! they run: the system says so.

use crate::transport::pulse::{LOOKS, interval};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long processes have been stopped.
#[derive(Debug)]
pub struct Stopped {
    limit: Duration,
    /// How many looks in a row have found each of them stopped.
    found: BTreeMap<u32, u32>,
    looked: Instant,
}

impl Stopped {
    /// Finds those that are stopped for so long, from now on.
    pub fn new(limit: Duration, now: Instant) -> Self {
        Self { limit, found: BTreeMap::new(), looked: now }
    }

    /// Who has been stopped for too long, of `numbers`, of which `is_stopped` says whether one is now; nobody, where
    /// it is too early to look.
    pub fn look(
        &mut self,
        now: Instant,
        numbers: impl Iterator<Item = u32>,
        is_stopped: impl Fn(u32) -> bool,
    ) -> Vec<u32> {
        let since = now.saturating_duration_since(self.looked);
        if since < interval(self.limit) {
            return Vec::new();
        }
        self.looked = now;
        // Who looks late was stopped itself, maybe with all others.
        let is_late = since > interval(self.limit) * 2;
        let before = std::mem::take(&mut self.found);
        for number in numbers.filter(|number| is_stopped(*number)) {
            let count = before.get(&number).copied().filter(|_| !is_late).unwrap_or_default();
            self.found.insert(number, count + 1);
        }
        let found = self.found.iter().filter(|(_, count)| **count > LOOKS);
        found.map(|(number, _)| *number).collect()
    }
}

/// Whether a process is stopped by a signal; a debugger stops it in another way.
pub fn is_stopped(pid: u32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name before it may be anything.
    text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn who_is_stopped_in_each_look_is_found() {
        let (begin, interval) = (Instant::now(), Duration::from_secs(15));
        let mut stopped = Stopped::new(4 * interval, begin);
        for look in 1..=LOOKS + 1 {
            let now = begin + interval * look;
            // Process 2 goes on at the third look.
            let found = stopped.look(now, 1..4, |number| number == 1 || (number == 2 && look != 3));
            assert_eq!(found, if look > LOOKS { vec![1] } else { vec![] }, "{look}");
            assert_eq!(stopped.look(now + interval / 2, 1..4, |_| true), []);
        }
    }

    #[test]
    fn who_looks_late_begins_anew() {
        let (begin, interval) = (Instant::now(), Duration::from_secs(15));
        let mut stopped = Stopped::new(4 * interval, begin);
        for look in [1, 2, 3, 4, 10, 11, 12, 13] {
            assert_eq!(stopped.look(begin + interval * look, 1..2, |_| true), [], "{look}");
        }
        assert_eq!(stopped.look(begin + interval * 14, 1..2, |_| true), [1]);
    }

    #[test]
    fn the_system_says_who_is_stopped() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let signal = |signal| {
            // SAFETY: a plain call, for a process of ours.
            unsafe { libc::kill(child.id().cast_signed(), signal) };
        };
        assert!(!is_stopped(child.id()));
        signal(libc::SIGSTOP);
        while !is_stopped(child.id()) {
            std::thread::yield_now();
        }
        signal(libc::SIGKILL);
        child.wait().unwrap();
        assert!(!is_stopped(child.id()));
    }
}
