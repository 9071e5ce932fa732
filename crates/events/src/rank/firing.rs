//! Firing events.

use super::timers::Timer;
use super::{Inner, Rank};
use crate::error::EventsError;
use crate::event::{Event, EventId, Lasting, Rank as RankNumber};
use crate::limits;
use crate::payload::{Data, Payload};
use crate::sync::lock;
use crate::transport::{Block, Outgoing, TransportError, gathered};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The longest identifier, in bytes.
pub(crate) const LONGEST_ID: usize = 4096;
/// The shortest time between two ticks of a clock.
const MIN_PERIOD: Duration = Duration::from_micros(100);

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
    /// If there is no such rank, the run is over, or there is no room for longer than
    /// [`Config::send_timeout`](super::Config::send_timeout).
    pub fn fire(
        &self,
        target: &Target,
        id: &EventId,
        lasting: Lasting,
        kind: u32,
        parts: &[&[u8]],
    ) -> Result<(), EventsError> {
        check_size(id, parts)?;
        let (ranks, clients) = (self.ranks(), self.clients());
        let exists = |&rank: &RankNumber| rank < ranks + clients;
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

    /// Fires an event at this rank after a time; the run does not end before, unless [`Rank::stop`] is
    /// called.
    pub fn after(&self, delay: Duration, id: &EventId) {
        self.set_timer(Instant::now() + delay, Timer::Once(id.clone()));
    }

    /// Fires an event at this rank again and again. The run may end without it, and no tick comes
    /// before the last one is consumed.
    ///
    /// # Errors
    ///
    /// If the period is so short that ticks would leave no time for anything else.
    pub fn every(&self, period: Duration, id: &EventId) -> Result<(), EventsError> {
        if period < MIN_PERIOD {
            return Err(EventsError::ShortPeriod { period, limit: MIN_PERIOD });
        }
        self.set_timer(Instant::now() + period, Timer::Tick(id.clone(), period));
        Ok(())
    }

    /// Stops what [`Rank::after`], [`Rank::every`] and [`Rank::when`] began; how much that was.
    pub fn stop(&self, id: &EventId) -> usize {
        let mut state = self.inner.state();
        state.activity += 1;
        let before = state.watches.len();
        state.watches.retain(|(_, other)| other != id);
        let watches = before - state.watches.len();
        let timers = state.timers.stop(id);
        drop(state);
        if watches > 0 {
            self.inner.wake_watcher();
        }
        // The run may have waited for nothing else.
        if watches + timers > 0 {
            self.inner.note_rest();
        }
        watches + timers
    }

    fn set_timer(&self, at: Instant, timer: Timer) {
        let mut state = self.inner.state();
        state.activity += 1;
        self.inner.add_timer(&mut state, at, timer);
        drop(state);
        self.inner.note_rest();
    }
}

/// Refuses an event that is too large to be sent.
pub(crate) fn check_size(id: &EventId, parts: &[&[u8]]) -> Result<(), EventsError> {
    let (len, nbytes, memory) = (id.as_bytes().len(), total(parts), memory());
    if len > LONGEST_ID {
        return Err(EventsError::LongId { len, limit: LONGEST_ID });
    }
    let too_large = |limit, why| EventsError::TooLarge { id: id.to_string(), nbytes, limit, why };
    if nbytes > memory {
        return Err(too_large(memory, "this machine has no more memory"));
    }
    match limits::get().event_max {
        Some(limits::Nbytes(limit)) if nbytes > limit => {
            Err(too_large(limit, "FREESTONE_EVENTS_EVENT_MAX, which can be more, on all ranks"))
        }
        _ => Ok(()),
    }
}

fn total(parts: &[&[u8]]) -> usize {
    parts.iter().fold(0, |sum: usize, part| sum.saturating_add(part.len()))
}

