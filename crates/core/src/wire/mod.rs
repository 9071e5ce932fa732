//! What manager, workers and executors say to each other, and how it is framed.

pub mod address;
pub mod attach;
pub mod frame;
pub mod handshake;
pub mod messages;
pub mod options;
pub mod parts;
pub mod payload;
pub mod peers;
pub mod printed;

pub use address::{Address, AddressError};
pub use attach::Attach;
pub use frame::{FrameError, Frames, MAX_FRAME};
pub use handshake::{OTHER_KEY, hello_protocol, is_same_key, other_protocol};
pub use messages::*;
pub use options::*;
pub use parts::{Divide, encode_parts};
pub use payload::Payload;
pub use peers::{BlockAnswer, BlockRequest};
pub use printed::{Printed, PrintedOf, Stream};
