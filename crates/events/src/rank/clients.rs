//! Processes outside of the run, so far as a rank has to know of them.
//!
//! Each counts for one rank, to which it says that it waits, goes on or detaches. See
//! `termination/README.md` for why what the rank knows may be old.

#[cfg(test)]
#[path = "clients_tests.rs"]
mod tests;

use super::control::Wait;
use crate::event::Rank;
use crate::termination::{Flow, Flows};
use std::collections::BTreeMap;

/// What a client is at, by what it said last.
#[derive(Clone, Debug)]
enum Stand {
    /// It computes, and may fire.
    Busy,
    Waits(Wait),
    /// It has detached, after it had fired so many events.
    Left(u64),
}

/// Those that count for this rank, and those of other ranks that have left.
#[derive(Debug)]
pub(super) struct Clients {
    own: BTreeMap<Rank, Stand>,
    /// By their numbers after those of the ranks.
    left: Vec<bool>,
    ranks: u32,
}

impl Clients {
    /// Those of `rank`, of `clients` beside a run of `ranks`.
    pub fn new(rank: Rank, ranks: u32, clients: u32) -> Self {
        let own = (0..clients)
            .filter(|client| client % ranks.max(1) == rank)
            .map(|client| (ranks + client, Stand::Busy))
            .collect();
        Self { own, left: vec![false; clients as usize], ranks }
    }

    /// Whether one may fire, for all that is known.
    pub fn are_busy(&self) -> bool {
        self.own.values().any(|stand| matches!(stand, Stand::Busy))
    }

    /// Whether one has yet to detach.
    pub fn are_there(&self) -> bool {
        self.own.values().any(|stand| !matches!(stand, Stand::Left(_)))
    }

    /// The events of this rank and of its clients, of what the rank has sent to each and received from each.
    pub fn flows(&self, sent: &dyn Fn(usize) -> u64, received: &[u64], lost: &[bool]) -> Flows {
        let room = self.ranks as usize;
        let alive = |number: &usize| !lost[*number];
        let ranks = || (0..room).filter(alive);
        // Who has lost the rank that it counts for counts no more.
        let is_counted = |client: &usize| alive(client) && alive(&((client - room) % room));
        let clients = || (room..lost.len()).filter(is_counted);
        let is_there = |client: &usize| !self.left[client - room];
        let own = |count: fn(&Stand) -> u64| self.own.values().map(count).sum();
        Flows {
            between: Flow {
                sent: ranks().map(sent).sum(),
                received: ranks().map(|rank| received[rank]).sum(),
            },
            out: Flow {
                sent: clients().filter(is_there).map(sent).sum(),
                received: own(|stand| match stand {
                    Stand::Waits(wait) => wait.received,
                    Stand::Busy | Stand::Left(_) => 0,
                }),
            },
            back: Flow {
                sent: own(|stand| match stand {
                    Stand::Busy => 0,
                    Stand::Waits(wait) => wait.sent,
                    Stand::Left(sent) => *sent,
                }),
                received: clients().map(|client| received[client]).sum(),
            },
        }
    }

    pub fn on_waits(&mut self, client: Rank, wait: Wait) {
        self.note(client, Stand::Waits(wait));
    }

    pub fn on_resumes(&mut self, client: Rank) {
        self.note(client, Stand::Busy);
    }

    /// One has fired all that it will; whether it was there before.
    pub fn on_detached(&mut self, client: Rank, sent: u64) -> bool {
        self.on_left(client);
        self.note(client, Stand::Left(sent))
    }

    /// One of any rank has detached.
    pub fn on_left(&mut self, client: Rank) {
        let index = client.checked_sub(self.ranks);
        if let Some(left) = index.and_then(|index| self.left.get_mut(index as usize)) {
            *left = true;
        }
    }

    /// What one fired counts no more, and it says nothing any more.
    pub fn on_lost(&mut self, client: Rank) {
        self.own.remove(&client);
    }

    /// The run is over for those that are there; which those are.
    pub fn dismiss(&mut self) -> Vec<Rank> {
        let own = std::mem::take(&mut self.own).into_iter();
        own.filter(|(_, stand)| !matches!(stand, Stand::Left(_)))
            .map(|(client, _)| client)
            .collect()
    }

    /// What those are at that are there, for people.
    pub fn describe(&self) -> impl Iterator<Item = String> {
        self.own.iter().filter_map(|(client, stand)| match stand {
            Stand::Busy => {
                Some(format!("bridge {client} is attached: the run goes on until it detaches"))
            }
            Stand::Waits(wait) => Some(format!("bridge {client} waits: {}", wait.what)),
            Stand::Left(_) => None,
        })
    }

    fn note(&mut self, client: Rank, stand: Stand) -> bool {
        let own = self.own.get_mut(&client).filter(|before| !matches!(before, Stand::Left(_)));
        own.map(|before| *before = stand).is_some()
    }
}
