//! How a client that connects stands to a connection that it had before.

use freestone_base::Name;
use serde::{Deserialize, Serialize};

/// Whether what a client has asked outlives its connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Attach {
    /// It ends with the connection.
    Once,
    /// It waits for the client to reconnect, if the connection breaks.
    Resumable {
        /// For how long.
        reconnect_ms: u64,
    },
    /// The client reconnects.
    Again {
        /// What the manager has called it.
        session: Name,
        /// How many messages of the manager it has got.
        received: u64,
    },
}
