//! Peers that ask a worker for blocks.

use super::connection::{Connection, ConnectionError};
use super::stream::Stream;
use super::worker::{Role, Shell};
use crate::wire::{BlockAnswer, BlockRequest, OTHER_KEY, PROTOCOL, is_same_key, other_protocol};
use crate::worker::Event;
use mio::Token;
use std::time::{Duration, Instant};

/// How long one that has asked before may take to ask again.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// How soon those are looked for again that could not be accepted.
const RETRY: Duration = Duration::from_millis(100);

impl Shell {
    /// Takes in those that have connected, as many as may be.
    pub(super) fn accept(&mut self) {
        self.drop_silent_peers();
        loop {
            let stream = match self.listener.accept(&mut self.admission) {
                Ok(Some(stream)) => stream,
                Ok(None) => return,
                Err(reason) => {
                    return self
                        .write_refusal(format!("peers can't be answered for now: {reason}"));
                }
            };
            let is_trusted = stream.is_unix();
            if let Some(token) = self.listen_to(stream) {
                self.admission.enter(token, !is_trusted, Instant::now());
            }
        }
    }

    /// Waits for what a peer wants: one that is new here, or that may want more.
    pub(super) fn listen_to(&mut self, stream: Stream) -> Option<Token> {
        if self.is_shut_out(&stream) {
            return None;
        }
        let token = self.token(Role::Peer);
        let Ok(connection) = Connection::new(stream, self.poller.registry(), token) else {
            self.roles.remove(&token);
            return None;
        };
        self.peers.insert(token, (connection, Instant::now()));
        Some(token)
    }

    /// Until when the worker may sleep, as far as peers are concerned.
    pub(super) fn peers_patience(&self) -> Duration {
        let retry = if self.admission.has_waiting { RETRY } else { Duration::MAX };
        let deadline = self.admission.deadline();
        let left =
            deadline.map_or(Duration::MAX, |at| at.saturating_duration_since(Instant::now()));
        left.min(retry)
    }

    /// Ends connections whose time is over, and takes in those that waited for their places.
    pub(super) fn look_after_peers(&mut self) {
        if self.admission.is_idle() {
            return;
        }
        for token in self.admission.take_overdue(Instant::now()) {
            if let Some((peer, _)) = self.peers.get(&token) {
                let who = peer.peer();
                self.write_refusal(format!(
                    "a peer at {who} was refused: it did not say who it is in time"
                ));
            }
            self.forget_peer(token);
        }
        if self.admission.has_waiting {
            self.accept();
        }
    }

    /// Trusts members with these certificates no longer.
    pub(super) fn shut_out(&mut self, certificates: &[Vec<u8>]) {
        let Some(access) = &self.link.seek.access else { return };
        let revoked = access.revoked.clone();
        revoked.add(certificates.iter().cloned());
        let peers = self.peers.iter().filter(|(_, (peer, _))| peer.is_revoked(&revoked));
        let peers: Vec<Token> = peers.map(|(token, _)| *token).collect();
        for token in peers {
            self.forget_peer(token);
        }
    }

    fn is_shut_out(&self, stream: &Stream) -> bool {
        let access = self.link.seek.access.as_ref();
        access.is_some_and(|access| stream.is_revoked(&access.revoked))
    }

    fn drop_silent_peers(&mut self) {
        // Those that have asked wait for an answer, and not we for them.
        let is_silent = |token: &Token, since: &Instant| {
            since.elapsed() > IDLE_TIMEOUT && !self.asked.contains(token)
        };
        let peers = self.peers.iter().filter(|(token, (_, since))| is_silent(token, since));
        let silent: Vec<Token> = peers.map(|(token, _)| *token).collect();
        for token in silent {
            self.forget_peer(token);
        }
    }

    fn write_refusal(&mut self, line: String) {
        if let Some(line) = self.refusals.pass(line, Instant::now()) {
            eprintln!("freestone: {line}");
        }
    }

    pub(super) fn on_peer(&mut self, token: Token, event: &mio::event::Event) {
        let Some((peer, _)) = self.peers.get_mut(&token) else { return };
        peer.note(event);
        let mut request: Option<BlockRequest> = None;
        let received = peer.receive(|message| request = Some(message));
        // The handshake may have something to say.
        let received = received.and_then(|_| peer.flush(self.poller.registry()));
        match request {
            Some(request) if request.protocol != PROTOCOL => {
                self.answer(token, &BlockAnswer::Refused(other_protocol(request.protocol)));
            }
            Some(request) if !is_same_key(&request.key, &self.key) => {
                self.answer(token, &BlockAnswer::Refused(OTHER_KEY.to_owned()));
            }
            Some(request) => {
                self.admission.leave(token);
                self.asked.insert(token);
                self.links.extend(request.link_into.map(|folder| (token, folder.into())));
                self.handle(Event::Asked { question: token.0 as u64, name: request.name });
            }
            None => {
                if let Err(error) = received {
                    self.on_peer_gone(token, &error);
                }
            }
        }
    }

    /// Answers a peer and ends the connection.
    pub(super) fn answer(&mut self, token: Token, answer: &BlockAnswer) {
        if let Some((peer, _)) = self.peers.get_mut(&token) {
            // If the peer is gone, it does not need to know; a few bytes always fit.
            let _ = peer.send(answer).and_then(|()| peer.flush(self.poller.registry()));
        }
        self.forget_peer(token);
    }

    fn on_peer_gone(&mut self, token: Token, error: &ConnectionError) {
        if let (Some((peer, _)), false) =
            (self.peers.get(&token), matches!(error, ConnectionError::Closed))
        {
            let who = peer.peer();
            self.write_refusal(format!("a peer at {who} was refused: {error}"));
        }
        self.forget_peer(token);
    }

    fn forget_peer(&mut self, token: Token) {
        self.roles.remove(&token);
        self.admission.leave(token);
        self.asked.remove(&token);
        self.links.remove(&token);
        if let Some((mut peer, _)) = self.peers.remove(&token) {
            peer.deregister(self.poller.registry());
        }
    }
}
