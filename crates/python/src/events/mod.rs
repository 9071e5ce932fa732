//! Events: ranks, what they exchange, and the memory that they share.

mod arguments;
mod bridge;
mod buffer;
mod event;
mod failing;
mod future;
mod host;
mod limits;
mod meeting;
mod memory;
mod mpi;
mod rank;
mod source;
mod words;

pub use arguments::check_id;
pub use bridge::EventBridge;
pub use buffer::EventBuffer;
pub use event::Event;
pub use future::TaskFuture;
pub use limits::{limit_rows, loss_interval_s, renew_limits};
pub use meeting::{EventInvitation, EventMeeting, meet_ranks};
pub use memory::{EventMemory, EventPulses};
pub use mpi::{EventWorld, hold_mpi, release_mpi};
pub use rank::{EventRank, current_rank, set_current_rank};
