//! The inputs of a manager and its sessions.

use crate::manager::{Config, Now};
use crate::session::ClientId;
use freestone_base::{Name, WorkerId};
use serde::{Deserialize, Serialize};

/// An input. Messages are kept as the bytes that they came as.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Entry<'a> {
    /// A process serves the cluster from here on, with these settings.
    Began(Box<Config>),
    /// The manager's own program asks for something: a [`Request`](crate::manager::Request).
    Own(#[serde(borrow, with = "serde_bytes")] &'a [u8]),
    /// Somebody connected and was given this number.
    Connected(WorkerId),
    /// A worker says something: a [`FromWorker`](crate::wire::FromWorker).
    Worker(WorkerId, #[serde(borrow, with = "serde_bytes")] &'a [u8]),
    /// The connection to a worker ended.
    Left(WorkerId),
    /// Time passes.
    Tick,
    /// A client connected, the next one by number. If it may reconnect: by which name, and for how
    /// long it is waited for, in milliseconds.
    Opened(Option<(Name, u64)>),
    /// A client that reconnects has got so many messages.
    Reconnected(ClientId, u64),
    /// A client says something: a [`FromClient`](crate::session::FromClient).
    Client(ClientId, #[serde(borrow, with = "serde_bytes")] &'a [u8]),
    /// A client is gone for good.
    Ended(ClientId),
    /// What the manager wants done is carried out, as far as sessions are concerned.
    CarriedOut,
    /// Clients are answered.
    Answered,
    /// A client is sent frames that are no answers.
    Sent(ClientId, #[serde(borrow, with = "serde_bytes")] &'a [u8]),
    /// A part of a state that takes the place of all that came before:
    /// [`write_state`](super::write_state).
    State {
        /// Its bytes.
        #[serde(borrow, with = "serde_bytes")]
        part: &'a [u8],
        /// Whether the state is whole with it.
        is_last: bool,
    },
}

impl<'a> Entry<'a> {
    /// Appends the entry, which came at `now`, to `out`.
    ///
    /// # Panics
    /// Never: all that an entry is made of can be written to memory.
    pub fn encode(&self, now: Now, out: &mut Vec<u8>) {
        let written = postcard::to_extend(&(now, self), std::mem::take(out));
        *out = written.expect("an entry has a form");
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    /// What the decoder says of other bytes.
    pub fn decode(bytes: &'a [u8]) -> Result<(Now, Self), String> {
        match postcard::take_from_bytes(bytes) {
            Ok((decoded, [])) => Ok(decoded),
            Ok((_, rest)) => Err(format!("{} bytes are left over", rest.len())),
            Err(error) => Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_and_prefixes_of_them_do_not() {
        let (client, worker) = (3, WorkerId(7));
        for entry in [
            Entry::Began(Box::default()),
            Entry::Own(b"own"),
            Entry::Connected(worker),
            Entry::Worker(worker, &[9; 300]),
            Entry::Opened(Some((Name::of(b"a"), 30_000))),
            Entry::Opened(None),
            Entry::Reconnected(client, 1 << 40),
            Entry::Client(client, b""),
            Entry::Sent(client, b"frames"),
            Entry::Answered,
            Entry::State { part: b"part", is_last: true },
        ] {
            let mut bytes = Vec::new();
            entry.encode(u64::MAX, &mut bytes);
            assert_eq!(Entry::decode(&bytes), Ok((u64::MAX, entry)));
            assert!(Entry::decode(&bytes[..bytes.len() - 1]).is_err());
            bytes.push(0);
            assert!(Entry::decode(&bytes).is_err());
        }
    }
}
