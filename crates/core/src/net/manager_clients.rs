//! The manager's connections to clients of other processes.

use super::client::Client;
use super::clients::Clients;
use super::connection::{Connection, ConnectionError};
use super::manager::Shell;
use crate::journal::Entry;
use crate::manager::{Event, Manager, Outcome, Request};
use crate::session::{Answer, ClientId, FromClient, Graph, ToClient};
use crate::store::owned::boot_id;
use crate::wire::{Attach, PrintedOf};
use freestone_base::{FunctionId, Name, Ticket, WorkerId};

/// What is read of one client before others have their turn, in bytes.
const TURN_NBYTES: usize = 1 << 20;
/// Nothing more is read of a client that has left so many bytes of answers unread.
const UNREAD_NBYTES: usize = 16 << 20;
/// One that leaves so many unread is let go.
const MAX_UNREAD_NBYTES: usize = 512 << 20;

/// What sessions ask of the manager before they change it.
struct Port<'a>(&'a Manager, &'a Client);

impl Graph for Port<'_> {
    fn dependents(&self, names: &[Name]) -> Vec<Name> {
        self.0.dependents(names)
    }

    fn next_function(&mut self) -> FunctionId {
        self.1.next_function()
    }
}

impl Shell {
    /// Takes in a client that has said who it is.
    pub(super) fn admit_client(
        &mut self,
        mut connection: Connection,
        (protocol, key): (u32, &str),
        attach: Attach,
    ) {
        let refusal = self.clients.refusal(protocol, key);
        let refusal = refusal
            .or_else(|| self.ending.is_some().then(|| "the cluster is being closed".to_owned()));
        self.announce_home();
        let is_lasting = connection.is_remote() || self.journal.is_some();
        match refusal.map_or_else(|| self.attach(attach, is_lasting), Err) {
            Ok(client) => {
                self.clients.connect(client, connection, boot_id(), self.poller.registry());
                self.client.count_clients(self.clients.sessions.len());
                self.flush_client(client);
            }
            Err(reason) => {
                self.arrivals.refuse(&mut connection, reason, self.poller.registry());
                connection.deregister(self.poller.registry());
            }
        }
    }

    /// The client that has connected: a new one, or one that reconnects.
    fn attach(&mut self, attach: Attach, is_lasting: bool) -> Result<ClientId, String> {
        let Attach::Again { session, received } = attach else {
            let lasting = Clients::lasting(attach).filter(|_| is_lasting);
            self.note(&Entry::Opened(lasting));
            return Ok(self.clients.open(lasting));
        };
        let client = self.clients.find(session)?;
        self.clients.confirm(client, received).map_err(|error| error.to_string())?;
        self.note(&Entry::Reconnected(client, received));
        Ok(client)
    }

    pub(super) fn on_client(&mut self, client: ClientId, event: &mio::event::Event) {
        if let Some(connection) = self.clients.connections.get_mut(&client) {
            connection.note(event);
        }
        self.flush_client(client);
        self.read_client(client);
    }

    /// Reads of clients of whom there is more to read.
    pub(super) fn read_clients(&mut self) {
        for client in std::mem::take(&mut self.clients.unread) {
            self.read_client(client);
        }
    }

    fn read_client(&mut self, client: ClientId) {
        let Some(connection) = self.clients.connections.get_mut(&client) else { return };
        if connection.unwritten() > UNREAD_NBYTES {
            return;
        }
        let mut messages = Vec::new();
        let is_noted = self.journal.is_some();
        let received = connection.receive_some(TURN_NBYTES, |message: FromClient, body: &[u8]| {
            messages.push((message, if is_noted { body.to_vec() } else { Vec::new() }));
        });
        for (message, body) in messages {
            if message == FromClient::Leave {
                return self.end_client(client);
            }
            self.note(&Entry::Client(client, &body));
            if let Err(reason) = self.on_client_message(client, message) {
                return self.refuse_client(client, &reason);
            }
        }
        self.clients.report(client, false);
        self.flush_client(client);
        match received {
            Ok(true) => {
                self.clients.unread.insert(client);
            }
            Ok(false) => {}
            Err(ConnectionError::Frame(error)) => self.refuse_client(client, &error.to_string()),
            Err(_) => self.on_client_left(client),
        }
    }

    /// A client says something.
    ///
    /// # Errors
    /// Why no client in order says this.
    pub(super) fn on_client_message(
        &mut self,
        client: ClientId,
        message: FromClient,
    ) -> Result<(), String> {
        let requests = match message {
            FromClient::Requests(requests) => requests,
            FromClient::Received(received) => {
                return self.clients.confirm(client, received).map_err(|error| error.to_string());
            }
            FromClient::Leave => return Ok(()),
        };
        if let Some(lasting) = self.clients.lasting.get_mut(&client) {
            lasting.resumable.count();
        }
        for request in requests {
            let mut port = Port(&self.manager, &self.client);
            let asked = self.clients.sessions.on_request(client, request, &mut port);
            if let Some(request) = asked.map_err(|error| error.to_string())? {
                self.handle(Event::Client(request));
            }
        }
        Ok(())
    }

    /// Cancels for each client what it has submitted with a tag; how much that is.
    pub(super) fn cancel_tagged(&mut self, tag: &str) -> u64 {
        let port = Port(&self.manager, &self.client);
        let (count, request) = self.clients.sessions.cancel_tagged(tag, &port);
        if let Some(request) = request {
            self.handle(Event::Client(request));
        }
        count
    }

