//! The manager's connections to clients of other processes.

use super::client::Client;
use super::connection::{Connection, ConnectionError};
use super::manager::Shell;
use crate::manager::{Event, Manager, Outcome, Request};
use crate::session::{Answer, ClientId, FromClient, Graph, ToClient};
use crate::store::owned::boot_id;
use crate::wire::PrintedOf;
use freestone_base::{FunctionId, Name, Ticket};

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
    pub(super) fn admit_client(&mut self, mut connection: Connection, protocol: u32, key: &str) {
        let refusal = self.clients.refusal(protocol, key);
        let refusal = refusal
            .or_else(|| self.ending.is_some().then(|| "the cluster is being closed".to_owned()));
        if let Some(reason) = refusal {
            self.arrivals.refuse(&mut connection, reason, self.poller.registry());
            connection.deregister(self.poller.registry());
            return;
        }
        self.announce_home();
        let client = self.clients.sessions.open();
        self.clients.tokens.insert(connection.token(), client);
        self.clients.connections.insert(client, connection);
        self.client.count_clients(self.clients.sessions.len());
        let (boot, home) = (boot_id(), self.clients.home.clone());
        self.clients.send(client, ToClient::Welcome { boot, home });
        self.flush_client(client);
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
        for FromClient::Requests(requests) in messages {
            for request in requests {
                if let Err(reason) = self.on_client_request(client, request) {
                    return self.refuse_client(client, &reason);
                }
            }
        }
        match received {
            Ok(true) => {
                self.clients.unread.insert(client);
            }
            Ok(false) => {}
            Err(ConnectionError::Frame(error)) => self.refuse_client(client, &error.to_string()),
            Err(_) => self.on_client_left(client),
        }
    }

    fn on_client_request(&mut self, client: ClientId, request: Request) -> Result<(), String> {
        let mut port = Port(&self.manager, &self.client);
        let asked = self.clients.sessions.on_request(client, request, &mut port);
        if let Some(request) = asked.map_err(|error| error.to_string())? {
            self.handle(Event::Client(request));
        }
        Ok(())
    }

    /// A client is told that it may not stay, and why.
    fn refuse_client(&mut self, client: ClientId, reason: &str) {
        if let Some(connection) = self.clients.connections.get_mut(&client) {
            self.arrivals.refuse(connection, reason.to_owned(), self.poller.registry());
        }
        self.on_client_left(client);
    }

    fn on_client_left(&mut self, client: ClientId) {
        let Some(mut connection) = self.clients.connections.remove(&client) else { return };
        self.clients.tokens.remove(&connection.token());
        self.clients.unread.remove(&client);
        self.clients.answers.remove(&client);
        connection.deregister(self.poller.registry());
        let port = Port(&self.manager, &self.client);
        for request in self.clients.sessions.close(client, &port) {
            self.handle(Event::Client(request));
        }
        self.client.count_clients(self.clients.sessions.len());
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
            let connection = self.clients.connections.get(&client);
            if connection.is_some_and(|to| to.unwritten() <= UNREAD_NBYTES) {
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
        let registry = self.poller.registry();
        let Some(connection) = self.clients.connections.get_mut(&client) else { return };
        if connection.flush(registry).is_err() {
            return self.on_client_left(client);
        }
        let unread = connection.unwritten();
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
