//! The clients of other processes that a manager is connected to.

use super::connection::Connection;
use crate::manager::Outcome;
use crate::session::{ClientId, HomeCache, Resumable, Sessions, ToClient, Unsent};
use crate::store::random_name;
use crate::wire::{Attach, OTHER_KEY, PROTOCOL, encode_parts, frame, is_same_key, other_protocol};
use freestone_base::{Name, Ticket};
use freestone_tls::{Certificate, Revoked};
use mio::{Registry, Token};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

/// Why a client that reconnects too late is refused.
const UNKNOWN: &str = "it knows nothing of what this program has asked before: the program was out \
                       of reach for longer than its 'reconnect_s', or another process serves the \
                       cluster now, without the journal of the one before";

/// A client that may reconnect. Its connection is no part of a state.
#[derive(Serialize, Deserialize)]
pub(super) struct Lasting {
    /// By which it names itself then.
    session: Name,
    /// Whether the network may break its connection, and not only its own end or the manager's.
    #[serde(skip)]
    is_remote: bool,
    /// How many messages the former process may have sent to it, as far as this one knows: the
    /// journal of one that is damaged lacks some.
    #[serde(skip)]
    limit: Option<u64>,
    /// What was sent to it, and what came.
    pub resumable: Resumable,
    /// By which it is trusted.
    #[serde(skip)]
    certificate: Option<Certificate>,
    /// How long it is waited for.
    reconnect: Duration,
    /// Since when its connection is broken.
    #[serde(skip)]
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
    /// Clients must show `key`, and may each have so many calls that have not ended.
    pub fn new(key: String, max_calls: u64) -> Self {
        Self {
            sessions: Sessions::new(max_calls),
            tokens: HashMap::new(),
            connections: BTreeMap::new(),
            lasting: BTreeMap::new(),
            answers: BTreeMap::new(),
            unread: BTreeSet::new(),
            key,
            home: None,
        }
    }

    /// Whether there is something to be sent to any.
    pub fn have_answers(&self) -> bool {
        !self.answers.is_empty() || self.sessions.have_stopped()
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

    /// The name of a new session, if the client asks for one that outlives its connection.
    pub fn lasting(attach: Attach) -> Option<(Name, u64)> {
        let Attach::Resumable { reconnect_ms } = attach else { return None };
        // Without a name that nobody else has it ends with its connection.
        Some((random_name().ok()?, reconnect_ms))
    }

    /// A new client, and by which name it reconnects and how long it is waited for, if it may.
    pub fn open(&mut self, lasting: Option<(Name, u64)>) -> ClientId {
        let client = self.sessions.open();
        if let Some((session, reconnect_ms)) = lasting {
            let reconnect = Duration::from_millis(reconnect_ms);
            let (resumable, away, is_remote) = (Resumable::default(), None, false);
            let (limit, certificate) = (None, None);
            let lasting =
                Lasting { session, is_remote, limit, resumable, certificate, reconnect, away };
            self.lasting.insert(client, lasting);
        }
        client
    }

    /// The client of a session.
    ///
    /// # Errors
    /// Why one that reconnects may not.
    pub fn find(&self, session: Name) -> Result<ClientId, String> {
        let found = self.lasting.iter().find(|(_, lasting)| lasting.session == session);
        found.map(|(client, _)| *client).ok_or_else(|| UNKNOWN.to_owned())
    }

    /// A client has got so many messages.
    ///
    /// # Errors
    /// [`Unsent`]: it is out of order.
    pub fn confirm(&mut self, client: ClientId, received: u64) -> Result<(), Unsent> {
        let Some(lasting) = self.lasting.get_mut(&client) else { return Ok(()) };
        match lasting.limit.filter(|sent| received > *sent) {
            Some(sent) => Err(Unsent { received, sent }),
            None => lasting.resumable.confirm(received),
        }
    }

    /// Clients that may reconnect, and those that have no connection any more: the manager's process
    /// is another one.
    pub fn take_up(&mut self) -> Vec<ClientId> {
        for lasting in self.lasting.values_mut() {
            lasting.away = Some(Instant::now());
            lasting.limit = Some(lasting.resumable.sent());
        }
        let mut clients = self.sessions.clients();
        clients.retain(|client| !self.lasting.contains_key(client));
        clients
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
        let is_remote = connection.is_remote();
        let lasting = self.lasting.get_mut(&client);
        let (session, received) = lasting
            .as_ref()
            .map_or((None, 0), |lasting| (Some(lasting.session), lasting.resumable.received()));
        let home = self.home.clone();
        // It is short.
        let _ = connection.send(&ToClient::Welcome { boot, home, session, received });
        if let Some(lasting) = lasting {
            (lasting.away, lasting.limit) = (None, None);
            lasting.is_remote = is_remote;
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

    /// The connection is gone: whether the client is waited for. On this machine that is its end.
    pub fn is_awaited(&mut self, client: ClientId) -> bool {
        let Some(lasting) = self.lasting.get_mut(&client) else { return false };
        lasting.away.get_or_insert_with(Instant::now);
        lasting.is_remote
    }

    /// Bytes that a client has not read.
    pub fn unread_nbytes(&self, client: ClientId) -> usize {
        let connection = self.connections.get(&client).map_or(0, Connection::unwritten);
        let lasting = self.lasting.get(&client).map_or(0, |client| client.resumable.nbytes());
        connection.max(lasting)
    }

    /// Appends a message to a client's connection; the frames.
    pub fn send(&mut self, client: ClientId, message: ToClient) -> Vec<u8> {
        let mut frames = Vec::new();
        for (part, nbytes) in encode_parts(message, &mut frames) {
            let ToClient::Outcomes(outcomes) = part else { continue };
            // A value this large is a block: what is left is an answer about very many of them.
            for (ticket, _) in outcomes {
                let outcome = Outcome::Failed(super::client::too_large(nbytes));
                let _ = frame::encode(&ToClient::Outcomes(vec![(ticket, outcome)]), &mut frames);
            }
        }
        self.append(client, &frames);
        frames
    }

    /// Appends frames to a client's connection, and keeps them if it may reconnect.
    pub fn append(&mut self, client: ClientId, frames: &[u8]) {
        if let Some(lasting) = self.lasting.get_mut(&client) {
            lasting.resumable.send(frames);
        }
        if let Some(connection) = self.connections.get_mut(&client) {
            connection.append(frames);
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
