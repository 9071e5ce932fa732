//! A block's file, mapped or read.

use super::error::{At, StoreError};
use super::pages;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Smaller files are read: that takes less than to map them, touch their pages and unmap them.
const MAP_LEAST: usize = 16 << 10;

/// Files that one call uses are read up to here: a copy then takes less than to map and unmap.
/// Whoever keeps many files maps them, and has one copy of them together with all others.
const READ_MOST: usize = 128 << 10;

/// Linux lets a process have 65,530 mappings, of which allocators and libraries need some. Files
/// beyond are read.
const MAX_MAPPED: usize = 48 << 10;

/// As buffers in a block's file are aligned.
const ALIGNMENT: usize = 64;

/// How many files are mapped. Only counted; pairs with nothing.
static MAPPED: AtomicUsize = AtomicUsize::new(0);

/// The bytes of a file, without a copy unless it is small or very many are mapped. They stay
/// readable when the file is removed or moved, but must not be recycled before this is dropped.
#[derive(Debug)]
pub struct Mapping {
    address: NonNull<u8>,
    nbytes: usize,
    is_copy: bool,
}

// SAFETY: the bytes are only read, and belong to nobody else.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps a whole file.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_beside(path, MAP_LEAST, MAPPED.load(Ordering::Relaxed))
    }

    /// Reads or maps a whole file for the time of one call.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn open_briefly(path: &Path) -> Result<Self, StoreError> {
        Self::open_beside(path, READ_MOST, MAPPED.load(Ordering::Relaxed))
    }

    /// Maps a file of at least so many bytes, unless so many are mapped; reads it otherwise.
    fn open_beside(path: &Path, least: usize, mapped: usize) -> Result<Self, StoreError> {
        let file = File::open(path).at(path)?;
        let nbytes = file.metadata().at(path)?.len() as usize;
        if nbytes == 0 {
            return Ok(Self { address: NonNull::dangling(), nbytes, is_copy: true });
        }
        if nbytes < least || mapped >= MAX_MAPPED {
            return read(&file, nbytes).at(path);
        }
        map(&file, nbytes).at(path)
    }

    /// Whether the bytes are a copy of the file's.
    pub fn is_copy(&self) -> bool {
        self.is_copy
    }

    /// The bytes, for whoever keeps the mapping alive by other means.
    pub fn as_ptr(&self) -> *const u8 {
        self.address.as_ptr()
    }
}

fn map(file: &File, nbytes: usize) -> io::Result<Mapping> {
    let address = pages::map(file, nbytes, libc::PROT_READ)?;
    MAPPED.fetch_add(1, Ordering::Relaxed);
    Ok(Mapping { address, nbytes, is_copy: false })
}

fn read(file: &File, nbytes: usize) -> io::Result<Mapping> {
    let layout = layout(nbytes);
    // SAFETY: of more than no bytes.
    let address = unsafe { alloc(layout) };
    let Some(address) = NonNull::new(address) else { handle_alloc_error(layout) };
    // Frees the bytes from here on, whatever fails; nobody sees them before all are written.
    let copy = Mapping { address, nbytes, is_copy: true };
    fill(address, nbytes, file)?;
    Ok(copy)
}

/// Fills memory from a file. By the system's call itself: the standard library wants memory that
/// was written to before, and to do so takes as long as to read.
fn fill(address: NonNull<u8>, nbytes: usize, file: &File) -> io::Result<()> {
    let mut filled = 0;
    while filled < nbytes {
        // SAFETY: what is left of `nbytes` from `address` on, which only the caller has.
        let count = unsafe {
            let rest = address.as_ptr().add(filled);
            libc::read(file.as_raw_fd(), rest.cast(), nbytes - filled)
        };
        let error = match count {
            0 => ErrorKind::UnexpectedEof.into(),
            1.. => {
                filled += count as usize;
                continue;
            }
            _ => io::Error::last_os_error(),
        };
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(())
}

fn layout(nbytes: usize) -> Layout {
    Layout::from_size_align(nbytes, ALIGNMENT).expect("a file is smaller than the address space")
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: there for as long as `self` lives, or no bytes at all. Files in a cache are not
        // written after they got their names, and recycled only when nobody maps them.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.nbytes) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.nbytes == 0 {
            return;
        }
        if self.is_copy {
            // SAFETY: allocated in `read` with this layout, and freed only here.
            unsafe { dealloc(self.address.as_ptr(), layout(self.nbytes)) };
        } else {
            MAPPED.fetch_sub(1, Ordering::Relaxed);
            // SAFETY: mapped in `map` with this length, and unmapped only here.
            unsafe { libc::munmap(self.address.as_ptr().cast(), self.nbytes) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(nbytes: usize) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let bytes: Vec<u8> = (0..nbytes).map(|at| (at % 251) as u8).collect();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    fn open(nbytes: usize, mapped: usize) -> Mapping {
        checked(nbytes, |path| Mapping::open_beside(path, MAP_LEAST, mapped))
    }

    fn checked(nbytes: usize, open: impl Fn(&Path) -> Result<Mapping, StoreError>) -> Mapping {
        let file = file(nbytes);
        let mapping = open(file.path()).unwrap();
        drop(file);
        assert_eq!(mapping.len(), nbytes);
        assert!(mapping.iter().enumerate().all(|(at, byte)| *byte == (at % 251) as u8));
        assert!(nbytes == 0 || mapping.as_ptr().addr().is_multiple_of(ALIGNMENT));
        mapping
    }

    #[test]
    fn large_files_are_mapped_and_small_ones_read() {
        assert!(open(0, 0).is_copy);
        assert!(open(MAP_LEAST - 1, 0).is_copy);
        assert!(!open(MAP_LEAST, 0).is_copy);
    }

    #[test]
    fn for_one_call_larger_files_are_read_too() {
        assert!(checked(READ_MOST - 1, Mapping::open_briefly).is_copy);
        assert!(!checked(READ_MOST, Mapping::open_briefly).is_copy);
    }

    #[test]
    fn when_very_many_are_mapped_others_are_read() {
        assert!(!open(1 << 20, MAX_MAPPED - 1).is_copy);
        assert!(open(1 << 20, MAX_MAPPED).is_copy);
    }

    #[test]
    fn a_file_that_is_cut_while_it_is_read_is_an_error() {
        let file = file(1000);
        let error = read(file.as_file(), 1001).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_file_that_is_not_there_is_an_error() {
        assert!(matches!(Mapping::open(Path::new("/no/such")), Err(StoreError::Io { .. })));
    }
}
