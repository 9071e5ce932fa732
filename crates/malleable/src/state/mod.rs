//! Files of a job's state, which Python writes and reads, too.

mod file;
mod index;

pub use file::{StateFile, aligned, begin, complete, open_to_write, target, unfinished, write};
pub use index::{Chunk, Entry, Index, Piece};
