//! Registered data: what it is, and where its bytes are.

mod array;
mod description;
mod storage;

pub use array::{Array, Content, UserRows};
pub use description::{Description, Form, Kind, difference, fingerprint, together};
pub use storage::Storage;
