//! The clients of other processes that a manager is connected to.

use super::connection::Connection;
use crate::manager::Outcome;
use crate::session::{ClientId, HomeCache, Resumable, Sessions, ToClient};
use crate::store::random_name;
use crate::wire::{Attach, OTHER_KEY, PROTOCOL, encode_parts, frame, is_same_key, other_protocol};
use freestone_base::{Name, Ticket};
use freestone_tls::{Certificate, Revoked};
use mio::{Registry, Token};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

/// Why a client that reconnects too late is refused.
const UNKNOWN: &str = "it knows nothing of what this program has asked before: the program was out \
                       of reach for longer than its 'reconnect_s', or another process serves the \
                       cluster now";

/// A client that may reconnect.
pub(super) struct Lasting {
    /// By which it names itself then.
    session: Name,
    /// What was sent to it, and what came.
    pub resumable: Resumable,
    /// By which it is trusted.
    certificate: Option<Certificate>,
    /// How long it is waited for.
    reconnect: Duration,
    /// Since when its connection is broken.
    away: Option<Instant>,
}

impl Lasting {
    fn is_late(&self) -> bool {
        self.away.is_some_and(|since| since.elapsed() > self.reconnect)
    }
}

/// The clients, and what is on its way to them.
pub(super) struct Clients {
    /// What each has asked for.
    pub sessions: Sessions,
    /// Whose a token is.
    pub tokens: HashMap<Token, ClientId>,
    /// By client.
    pub connections: BTreeMap<ClientId, Connection>,
    /// Those that may reconnect.
    pub lasting: BTreeMap<ClientId, Lasting>,
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
            lasting: BTreeMap::new(),
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

    /// All clients, also those that are waited for.
    pub fn all(&self) -> BTreeSet<ClientId> {
        self.connections.keys().chain(self.lasting.keys()).copied().collect()
    }

    /// Those that have been waited for in vain.
    pub fn late(&self) -> Vec<ClientId> {
        let late = self.lasting.iter().filter(|(_, lasting)| lasting.is_late());
        late.map(|(client, _)| *client).collect()
    }

    /// Those that are trusted no longer.
    pub fn shut_out(&self, revoked: &Revoked) -> Vec<ClientId> {
        let is_out = |client: &ClientId| {
            let connection = self.connections.get(client);
            let lasting = self.lasting.get(client).and_then(|away| away.certificate.as_ref());
            connection.is_some_and(|connection| connection.is_revoked(revoked))
                || lasting.is_some_and(|certificate| revoked.contains(certificate))
        };
        self.all().into_iter().filter(is_out).collect()
    }

    /// Why one may not use the cluster, if that is so.
    pub fn refusal(&self, protocol: u32, key: &str) -> Option<String> {
        if protocol != PROTOCOL {
            return Some(other_protocol(protocol));
        }
        (!is_same_key(key, &self.key)).then(|| OTHER_KEY.to_owned())
    }

    /// The client that has connected: a new one, or one that reconnects.
    ///
    /// # Errors
    /// Why one that reconnects may not.
    pub fn attach(&mut self, attach: Attach) -> Result<ClientId, String> {
        let (session, received) = match attach {
            Attach::Again { session, received } => (session, received),
            Attach::Once => return Ok(self.sessions.open()),
            Attach::Resumable { reconnect_ms } => {
                let client = self.sessions.open();
                // Without a name that nobody else has it ends with its connection.
                if let Ok(session) = random_name() {
                    let (resumable, away) = (Resumable::default(), None);
                    let reconnect = Duration::from_millis(reconnect_ms);
                    let certificate = None;
                    let lasting = Lasting { session, resumable, certificate, reconnect, away };
                    self.lasting.insert(client, lasting);
                }
                return Ok(client);
            }
        };
        let found = self.lasting.iter_mut().find(|(_, lasting)| lasting.session == session);
        let (client, lasting) = found.ok_or(UNKNOWN)?;
        lasting.resumable.confirm(received).map_err(|error| error.to_string())?;
        Ok(*client)
    }

    /// A client has this connection from now on, and is sent what it may not have got.
    pub fn connect(
        &mut self,
        client: ClientId,
        mut connection: Connection,
        boot: String,
        registry: &Registry,
    ) {
        // The end of the former connection may not have been noticed.
        self.disconnect(client, registry);
        let lasting = self.lasting.get_mut(&client);
        let (session, received) = lasting
            .as_ref()
            .map_or((None, 0), |lasting| (Some(lasting.session), lasting.resumable.received()));
        let home = self.home.clone();
        // It is short.
        let _ = connection.send(&ToClient::Welcome { boot, home, session, received });
        if let Some(lasting) = lasting {
            lasting.away = None;
            lasting.certificate = connection.certificate().map(<[u8]>::to_vec);
            lasting.resumable.unconfirmed().for_each(|frame| connection.append(frame));
        }
        self.tokens.insert(connection.token(), client);
        self.connections.insert(client, connection);
    }

    /// Ends a client's connection; whether there was one.
    pub fn disconnect(&mut self, client: ClientId, registry: &Registry) -> bool {
        self.unread.remove(&client);
        let Some(mut connection) = self.connections.remove(&client) else { return false };
        self.tokens.remove(&connection.token());
        connection.deregister(registry);
        true
    }

    /// The connection is gone: whether the client is waited for.
    pub fn is_awaited(&mut self, client: ClientId) -> bool {
        let Some(lasting) = self.lasting.get_mut(&client) else { return false };
        lasting.away.get_or_insert_with(Instant::now);
        true
    }

    /// Bytes that a client has not read.
    pub fn unread_nbytes(&self, client: ClientId) -> usize {
        let connection = self.connections.get(&client).map_or(0, Connection::unwritten);
        let lasting = self.lasting.get(&client).map_or(0, |client| client.resumable.nbytes());
        connection.max(lasting)
    }

    /// Appends a message to a client's connection.
    pub fn send(&mut self, client: ClientId, message: ToClient) {
        let mut frames = Vec::new();
        for (part, nbytes) in encode_parts(message, &mut frames) {
            let ToClient::Outcomes(outcomes) = part else { continue };
            // A value this large is a block: what is left is an answer about very many of them.
            for (ticket, _) in outcomes {
                let outcome = Outcome::Failed(super::client::too_large(nbytes));
                let _ = frame::encode(&ToClient::Outcomes(vec![(ticket, outcome)]), &mut frames);
            }
        }
        if let Some(lasting) = self.lasting.get_mut(&client) {
            lasting.resumable.send(&frames);
        }
        if let Some(connection) = self.connections.get_mut(&client) {
            connection.append(&frames);
        }
    }

    /// Informs a client of how many of its messages have come, if it is time.
    pub fn report(&mut self, client: ClientId, time_passed: bool) {
        let connection = self.connections.get_mut(&client);
        let (Some(connection), Some(lasting)) = (connection, self.lasting.get_mut(&client)) else {
            return;
        };
        if let Some(received) = lasting.resumable.report(time_passed) {
            let _ = connection.send(&ToClient::Received(received));
        }
    }
}
