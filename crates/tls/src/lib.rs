//! Streams between those who have the same certificate, which is made for each cluster and each
//! run that goes over a network.

mod access;
mod stream;

pub use access::{Access, AccessError, Identity};
pub use stream::Tls;
