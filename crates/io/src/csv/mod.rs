//! Comma-separated values.
//!
//! Readers split a file by bytes. One parallel pass ([`scan`]) counts the line ends of each chunk,
//! both for a chunk that begins inside quotes and for one that does not; which of both it was
//! follows from the chunks before. From the counts, an [`Index`] finds any row without reading
//! more than one chunk, so that rows need no padding and each reader parses its part alone.

mod cells;
pub mod columns;
pub mod dense;
pub mod format;
mod index;
pub mod infer;
mod rows;
pub mod scan;
pub mod texts;
pub mod triples;
mod write;

pub use cells::{Cell, Cells};
pub use index::Index;
pub use rows::{Part, Rows};
pub use write::write_parallel;

/// The byte that opens and closes a quoted cell.
pub const QUOTE: u8 = b'"';

/// Bytes that are read at once, and between two entries of an index.
pub const CHUNK: u64 = 1 << 20;

/// The mark that some programs put in front of UTF-8.
pub const MARK: &[u8] = b"\xef\xbb\xbf";
