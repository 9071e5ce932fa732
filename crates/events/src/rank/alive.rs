//! Whether the processes of other ranks run at all, where no other process looks at them: each rank shows it from
//! time to time to the first of them, and that one to all.
//!
//! See docs/decisions/124-stopped-ranks-are-found-over-tcp-and-mpi-by-what-they-say.md

use super::control::Control;
use super::state::State;
use super::{Inner, Progress};
use crate::event::Rank;
use crate::transport::{Outgoing, pulse};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// So many looks in a row without a sign are of a stopped rank: one more than there are signs in the time that
/// it may be stopped, as looks and signs alternate only in the mean.
const MISSED: u32 = pulse::LOOKS + 1;
/// So many looks at the transport that find nothing are at all of it.
const POLLS: u32 = 32;
/// The most looks at it at once.
const MAX_POLLS: u32 = 1 << 14;

/// How many looks in a row have found no sign of each rank that has ever given one.
#[derive(Debug, Default)]
struct Signs {
    missed: Vec<Option<u32>>,
}

impl Signs {
    /// Looks at who was heard since the last look; who is stopped, of those who are to be heard.
    fn look(&mut self, heard: &mut [bool], is_watched: impl Fn(Rank) -> bool) -> Vec<Rank> {
        self.missed.resize(heard.len(), None);
        let mut stopped = Vec::new();
        for (rank, (missed, heard)) in (0..).zip(self.missed.iter_mut().zip(heard)) {
            if std::mem::take(heard) {
                *missed = Some(0);
            } else if !is_watched(rank) {
                *missed = None;
            } else if let Some(count) = missed {
                *count += 1;
                if *count >= MISSED {
                    stopped.push(rank);
                }
            }
        }
        stopped
    }

    /// Nobody could be heard for a while.
    fn begin_anew(&mut self) {
        self.missed.iter_mut().flatten().for_each(|count| *count = 0);
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
            let is_late = since > interval * 2;
            if is_late || !self.has_caught_up() {
                signs.begin_anew();
                continue;
            }
            let mut state = self.state();
            let first = self.first(&state);
            let is_watched = |rank| first == Some(self.rank()) || first == Some(rank);
            for rank in signs.look(&mut state.heard, is_watched) {
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
        let sign = Control::Alive.encode();
        for target in targets.into_iter().filter(|target| *target != self.rank()) {
            // Who has no room for it gets the next one, and who is lost needs none.
            let _ = self.transport.send(target, &Outgoing::Control(&sign));
        }
        self.transport.flush();
    }

    /// Whether all that has arrived is taken in, so that who was not heard has not said anything.
    fn has_caught_up(&self) -> bool {
        if self.has_slept.swap(false, Ordering::Relaxed) || self.sleeps.load(Ordering::Relaxed) {
            return true;
        }
        if self.config.progress == Progress::Program {
            return false;
        }
        let Some(_polling) = self.try_polling() else { return false };
        let mut idle = 0;
        for _ in 0..MAX_POLLS {
            if self.is_full() || self.is_over() {
                return false;
            }
            idle = if self.poll() > 0 { 0 } else { idle + 1 };
            if idle >= POLLS {
                return true;
            }
        }
        false
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

    #[test]
    fn who_was_heard_once_and_then_no_more_is_stopped() {
        let mut signs = Signs::default();
        let all = |_| true;
        // Rank 2 never says anything: it can't, or has not begun.
        assert_eq!(signs.look(&mut [true, true, false], all), []);
        for look in 1..=MISSED {
            let stopped = signs.look(&mut [true, false, false], all);
            assert_eq!(stopped, if look < MISSED { vec![] } else { vec![1] }, "{look}");
        }
    }

    #[test]
    fn who_is_heard_again_or_could_not_be_heard_has_its_time_anew() {
        let mut signs = Signs::default();
        let all = |_| true;
        signs.look(&mut [true], all);
        for _ in 1..MISSED {
            assert_eq!(signs.look(&mut [false], all), []);
        }
        signs.begin_anew();
        for _ in 1..MISSED {
            assert_eq!(signs.look(&mut [false], all), []);
        }
        assert_eq!(signs.look(&mut [true], all), []);
        assert_eq!(signs.look(&mut [false], all), []);
    }

    #[test]
    fn who_gives_signs_to_another_rank_is_not_missed() {
        let mut signs = Signs::default();
        signs.look(&mut [true, true], |_| true);
        for _ in 0..2 * MISSED {
            assert_eq!(signs.look(&mut [true, false], |rank| rank == 0), []);
        }
    }
}
