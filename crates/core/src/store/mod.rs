//! The files of a node's cache.
//!
//! - [`folder`]: where blocks lie, used by several processes at once.
//! - [`segment`]: a block's file while it is written.
//! - [`mapping`]: a block's file while it is read.
//! - [`naming`]: the name of a file of the user's.
//! - [`format`]: what is inside the file of a value.
//! - [`forever`]: blocks kept for later runs.
//! - [`lock`]: whose folder it is, and sweeping those of the dead.

pub mod error;
pub mod folder;
pub mod forever;
pub mod format;
pub mod lock;
pub mod mapping;
pub mod naming;
pub mod segment;

pub use error::StoreError;
pub use folder::{Folder, Tier};
pub use format::{FormatError, Parsed};
pub use mapping::Mapping;
pub use naming::name_file;
pub use segment::Segment;
