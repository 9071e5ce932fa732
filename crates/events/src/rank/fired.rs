//! What a rank fires at a process outside of the run, until that one detaches, and what is dropped then.

use super::Inner;
use super::control::Control;
use super::state::State;
use crate::event::{EventId, Lasting, Rank};
use crate::matching::Leftover;
use crate::sync::lock;
use crate::transport::{Outgoing, TransportError};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

/// How many identifiers are remembered of the events fired last, and of those dropped.
const NAMES: usize = 64;
/// How many of them people are told.
const NAMED: usize = 20;

/// Events fired at one client. It receives them in order: those that it has not received are the last ones.
#[derive(Debug, Default)]
pub(super) struct Fired {
    count: u64,
    /// The last ones: how many of one identifier follow each other.
    last: VecDeque<(EventId, Lasting, u64)>,
    has_left: bool,
    dropped: BTreeMap<Vec<u8>, usize>,
    /// Those dropped whose identifiers are not kept.
    unnamed: u64,
}

impl Fired {
    /// Sends an event, unless the client has detached: then it is dropped.
    pub fn send<E>(
        &mut self,
        id: &EventId,
        lasting: Lasting,
        send: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        if self.has_left {
            self.drop_events(id, lasting, 1);
            return Ok(());
        }
        send()?;
        self.count += 1;
        match self.last.back_mut() {
            Some((last, how, count)) if last == id && *how == lasting => *count += 1,
            _ => self.last.push_back((id.clone(), lasting, 1)),
        }
        if self.last.len() > NAMES {
            self.last.pop_front();
        }
        Ok(())
    }

    /// The client has detached, after it had received so many.
    pub fn on_left(&mut self, received: u64) {
        self.has_left = true;
        let mut missing = self.count.saturating_sub(received);
        for (id, lasting, count) in std::mem::take(&mut self.last).into_iter().rev() {
            let dropped = count.min(missing);
            missing -= dropped;
            self.drop_events(&id, lasting, dropped);
        }
        self.unnamed += missing;
    }

    /// What was dropped that `rank` fired, and how many events without their identifiers.
    pub fn dropped(&self, rank: Rank) -> (Vec<Leftover>, u64) {
        let leftover =
            |(id, &count): (&Vec<u8>, _)| Leftover { source: rank, id: id.clone(), count };
        (self.dropped.iter().map(leftover).collect(), self.unnamed)
    }

    fn drop_events(&mut self, id: &EventId, lasting: Lasting, count: u64) {
        // No run waits for others to be consumed.
        if lasting != Lasting::Once || count == 0 {
            return;
        }
        let is_full = self.dropped.len() >= NAMES;
        match self.dropped.get_mut(id.as_bytes()) {
            Some(known) => *known += count as usize,
            None if is_full => self.unnamed += count,
            None => drop(self.dropped.insert(id.as_bytes().to_vec(), count as usize)),
        }
    }
}

impl Inner {
    fn fired_at(&self, target: Rank) -> Option<&Mutex<Fired>> {
        let client = target.checked_sub(self.transport.room())?;
        self.fired.get(client as usize)
    }

    /// Tries to send something to another rank, or to a client.
    pub(super) fn try_send(
        &self,
        target: Rank,
        message: &Outgoing<'_>,
    ) -> Result<(), TransportError> {
        let send = || self.transport.send(target, message);
        // Clients are reached by MPI, where events go in one piece.
        match (self.fired_at(target), message) {
            (Some(fired), &Outgoing::Event { id, lasting, .. }) => {
                lock(fired).send(id, lasting, send)
            }
            _ => send(),
        }
    }

    /// A client of any rank has detached, after it had received so many events of this rank: who waits for
    /// room there goes on.
    pub(super) fn on_left(&self, state: &mut State, client: Rank, received: u64) {
        state.clients.on_left(client);
        state.activity += 1;
        if let Some(fired) = self.fired_at(client) {
            lock(fired).on_left(received);
            // It takes in what is on its way until it hears this.
            self.send_control(state, client, Control::Left { client, received }.encode());
            self.transport.release(client);
        }
    }

    /// Says what clients have not received of this rank's events.
    pub(super) fn say_dropped(&self) {
        for (client, fired) in (self.transport.room()..).zip(&self.fired) {
            // Once, however often a program finishes.
            let (leftovers, unnamed) = std::mem::take(&mut *lock(fired)).dropped(self.rank());
            say_dropped(client, "before it received", &leftovers, unnamed);
        }
    }
}

/// Says what a client has not received, or not consumed, if there is something.
pub(crate) fn say_dropped(client: Rank, how: &str, leftovers: &[Leftover], unnamed: u64) {
    let named = leftovers.len().min(NAMED);
    let others = leftovers[named..].iter().map(|leftover| leftover.count as u64).sum::<u64>();
    let mut texts: Vec<_> = leftovers[..named].iter().map(ToString::to_string).collect();
    if others + unnamed > 0 {
        texts.push(format!("{} events more", others + unnamed));
    }
    if !texts.is_empty() {
        crate::say(&format!(
            "freestone events: bridge {client} detached {how} {}: they are dropped; let it wait for all that is \
             fired at it before it detaches",
            texts.join(", ")
        ));
    }
}
