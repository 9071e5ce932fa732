//! A block's file while it is written.
//!
//! Measured on a two-core virtual machine, 64 MiB to 512 MiB, in GB/s: into fresh pages `pwrite`
//! 2.5 to 3.0, a populated mapping 1.2 to 1.7, a mapping after `fallocate` 1.2 to 1.5, a plain
//! mapping 1.1 to 1.7; into recycled pages `pwrite` 3.5 to 4.1, a mapping 1.4 to 2.8, since each
//! of its pages costs a fault. All that is with small pages, as files of less than 2 MiB have them. So
//! bytes are written, and a mapping is there only for whoever produces them in place.

use super::error::{At, StoreError};
use super::files::{create_unique, free_nbytes, is_full};
use super::ledger::Taken;
use super::pages::Pages;
use super::tier::Tier;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use xxhash_rust::xxh3::Xxh3;

/// Bytes that are hashed and written at a time: they stay in the processor's cache in between.
pub const CHUNK: usize = 256 << 10;
/// From this many bytes on, one thread writes what another has read: the start of a thread is
/// a hundredth of the time then.
const OVERLAP_FROM: u64 = 8 << 20;
/// Chunks on their way between the two: enough that neither waits for the other's every breath.
const IN_FLIGHT: usize = 4;

/// A file of the cache that has no name yet. It is removed when dropped without being committed.
///
/// The checksum of its bytes is computed as they pass. If memory turns out to be full, it goes on
/// disk, whatever was written so far.
pub struct Segment {
    file: File,
    path: PathBuf,
    tier: Tier,
    /// Where it goes on when its folder is full.
    disk: Option<PathBuf>,
    nbytes: u64,
    /// Small pieces on their way to the file.
    staged: Vec<u8>,
    written: u64,
    hash: Box<Xxh3>,
    /// Bytes from the beginning that have huge pages: those are read into in place.
    huge: usize,
    mapped: Option<Pages>,
    committed: bool,
    /// What was taken of a quota for it; given back unless it is committed.
    taken: Option<Taken>,
}

impl Segment {
    pub(super) fn new(file: File, path: PathBuf, tier: Tier, nbytes: u64) -> Self {
        Self {
            file,
            path,
            tier,
            disk: None,
            nbytes,
            staged: Vec::new(),
            written: 0,
            hash: Box::default(),
            huge: 0,
            mapped: None,
            committed: false,
            taken: None,
        }
    }

    pub(super) fn with_fallback(mut self, disk: PathBuf) -> Self {
        self.disk = Some(disk);
        self
    }

    pub(super) fn with_taken(mut self, taken: Option<Taken>) -> Self {
        self.taken = taken;
        self
    }

    pub(super) fn with_huge(mut self, huge: usize) -> Self {
        self.huge = huge;
        self
    }

    /// Where it lies until it is committed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it lies: may change from memory to disk while it is written.
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// Bytes that it shall have.
    pub fn nbytes(&self) -> u64 {
        self.nbytes
    }

    /// Bytes that were appended.
    pub fn filled(&self) -> u64 {
        self.written + self.staged.len() as u64
    }

