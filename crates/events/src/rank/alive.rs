//! Whether the processes of other ranks run at all, where no other process looks at them: each rank shows it from
//! time to time to the first of them, and that one to all.
//!
//! See docs/decisions/124-stopped-ranks-are-found-over-tcp-and-mpi-by-what-they-say.md

use super::Inner;
use super::control::Control;
use super::state::State;
use crate::event::Rank;
use crate::transport::{Life, pulse};
use std::time::{Duration, Instant};

/// So many looks in a row without a sign are of a stopped rank: one more than there are signs in the time that
/// it may be stopped, as looks and signs alternate only in the mean.
const MISSED: u32 = pulse::LOOKS + 1;

/// How many looks in a row have found no sign of each rank that has ever given one.
#[derive(Debug, Default)]
struct Signs {
    /// The signs that had come at the last look, and how many looks have found no more.
    seen: Vec<Option<(u64, u32)>>,
}

impl Signs {
    /// Looks at what has come from each rank since the last look; who is stopped, of those who are to be heard.
    fn look(&mut self, lives: &[Option<Life>], is_watched: impl Fn(Rank) -> bool) -> Vec<Rank> {
        self.seen.resize(lives.len(), None);
        let mut stopped = Vec::new();
        for (rank, (seen, life)) in (0..).zip(self.seen.iter_mut().zip(lives)) {
            let Some(life) = life.filter(|_| is_watched(rank)) else {
                *seen = None;
                continue;
            };
            let (before, missed) = seen.unwrap_or((life.signs, 0));
            // Where none can arrive, its time begins anew.
            let is_missed = seen.is_some() && life.signs == before && life.can_arrive;
            let missed = if is_missed { missed + 1 } else { 0 };
            *seen = Some((life.signs, missed));
            if missed >= MISSED {
                stopped.push(rank);
            }
        }
        stopped
    }

    /// Nobody could be heard for a while.
    fn begin_anew(&mut self) {
        self.seen.iter_mut().flatten().for_each(|(_, missed)| *missed = 0);
    }
}

impl Inner {
    /// Shows others that this process runs, and looks which of them do, until the run is over. A rank that may not
    /// be stopped for longer than `stopped` is lost then.
    pub(super) fn keep_showing_life(&self, stopped: Duration) {
        let interval = pulse::interval(stopped);
        let (mut signs, mut looked) = (Signs::default(), Instant::now());
        while !self.is_over() {
            self.show_life();
            self.watchers.sleep(&|| !self.is_over(), Some(interval));
            let since = looked.elapsed();
            if since < interval {
                continue;
            }
            looked = Instant::now();
            // Who looks late was stopped itself, and what came meanwhile may not be here yet.
            if since > interval * 2 {
                signs.begin_anew();
                continue;
            }
            // Not with the state locked: the transport may have to look for signs.
            let lives: Vec<_> = (0..self.ranks()).map(|rank| self.transport.life(rank)).collect();
            let mut state = self.state();
            let first = self.first(&state);
            let is_watched = |rank| {
                !state.lost[rank as usize] && (first == Some(self.rank()) || first == Some(rank))
            };
            for rank in signs.look(&lives, is_watched) {
                self.on_stopped(&mut state, rank, interval * MISSED);
            }
        }
    }

    /// The first rank that is not lost.
    fn first(&self, state: &State) -> Option<Rank> {
        (0..self.ranks()).find(|rank| !state.lost[*rank as usize])
    }

    fn show_life(&self) {
        let state = self.state();
        let targets: Vec<Rank> = match self.first(&state) {
            Some(first) if first == self.rank() => {
                (0..self.ranks()).filter(|rank| !state.lost[*rank as usize]).collect()
            }
            first => first.into_iter().collect(),
        };
        drop(state);
        for target in targets.into_iter().filter(|target| *target != self.rank()) {
            self.transport.show_life(target);
        }
        self.transport.flush();
    }

    fn on_stopped(&self, state: &mut State, rank: Rank, since: Duration) {
        if self.is_over() || state.lost[rank as usize] {
            return;
        }
        let seconds = since.as_secs_f64();
        crate::say(&format!(
            "freestone events: rank {rank} is taken for lost: its process has given no sign to rank {} for {seconds:.1} s: {}",
            self.rank(),
            pulse::WHY
        ));
        for other in (0..self.ranks()).filter(|other| *other != rank) {
            if !state.lost[other as usize] {
                self.send_control(state, other, Control::Lost(rank).encode());
            }
        }
        self.transport.lose(rank);
        self.on_lost(state, rank);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(clippy::unnecessary_wraps)] // beside ranks of which nothing is known
    fn signs(count: u64) -> Option<Life> {
        Some(Life { signs: count, can_arrive: true })
    }

    #[test]
    fn who_was_heard_once_and_then_no_more_is_stopped() {
        let mut looks = Signs::default();
        let all = |_| true;
        // Rank 2 never says anything: it can't, or has not begun.
        assert_eq!(looks.look(&[signs(1), signs(1), None], all), []);
        for look in 1..=MISSED {
            let stopped = looks.look(&[signs(1 + u64::from(look)), signs(1), None], all);
            assert_eq!(stopped, if look < MISSED { vec![] } else { vec![1] }, "{look}");
        }
    }

    #[test]
    fn who_is_heard_again_or_could_not_be_heard_has_its_time_anew() {
        let mut looks = Signs::default();
        let mut look = |life| looks.look(&[life], |_| true);
        look(signs(1));
        for (before, then) in
            [(1, signs(2)), (2, Some(Life { signs: 2, can_arrive: false })), (2, signs(3))]
        {
            for _ in 1..MISSED {
                assert_eq!(look(signs(before)), []);
            }
            assert_eq!(look(then), []);
        }
        for _ in 1..MISSED {
            assert_eq!(look(signs(3)), []);
        }
        assert_eq!(look(signs(3)), [0]);
    }

    #[test]
    fn who_has_looked_late_gives_all_their_time_anew() {
        let mut looks = Signs::default();
        looks.look(&[signs(1)], |_| true);
        for _ in 1..MISSED {
            assert_eq!(looks.look(&[signs(1)], |_| true), []);
        }
        looks.begin_anew();
        for _ in 1..MISSED {
            assert_eq!(looks.look(&[signs(1)], |_| true), []);
        }
        assert_eq!(looks.look(&[signs(1)], |_| true), [0]);
    }

    #[test]
    fn who_gives_signs_to_another_rank_is_not_missed() {
        let mut looks = Signs::default();
        for _ in 0..2 * MISSED {
            assert_eq!(looks.look(&[None, signs(1)], |rank| rank == 0), []);
        }
    }
}
