//! Events: ranks, what they exchange, and the memory that they share.

mod buffer;
mod event;
mod failing;
mod future;
mod host;
mod meeting;
mod memory;
mod mpi;
mod rank;
mod source;
mod words;

pub use buffer::EventBuffer;
pub use event::Event;
pub use future::TaskFuture;
pub use meeting::{EventInvitation, EventMeeting, meet_ranks};
pub use memory::EventMemory;
pub use mpi::EventWorld;
pub use rank::{EventRank, current_rank, set_current_rank};
