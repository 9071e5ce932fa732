//! A manager whose process was killed goes on in another one.

use super::clock::monotonic_ns;
use super::journal::{JournalError, Replay};
use super::manager::Shell;
use crate::journal::{Damage, Entry};
use crate::manager::{Action, Config, Event, Now, Request};
use crate::wire::{FrameError, frame};
use freestone_base::{FunctionId, WorkerId};
use std::collections::BTreeSet;

/// What the journal says of those that were connected.
#[derive(Default)]
struct Former {
    /// Whether it says anything.
    has_begun: bool,
    workers: BTreeSet<WorkerId>,
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
                if former.has_begun {
                    self.handle(Event::TakenUp(config.clone()));
                }
                former.has_begun = true;
            }
            Entry::Own(body) => {
                let request = frame::decode(body)?;
                if let Request::Define { function, .. } = request {
                    self.client.skip_functions(FunctionId(function.0 + 1));
                }
                self.handle(Event::Client(request));
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
        }
        Ok(())
    }
}
