//! Naming a file of the user's by its content.

use super::error::StoreError;
use super::mapping::Mapping;
use freestone_base::{Name, NameHasher};
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

/// Bytes that are hashed twice at a time: they stay in the processor's cache in between.
const CHUNK: usize = 256 << 10;

/// The checksum of bytes, at about the speed of memory.
pub fn checksum(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}

/// The name of a file's content, and the checksum that travels with it. Reads the file once, at
/// several GB/s if it is in memory.
///
/// # Errors
/// [`StoreError::Io`].
pub fn name_file(path: &Path) -> Result<(Name, u64), StoreError> {
    let mapping = Mapping::open(path)?;
    let mut name = NameHasher::new("file");
    let mut checksum = Xxh3::default();
    for chunk in mapping.chunks(CHUNK) {
        name.piece(chunk);
        checksum.update(chunk);
    }
    Ok((name.finish(), checksum.digest()))
}
