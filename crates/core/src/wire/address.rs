//! Addresses: where managers and workers listen.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

const UNIX: &str = "unix:";
const TCP: &str = "tcp://";

/// Where a manager can be joined, or a worker's blocks be asked for.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
pub enum Address {
    /// A unix socket.
    Unix(String),
    /// A host and port; TLS is spoken there.
    Tcp(String),
    /// Both: the socket is for those on the same machine.
    Either {
        /// The unix socket.
        unix: String,
        /// The host and port.
        tcp: String,
    },
}

/// A text that is no address.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0:?} is not an address; write unix:PATH or tcp://HOST:PORT")]
pub struct AddressError(String);

impl FromStr for Address {
    type Err = AddressError;

    /// Reads `unix:PATH` or `tcp://HOST:PORT`.
    fn from_str(text: &str) -> Result<Self, AddressError> {
        let error = || AddressError(text.to_owned());
        if let Some(path) = text.strip_prefix(UNIX).filter(|path| !path.is_empty()) {
            return Ok(Self::Unix(path.to_owned()));
        }
        let place = text.strip_prefix(TCP).ok_or_else(error)?;
        let (host, port) = place.rsplit_once(':').ok_or_else(error)?;
        if host.is_empty() || port.parse::<u16>().is_err() {
            return Err(error());
        }
        Ok(Self::Tcp(place.to_owned()))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "{UNIX}{path}"),
            Self::Tcp(place) | Self::Either { tcp: place, .. } => write!(f, "{TCP}{place}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_written() {
        for text in ["unix:/run/manager.sock", "tcp://127.0.0.1:8000", "tcp://[::1]:9", "tcp://n:1"]
        {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_texts_are_refused_with_what_to_write() {
        for text in ["", "unix:", "tcp://", "tcp://host", "tcp://:1", "tcp://h:99999", "http://h:1"]
        {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains("unix:PATH or tcp://HOST:PORT"), "{error}");
        }
    }
}
