//! The files of a node's cache.
//!
//! - [`folder`]: where blocks lie, used by several processes at once.
//! - `files`: where a block's file lies in a folder; files that are made and copied.
//! - [`tier`]: memory or disk.
//! - [`segment`]: a block's file while it is written.
//! - [`mapping`]: a block's file while it is read.
//! - [`naming`]: the names of the user's files and values.
//! - [`format`]: what is inside the file of a value.
//! - [`forever`]: blocks kept for later runs.
//! - `pages`: huge pages for blocks in memory.
//! - [`ledger`]: how much of the quotas is taken, by all processes.
//! - [`owned`]: whose folder it is, and sweeping those of the dead.

pub mod error;
pub(crate) mod files;
pub mod folder;
pub mod forever;
pub mod format;
pub mod ledger;
pub mod mapping;
pub mod naming;
pub mod owned;
mod pages;
pub mod segment;
pub mod tier;

pub use error::{FormatError, StoreError};
pub use folder::Folder;
pub use format::Parsed;
pub use mapping::Mapping;
pub use naming::{checksum, name_file, put_named, random_name};
pub use owned::OwnedFolder;
pub use segment::Segment;
pub use tier::Tier;
