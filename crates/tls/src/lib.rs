//! Streams between those who have certificates of the same authority, which is made for each
//! cluster and each run that goes over a network.

mod access;
mod revocation;
mod stream;

pub use access::{Access, AccessError, Identity};
pub use revocation::{Certificate, Revoked};
pub use stream::Tls;
