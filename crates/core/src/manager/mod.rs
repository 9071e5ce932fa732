//! The manager: the graph, placement and recovery, as a state machine without I/O.
//!
//! See the `README.md` in this folder for states, transitions and invariants.

pub mod api;

mod check;
mod client;
mod clock;
mod config;
mod few;
mod graph;
mod members;
mod order;
mod overview;
mod record;
mod routes;
mod schedule;
mod shapes;
mod shared;
mod sharing;
mod table;
#[cfg(test)]
mod tests;
mod transfer;

pub use api::*;
pub use clock::Now;
pub use config::Config;
pub use overview::*;
pub use record::{Fields, Record};
pub use sharing::*;

use client::Clients;
use graph::Graph;
use members::Members;
use schedule::Schedule;
use serde::{Deserialize, Serialize};
use shared::Shared;
use transfer::Transfer;

/// The manager.
///
/// It knows every task, every replica and every worker, and does nothing by itself: a shell
/// feeds it events and carries its actions out.
#[derive(Serialize, Deserialize)]
pub struct Manager {
    config: Config,
    now: Now,
    /// Empty between events.
    #[serde(skip)]
    out: Vec<Action>,
    counts: Counts,
    graph: Graph,
    members: Members,
    transfer: Transfer,
    schedule: Schedule,
    clients: Clients,
    shared: Shared,
    /// Whether somebody looks at the run, so that records are of use.
    observed: bool,
    closed: bool,
}

/// What is counted along the way; the rest of [`Statistics`] is derived.
#[derive(Default, Serialize, Deserialize)]
struct Counts {
    done: u64,
    failed: u64,
    answered: u64,
    retried: u64,
    recovered: u64,
    waiting: u64,
    ready: u64,
    assigned: u64,
    stolen: u64,
    transfers: u64,
    transferred_nbytes: u64,
    inline_nbytes: u64,
    busy_ns: u64,
}

impl Manager {
    /// A manager without tasks and workers.
    pub fn new(config: Config) -> Self {
        Self {
            now: 0,
            out: Vec::new(),
            counts: Counts::default(),
            graph: Graph::new(),
            members: Members::default(),
            transfer: Transfer::new(&config),
            schedule: Schedule::default(),
            clients: Clients::new(),
            shared: Shared::default(),
            config,
            observed: false,
            closed: false,
        }
    }

    /// Takes in what happened at `now` and appends what is to be done to `out`.
    ///
    /// Equal events at equal times give equal actions. The cost depends on what the event
    /// changes, not on how many tasks and workers there are.
    pub fn handle(&mut self, event: Event, now: Now, out: &mut Vec<Action>) {
        self.now = self.now.max(now);
        self.transfer.begin(self.now);
        std::mem::swap(&mut self.out, out);
        match event {
            Event::Client(request) => self.on_request(request),
            Event::Connected(worker) => self.members.workers.expect(worker),
            Event::Worker(worker, message) => {
                self.prefetch(worker, &message);
                self.on_message(worker, message);
            }
            Event::Left(worker) => self.on_left(worker),
            Event::Tick => self.on_tick(),
            Event::TakenUp(config) => self.on_taken_up(*config),
        }
        self.finish_event();
        std::mem::swap(&mut self.out, out);
    }

    /// Lets go of what is no longer needed, gives work to workers, and sends what is to be sent.
    fn finish_event(&mut self) {
        self.let_go();
        self.restore_displaced();
        self.retry_cramped();
        self.advance_balance();
        if self.members.workers.retiring > 0 {
            self.advance_retirements();
        }
        if !self.members.touched().is_empty() || self.counts.ready > 0 {
            self.dispatch();
        }
        self.flush();
    }

    /// Tells what happened, if there is a trace or somebody looks.
    fn trace(&mut self, record: impl FnOnce(&Self) -> Record) {
        if self.config.trace || self.observed {
            let record = record(self);
            self.out.push(Action::Trace(record));
        }
    }

    /// Answers a question.
    fn reply(&mut self, ticket: freestone_base::Ticket, outcome: Outcome) {
        self.resolve(ticket, outcome);
    }

    fn resolve(&mut self, ticket: freestone_base::Ticket, outcome: Outcome) {
        if ticket.is_detached() {
            return self.end_detached(ticket);
        }
        self.out.push(Action::Resolve(ticket, outcome));
    }
}
