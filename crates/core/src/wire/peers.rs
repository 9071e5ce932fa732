//! What workers say to each other.

use freestone_base::Name;
use serde::{Deserialize, Serialize};

/// From a worker to a peer whose block it wants.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BlockRequest {
    /// [`PROTOCOL`](super::PROTOCOL) as the asker speaks it.
    pub protocol: u32,
    /// Proof that the asker belongs to this cluster.
    pub key: String,
    /// Which block.
    pub name: Name,
    /// If the asker may be on the same machine: the folder into which the block's file can be
    /// linked instead of being sent.
    pub link_into: Option<String>,
}

/// The answer; if the block is there, its bytes follow the frame as they are.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum BlockAnswer {
    /// As many bytes follow.
    Follows {
        /// Bytes.
        nbytes: u64,
    },
    /// The file was linked into the asker's folder, and nothing follows.
    Linked {
        /// Where.
        path: String,
        /// Its checksum, which was verified when it came here.
        checksum: u64,
    },
    /// There is no such block here.
    Missing,
    /// The block can't be sent, and why.
    Refused(String),
}
