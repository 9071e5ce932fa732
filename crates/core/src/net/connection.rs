//! A connection that carries frames both ways and never blocks.

use super::stream::Stream;
use crate::wire::{Divide, FrameError, Frames, encode_parts, frame};
use freestone_tls::Revoked;
use mio::event::Event;
use mio::{Interest, Registry, Token};
use serde::{Serialize, de::DeserializeOwned};
use std::io::{self, ErrorKind, Write};

/// Why a connection is of no further use.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The other side closed it, or died.
    #[error("the connection was closed by the other side")]
    Closed,
    /// The operating system says no.
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
    /// The other side does not speak the protocol.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// An output buffer that grew beyond this is given back once it is empty.
const RETAINED: usize = 1 << 20;

/// Frames over a [`Stream`]. Sends are collected until [`flush`](Self::flush), so that all
/// messages of a turn of the event loop cost one system call.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    token: Token,
    incoming: Frames,
    outgoing: Vec<u8>,
    written: usize,
    /// Whether room to write is waited for. Only then: otherwise each message that the other side
    /// takes would wake this one.
    registered_writable: bool,
    /// Whether the other side is known to send nothing more after what is waiting.
    read_closed: bool,
}

impl Connection {
    /// Takes a stream over and registers it for reading.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn new(mut stream: Stream, registry: &Registry, token: Token) -> io::Result<Self> {
        registry.register(stream.source(), token, Interest::READABLE)?;
        Ok(Self {
            stream,
            token,
            incoming: Frames::default(),
            outgoing: Vec::new(),
            written: 0,
            registered_writable: false,
            read_closed: false,
        })
    }

    /// The token under which it is registered.
    pub fn token(&self) -> Token {
        self.token
    }

    /// Appends a message to the output; nothing is written yet.
    ///
    /// # Errors
    /// [`ConnectionError::Frame`] if it is too large; the connection stays usable.
    pub fn send<T: Serialize>(&mut self, message: &T) -> Result<(), ConnectionError> {
        Ok(frame::encode(message, &mut self.outgoing)?)
    }

    /// Appends a message to the output, in parts if no frame can carry it whole. Returns the parts
    /// that are too large by themselves, each with its bytes.
    pub fn send_parts<T: Divide>(&mut self, message: T) -> Vec<(T, usize)> {
        encode_parts(message, &mut self.outgoing)
    }

    /// Appends frames that are encoded already to the output.
    pub fn append(&mut self, frames: &[u8]) {
        self.outgoing.extend_from_slice(frames);
    }

    /// Whether there is output that has not been written.
    pub fn wants_write(&self) -> bool {
        self.written < self.outgoing.len() || self.stream.wants_write()
    }

    /// Whether an event of the poller will say when more can be written.
    pub fn awaits_room(&self) -> bool {
        self.registered_writable
    }

    /// Bytes of output that have not been written.
    pub fn unwritten(&self) -> usize {
        self.outgoing.len() - self.written
    }

    /// Writes as much as the stream takes now. If something is left, an event of the poller says
    /// when to call this again.
    ///
    /// # Errors
    /// The connection is of no further use.
    pub fn flush(&mut self, registry: &Registry) -> Result<(), ConnectionError> {
        while self.wants_write() {
            let written = match &self.outgoing[self.written..] {
                [] => self.stream.flush().map(|()| 0),
                left => self.stream.write(left),
            };
            match written {
                Ok(nbytes) => self.written += nbytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.drop_written();
                    return self.register_writable(registry, true);
                }
                Err(error) => return Err(closed_or(error)),
            }
        }
        self.outgoing.clear();
        self.outgoing.shrink_to(RETAINED);
        self.written = 0;
        self.register_writable(registry, false)
    }

    /// Takes note of what an event says about the stream; to be called for each event with
    /// [`token`](Self::token), before [`receive`](Self::receive).
    pub fn note(&mut self, event: &Event) {
        self.read_closed |= event.is_read_closed() || event.is_error();
    }

    /// Reads what is there and hands each whole message to `take`. Returns whether any came.
    ///
    /// # Errors
    /// The connection is of no further use. All messages before the error were handed over.
    pub fn receive<T: DeserializeOwned>(
        &mut self,
        mut take: impl FnMut(T),
    ) -> Result<bool, ConnectionError> {
        self.receive_with(|message, _| take(message))
    }

    /// Like [`receive`](Self::receive), with the bytes that each message came as.
    ///
    /// # Errors
    /// The connection is of no further use. All messages before the error were handed over.
    pub fn receive_with<T: DeserializeOwned>(
        &mut self,
        mut take: impl FnMut(T, &[u8]),
    ) -> Result<bool, ConnectionError> {
        let mut came = false;
        while self.receive_some(usize::MAX, |message, body| {
            came = true;
            take(message, body);
        })? {}
        Ok(came)
    }

    /// Reads about `limit` bytes at most, if as many are there, and hands each whole message, and the
    /// bytes that it came as, to `take`. Returns whether there may be more, of which no event will tell.
    ///
    /// # Errors
    /// The connection is of no further use. All messages before the error were handed over.
    pub fn receive_some<T: DeserializeOwned>(
        &mut self,
        limit: usize,
        mut take: impl FnMut(T, &[u8]),
    ) -> Result<bool, ConnectionError> {
        let mut read = 0;
        while read < limit {
            let (nbytes, offered) = match self.incoming.read_from(&mut self.stream) {
                Ok((0, _)) => return Err(ConnectionError::Closed),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(closed_or(error)),
            };
            read += nbytes;
            while self.incoming.next_with(&mut take)?.is_some() {}
            // A stream that gave less than it could is empty: the next bytes raise a new event.
            if nbytes < offered && !self.read_closed && self.stream.says_all() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Bytes that were read and not taken.
    pub fn unread(&self) -> &[u8] {
        self.incoming.rest()
    }

    /// Whether the network can break it, and not only the end of a process on this machine.
    pub fn is_remote(&self) -> bool {
        !self.stream.is_unix()
    }

    /// The certificate that the other side has shown, once it has.
    pub fn certificate(&self) -> Option<&[u8]> {
        self.stream.certificate()
    }

    /// Whether the other side has shown a certificate that is revoked.
    pub fn is_revoked(&self, revoked: &Revoked) -> bool {
        self.stream.is_revoked(revoked)
    }

    /// Where the other side is, for people.
    pub fn peer(&self) -> String {
        self.stream.peer()
    }

    /// The interface on this side, if it is not a unix socket.
    pub fn local_ip(&self) -> Option<std::net::IpAddr> {
        self.stream.local_ip()
    }

    /// Ends the registration and hands the stream out, with bytes that were read but not taken.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn into_stream(mut self, registry: &Registry) -> io::Result<(Stream, Vec<u8>)> {
        registry.deregister(self.stream.source())?;
        Ok((self.stream, self.incoming.take_rest()))
    }

    /// Ends the registration; the stream is closed when the connection is dropped.
    pub fn deregister(&mut self, registry: &Registry) {
        // It can only fail if the stream is not registered, and then nothing is to be done.
        let _ = registry.deregister(self.stream.source());
    }

    fn register_writable(
        &mut self,
        registry: &Registry,
        writable: bool,
    ) -> Result<(), ConnectionError> {
        if self.registered_writable != writable {
            let also = if writable { Some(Interest::WRITABLE) } else { None };
            let interest = also.map_or(Interest::READABLE, |also| Interest::READABLE | also);
            registry.reregister(self.stream.source(), self.token, interest)?;
            self.registered_writable = writable;
        }
        Ok(())
    }

    fn drop_written(&mut self) {
        if self.written > self.outgoing.len() / 2 {
            self.outgoing.drain(..self.written);
            self.written = 0;
        }
    }
}

