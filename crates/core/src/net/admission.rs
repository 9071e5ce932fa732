//! Connections whose other side has not shown yet that it belongs here: a bounded number, each for a
//! bounded time. No socket and no clock in here.

use mio::Token;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The most of them at a time; fewer where a process may have few descriptors.
const MAX_UNTRUSTED: usize = 128;
/// The part of a process's descriptors that they may take.
const SHARE: usize = 4;
/// How long one may take,
const TIMEOUT: Duration = Duration::from_secs(10);
/// and how long where others wait for its place.
const TIMEOUT_WHEN_FULL: Duration = Duration::from_secs(3);

/// Who is not trusted yet, and since when.
#[derive(Debug)]
pub(super) struct Admission {
    /// With whether they count: those on a unix socket are the user's own.
    since: BTreeMap<Token, (Instant, bool)>,
    counted: usize,
    max: usize,
    /// Whether somebody waits who was not accepted.
    pub has_waiting: bool,
}

impl Admission {
    /// For a process that may have so many descriptors.
    pub fn new(descriptors: usize) -> Self {
        let max = MAX_UNTRUSTED.min(descriptors / SHARE).max(1);
        Self { since: BTreeMap::new(), counted: 0, max, has_waiting: false }
    }

    /// Whether nobody more may come in for now.
    pub fn is_full(&self) -> bool {
        self.counted >= self.max
    }

    /// Somebody came in, who counts or only has a bounded time.
    pub fn enter(&mut self, token: Token, counts: bool, now: Instant) {
        self.since.insert(token, (now, counts));
        self.counted += usize::from(counts);
    }

    /// Somebody is trusted from now on, or gone.
    pub fn leave(&mut self, token: Token) {
        if let Some((_, counts)) = self.since.remove(&token) {
            self.counted -= usize::from(counts);
        }
    }

    /// Whether there is nobody, and nobody waits to come in.
    pub fn is_idle(&self) -> bool {
        self.since.is_empty() && !self.has_waiting
    }

    /// Takes out those whose time is over.
    pub fn take_overdue(&mut self, now: Instant) -> Vec<Token> {
        let timeout = self.timeout();
        let is_overdue = |since: &Instant| now.saturating_duration_since(*since) >= timeout;
        let overdue = self.since.iter().filter(|(_, (since, _))| is_overdue(since));
        let overdue: Vec<Token> = overdue.map(|(token, _)| *token).collect();
        for token in &overdue {
            self.leave(*token);
        }
        overdue
    }

    fn timeout(&self) -> Duration {
        if self.has_waiting { TIMEOUT_WHEN_FULL } else { TIMEOUT }
    }

    /// When the next one's time is over.
    pub fn deadline(&self) -> Option<Instant> {
        let (since, _) = self.since.values().min()?;
        Some(*since + self.timeout())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn so_many_come_in_and_no_more_until_one_leaves() {
        let mut admission = Admission::new(40);
        let now = Instant::now();
        for number in 0..10 {
            assert!(!admission.is_full());
            admission.enter(Token(number), true, now);
            admission.enter(Token(100 + number), false, now);
        }
        assert!(admission.is_full());
        admission.leave(Token(103));
        assert!(admission.is_full());
        admission.leave(Token(3));
        admission.leave(Token(3));
        assert!(!admission.is_full() && !admission.is_idle());
        assert!(!Admission::new(0).is_full());
    }

    #[test]
    fn each_has_ten_seconds_and_three_where_others_wait() {
        let mut admission = Admission::new(1 << 20);
        let start = Instant::now();
        assert_eq!(admission.deadline(), None);
        for number in 0..5 {
            admission.enter(Token(number), number % 2 == 0, start + S * number as u32);
        }
        assert_eq!(admission.deadline(), Some(start + 10 * S));
        assert!(admission.take_overdue(start + 9 * S).is_empty());
        assert_eq!(admission.take_overdue(start + 11 * S), [Token(0), Token(1)]);
        admission.has_waiting = true;
        assert_eq!(admission.deadline(), Some(start + 5 * S));
        assert_eq!(admission.take_overdue(start + 6 * S), [Token(2), Token(3)]);
        assert!(admission.take_overdue(start).is_empty());
        admission.has_waiting = false;
        assert!(!admission.is_idle());
        admission.leave(Token(4));
        assert!(admission.is_idle());
    }
}
