//! A block's file, mapped for reading.

use super::error::{At, StoreError};
use std::fs::File;
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;

/// The bytes of a file, without a copy. They stay readable when the file is removed or moved, but
/// must not be recycled before this is dropped.
#[derive(Debug)]
pub struct Mapping {
    address: NonNull<u8>,
    nbytes: usize,
}

// SAFETY: the bytes are only read, and the mapping belongs to nobody else.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps a whole file.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let file = File::open(path).at(path)?;
        let nbytes = file.metadata().at(path)?.len() as usize;
        if nbytes == 0 {
            return Ok(Self { address: NonNull::dangling(), nbytes });
        }
        // SAFETY: a fresh mapping at an address that the system chooses, of an open file.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                nbytes,
                libc::PROT_READ,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error()).at(path);
        }
        let address = NonNull::new(address.cast()).ok_or_else(std::io::Error::last_os_error);
        Ok(Self { address: address.at(path)?, nbytes })
    }

    /// The bytes, for whoever keeps the mapping alive by other means.
    pub fn as_ptr(&self) -> *const u8 {
        self.address.as_ptr()
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: mapped for as long as `self` lives, or no bytes at all. Files in a cache are
        // not written after they got their names, and recycled only when nobody maps them.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.nbytes) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.nbytes > 0 {
            // SAFETY: mapped in `open` with this length, and unmapped only here.
            unsafe { libc::munmap(self.address.as_ptr().cast(), self.nbytes) };
        }
    }
}