    /// A client is told that it may not stay, and why.
    pub(super) fn refuse_client(&mut self, client: ClientId, reason: &str) {
        if let Some(connection) = self.clients.connections.get_mut(&client) {
            self.arrivals.refuse(connection, reason.to_owned(), self.poller.registry());
        }
        self.end_client(client);
    }

    /// A client's connection is gone, and with it the client unless it is waited for.
    fn on_client_left(&mut self, client: ClientId) {
        let was_connected = self.clients.disconnect(client, self.poller.registry());
        if was_connected && !self.clients.is_awaited(client) {
            self.end_client(client);
        }
    }

    /// A client is gone for good.
    pub(super) fn end_client(&mut self, client: ClientId) {
        self.clients.disconnect(client, self.poller.registry());
        self.note(&Entry::Ended(client));
        self.close_session(client);
    }

    /// What a client has asked for that is gone is let go.
    pub(super) fn close_session(&mut self, client: ClientId) {
        self.clients.lasting.remove(&client);
        self.clients.answers.remove(&client);
        let port = Port(&self.manager, &self.client);
        for request in self.clients.sessions.close(client, &port) {
            self.handle(Event::Client(request));
        }
        self.client.count_clients(self.clients.sessions.len());
    }

    /// Gives up clients that have been waited for in vain, and informs the others of what has come.
    pub(super) fn advance_clients(&mut self) {
        for client in self.clients.late() {
            self.end_client(client);
        }
        for client in self.clients.lasting.keys().copied().collect::<Vec<_>>() {
            self.clients.report(client, true);
            self.flush_client(client);
        }
    }

    /// A worker has reconnected under another number: clients may have it for their own.
    pub(super) fn renumber(&mut self, former: WorkerId, worker: WorkerId) {
        for client in self.clients.all() {
            self.send_client(client, ToClient::Renumbered { former, worker });
            self.flush_client(client);
        }
    }

    /// Sends a client what is no answer.
    fn send_client(&mut self, client: ClientId, message: ToClient) {
        let frames = self.clients.send(client, message);
        if self.clients.lasting.contains_key(&client) {
            self.note_at(self.now, &Entry::Sent(client, &frames));
        }
    }

    /// The manager answers a client.
    pub(super) fn answer_client(&mut self, ticket: Ticket, outcome: Outcome) {
        match self.clients.sessions.on_outcome(ticket, &outcome) {
            Answer::For(client, ticket) => {
                self.clients.answers.entry(client).or_default().push((ticket, outcome));
            }
            Answer::Undo(name, worker) => {
                self.handle(Event::Client(Request::Unpin { name, worker }));
            }
            Answer::Nobody => {}
        }
    }

    /// Passes on what a task printed, ahead of the outcome of the task; to which clients.
    pub(super) fn print(&mut self, tickets: &[Ticket], piece: PrintedOf) -> Vec<ClientId> {
        let (mut clients, is_own) = self.clients.sessions.owners(tickets);
        // One that reads too slowly loses this rather than its connection.
        clients.retain(|client| self.clients.unread_nbytes(*client) <= UNREAD_NBYTES);
        for client in &clients {
            self.send_client(*client, ToClient::Printed(Box::new(piece.clone())));
        }
        self.client.printed().push(PrintedOf { is_own, ..piece });
        clients
    }

    /// Sends what clients were answered in this turn.
    pub(super) fn flush_clients(&mut self) {
        if self.clients.have_answers() {
            self.note(&Entry::Answered);
            for client in self.answer_clients() {
                self.flush_client(client);
            }
        }
    }

    /// Appends what clients were answered to their connections; to which.
    pub(super) fn answer_clients(&mut self) -> Vec<ClientId> {
        let (stopped, requests) = self.clients.sessions.take_stopped();
        for request in requests {
            self.handle(Event::Client(request));
        }
        for (client, mut first) in stopped {
            // Before the answer to what it asked next, so that it knows by then.
            let answers = self.clients.answers.entry(client).or_default();
            first.append(answers);
            *answers = first;
        }
        let mut answered = Vec::new();
        for (client, answers) in std::mem::take(&mut self.clients.answers) {
            if !answers.is_empty() {
                self.clients.send(client, ToClient::Outcomes(answers));
                answered.push(client);
            }
        }
        answered
    }

    pub(super) fn flush_client(&mut self, client: ClientId) {
        self.commit();
        let connection = self.clients.connections.get_mut(&client);
        if connection.is_some_and(|to| to.flush(self.poller.registry()).is_err()) {
            self.on_client_left(client);
        }
        let unread = self.clients.unread_nbytes(client);
        if unread > MAX_UNREAD_NBYTES {
            self.refuse_client(client, &format!("it leaves {unread} bytes of answers unread"));
        }
    }

    /// Tells clients where the home is, if it has moved.
    pub(super) fn announce_home(&mut self) {
        let home = self.client.home();
        if home == self.clients.home {
            return;
        }
        self.clients.home.clone_from(&home);
        let Some(home) = home else { return };
        for client in self.clients.connections.keys().copied().collect::<Vec<_>>() {
            self.send_client(client, ToClient::Home(home.clone()));
            self.flush_client(client);
        }
    }

    /// Tells clients that the cluster is closed.
    pub(super) fn close_clients(&mut self) {
        self.flush_clients();
        for client in self.clients.connections.keys().copied().collect::<Vec<_>>() {
            self.clients.send(client, ToClient::Closed);
            self.flush_client(client);
        }
    }
}
