//! Naming what comes from the user by its content: files, and values that are put.

use super::error::{At, StoreError};
use super::folder::Folder;
use super::mapping::Mapping;
use crate::wire::BlockDesc;
use freestone_base::{Name, NameHasher};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
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

/// Writes a value into a cache under the name of its content, or another; the block, and where it
/// lies.
///
/// # Errors
/// Those of [`Folder::put`].
///
/// # Panics
/// If there is no thread to be had.
pub fn put_named(
    folder: &Folder,
    stream: &[u8],
    buffers: &[&[u8]],
    name: Option<Name>,
) -> Result<(BlockDesc, PathBuf), StoreError> {
    // Both read the value once and take about as long: side by side, on two processors.
    let (name, written) = std::thread::scope(|scope| {
        let name = scope.spawn(|| name.unwrap_or_else(|| Name::of_value(stream, buffers)));
        let written = folder.put(temporary_name(), stream, buffers);
        (name.join(), written)
    });
    let (name, written) = (name.expect("hashing does not panic"), written?);
    let missing = StoreError::Missing { name: written.name };
    let (path, _) = folder.path(written.name, &written.form).ok_or(missing)?;
    Ok((BlockDesc { name, ..written }, path))
}

/// The name of a file that the worker has not adopted yet: under its own name it might replace
/// one that the worker is about to remove.
fn temporary_name() -> Name {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut hasher = NameHasher::new("passing");
    hasher.part(&std::process::id().to_le_bytes()).part(&count.to_le_bytes());
    hasher.finish()
}

/// A name that nothing else has.
///
/// # Errors
/// [`StoreError::Io`], if the system has no random numbers.
pub fn random_name() -> Result<Name, StoreError> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0; 16];
    File::open(source).and_then(|mut file| file.read_exact(&mut bytes)).at(source)?;
    Ok(Name(bytes))
}
