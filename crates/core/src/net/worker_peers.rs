//! Peers that ask a worker for blocks.

use super::connection::{Connection, Stream};
use super::worker::{Role, Shell};
use crate::wire::{BlockAnswer, BlockRequest, PROTOCOL};
use crate::worker::Event;
use mio::Token;

impl Shell {
    pub(super) fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            let token = self.token(Role::Peer);
            let connection = Connection::new(Stream::Unix(stream), self.poller.registry(), token);
            match connection {
                Ok(connection) => {
                    self.peers.insert(token, connection);
                }
                Err(_) => {
                    self.roles.remove(&token);
                }
            }
        }
    }

    pub(super) fn on_peer(&mut self, token: Token, event: &mio::event::Event) {
        let Some(peer) = self.peers.get_mut(&token) else { return };
        peer.note(event);
        let mut request: Option<BlockRequest> = None;
        let received = peer.receive(|message| request = Some(message));
        match request {
            Some(request) if request.protocol != PROTOCOL => {
                self.answer(token, &BlockAnswer::Refused("another version".to_owned()));
            }
            Some(request) if !is_equal(&request.key, &self.key) => {
                self.answer(token, &BlockAnswer::Refused("the key is wrong".to_owned()));
            }
            Some(request) => {
                self.links.extend(request.link_into.map(|folder| (token, folder.into())));
                self.handle(Event::Asked { question: token.0 as u64, name: request.name });
            }
            None if received.is_err() => self.forget_peer(token),
            None => {}
        }
    }

    /// Answers a peer and ends the connection.
    pub(super) fn answer(&mut self, token: Token, answer: &BlockAnswer) {
        if let Some(peer) = self.peers.get_mut(&token) {
            // If the peer is gone, it does not need to know; a few bytes always fit.
            let _ = peer.send(answer).and_then(|()| peer.flush(self.poller.registry()));
        }
        self.forget_peer(token);
    }

    fn forget_peer(&mut self, token: Token) {
        self.roles.remove(&token);
        self.links.remove(&token);
        if let Some(mut peer) = self.peers.remove(&token) {
            peer.deregister(self.poller.registry());
        }
    }
}

/// Whether two keys are equal, in a time that does not tell where they differ.
fn is_equal(one: &str, other: &str) -> bool {
    one.len() == other.len()
        && one.bytes().zip(other.bytes()).fold(0, |differ, (one, other)| differ | (one ^ other))
            == 0
}
