//! How much of a cache's quotas is taken, for all processes that write into it.
//!
//! A file beside the blocks that everybody maps: the quotas, and for each writer the bytes that it
//! has taken in memory and on disk. The first writer is the cache itself, with the blocks that its
//! worker knows of. All others take bytes before they write a file, and the worker takes them over
//! when it hears of the block; what a writer took and never reported goes when it is seen to have
//! ended. So the sum never is more than a quota, whoever writes at the same time.

use super::error::{At, StoreError};
use super::tier::Tier;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Its name in the folder of the blocks in memory.
const FILE: &str = "ledger";
/// The quotas come first.
const HEADER: usize = 2;
const WORD: usize = size_of::<AtomicU64>();

/// Who takes bytes: the number of a pair of words.
pub type Writer = u32;
/// The cache: blocks that its worker knows of.
pub const HELD: Writer = 0;
/// The worker itself and clients, while they write.
pub const WORKER: Writer = 1;

/// Executors that stand in for those whose calls wait, as far as they are counted one by one; more
/// are counted with the worker.
const STAND_INS: u32 = 64;

/// The writer that is an executor.
pub const fn executor(number: u32) -> Writer {
    number + 2
}

/// A mapped ledger.
pub struct Ledger {
    words: NonNull<AtomicU64>,
    count: usize,
}

// SAFETY: mapped until it is dropped, and only used as atomics.
unsafe impl Send for Ledger {}
// SAFETY: as above.
unsafe impl Sync for Ledger {}

impl Ledger {
    /// Makes the ledger of a cache with so many executors in its folder in memory.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn create(
        folder: &Path,
        memory: u64,
        disk: u64,
        executors: u32,
    ) -> Result<Arc<Self>, StoreError> {
        let path = folder.join(FILE);
        let writers = executor(executors + STAND_INS) as usize;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).mode(0o600);
        let file = options.open(&path).at(&path)?;
        file.set_len(((HEADER + 2 * writers) * WORD) as u64).at(&path)?;
        for (index, quota) in [memory, disk].into_iter().enumerate() {
            file.write_all_at(&quota.to_ne_bytes(), (index * WORD) as u64).at(&path)?;
        }
        Self::map(&file).map(Arc::new).at(&path)
    }

    /// Maps the ledger of a cache; nothing if it has none.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn open(folder: &Path) -> Result<Option<Arc<Self>>, StoreError> {
        let path = folder.join(FILE);
        match OpenOptions::new().read(true).write(true).open(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            file => Ok(Some(Self::map(&file.at(&path)?).map(Arc::new).at(&path)?)),
        }
    }

    fn map(file: &File) -> std::io::Result<Self> {
        let nbytes = usize::try_from(file.metadata()?.len()).map_err(std::io::Error::other)?;
        let count = nbytes / WORD;
        if count < HEADER + 2 {
            return Err(std::io::Error::other("the ledger of the cache is cut short"));
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping at an address that the system chooses, of an open file.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                count * WORD,
                access,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(address.cast()).filter(|_| address != libc::MAP_FAILED) {
            Some(words) => Ok(Self { words, count }),
            None => Err(std::io::Error::last_os_error()),
        }
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        let index = index.min(self.count - 1);
        // SAFETY: within the mapping, which is page-aligned and lives as long as `self`.
        unsafe { self.words.add(index).as_ref() }
    }

    fn taken_by(&self, writer: Writer, tier: Tier) -> &AtomicU64 {
        let is_counted = (writer as usize) < self.writers();
        let writer = if is_counted { writer } else { WORKER };
        self.word(HEADER + 2 * writer as usize + tier_index(tier))
    }

    /// How many writers have words of their own.
    fn writers(&self) -> usize {
        (self.count - HEADER) / 2
    }

    /// Bytes that a tier may have.
    pub fn quota(&self, tier: Tier) -> u64 {
        // Written once, before anybody maps it.
        self.word(tier_index(tier)).load(Ordering::Relaxed)
    }

    /// Bytes of a tier that are taken, by all writers.
    pub fn taken(&self, tier: Tier) -> u64 {
        // Pairs with the additions of other writers: of two that add at once, one sees both.
        (0..self.writers())
            .map(|writer| self.taken_by(writer as Writer, tier).load(Ordering::SeqCst))
            .sum()
    }

    /// Takes bytes of a tier for a file that is about to be written; whether there were as many.
    pub fn take(&self, writer: Writer, tier: Tier, nbytes: u64) -> bool {
        let mine = self.taken_by(writer, tier);
        mine.fetch_add(nbytes, Ordering::SeqCst);
        let fits = self.taken(tier) <= self.quota(tier);
        if !fits {
            self.give_back(writer, tier, nbytes);
        }
        fits
    }

    /// Gives bytes back: the file will not be, or its block is counted by the cache now.
    pub fn give_back(&self, writer: Writer, tier: Tier, nbytes: u64) {
        let less = |taken: u64| Some(taken.saturating_sub(nbytes));
        // Never fails: there is always a new value.
        let _ = self.taken_by(writer, tier).fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
    }

    /// Sets what the cache holds.
    pub fn hold(&self, tier: Tier, nbytes: u64) {
        self.taken_by(HELD, tier).store(nbytes, Ordering::SeqCst);
    }

    /// A writer has ended: what it took and never reported is nobody's.
    pub fn forget(&self, writer: Writer) {
        if writer as usize >= self.writers() {
            return;
        }
        for tier in [Tier::Memory, Tier::Disk] {
            self.taken_by(writer, tier).store(0, Ordering::SeqCst);
        }
    }
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (memory, disk) = (self.taken(Tier::Memory), self.taken(Tier::Disk));
        write!(f, "Ledger({memory} bytes in memory, {disk} on disk)")
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // SAFETY: mapped in `map` with this length, and unmapped only here.
        unsafe { libc::munmap(self.words.as_ptr().cast(), self.count * WORD) };
    }
}

