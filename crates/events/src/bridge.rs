//! A process outside of a run that fires at its ranks and receives from them: no threads, no tasks.
//!
//! It is for programs that have a main loop and an MPI of their own, as the computational ranks of a
//! simulation that others analyse. The run goes on until it detaches.

use crate::error::{EventsError, Failure};
use crate::event::{Dependency, Event, EventId, Lasting, Rank};
use crate::limits;
use crate::matching::{Given, Matcher, Ready, Submission};
use crate::payload::{Events, Payload};
use crate::pieces::Pieces;
use crate::rank::control::{Control, Wait};
use crate::rank::{Label, Target, check_size, say_dropped};
use crate::sync::lock;
use crate::transport::mpi::{Mpi, World};
use crate::transport::{Incoming, Outgoing, Transport, TransportError, arena};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A wait of this time tells the run of it: a shorter one is no reason to think that nothing comes.
const LONG: Duration = Duration::from_millis(10);

/// The most messages that are taken in at the end: who fires without an end does not keep this process.
const LAST: usize = 10_000;

/// The most dependencies that a report names.
const LACKS: usize = 5;

/// A process outside of a run. Whatever comes and goes does so while it is in one of these calls.
pub struct Bridge {
    transport: Box<dyn Transport>,
    state: Mutex<State>,
    send_timeout: Option<Duration>,
}

#[derive(Debug, Default)]
struct State {
    matcher: Matcher<(), Payload>,
    pieces: Pieces,
    /// Events fired, to all ranks together.
    sent: u64,
    /// Events received, from all ranks together.
    received: u64,
    /// The same, from each rank.
    received_from: Vec<u64>,
    /// What the run knows of how many were sent and received, while it takes this process for one that waits.
    reported: Option<(u64, u64)>,
    /// Why the run has ended, if it has.
    ended: Option<Ended>,
    /// What a wait was given, when its events came.
    ready: Vec<Ready<(), Payload>>,
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client {} of {} ranks", self.number(), self.ranks())
    }
}

/// Why a run has ended.
#[derive(Debug)]
enum Ended {
    Failed(Rank, Failure),
    Lost(Rank),
    Stuck(String),
}

impl Bridge {
    /// Takes part in the run on the ranks of a world in which this process is a client.
    ///
    /// # Errors
    ///
    /// What MPI says.
    pub fn attach(
        world: Arc<World>,
        send_timeout: Option<Duration>,
    ) -> Result<Self, TransportError> {
        Ok(Self::on(Box::new(Mpi::new(world)?), send_timeout))
    }

    /// The same, on a transport.
    pub fn on(transport: Box<dyn Transport>, send_timeout: Option<Duration>) -> Self {
        let received_from = vec![0; transport.ranks() as usize];
        let state = Mutex::new(State { received_from, ..State::default() });
        Self { transport, state, send_timeout }
    }

    /// The number of this process: those of the ranks are below it.
    pub fn number(&self) -> Rank {
        self.transport.rank()
    }

    /// How many ranks the run has.
    pub fn ranks(&self) -> u32 {
        self.transport.ranks()
    }

    /// How many processes are outside of the run, with this one.
    pub fn clients(&self) -> u32 {
        self.transport.clients()
    }

    /// Fires an event at ranks: copies its payload, given in pieces, and goes on. When one has no room,
    /// waits until it has.
    ///
    /// # Errors
    ///
    /// If there is no such rank, the run has ended, or there is no room for longer than the timeout.
    pub fn fire(
        &self,
        target: &Target,
        id: &EventId,
        lasting: Lasting,
        kind: u32,
        parts: &[&[u8]],
    ) -> Result<(), EventsError> {
        check_size(id, parts)?;
        let ranks = self.ranks();
        let targets = match target {
            Target::Rank(rank) => vec![*rank],
            Target::All => (0..ranks).collect(),
            Target::Group(group) => group.clone(),
        };
        if let Some(&rank) = targets.iter().find(|&&rank| rank >= ranks) {
            return Err(EventsError::NoSuchRank { rank, ranks });
        }
        let nbytes = arena::total(parts);
        for target in targets {
            let longest = self.transport.longest(target);
            if nbytes <= longest {
                self.send(target, id, &Outgoing::Event { id, lasting, kind, parts })?;
            } else {
                let total = nbytes as u64;
                for bytes in parts.iter().flat_map(|part| part.chunks(longest)) {
                    self.send(target, id, &Outgoing::Piece { id, lasting, kind, total, bytes })?;
                }
            }
            lock(&self.state).sent += 1;
        }
        Ok(())
    }

