//! A manager whose process was killed goes on in another one.

use super::clients::{Clients, Lasting};
use super::clock::monotonic_ns;
use super::journal::{Journal, JournalError, Replay};
use super::manager::Shell;
use crate::journal::{Damage, Entry, StateParts};
use crate::manager::{Action, Config, Event, Manager, Now, Request};
use crate::session::{ClientId, Sessions};
use crate::wire::{FrameError, frame};
use freestone_base::{FunctionId, WorkerId};
use std::collections::{BTreeMap, BTreeSet};

/// What the journal leads to: the manager and its clients, who is connected, and the numbers of the
/// next worker and the next function.
type State = (Manager, Sessions, BTreeMap<ClientId, Lasting>, BTreeSet<WorkerId>, u32, FunctionId);

/// What the journal says of those that were connected.
#[derive(Default)]
struct Former {
    /// Whether it says anything.
    has_begun: bool,
    workers: BTreeSet<WorkerId>,
    parts: StateParts,
}

impl Shell {
    /// Goes on where the process was that has written the journal: all that came to it comes again,
    /// and then its connections end, as they did. Nothing is listened to until then.
    ///
    /// # Errors
    /// [`JournalError`]
    pub(super) fn take_up(
        &mut self,
        mut replay: Replay,
        config: Config,
    ) -> Result<(), JournalError> {
        let mut former = Former::default();
        let damage = self.replay_all(&mut replay, &mut former);
        if let Err(damage) = &damage {
            eprintln!(
                "freestone: the journal is damaged: {damage}; the cluster goes on from there, and a \
                 copy of the journal is kept beside it"
            );
        }
        self.journal = Some(replay.into_journal(damage.err())?);
        self.ahead_ns = self.now.saturating_sub(monotonic_ns());
        self.note(&Entry::Began(Box::new(config.clone())));
        if former.has_begun {
            self.go_on(&former, config);
        }
        self.carry_out();
        Ok(())
    }

    /// The connections of the former process have ended.
    fn go_on(&mut self, former: &Former, config: Config) {
        self.clients.sessions.limit(config.max_calls);
        self.handle(Event::TakenUp(Box::new(config)));
        for worker in &former.workers {
            self.note(&Entry::Left(*worker));
            self.handle(Event::Left(*worker));
        }
        for client in self.clients.take_up() {
            self.end_client(client);
        }
        self.client.count_clients(self.clients.sessions.len());
    }

    /// Has the journal begin with the state that it leads to, if it has grown by enough.
    pub(super) fn compact(&mut self) {
        let is_large = self.journal.as_ref().is_some_and(Journal::is_large);
        // Between turns nothing else is on its way.
        if !is_large || !self.actions.is_empty() || self.clients.have_answers() {
            return;
        }
        self.commit();
        let Some(journal) = &mut self.journal else { return };
        let Clients { sessions, lasting, .. } = &self.clients;
        let workers: BTreeSet<WorkerId> = self.connections.keys().copied().collect();
        let state =
            (&self.manager, sessions, lasting, workers, self.joined, self.client.functions());
        if let Err(error) = journal.compact(self.now, &state) {
            eprintln!(
                "freestone: the journal can't be compacted, and grows until there is room: {error}"
            );
        }
    }

    fn restore(&mut self, state: State, former: &mut Former) {
        let (manager, sessions, lasting, workers, joined, functions) = state;
        (self.manager, self.joined) = (manager, joined);
        (self.clients.sessions, self.clients.lasting) = (sessions, lasting);
        self.client.skip_functions(functions);
        (former.has_begun, former.workers) = (true, workers);
    }

    fn replay_all(&mut self, replay: &mut Replay, former: &mut Former) -> Result<(), Damage> {
        loop {
            let offset = replay.offset();
            let Some(record) = replay.next()? else { return Ok(()) };
            let damaged = |reason| Damage { offset, reason };
            let (now, entry) = Entry::decode(record).map_err(damaged)?;
            let replayed = self.replay(now, &entry, former);
            replayed.map_err(|error| damaged(error.to_string()))?;
        }
    }

    /// What came once comes again.
    fn replay(
        &mut self,
        now: Now,
        entry: &Entry<'_>,
        former: &mut Former,
    ) -> Result<(), FrameError> {
        self.now = now;
        match *entry {
            Entry::Began(ref config) => {
                self.clients.sessions.limit(config.max_calls);
                if former.has_begun {
                    self.handle(Event::TakenUp(config.clone()));
                } else {
                    self.manager = Manager::new((**config).clone());
                }
                former.has_begun = true;
            }
            Entry::Own(body) => {
                let request = frame::decode(body)?;
                if let Request::Define { function, .. } = request {
                    self.client.skip_functions(FunctionId(function.0 + 1));
                }
                self.on_own(request);
            }
            Entry::Connected(worker) => {
                self.joined = worker.0 + 1;
                former.workers.insert(worker);
                self.handle(Event::Connected(worker));
            }
            Entry::Worker(worker, body) => self.handle(Event::Worker(worker, frame::decode(body)?)),
            Entry::Left(worker) => {
                former.workers.remove(&worker);
                self.handle(Event::Left(worker));
            }
            Entry::Tick => self.handle(Event::Tick),
            Entry::Opened(lasting) => {
                self.clients.open(lasting);
            }
            // What can't be confirmed is what the client was refused for.
            Entry::Reconnected(client, received) => {
                let _ = self.clients.confirm(client, received);
            }
            Entry::Client(client, body) => {
                let _ = self.on_client_message(client, frame::decode(body)?);
            }
            Entry::Ended(client) => self.close_session(client),
            Entry::CarriedOut => {
                for action in std::mem::take(&mut self.actions) {
                    if let Action::Resolve(ticket, outcome) = action
                        && ticket.is_remote()
                    {
                        self.answer_client(ticket, outcome);
                    }
                }
            }
            Entry::Answered => {
                self.answer_clients();
            }
            Entry::Sent(client, frames) => self.clients.append(client, frames),
            Entry::State { part, is_last } => {
                let malformed = |reason| FrameError::Malformed { nbytes: part.len(), reason };
                if let Some(state) = former.parts.take(part, is_last).map_err(malformed)? {
                    self.restore(state, former);
                }
            }
        }
        Ok(())
    }
}