fn closed_or(error: io::Error) -> ConnectionError {
    match error.kind() {
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::NotConnected => {
            ConnectionError::Closed
        }
        _ => ConnectionError::Io(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Poller;

    fn pair(poller: &Poller) -> (Connection, Connection) {
        let (left, right) = std::os::unix::net::UnixStream::pair().unwrap();
        let new = |stream: std::os::unix::net::UnixStream, token| {
            Connection::new(stream.try_into().unwrap(), poller.registry(), Token(token)).unwrap()
        };
        (new(left, 0), new(right, 1))
    }

    #[test]
    fn messages_arrive_whole_and_in_order_however_full_the_socket_is() {
        let mut poller = Poller::new(0).unwrap();
        let (mut left, mut right) = pair(&poller);
        let sent: Vec<Vec<u32>> = (0..600).map(|number| vec![number; 1000]).collect();
        for message in &sent {
            left.send(message).unwrap();
        }
        left.flush(poller.registry()).unwrap();
        assert!(left.wants_write());
        let mut got: Vec<Vec<u32>> = Vec::new();
        while got.len() < sent.len() {
            let events = poller.wait(None, || false).unwrap();
            let tokens: Vec<Token> = events.iter().map(Event::token).collect();
            for token in tokens {
                if token == left.token() {
                    left.flush(poller.registry()).unwrap();
                } else {
                    right.receive(|message| got.push(message)).unwrap();
                }
            }
        }
        assert!(!left.wants_write());
        assert_eq!(got, sent);
    }

    #[test]
    fn the_last_messages_come_before_the_end() {
        let mut poller = Poller::new(0).unwrap();
        let (mut left, mut right) = pair(&poller);
        left.send(&7_u64).unwrap();
        left.flush(poller.registry()).unwrap();
        drop(left);
        for event in poller.wait(None, || false).unwrap() {
            right.note(event);
        }
        let mut got: Vec<u64> = Vec::new();
        let end = right.receive(|message| got.push(message));
        assert!(matches!(end, Err(ConnectionError::Closed)));
        assert_eq!(got, [7]);
        right.send(&1_u64).unwrap();
        assert!(matches!(right.flush(poller.registry()), Err(ConnectionError::Closed)));
    }

    #[test]
    fn what_is_no_message_ends_the_connection() {
        let poller = Poller::new(0).unwrap();
        let (mut left, mut right) = pair(&poller);
        left.send(&u64::MAX).unwrap();
        left.flush(poller.registry()).unwrap();
        let end = right.receive(|_: u8| {});
        assert!(matches!(end, Err(ConnectionError::Frame(_))));
    }
}