    /// Waits for events from ranks, in the order of the dependencies; people know the wait by `label`. From
    /// time to time it asks whether to go on.
    ///
    /// # Errors
    ///
    /// If the run ends before, as it does if nobody can fire them any more, or `timeout` is over, or it is
    /// interrupted. A wait with a timeout may go on by itself, so that no run is stuck meanwhile.
    pub fn wait(
        &self,
        label: &Label,
        on: Vec<Dependency>,
        timeout: Option<Duration>,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<Events, EventsError> {
        let waited = self.wait_for(label, on, timeout, is_interrupted);
        if lock(&self.state).reported.take().is_some() {
            // Unless an error has ended the run, which says more.
            let _ = self.tell_home(&Control::Resumes);
        }
        waited
    }

    fn wait_for(
        &self,
        label: &Label,
        on: Vec<Dependency>,
        timeout: Option<Duration>,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<Events, EventsError> {
        let mut state = lock(&self.state);
        let State { matcher, ready, .. } = &mut *state;
        let request = matcher.submit(Submission::once((), on), ready);
        drop(state);
        let (since, mut quiet_since, mut asked) = (Instant::now(), Instant::now(), Instant::now());
        let interval = limits::get().signal_interval;
        loop {
            let polled = self.poll();
            let mut state = lock(&self.state);
            if let Some(Ready { given: Given::Events(events), .. }) = state.ready.pop() {
                return Ok(events);
            }
            let State { matcher, ready, .. } = &mut *state;
            let count = match polled {
                Ok(count) => count,
                Err(error) => {
                    matcher.withdraw(request, ready);
                    return Err(error);
                }
            };
            if timeout.is_some_and(|timeout| since.elapsed() >= timeout) {
                let lacks = matcher.withdraw(request, ready).unwrap_or_default();
                return Err(EventsError::timeout(&lacks, since.elapsed()));
            }
            drop(state);
            if asked.elapsed() >= interval {
                asked = Instant::now();
                // What handles a signal may call the bridge.
                if is_interrupted() {
                    let State { matcher, ready, .. } = &mut *lock(&self.state);
                    matcher.withdraw(request, ready);
                    return Err(EventsError::Interrupted);
                }
            }
            if count > 0 {
                quiet_since = Instant::now();
                continue;
            }
            if timeout.is_none() && quiet_since.elapsed() >= LONG {
                self.report(label)?;
            }
            let step = timeout.map_or(interval, |timeout| timeout.min(interval));
            self.transport.sleep(&|| true, Some(step.min(LONG)));
        }
    }

    /// Tells the run that this process does nothing before it receives an event, unless it knows.
    fn report(&self, label: &Label) -> Result<(), EventsError> {
        let mut state = lock(&self.state);
        let (sent, received) = (state.sent, state.received);
        if state.reported.replace((sent, received)) == Some((sent, received)) {
            return Ok(());
        }
        let lacks = state.matcher.waiting().into_iter().flat_map(|waiting| waiting.lacks);
        let lacks: Vec<_> = lacks.map(|lacking| lacking.to_string()).collect();
        drop(state);
        let more = lacks.len().saturating_sub(LACKS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let lacks = lacks[..lacks.len().min(LACKS)].join(", ");
        let what = format!("a wait of {label} lacks {lacks}{more}");
        self.tell_home(&Control::Waits(Wait { sent, received, what }))
    }

    /// Tells the rank that counts for this process.
    fn tell_home(&self, control: &Control) -> Result<(), EventsError> {
        let home = (self.number() - self.ranks()) % self.ranks();
        Ok(self.transport.send(home, &Outgoing::Control(&control.encode()))?)
    }

    /// Takes at most one event for each dependency, of those that are there: with the index of the
    /// dependency.
    ///
    /// # Errors
    ///
    /// If the run has ended, and none is there.
    pub fn retrieve_any(
        &self,
        on: &[Dependency],
    ) -> Result<Vec<(usize, Event<Payload>)>, EventsError> {
        let polled = self.poll();
        let events = lock(&self.state).matcher.retrieve(on);
        if events.is_empty() {
            polled?;
        }
        Ok(events)
    }

    /// Whether the run has ended with an error, of which this process has heard.
    pub fn is_over(&self) -> bool {
        lock(&self.state).ended.is_some()
    }

    /// Ends this process's part in the run: nothing comes or goes any more. What it has not consumed is dropped,
    /// with a word on stderr, here of what has arrived and at the end of the run of what has not.
    ///
    /// # Errors
    ///
    /// If the run has ended with an error.
    pub fn detach(&self) -> Result<(), EventsError> {
        let polled = self.poll_at_most(LAST);
        if polled.is_ok() {
            let state = lock(&self.state);
            let (sent, received) = (state.sent, state.received_from.clone());
            let leftovers = state.matcher.unconsumed();
            drop(state);
            self.tell_home(&Control::Detached { sent, received })?;
            say_dropped(self.number(), "without consuming", &leftovers, 0);
            self.see_off();
        }
        self.transport.leave();
        polled.map(|_| ())
    }

    /// Receives what is on its way and drops it, until all ranks have heard that this process has detached: MPI may
    /// have no room for messages between ranks while one to this process lies there. A rank that does not look for
    /// what arrives keeps it for a moment only.
    fn see_off(&self) {
        let end = Instant::now() + limits::get().close_timeout;
        let mut lacking = self.ranks();
        while lacking > 0 && Instant::now() < end {
            let polled = self.transport.poll(&mut |_, incoming| match incoming {
                Incoming::Lost => lacking = lacking.saturating_sub(1),
                Incoming::Control(bytes) => {
                    let is_answer = matches!(Control::decode(&bytes), Some(Control::Left { .. }));
                    lacking = lacking.saturating_sub(u32::from(is_answer));
                }
                _ => {}
            });
            match polled {
                Ok(0) => self.transport.sleep(&|| true, Some(LONG)),
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }

    fn send(&self, target: Rank, id: &EventId, message: &Outgoing<'_>) -> Result<(), EventsError> {
        let since = Instant::now();
        loop {
            self.check()?;
            match self.transport.send(target, message) {
                Err(TransportError::Full) => {}
                sent => return Ok(sent?),
            }
            let waited = since.elapsed();
            if self.send_timeout.is_some_and(|timeout| waited > timeout) {
                return Err(EventsError::NoRoom { id: id.to_string(), target, waited });
            }
            if self.poll()? == 0 {
                self.transport.sleep(&|| true, None);
            }
        }
    }

    /// Takes in what has arrived; how much.
    fn poll(&self) -> Result<usize, EventsError> {
        self.poll_at_most(usize::MAX)
    }

    /// The same, of so many messages.
    fn poll_at_most(&self, messages: usize) -> Result<usize, EventsError> {
        let mut count = 0;
        for _ in 0..messages {
            let mut found = Ok(());
            let polled = self.transport.poll(&mut |source, incoming| {
                // Another client that has ended is no concern of this one.
                let is_of_rank = source < self.ranks();
                if is_of_rank && let Err(error) = lock(&self.state).take(source, incoming) {
                    found = Err(error);
                }
            })?;
            found?;
            count += polled;
            if polled == 0 {
                break;
            }
        }
        self.check().map(|()| count)
    }

    fn check(&self) -> Result<(), EventsError> {
        match &lock(&self.state).ended {
            None => Ok(()),
            Some(Ended::Failed(rank, failure)) => {
                Err(EventsError::TaskFailed { rank: *rank, failure: failure.clone() })
            }
            Some(Ended::Lost(rank)) => Err(EventsError::RankLost { rank: *rank }),
            Some(Ended::Stuck(report)) => Err(EventsError::Stuck { report: report.clone() }),
        }
    }
}

impl State {
    fn take(&mut self, source: Rank, incoming: Incoming) -> Result<(), EventsError> {
        let event = match incoming {
            Incoming::Event(event) => Some(event),
            Incoming::Piece(piece, total) => {
                let added = self.pieces.add(piece, total);
                added.map_err(|error| {
                    let what = error.to_string();
                    let source = std::io::Error::from(std::io::ErrorKind::OutOfMemory);
                    TransportError::Io { what, source }
                })?
            }
            Incoming::Control(bytes) => {
                let ended = match Control::decode(&bytes) {
                    Some(Control::Failed(failure)) => Some(Ended::Failed(source, failure)),
                    Some(Control::Stuck(report)) => Some(Ended::Stuck(report)),
                    _ => None,
                };
                self.ended = self.ended.take().or(ended);
                None
            }
            Incoming::Lost => {
                self.ended.get_or_insert(Ended::Lost(source));
                None
            }
            Incoming::Credit(_) | Incoming::Apart(..) | Incoming::Alive | Incoming::Joining(_) => {
                None
            }
        };
        if let Some(event) = event {
            self.received += 1;
            self.received_from[source as usize] += 1;
            self.matcher.deliver(event, &mut self.ready);
        }
        Ok(())
    }
}