const fn tier_index(tier: Tier) -> usize {
    match tier {
        Tier::Memory => 0,
        Tier::Disk => 1,
    }
}

/// Bytes that were taken for a file; given back when dropped, unless the file stays.
#[derive(Debug)]
pub struct Taken {
    ledger: Arc<Ledger>,
    writer: Writer,
    tier: Tier,
    nbytes: u64,
}

impl Taken {
    /// Takes bytes of a tier, if there are as many.
    pub fn take(ledger: &Arc<Ledger>, writer: Writer, tier: Tier, nbytes: u64) -> Option<Self> {
        let ledger = Arc::clone(ledger);
        ledger.take(writer, tier, nbytes).then_some(Self { ledger, writer, tier, nbytes })
    }

    /// The same bytes on disk instead, if there are as many.
    pub fn on_disk(&self) -> Option<Self> {
        Self::take(&self.ledger, self.writer, Tier::Disk, self.nbytes)
    }

    /// The file stays: its worker takes the bytes over.
    pub fn keep(mut self) {
        self.nbytes = 0;
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.ledger.give_back(self.writer, self.tier, self.nbytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_writers_together_take_no_more_than_there_is() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::create(folder.path(), 1000, 100, 3).unwrap();
        ledger.hold(Tier::Memory, 100);
        let taken = std::thread::scope(|scope| {
            let take = |writer: Writer| {
                let path = folder.path();
                scope.spawn(move || {
                    let ledger = Ledger::open(path).unwrap().unwrap();
                    (0..10_000).filter(|_| ledger.take(writer, Tier::Memory, 7)).count()
                })
            };
            let all: Vec<_> = (1..5).map(take).collect();
            all.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
        });
        // Two that take at once may both give up, but what was given up can be had afterwards.
        let rest = (0..1000).filter(|_| ledger.take(WORKER, Tier::Memory, 7)).count();
        assert_eq!(taken + rest, 900 / 7);
        assert_eq!(ledger.taken(Tier::Memory), 100 + 7 * (900 / 7));
        ledger.forget(WORKER);
        assert!(ledger.taken(Tier::Memory) < 1000);
        assert_eq!(ledger.taken(Tier::Disk), 0);
    }

    #[test]
    fn what_is_not_kept_is_given_back() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Ledger::open(folder.path()).unwrap().is_none());
        let ledger = Ledger::create(folder.path(), 10, 10, 1).unwrap();
        let taken = Taken::take(&ledger, WORKER, Tier::Memory, 8).unwrap();
        assert!(Taken::take(&ledger, executor(0), Tier::Memory, 3).is_none());
        let moved = taken.on_disk().unwrap();
        drop(taken);
        moved.keep();
        assert_eq!((ledger.taken(Tier::Memory), ledger.taken(Tier::Disk)), (0, 8));
    }
}