    /// Adds bytes at the end.
    ///
    /// # Errors
    /// [`StoreError::Full`] if neither memory nor disk has room, [`StoreError::Io`].
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        if self.staged.len() + bytes.len() <= CHUNK {
            self.staged.extend_from_slice(bytes);
            return Ok(());
        }
        self.write_staged()?;
        bytes.chunks(CHUNK).try_for_each(|chunk| self.write(chunk))
    }

    /// Adds what `source` gives until the segment is full.
    ///
    /// They are read in place where pages are huge, and hashed there. Many bytes for small pages are
    /// read and hashed by this thread and written by a second one: in GB/s, on the machine above, from a
    /// socket into recycled pages, 4.6 where one thread alone has 2.7.
    ///
    /// # Errors
    /// As [`append`](Self::append); [`StoreError::Io`] also if `source` ends early.
    pub fn append_from(&mut self, source: &mut impl Read) -> Result<(), StoreError> {
        self.write_staged()?;
        if self.written < self.huge as u64 {
            self.append_in_place(source)?;
        }
        if self.nbytes - self.written >= OVERLAP_FROM {
            self.append_overlapped(source)?;
        }
        self.append_alone(source)
    }

    /// As [`append_from`](Self::append_from), by this thread alone, for whoever has one processor.
    ///
    /// # Errors
    /// As [`append_from`](Self::append_from).
    pub fn append_alone(&mut self, source: &mut impl Read) -> Result<(), StoreError> {
        self.write_staged()?;
        let mut buffer = vec![0; CHUNK.min(self.nbytes as usize).max(1)];
        while self.written < self.nbytes {
            let wanted = (self.nbytes - self.written).min(buffer.len() as u64) as usize;
            let nbytes = read_some(source, &mut buffer[..wanted]).at(&self.path)?;
            self.write(&buffer[..nbytes])?;
        }
        Ok(())
    }

    /// Reads into the huge pages that are not filled yet.
    fn append_in_place(&mut self, source: &mut impl Read) -> Result<(), StoreError> {
        let mut pages = Pages::map(&self.file, self.huge).at(&self.path)?;
        for chunk in pages[self.written as usize..].chunks_mut(CHUNK) {
            let nbytes = read_some(source, chunk).at(&self.path)?;
            self.hash.update(&chunk[..nbytes]);
            self.written += nbytes as u64;
        }
        Ok(())
    }

    /// As [`append_from`](Self::append_from), by two threads; ends early if memory is full.
    fn append_overlapped(&mut self, source: &mut impl Read) -> Result<(), StoreError> {
        let (read, to_write) = sync_channel(IN_FLIGHT);
        let (empty, to_fill) = sync_channel(IN_FLIGHT);
        for _ in 0..IN_FLIGHT {
            // There is room for all of them.
            let _ = empty.send(vec![0; CHUNK]);
        }
        let (file, start, end) = (&self.file, self.written, self.nbytes);
        let hash = &mut self.hash;
        let (filled, stopped) = thread::scope(|scope| {
            let writer = scope.spawn(move || write_chunks(file, start, &to_write, empty));
            let filled = fill_chunks(source, end - start, hash, &to_fill, &read);
            drop(read);
            (filled, writer.join())
        });
        let stopped = stopped.map_err(|_| io::Error::other("the thread that writes panicked"));
        let stopped = stopped.at(&self.path)?;
        self.written = stopped.written;
        filled.at(&self.path)?;
        if let Some(error) = stopped.error {
            if !is_full(&error) {
                return Err(error).at(&self.path);
            }
            self.go_on_disk()?;
        }
        stopped.unwritten.iter().try_for_each(|chunk| self.put(chunk))
    }

    /// All bytes of the segment, to be written in place; instead of [`append`](Self::append).
    ///
    /// # Errors
    /// As [`append`](Self::append): room is made sure of first.
    pub fn map(&mut self) -> Result<&mut [u8], StoreError> {
        if self.nbytes == 0 {
            return Ok(&mut []);
        }
        let pages = match self.mapped.take() {
            Some(pages) => pages,
            None => self.map_now()?,
        };
        Ok(self.mapped.insert(pages))
    }

    /// Writes what is still staged.
    ///
    /// # Errors
    /// As [`append`](Self::append); [`StoreError::WrongSize`] if bytes are missing.
    pub fn finish(&mut self) -> Result<(), StoreError> {
        if let Some(pages) = &self.mapped
            && self.written < self.nbytes
        {
            self.hash.update(pages);
            self.written = self.nbytes;
        }
        self.write_staged()?;
        if self.written != self.nbytes {
            let path = self.path.clone();
            return Err(StoreError::WrongSize { path, expected: self.nbytes, found: self.written });
        }
        Ok(())
    }

    /// XXH3 (64 bits) of the bytes; of all of them after [`finish`](Self::finish).
    pub fn checksum(&self) -> u64 {
        self.hash.digest()
    }

    /// The file has its name now and is no longer this segment's to remove.
    pub(super) fn set_committed(&mut self) {
        self.committed = true;
        if let Some(taken) = self.taken.take() {
            taken.keep();
        }
    }

    fn write_staged(&mut self) -> Result<(), StoreError> {
        let staged = std::mem::take(&mut self.staged);
        if staged.is_empty() { Ok(()) } else { self.write(&staged) }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.hash.update(bytes);
        self.put(bytes)
    }

    /// Writes bytes whose checksum was computed.
    fn put(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        match self.file.write_all_at(bytes, self.written) {
            Err(error) if is_full(&error) => {
                self.go_on_disk()?;
                let written = self.file.write_all_at(bytes, self.written);
                written.map_err(|error| self.full_or(error))?;
            }
            other => other.at(&self.path)?,
        }
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn map_now(&mut self) -> Result<Pages, StoreError> {
        // A page that can't be had would end the process when it is written to.
        if let Err(error) = reserve(&self.file, self.nbytes) {
            if !is_full(&error) {
                return Err(error).at(&self.path);
            }
            self.go_on_disk()?;
            reserve(&self.file, self.nbytes).map_err(|error| self.full_or(error))?;
        }
        Pages::map(&self.file, self.nbytes as usize).at(&self.path)
    }

    /// Continues in a file on disk, with what was written so far.
    fn go_on_disk(&mut self) -> Result<(), StoreError> {
        let Some(disk) = self.disk.take() else {
            return Err(self.full_or(io::Error::from_raw_os_error(libc::ENOSPC)));
        };
        if let Some(taken) = &self.taken {
            let full = || self.full_or(io::Error::from_raw_os_error(libc::ENOSPC));
            let moved = taken.on_disk().ok_or_else(full)?;
            self.taken = Some(moved);
        }
        let (file, path) = create_unique(&disk)?;
        let mut source =
            OpenOptions::new().read(true).open(&self.path).at(&self.path)?.take(self.written);
        let copied = io::copy(&mut source, &mut &file);
        let memory = std::mem::replace(&mut self.path, path);
        self.huge = 0;
        self.file = file;
        self.tier = Tier::Disk;
        std::fs::remove_file(&memory).at(&memory)?;
        copied.map(|_| ()).map_err(|error| self.full_or(error))
    }

    fn full_or(&self, source: io::Error) -> StoreError {
        let path = self.path.clone();
        if !is_full(&source) {
            return StoreError::Io { path, source };
        }
        let folder = path.parent().unwrap_or(&path).to_path_buf();
        StoreError::Full { needed: self.nbytes, free: free_nbytes(&folder), folder }
    }
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Segment({}, {} of {} bytes)", self.path.display(), self.filled(), self.nbytes)
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        if !self.committed {
            // If it can't be removed, whoever sweeps the folder removes it.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// How far a thread came that writes chunks.
struct Stopped {
    /// Bytes of the file that are written.
    written: u64,
    /// Why it stopped before the end.
    error: Option<io::Error>,
    /// What was handed to it and isn't in the file.
    unwritten: Vec<Vec<u8>>,
}

/// Writes chunks at the offset `written` and after it, and gives their memory back.
fn write_chunks(
    file: &File,
    mut written: u64,
    chunks: &Receiver<Vec<u8>>,
    empty: SyncSender<Vec<u8>>,
) -> Stopped {
    while let Ok(chunk) = chunks.recv() {
        if let Err(error) = file.write_all_at(&chunk, written) {
            // Without memory to fill the other thread ends; what it sends until then is kept.
            drop(empty);
            let mut unwritten = vec![chunk];
            unwritten.extend(chunks);
            return Stopped { written, error: Some(error), unwritten };
        }
        written += chunk.len() as u64;
        // The other thread may have ended.
        let _ = empty.send(chunk);
    }
    Stopped { written, error: None, unwritten: Vec::new() }
}

/// Reads and hashes `left` bytes into empty chunks, until there are none.
fn fill_chunks(
    source: &mut impl Read,
    mut left: u64,
    hash: &mut Xxh3,
    empty: &Receiver<Vec<u8>>,
    filled: &SyncSender<Vec<u8>>,
) -> io::Result<()> {
    while left > 0 {
        let Ok(mut chunk) = empty.recv() else { break };
        chunk.resize(left.min(CHUNK as u64) as usize, 0);
        let nbytes = read_some(source, &mut chunk)?;
        hash.update(&chunk[..nbytes]);
        left -= nbytes as u64;
        if filled.send(chunk).is_err() {
            break;
        }
    }
    Ok(())
}

fn reserve(file: &File, nbytes: u64) -> io::Result<()> {
    let nbytes = libc::off_t::try_from(nbytes).map_err(io::Error::other)?;
    // SAFETY: an open file; the system checks the number.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, nbytes) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Fills as much of `buffer` as comes without an end in between, at least one byte.
fn read_some(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(nbytes) => filled += nbytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
