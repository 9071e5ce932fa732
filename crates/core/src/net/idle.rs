//! Connections that wait to be used again: bounded in number and in time.
//!
//! To shake hands anew for each small block costs more than to send it. No clock and no socket in
//! here: a connection is closed by being dropped.
//!
//! See docs/decisions/050-peer-tls-connections-are-pooled-unix-sockets-are-not.md

use std::collections::VecDeque;

/// So many to one place, at most,
const MAX_EACH: usize = 4;
/// and so many in all;
const MOST: usize = 32;
/// and none for longer than this, in nanoseconds: less than the other side waits for a question.
pub const LONGEST_NS: u64 = 10_000_000_000;

/// Connections to places `A` that nobody uses.
#[derive(Debug)]
pub struct Idle<A, S> {
    /// With the time since when, the oldest first.
    kept: VecDeque<(A, u64, S)>,
}

impl<A, S> Default for Idle<A, S> {
    fn default() -> Self {
        Self { kept: VecDeque::new() }
    }
}

impl<A: PartialEq, S> Idle<A, S> {
    /// Takes out the connection to a place that was used last.
    pub fn take(&mut self, place: &A, now: u64) -> Option<S> {
        self.expire(now);
        let at = self.kept.iter().rposition(|(kept, ..)| kept == place)?;
        self.kept.remove(at).map(|(_, _, stream)| stream)
    }

    /// Keeps a connection, in the place of the oldest if there are enough.
    pub fn put(&mut self, place: A, stream: S, now: u64) {
        self.expire(now);
        let same = |(kept, ..): &(A, u64, S)| *kept == place;
        if self.kept.iter().filter(|kept| same(kept)).count() == MAX_EACH {
            let oldest = self.kept.iter().position(same);
            oldest.and_then(|at| self.kept.remove(at));
        } else if self.kept.len() == MOST {
            self.kept.pop_front();
        }
        self.kept.push_back((place, now, stream));
    }

    /// Closes what has waited too long.
    pub fn expire(&mut self, now: u64) {
        while self.kept.front().is_some_and(|(_, since, _)| since + LONGEST_NS <= now) {
            self.kept.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_one_used_last_is_used_again() {
        let mut idle = Idle::default();
        for (stream, place) in [(1, "a"), (2, "b"), (3, "a")] {
            idle.put(place, stream, 0);
        }
        assert_eq!(
            ["a", "a", "a", "c"].map(|place| idle.take(&place, 1)),
            [Some(3), Some(1), None, None]
        );
        assert_eq!(idle.take(&"b", LONGEST_NS), None);
    }

    #[test]
    fn a_place_keeps_its_youngest() {
        let mut idle = Idle::default();
        (0..9).for_each(|stream| idle.put("a", stream, stream));
        let taken: Vec<u64> = std::iter::from_fn(|| idle.take(&"a", 9)).collect();
        assert_eq!(taken, [8, 7, 6, 5]);
    }

    #[test]
    fn whatever_happens_bounds_hold_and_no_connection_is_used_twice() {
        let mut dice = 7_u64;
        let mut roll = |below: u64| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040);
            (dice >> 33) % below
        };
        let (mut idle, mut now, mut next) = (Idle::default(), 0, 0);
        let mut out: Vec<(u64, u64)> = Vec::new();
        for _ in 0..20_000 {
            now += roll(LONGEST_NS / 40);
            let place = roll(20);
            if roll(2) == 0 || out.is_empty() {
                let stream = idle.take(&place, now).unwrap_or_else(|| {
                    next += 1;
                    next
                });
                assert!(out.iter().all(|(_, other)| *other != stream));
                out.push((place, stream));
            } else {
                let (place, stream) = out.swap_remove(roll(out.len() as u64) as usize);
                idle.put(place, stream, now);
            }
            assert!(idle.kept.len() <= MOST);
            for place in 0..20 {
                assert!(idle.kept.iter().filter(|kept| kept.0 == place).count() <= MAX_EACH);
            }
            let kept: HashSet<u64> = idle.kept.iter().map(|kept| kept.2).collect();
            assert_eq!(kept.len(), idle.kept.len());
        }
        idle.expire(now + LONGEST_NS);
        assert!(idle.kept.is_empty());
    }
}