/// The machine's memory in bytes, found once.
fn memory() -> usize {
    static MEMORY: OnceLock<usize> = OnceLock::new();
    *MEMORY.get_or_init(|| {
        // SAFETY: plain calls; a negative answer is no limit.
        let (pages, page) =
            unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
        usize::try_from(pages)
            .map_or(usize::MAX, |pages| pages.saturating_mul(page.max(1) as usize))
    })
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
        let block = self.place(targets, parts)?;
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
            let sent = &self.sent[target as usize];
            // Counted before it can arrive: a count that is behind could end the run too early.
            sent.fetch_add(1, Ordering::AcqRel);
            match self.send(target, shot, block.as_ref()) {
                // Who asked for the loss of ranks knows; what is for a lost rank goes nowhere.
                Ok(()) | Err(EventsError::Transport(TransportError::Lost(_))) => {}
                Err(error) => {
                    sent.fetch_sub(1, Ordering::AcqRel);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Puts a payload where its targets can read it, if it is large and there is such a place.
    fn place(
        &self,
        targets: &[RankNumber],
        parts: &[&[u8]],
    ) -> Result<Option<Arc<Block>>, EventsError> {
        if !targets.iter().any(|target| self.transport.reads_blocks(*target)) {
            return Ok(None);
        }
        let placed =
            self.until_room(Some(limits::get().place_wait), || self.transport.place(parts));
        match placed {
            Ok(block) => Ok(block),
            // What fills the place may wait for this very event: it goes in pieces.
            Err(Waited::Full(_) | Waited::Failed(TransportError::TooLarge { .. })) => Ok(None),
            Err(Waited::Failed(error)) => Err(error.into()),
            Err(Waited::Over(error)) => Err(error),
        }
    }

    fn send(
        &self,
        target: RankNumber,
        shot: &Shot<'_>,
        block: Option<&Arc<Block>>,
    ) -> Result<(), EventsError> {
        let Shot { id, lasting, kind, parts } = *shot;
        let send = |message: &Outgoing<'_>| {
            self.send_within(self.config.send_timeout, target, id, message)
        };
        if let Some(block) = block.filter(|_| self.transport.reads_blocks(target)) {
            return send(&Outgoing::Placed { id, lasting, kind, block });
        }
        let nbytes = total(parts);
        let longest = self.transport.longest(target);
        if nbytes <= longest {
            return send(&Outgoing::Event { id, lasting, kind, parts });
        }
        let total = nbytes as u64;
        let _sending = lock(&self.sending[target as usize]);
        let mut timeout = self.config.send_timeout;
        for bytes in parts.iter().flat_map(|part| part.chunks(longest)) {
            let piece = Outgoing::Piece { id, lasting, kind, total, bytes };
            self.send_within(timeout, target, id, &piece)?;
            // What has begun is sent to its end: else the next event would complete it.
            timeout = None;
        }
        Ok(())
    }

    fn send_within(
        &self,
        timeout: Option<Duration>,
        target: RankNumber,
        id: &EventId,
        message: &Outgoing<'_>,
    ) -> Result<(), EventsError> {
        match self.try_send(target, message) {
            Err(TransportError::Full) => {}
            sent => return Ok(sent?),
        }
        let awaited = Awaited { target, id: id.clone(), since: Instant::now() };
        lock(&self.awaited).insert(Self::thread(), awaited);
        let sent = self.until_room(timeout, || self.try_send(target, message));
        lock(&self.awaited).remove(&Self::thread());
        sent.map_err(|why| match why {
            Waited::Full(waited) => EventsError::NoRoom { id: id.to_string(), target, waited },
            Waited::Failed(error) => error.into(),
            Waited::Over(error) => error,
        })
    }

    /// Tries until there is room, taking in meanwhile what arrives: the target may be waiting for
    /// room here.
    fn until_room<R>(
        &self,
        timeout: Option<Duration>,
        mut attempt: impl FnMut() -> Result<R, TransportError>,
    ) -> Result<R, Waited> {
        match attempt() {
            Ok(done) => return Ok(done),
            Err(TransportError::Full) => {}
            Err(error) => return Err(Waited::Failed(error)),
        }
        self.pressed.fetch_add(1, Ordering::AcqRel);
        let result = self.wait_for_room(timeout, attempt);
        self.pressed.fetch_sub(1, Ordering::AcqRel);
        // Workers may have gone to sleep because this thread looked for what arrives.
        self.idle.ring(1);
        result
    }

    fn wait_for_room<R>(
        &self,
        timeout: Option<Duration>,
        mut attempt: impl FnMut() -> Result<R, TransportError>,
    ) -> Result<R, Waited> {
        let since = Instant::now();
        loop {
            match attempt() {
                Ok(done) => return Ok(done),
                Err(TransportError::Full) => {}
                Err(error) => return Err(Waited::Failed(error)),
            }
            self.check_over().map_err(Waited::Over)?;
            let waited = since.elapsed();
            if timeout.is_some_and(|timeout| waited > timeout) {
                return Err(Waited::Full(waited));
            }
            let step = Duration::from_millis(1);
            match self.try_polling() {
                Some(_polling) if self.poll() > 0 => {}
                Some(_polling) if waited > step => {
                    self.transport.sleep(&|| !self.is_over(), Some(step));
                }
                None if !self.transport.may_poll() && waited > step => std::thread::sleep(step),
                _ => std::thread::yield_now(),
            }
        }
    }
}

/// An event that waits for room elsewhere.
pub(super) struct Awaited {
    pub target: RankNumber,
    pub id: EventId,
    pub since: Instant,
}

/// Why there was no room.
enum Waited {
    Full(Duration),
    Failed(TransportError),
    Over(EventsError),
}
