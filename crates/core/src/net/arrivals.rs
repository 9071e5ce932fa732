//! Connections to a manager whose other side has not said hello.

use super::admission::Admission;
use super::connection::{Connection, ConnectionError};
use super::listener::Listener;
use super::rate::Rate;
use crate::wire::{FromWorker, PROTOCOL, ToWorker, hello_protocol, other_protocol};
use mio::event::Event;
use mio::{Registry, Token};
use std::collections::HashMap;
use std::time::Instant;

/// One that said something, and what.
pub(super) struct Arrival {
    pub connection: Connection,
    pub messages: Vec<FromWorker>,
}

/// The connections, by token. Tokens count upwards and are never given twice.
pub(super) struct Arrivals {
    waiting: HashMap<Token, Connection>,
    admission: Admission,
    accepted: usize,
    refusals: Rate,
}

impl Arrivals {
    /// For those that come to `listener`.
    pub fn new(listener: &Listener) -> Self {
        Self {
            waiting: HashMap::new(),
            admission: Admission::new(listener.descriptors()),
            accepted: 0,
            refusals: Rate::default(),
        }
    }

    /// Takes in those that have connected, as many as may be.
    pub fn accept(&mut self, listener: &Listener, registry: &Registry) {
        loop {
            let stream = match listener.accept(&mut self.admission) {
                Ok(Some(stream)) => stream,
                Ok(None) => return,
                Err(reason) => return self.write(format!("nobody can join for now: {reason}")),
            };
            let token = Token(self.accepted);
            self.accepted += 1;
            let is_trusted = stream.is_unix();
            if let Ok(connection) = Connection::new(stream, registry, token) {
                self.waiting.insert(token, connection);
                self.admission.enter(token, !is_trusted, Instant::now());
            }
        }
    }

    /// Ends connections whose time is over, and takes in those that waited for their places.
    pub fn advance(&mut self, listener: &Listener, registry: &Registry) {
        let now = Instant::now();
        for token in self.admission.take_overdue(now) {
            let Some(mut connection) = self.waiting.remove(&token) else { continue };
            self.tell(&connection, "it did not say who it is in time");
            connection.deregister(registry);
        }
        if self.admission.has_waiting {
            self.accept(listener, registry);
        }
    }

    /// Listens to one. Those that say something that is no message are refused.
    pub fn on_event(
        &mut self,
        token: Token,
        event: &Event,
        registry: &Registry,
    ) -> Option<Arrival> {
        let mut connection = self.waiting.remove(&token)?;
        connection.note(event);
        let mut messages = Vec::new();
        let received = connection.receive(|message| messages.push(message));
        if !messages.is_empty() {
            self.admission.leave(token);
            return Some(Arrival { connection, messages });
        }
        match received.and_then(|_| connection.flush(registry)) {
            Ok(()) => {
                self.waiting.insert(token, connection);
                return None;
            }
            // Whoever only looks whether someone is there need not be told of.
            Err(ConnectionError::Closed) => connection.deregister(registry),
            Err(error) => self.turn_away(connection, &error, registry),
        }
        self.admission.leave(token);
        None
    }

    /// Tells a worker that it may not join, and people that it wanted to.
    pub fn refuse(&mut self, connection: &mut Connection, reason: String, registry: &Registry) {
        self.tell(connection, &reason);
        // If it is gone already, it does not need to know.
        let _ = connection.send(&ToWorker::Refused(reason));
        let _ = connection.flush(registry);
    }

    fn turn_away(
        &mut self,
        mut connection: Connection,
        error: &ConnectionError,
        registry: &Registry,
    ) {
        match (error, hello_protocol(connection.unread())) {
            (ConnectionError::Frame(_), Some(theirs)) if theirs != PROTOCOL => {
                self.refuse(&mut connection, other_protocol(theirs), registry);
            }
            (ConnectionError::Frame(_), _) => {
                self.refuse(&mut connection, error.to_string(), registry);
            }
            _ => self.tell(&connection, &error.to_string()),
        }
        connection.deregister(registry);
    }

    fn tell(&mut self, connection: &Connection, reason: &str) {
        self.write(format!("a worker at {} was refused: {reason}", connection.peer()));
    }

    fn write(&mut self, line: String) {
        if let Some(line) = self.refusals.pass(line, Instant::now()) {
            eprintln!("freestone: {line}");
        }
    }
}
