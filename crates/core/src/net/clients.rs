//! The clients of other processes that a manager is connected to.

use super::connection::Connection;
use crate::manager::Outcome;
use crate::session::{ClientId, HomeCache, Sessions, ToClient};
use crate::wire::{OTHER_KEY, PROTOCOL, is_same_key, other_protocol};
use freestone_base::Ticket;
use mio::Token;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The clients, and what is on its way to them.
pub(super) struct Clients {
    /// What each has asked for.
    pub sessions: Sessions,
    /// Whose a token is.
    pub tokens: HashMap<Token, ClientId>,
    /// By client.
    pub connections: BTreeMap<ClientId, Connection>,
    /// What each is to be answered in this turn.
    pub answers: BTreeMap<ClientId, Vec<(Ticket, Outcome)>>,
    /// Those of whom there may be more to read.
    pub unread: BTreeSet<ClientId>,
    key: String,
    /// Where the home is, as it was last reported to them.
    pub home: Option<HomeCache>,
}

impl Clients {
    /// Clients must show `key`.
    pub fn new(key: String) -> Self {
        Self {
            sessions: Sessions::default(),
            tokens: HashMap::new(),
            connections: BTreeMap::new(),
            answers: BTreeMap::new(),
            unread: BTreeSet::new(),
            key,
            home: None,
        }
    }

    /// Whether there is work that no event tells of.
    pub fn have_more(&self) -> bool {
        !self.unread.is_empty()
    }

    /// The client of a token.
    pub fn of(&self, token: Token) -> Option<ClientId> {
        self.tokens.get(&token).copied()
    }

    /// Why one may not use the cluster, if that is so.
    pub fn refusal(&self, protocol: u32, key: &str) -> Option<String> {
        if protocol != PROTOCOL {
            return Some(other_protocol(protocol));
        }
        (!is_same_key(key, &self.key)).then(|| OTHER_KEY.to_owned())
    }

    /// Appends a message to a client's connection.
    pub fn send(&mut self, client: ClientId, message: ToClient) {
        let Some(connection) = self.connections.get_mut(&client) else { return };
        for (part, nbytes) in connection.send_parts(message) {
            let ToClient::Outcomes(outcomes) = part else { continue };
            // A value this large is a block: what is left is an answer about very many of them.
            for (ticket, _) in outcomes {
                let outcome = Outcome::Failed(super::client::too_large(nbytes));
                let _ = connection.send(&ToClient::Outcomes(vec![(ticket, outcome)]));
            }
        }
    }
}
