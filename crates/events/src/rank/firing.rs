//! Firing events.

use super::timers::Timer;
use super::{Inner, Rank};
use crate::error::EventsError;
use crate::event::{Event, EventId, Lasting, Rank as RankNumber};
use crate::payload::{Data, Payload};
use crate::transport::{Outgoing, TransportError, gathered};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The longest identifier, in bytes.
pub(super) const LONGEST_ID: usize = 4096;

/// At whom an event is fired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// One rank.
    Rank(RankNumber),
    /// All ranks, the one that fires included.
    All,
    /// These ranks.
    Group(Vec<RankNumber>),
}

impl Rank {
    /// Fires an event: copies its payload, given in pieces, and goes on. When the target has no
    /// room, takes in what arrives here until it has.
    ///
    /// # Errors
    ///
    /// If there is no such rank, the run is over, or there is no room for too long.
    pub fn fire(
        &self,
        target: &Target,
        id: &EventId,
        lasting: Lasting,
        kind: u32,
        parts: &[&[u8]],
    ) -> Result<(), EventsError> {
        let len = id.as_bytes().len();
        if len > LONGEST_ID {
            return Err(EventsError::LongId { len, limit: LONGEST_ID });
        }
        let ranks = self.ranks();
        let exists = |&rank: &RankNumber| rank < ranks;
        let shot = Shot { id, lasting, kind, parts };
        match target {
            Target::Rank(rank) if exists(rank) => self.inner.fire(&[*rank], &shot),
            Target::Rank(rank) => Err(EventsError::NoSuchRank { rank: *rank, ranks }),
            Target::All => self.inner.fire(&(0..ranks).collect::<Vec<_>>(), &shot),
            Target::Group(group) => match group.iter().find(|rank| !exists(rank)) {
                Some(&rank) => Err(EventsError::NoSuchRank { rank, ranks }),
                None => self.inner.fire(group, &shot),
            },
        }
    }

    /// Fires an event of bytes at one rank.
    ///
    /// # Errors
    ///
    /// As [`Rank::fire`].
    pub fn fire_bytes(
        &self,
        target: RankNumber,
        id: &str,
        bytes: &[u8],
    ) -> Result<(), EventsError> {
        let kind = u32::from(!bytes.is_empty());
        self.fire(&Target::Rank(target), &id.into(), Lasting::Once, kind, &[bytes])
    }

    /// Fires an event at this rank that carries a payload as it is, uncopied.
    ///
    /// # Errors
    ///
    /// If the run is over.
    pub fn fire_own(
        &self,
        id: &EventId,
        lasting: Lasting,
        payload: Payload,
    ) -> Result<(), EventsError> {
        let mut state = self.inner.state();
        self.inner.check_over()?;
        let event = Event { source: self.rank(), id: id.clone(), lasting, payload };
        self.inner.deliver(&mut state, event);
        Ok(())
    }

    /// Fires an event at this rank after a time; the run does not end before.
    pub fn after(&self, delay: Duration, id: &EventId) {
        self.set_timer(Instant::now() + delay, Timer::Once(id.clone()));
    }

    /// Fires an event at this rank again and again. The run may end without it, and no tick comes
    /// before the last one is consumed.
    pub fn every(&self, period: Duration, id: &EventId) {
        // A period of nothing would leave no time for anything else.
        let period = period.max(Duration::from_micros(100));
        self.set_timer(Instant::now() + period, Timer::Tick(id.clone(), period));
    }

    /// Stops what [`Rank::every`] began; how many clocks that were.
    pub fn stop(&self, id: &EventId) -> usize {
        let mut state = self.inner.state();
        state.activity += 1;
        state.timers.stop(id)
    }

    fn set_timer(&self, at: Instant, timer: Timer) {
        let mut state = self.inner.state();
        state.activity += 1;
        self.inner.add_timer(&mut state, at, timer);
        drop(state);
        self.inner.note_rest();
    }
}

struct Shot<'a> {
    id: &'a EventId,
    lasting: Lasting,
    kind: u32,
    parts: &'a [&'a [u8]],
}

impl Inner {
    fn fire(&self, targets: &[RankNumber], shot: &Shot<'_>) -> Result<(), EventsError> {
        if self.is_over() {
            return self.check_over().and(Err(EventsError::Over));
        }
        let Shot { id, lasting, kind, parts } = *shot;
        let nbytes = parts.iter().map(|part| part.len()).sum();
        let first = targets.first().copied().unwrap_or_default();
        let block = self.until_room(first, nbytes, || self.transport.place(parts))?;
        for &target in targets {
            if target == self.rank() {
                let payload = match &block {
                    Some(block) => Payload { kind, data: Data::Block(block.clone()) },
                    None => gathered(kind, parts),
                };
                let event = Event { source: target, id: id.clone(), lasting, payload };
                self.deliver(&mut self.state(), event);
                continue;
            }
            let message = match &block {
                Some(block) => Outgoing::Placed { id, lasting, kind, block },
                None => Outgoing::Event { id, lasting, kind, parts },
            };
            self.send(target, nbytes, &message)?;
        }
        Ok(())
    }

    fn send(
        &self,
        target: RankNumber,
        nbytes: usize,
        message: &Outgoing<'_>,
    ) -> Result<(), EventsError> {
        let sent = &self.sent[target as usize];
        // Counted before it can arrive: a count that is behind could end the run too early.
        sent.fetch_add(1, Ordering::AcqRel);
        match self.until_room(target, nbytes, || self.transport.send(target, message)) {
            // Who asked for the loss of ranks knows; what is for a lost rank goes nowhere.
            Ok(()) | Err(EventsError::Transport(TransportError::Lost(_))) => Ok(()),
            Err(error) => {
                sent.fetch_sub(1, Ordering::AcqRel);
                Err(error)
            }
        }
    }

    /// Tries until there is room, taking in meanwhile what arrives: the target may be waiting for
    /// room here.
    fn until_room<R>(
        &self,
        target: RankNumber,
        nbytes: usize,
        mut attempt: impl FnMut() -> Result<R, TransportError>,
    ) -> Result<R, EventsError> {
        let mut since = None;
        loop {
            match attempt() {
                Err(TransportError::Full) => {}
                other => return Ok(other?),
            }
            self.check_over()?;
            let waited = since.get_or_insert_with(Instant::now).elapsed();
            if waited > self.config.patience {
                return Err(EventsError::NoRoom { target, nbytes, waited });
            }
            let step = Duration::from_millis(1);
            match self.try_polling() {
                Some(_polling) if self.poll() > 0 => {}
                Some(_polling) if waited > step => {
                    self.transport.sleep(&|| !self.is_over(), Some(step));
                }
                _ => std::thread::yield_now(),
            }
        }
    }
}
