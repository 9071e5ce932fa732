//! What can go wrong with the files of a cache.

use freestone_base::Name;
use std::io;
use std::path::{Path, PathBuf};

/// Why a block could not be written, found, moved or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Neither memory nor disk has room.
    #[error("{needed} bytes do not fit into the {free} that are free in {}", folder.display())]
    Full {
        /// Bytes asked for.
        needed: u64,
        /// Bytes that there are.
        free: u64,
        /// The folder that is full.
        folder: PathBuf,
    },
    /// The block is not in this cache.
    #[error("block {name} is not in the cache")]
    Missing {
        /// Which.
        name: Name,
    },
    /// A file block's name would leave its folder.
    #[error("{basename:?} is not the name of a file in a folder")]
    BadBasename {
        /// What was given.
        basename: String,
    },
    /// A block's file has another size than the block.
    #[error("{} has {found} bytes, not {expected}", path.display())]
    WrongSize {
        /// The file.
        path: PathBuf,
        /// Bytes of the block.
        expected: u64,
        /// Bytes of the file.
        found: u64,
    },
    /// The folder belongs to a process that lives.
    #[error("{} is in use by process {pid}", folder.display())]
    InUse {
        /// The folder.
        folder: PathBuf,
        /// Its owner; 0 if that is not known.
        pid: u32,
    },
    /// The folder has files in it, and was not made by freestone.
    #[error(
        "{} was not made by freestone and has files in it, which are left alone; \
         name another folder, or an empty one",
        folder.display()
    )]
    NotOurs {
        /// The folder.
        folder: PathBuf,
    },
    /// A file that is no block.
    #[error("{} holds no block: {source}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: FormatError,
    },
    /// The operating system says no.
    #[error("{}: {source}", path.display())]
    Io {
        /// What was operated on.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
}

impl StoreError {
    /// Whether it is for want of room.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }
}

/// Why bytes are not the file of a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// It does not begin like one.
    #[error("it does not begin as a block does")]
    NoBlock,
    /// It was written by another version.
    #[error("its format is version {found}, and only {known} is understood")]
    Version {
        /// The version.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// Its parts are not where they should be.
    #[error("it should have {expected} bytes and has {found}")]
    Length {
        /// What the header and the table say.
        expected: u64,
        /// What there is.
        found: u64,
    },
}

/// Names the file in an error.
pub(super) trait At<T> {
    /// The same, with the path.
    fn at(self, path: &Path) -> Result<T, StoreError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: &Path) -> Result<T, StoreError> {
        self.map_err(|source| StoreError::Io { path: path.to_path_buf(), source })
    }
}
