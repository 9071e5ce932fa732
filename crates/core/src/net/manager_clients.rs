//! The manager's connections to clients of other processes.

use super::client::Client;
use super::connection::{Connection, ConnectionError};
use super::manager::Shell;
use crate::manager::{Event, Manager, Outcome, Request};
use crate::session::{Answer, ClientId, FromClient, Graph, ToClient, Unsent};
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
        match refusal.map_or_else(|| self.clients.attach(attach), Err) {
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
        let received =
            connection.receive_some(TURN_NBYTES, |message: FromClient| messages.push(message));
        for message in messages {
            match message {
                FromClient::Requests(requests) => {
                    if let Err(reason) = self.on_client_requests(client, requests) {
                        return self.refuse_client(client, &reason);
                    }
                }
                FromClient::Received(received) => {
                    if let Err(error) = self.on_client_received(client, received) {
                        return self.refuse_client(client, &error.to_string());
                    }
                }
                FromClient::Leave => return self.end_client(client),
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

    fn on_client_requests(
        &mut self,
        client: ClientId,
        requests: Vec<Request>,
    ) -> Result<(), String> {
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

    fn on_client_received(&mut self, client: ClientId, received: u64) -> Result<(), Unsent> {
        let lasting = self.clients.lasting.get_mut(&client);
        lasting.map_or(Ok(()), |lasting| lasting.resumable.confirm(received))
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
    fn end_client(&mut self, client: ClientId) {
        self.clients.disconnect(client, self.poller.registry());
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
            self.clients.send(client, ToClient::Renumbered { former, worker });
            self.flush_client(client);
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

    /// Passes on what a task printed, ahead of the outcome of the task.
    pub(super) fn print(&mut self, tickets: &[Ticket], piece: PrintedOf) {
        let (clients, is_own) = self.clients.sessions.owners(tickets);
        for client in clients {
            // One that reads too slowly loses this rather than its connection.
            if self.clients.unread_nbytes(client) <= UNREAD_NBYTES {
                self.clients.send(client, ToClient::Printed(Box::new(piece.clone())));
                self.flush_client(client);
            }
        }
        self.client.printed().push(PrintedOf { is_own, ..piece });
    }

    /// Sends what clients were answered in this turn.
    pub(super) fn flush_clients(&mut self) {
        let (stopped, requests) = self.clients.sessions.take_cancelled();
        for request in requests {
            self.handle(Event::Client(request));
        }
        for (client, mut first) in stopped {
            // Before the answer to what it asked next, so that it knows by then.
            let answers = self.clients.answers.entry(client).or_default();
            first.append(answers);
            *answers = first;
        }
        for (client, answers) in std::mem::take(&mut self.clients.answers) {
            if !answers.is_empty() {
                self.clients.send(client, ToClient::Outcomes(answers));
                self.flush_client(client);
            }
        }
    }

    fn flush_client(&mut self, client: ClientId) {
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
            self.clients.send(client, ToClient::Home(home.clone()));
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
