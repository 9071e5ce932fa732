//! The two parts of a node's cache.

/// Where a block lies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Tier {
    /// In memory.
    Memory,
    /// On disk.
    Disk,
}
