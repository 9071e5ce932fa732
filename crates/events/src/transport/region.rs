//! Memory that ranks share: mapped anonymously for ranks that are threads, from a file without a
//! name for those that are processes.

use super::error::TransportError;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Memory of a fixed size, full of zeros at first; pages are taken when they are touched.
#[derive(Debug)]
pub struct Region {
    start: *mut u8,
    len: usize,
}

// SAFETY: a region is only memory; who uses it takes care of who uses it when.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Memory of this process only.
    ///
    /// # Errors
    ///
    /// If the system has no such room.
    pub fn anonymous(len: usize) -> Result<Arc<Self>, TransportError> {
        // Shared with copies of this process.
        let shared = libc::MAP_SHARED | libc::MAP_NORESERVE;
        Self::map(len, shared | libc::MAP_ANONYMOUS, -1)
    }

    /// Memory for processes that inherit the descriptor, and the descriptor.
    ///
    /// # Errors
    ///
    /// If the system has no such room.
    pub fn create(len: usize) -> Result<(Arc<Self>, OwnedFd), TransportError> {
        // Without flags, so that children inherit it.
        let fd = Self::descriptor(0).map_err(|_| no_room(len))?;
        let size = libc::off_t::try_from(len).map_err(|_| no_room(len))?;
        // SAFETY: a plain call on a descriptor that is open.
        if unsafe { libc::ftruncate(fd.as_raw_fd(), size) } != 0 {
            return Err(no_room(len));
        }
        Ok((Self::open(fd.as_raw_fd(), len)?, fd))
    }

    /// A file of memory that has no name, and no bytes yet.
    ///
    /// # Errors
    ///
    /// If the system has no descriptor.
    pub fn descriptor(flags: u32) -> io::Result<OwnedFd> {
        // SAFETY: the name is a C string.
        let fd = unsafe { libc::memfd_create(c"freestone-events".as_ptr(), flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was opened here and belongs to nobody else.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// The memory that another process made.
    ///
    /// # Errors
    ///
    /// If the descriptor is not of such memory.
    pub fn open(fd: i32, len: usize) -> Result<Arc<Self>, TransportError> {
        // SAFETY: `stat` is written by the call before it is read.
        let size = unsafe {
            let mut stat = std::mem::zeroed::<libc::stat>();
            if libc::fstat(fd, &raw mut stat) == 0 { stat.st_size } else { -1 }
        };
        // Touching what lies beyond the file's end would kill the process.
        if usize::try_from(size).is_ok_and(|size| size >= len) {
            return Self::map(len, libc::MAP_SHARED | libc::MAP_NORESERVE, fd);
        }
        Err(TransportError::NotShared { fd, wanted: len })
    }

    fn map(len: usize, flags: i32, fd: i32) -> Result<Arc<Self>, TransportError> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address that the system chooses.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, fd, 0) };
        if start == libc::MAP_FAILED {
            return Err(no_room(len));
        }
        Ok(Arc::new(Self { start: start.cast(), len }))
    }

    /// The address of the bytes from `offset` on, `len` of them.
    ///
    /// # Panics
    ///
    /// If they are not all in the region.
    pub fn at(&self, offset: usize, len: usize) -> *mut u8 {
        let fits = offset.checked_add(len).is_some_and(|end| end <= self.len);
        assert!(fits, "{len} bytes at {offset} are not in a region of {}", self.len);
        // SAFETY: within the mapping, by the line above.
        unsafe { self.start.add(offset) }
    }

    /// The 64-bit word at `offset`, which has to be aligned and never used but as an atomic.
    ///
    /// # Panics
    ///
    /// If it is not in the region.
    pub fn counter(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: in the region, and as the caller says.
        unsafe { AtomicU64::from_ptr(self.at(offset, 8).cast()) }
    }

    /// The 32-bit word at `offset`, as [`Region::counter`].
    ///
    /// # Panics
    ///
    /// If it is not in the region.
    pub fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { AtomicU32::from_ptr(self.at(offset, 4).cast()) }
    }

    /// Its size in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: mapped by `map`, unmapped only here; who points into it holds the region.
        unsafe { libc::munmap(self.start.cast(), self.len) };
    }
}

fn no_room(len: usize) -> TransportError {
    TransportError::NoMemory { nbytes: len, source: io::Error::last_os_error() }
}
