//! Connections to a manager whose other side has not said hello.

use super::connection::{Connection, ConnectionError};
use super::listener::Listener;
use crate::wire::{FromWorker, PROTOCOL, ToWorker, hello_protocol, other_protocol};
use mio::event::Event;
use mio::{Registry, Token};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long one may take to shake hands and say hello.
const PATIENCE: Duration = Duration::from_secs(10);
/// So many refusals are told to people; a machine that knocks for ever does not fill a log.
const MOST_TOLD: u32 = 100;

/// One that said something, and what.
pub(super) struct Arrival {
    pub connection: Connection,
    pub messages: Vec<FromWorker>,
}

/// The newcomers, by token. Tokens count upwards and are never given twice.
#[derive(Default)]
pub(super) struct Newcomers {
    waiting: HashMap<Token, (Connection, Instant)>,
    accepted: usize,
    told: u32,
}

impl Newcomers {
    /// Takes in all that have connected.
    pub fn accept(&mut self, listener: &Listener, registry: &Registry) {
        while let Some(stream) = listener.accept() {
            let token = Token(self.accepted);
            self.accepted += 1;
            if let Ok(connection) = Connection::new(stream, registry, token) {
                self.waiting.insert(token, (connection, Instant::now()));
            }
        }
    }

    /// Listens to one. Those that say something that is no message are refused.
    pub fn on_event(
        &mut self,
        token: Token,
        event: &Event,
        registry: &Registry,
    ) -> Option<Arrival> {
        let (mut connection, since) = self.waiting.remove(&token)?;
        connection.note(event);
        let mut messages = Vec::new();
        let received = connection.receive(|message| messages.push(message));
        if !messages.is_empty() {
            return Some(Arrival { connection, messages });
        }
        match received.and_then(|_| connection.flush(registry)) {
            Ok(()) => {
                self.waiting.insert(token, (connection, since));
            }
            // Whoever only looks whether someone is there need not be told of.
            Err(ConnectionError::Closed) => connection.deregister(registry),
            Err(error) => self.turn_away(connection, &error, registry),
        }
        None
    }

    /// Ends connections on which nothing was said in time.
    pub fn drop_silent(&mut self, registry: &Registry) {
        let waiting = self.waiting.iter();
        let silent = waiting.filter(|(_, (_, since))| since.elapsed() > PATIENCE);
        let silent: Vec<Token> = silent.map(|(token, _)| *token).collect();
        for token in silent {
            let Some((mut connection, _)) = self.waiting.remove(&token) else { continue };
            self.tell(&connection, &format!("it said nothing for {} s", PATIENCE.as_secs()));
            connection.deregister(registry);
        }
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
        self.told += 1;
        if self.told <= MOST_TOLD {
            eprintln!("freestone: a worker at {} was refused: {reason}", connection.peer());
        }
    }
}
