//! What manager, workers and executors say to each other, and how it is framed.

pub mod frame;
pub mod messages;

pub use frame::{FrameError, Frames, MAX_FRAME};
pub use messages::*;
