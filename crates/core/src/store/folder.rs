//! Where the blocks of a node lie: a folder in memory and one on disk.
//!
//! Three kinds of processes use it at once: the worker that owns it, the worker's executors and
//! clients on the same machine. Nothing but renames makes that safe: a block's file is written
//! under a name of its own in `tmp` and appears under the block's name at once and whole.

use super::error::{At, StoreError};
use super::files::{copy_into, create_unique, free_nbytes, is_full, make_folder, place, unique};
use super::ledger::{Ledger, Taken, WORKER, Writer};
use super::mapping::Mapping;
use super::pages;
use super::segment::Segment;
use super::tier::Tier;
use crate::wire::{BlockDesc, Form};
use freestone_base::Name;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

const TEMPORARY: &str = "tmp";
const FREE: &str = "free";

/// Smaller files are not worth recycling.
const RECYCLE_LEAST: u64 = 64 << 10;
const FREE_LIMIT: u64 = 256 << 20;
/// Two changes of a folder that are further apart have different times: some ticks of the kernel's clock.
const CHANGE_INTERVAL: Duration = Duration::from_millis(50);

/// A node's cache on disk and in memory.
#[derive(Clone, Debug)]
pub struct Folder {
    memory: PathBuf,
    disk: PathBuf,
    free_limit: u64,
    largest: [u64; 2],
    /// When the folder of freed segments last changed, if it was empty then.
    empty_since: Arc<Mutex<Option<SystemTime>>>,
    /// Where bytes are taken before they are written, and in whose name.
    ledger: Option<(Arc<Ledger>, Writer)>,
}

impl Folder {
    /// Uses two folders, and makes what is missing of them.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn open(memory: &Path, disk: &Path) -> Result<Self, StoreError> {
        for folder in [memory, disk] {
            make_folder(folder)?;
            make_folder(&folder.join(TEMPORARY))?;
        }
        make_folder(&memory.join(FREE))?;
        let ledger = Ledger::open(memory)?.map(|ledger| (ledger, WORKER));
        let [memory, disk] = [memory, disk].map(Path::to_path_buf);
        let empty_since = Arc::default();
        Ok(Self {
            memory,
            disk,
            free_limit: FREE_LIMIT,
            largest: [u64::MAX; 2],
            empty_since,
            ledger,
        })
    }

    /// The same, but with as many bytes of freed segments kept for later ones.
    #[must_use]
    pub fn with_free_limit(self, free_limit: u64) -> Self {
        Self { free_limit, ..self }
    }

    /// The same, but with room for no block larger than a tier's quota.
    #[must_use]
    pub fn with_quotas(self, memory: u64, disk: u64) -> Self {
        Self { largest: [memory, disk], ..self }
    }

    /// The same, for whoever takes what it writes from a cache's quotas in this name.
    #[must_use]
    pub fn written_by(self, writer: Writer) -> Self {
        let ledger = self.ledger.map(|(ledger, _)| (ledger, writer));
        Self { ledger, ..self }
    }

    /// The same, for a worker whose own books have what it writes.
    #[must_use]
    pub fn unlimited(self) -> Self {
        Self { ledger: None, ..self }
    }

    /// The folder of a tier.
    pub fn folder(&self, tier: Tier) -> &Path {
        match tier {
            Tier::Memory => &self.memory,
            Tier::Disk => &self.disk,
        }
    }

    /// Whether a file lies in this cache, under whatever name.
    pub fn contains(&self, path: &Path) -> bool {
        path.starts_with(&self.memory) || path.starts_with(&self.disk)
    }

    /// A file to be filled, in memory as long as there is room: out of pages that were used
    /// before if a freed segment fits.
    ///
    /// # Errors
    /// [`StoreError::Full`], [`StoreError::Io`].
    pub fn segment(&self, nbytes: u64) -> Result<Segment, StoreError> {
        let [memory, disk] = self.largest;
        if nbytes > memory {
            let full = || StoreError::Full {
                needed: nbytes,
                free: memory.max(disk),
                folder: self.memory.clone(),
            };
            return if nbytes > disk { Err(full()) } else { self.segment_in(Tier::Disk, nbytes) };
        }
        let Ok(taken) = self.take(Tier::Memory, nbytes) else {
            return self.segment_in(Tier::Disk, nbytes);
        };
        let recycled = if nbytes >= RECYCLE_LEAST { self.take_free(nbytes)? } else { None };
        let disk = self.disk.join(TEMPORARY);
        let is_new = recycled.is_none();
        let (file, path) = match recycled {
            Some(recycled) => recycled,
            None => match create_unique(&self.memory.join(TEMPORARY)) {
                Err(StoreError::Io { source, .. }) if is_full(&source) => {
                    return self.segment_in(Tier::Disk, nbytes);
                }
                other => other?,
            },
        };
        let huge = pages::prepare(&file, nbytes, is_new);
        let segment = Segment::new(file, path, Tier::Memory, nbytes);
        Ok(segment.with_fallback(disk).with_taken(taken).with_huge(huge))
    }

    /// A file to be filled, in the given tier and nowhere else.
    ///
    /// # Errors
    /// [`StoreError::Full`], [`StoreError::Io`].
    pub fn segment_in(&self, tier: Tier, nbytes: u64) -> Result<Segment, StoreError> {
        let taken = self.take(tier, nbytes)?;
        let (file, path) = create_unique(&self.folder(tier).join(TEMPORARY))?;
        Ok(Segment::new(file, path, tier, nbytes).with_taken(taken))
    }

    /// Takes bytes of a tier's quota, where there are quotas. Clients have no limit on disk: what
    /// they put is nowhere else, and the worker makes room for it afterwards.
    fn take(&self, tier: Tier, nbytes: u64) -> Result<Option<Taken>, StoreError> {
        let Some((ledger, writer)) = &self.ledger else { return Ok(None) };
        if *writer == WORKER && tier == Tier::Disk {
            return Ok(None);
        }
        match Taken::take(ledger, *writer, tier, nbytes) {
            Some(taken) => Ok(Some(taken)),
            None => Err(StoreError::Full {
                needed: nbytes,
                free: ledger.quota(tier).saturating_sub(ledger.taken(tier)),
                folder: self.folder(tier).to_path_buf(),
            }),
        }
    }

    /// Gives a filled segment its name.
    ///
    /// # Errors
    /// Those of [`Segment::finish`].
    pub fn commit(
        &self,
        mut segment: Segment,
        name: Name,
        form: Form,
    ) -> Result<BlockDesc, StoreError> {
        segment.finish()?;
        let place = self.prepare(segment.tier(), name, &form)?;
        std::fs::rename(segment.path(), &place).at(&place)?;
        segment.set_committed();
        Ok(BlockDesc { name, nbytes: segment.nbytes(), checksum: segment.checksum(), form })
    }

    /// Writes a value and gives it its name.
    ///
    /// # Errors
    /// [`StoreError::Full`], [`StoreError::Io`].
    pub fn put(
        &self,
        name: Name,
        pickle: &[u8],
        buffers: &[&[u8]],
    ) -> Result<BlockDesc, StoreError> {
        self.commit(self.write(pickle, buffers)?, name, Form::Value)
    }

    /// Writes a value for a worker to [`adopt`](Self::adopt): under its own name it might replace a
    /// file that the worker is about to remove. Returns the file, its size and its checksum.
    ///
    /// # Errors
    /// [`StoreError::Full`], [`StoreError::Io`].
    pub fn put_aside(
        &self,
        pickle: &[u8],
        buffers: &[&[u8]],
    ) -> Result<(PathBuf, u64, u64), StoreError> {
        let mut segment = self.write(pickle, buffers)?;
        segment.finish()?;
        segment.set_committed();
        Ok((segment.path().to_path_buf(), segment.nbytes(), segment.checksum()))
    }

    fn write(&self, pickle: &[u8], buffers: &[&[u8]]) -> Result<Segment, StoreError> {
        let nbytes = super::format::nbytes(pickle.len(), buffers.iter().map(|part| part.len()));
        let mut segment = self.segment(nbytes)?;
        super::format::write(&mut segment, pickle, buffers)?;
        Ok(segment)
    }

    /// Removes the blocks that a former worker has left here, which nobody knows of any more, and the
    /// segments that it freed. What clients have put aside stays.
    ///
    /// # Errors
    /// [`StoreError::Io`], after as much as possible was removed.
    pub fn clear(&self) -> Result<(), StoreError> {
        self.trim()?;
        let mut result = Ok(());
        for folder in [&self.memory, &self.disk] {
            for entry in std::fs::read_dir(folder).at(folder)? {
                let path = entry.at(folder)?.path();
                if is_place(&path) {
                    result = result.and(ignore_missing(remove_place(&path)).at(&path));
                }
            }
        }
        result
    }

    /// Where a block lies, if it is here.
    pub fn path(&self, name: Name, form: &Form) -> Option<(PathBuf, Tier)> {
        [Tier::Memory, Tier::Disk].into_iter().find_map(|tier| {
            let path = place(self.folder(tier), name, form).ok()?;
            path.exists().then_some((path, tier))
        })
    }

    /// Where a block lies or would lie in a tier.
    ///
    /// # Errors
    /// [`StoreError::BadBasename`].
    pub fn path_in(&self, tier: Tier, name: Name, form: &Form) -> Result<PathBuf, StoreError> {
        place(self.folder(tier), name, form)
    }

    /// Maps a file for reading.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn map(&self, path: &Path) -> Result<Mapping, StoreError> {
        Mapping::open(path)
    }

    /// Moves a file into its place: by a rename if it lies in this cache already, else by a copy,
    /// in memory as long as there is room.
    ///
    /// # Errors
    /// [`StoreError::WrongSize`], [`StoreError::Full`], [`StoreError::Io`]; then `path` stays.
    pub fn adopt(&self, path: &Path, block: &BlockDesc) -> Result<Tier, StoreError> {
        let found = std::fs::metadata(path).at(path)?.len();
        if found != block.nbytes {
            let path = path.to_path_buf();
            return Err(StoreError::WrongSize { path, expected: block.nbytes, found });
        }
        for tier in [Tier::Memory, Tier::Disk] {
            if path.starts_with(self.folder(tier)) {
                let place = self.prepare(tier, block.name, &block.form)?;
                std::fs::rename(path, &place).at(&place)?;
                return Ok(tier);
            }
        }
        let mut segment = self.segment(block.nbytes)?;
        segment.append_from(&mut File::open(path).at(path)?)?;
        let tier = segment.tier();
        self.commit(segment, block.name, block.form.clone())?;
        std::fs::remove_file(path).at(path)?;
        Ok(tier)
    }

    /// Where another worker of this machine may link a file to that [`adopt`](Self::adopt) then
    /// moves into its place.
    pub fn for_links(&self, tier: Tier) -> PathBuf {
        self.folder(tier).join(TEMPORARY)
    }

    /// Moves a block from memory to disk. Linear in its bytes.
    ///
    /// # Errors
    /// [`StoreError::Full`], [`StoreError::Missing`], [`StoreError::Io`]; then it stays.
    pub fn to_disk(&self, name: Name, form: &Form) -> Result<(), StoreError> {
        self.shift(name, form, Tier::Memory, Tier::Disk)
    }

    /// Moves a block from disk to memory. Linear in its bytes.
    ///
    /// # Errors
    /// [`StoreError::Full`], [`StoreError::Missing`], [`StoreError::Io`]; then it stays.
    pub fn to_memory(&self, name: Name, form: &Form) -> Result<(), StoreError> {
        self.shift(name, form, Tier::Disk, Tier::Memory)
    }

    /// Removes a block whose file nobody maps or reads, and keeps its pages for later segments
    /// if they are worth it.
    ///
    /// # Errors
    /// [`StoreError::Missing`], [`StoreError::Io`].
    pub fn recycle(&self, name: Name, form: &Form) -> Result<(), StoreError> {
        let path = self.path_in(Tier::Memory, name, form)?;
        // On disk there is nothing to be gained.
        let Ok(found) = std::fs::metadata(&path) else { return self.remove(name, form) };
        let nbytes = found.len();
        // Another worker of this machine may have the same file: see `link`.
        let is_ours = found.nlink() == 1;
        let fits = || {
            Ok(self.free_segments()?.iter().map(|free| free.0).sum::<u64>() + nbytes
                <= self.free_limit)
        };
        if !is_ours || nbytes < RECYCLE_LEAST || *form != Form::Value || !fits()? {
            return self.remove_from(Tier::Memory, name, form);
        }
        let free = self.memory.join(FREE).join(format!("{nbytes}-{}", unique()));
        std::fs::rename(&path, &free).at(&path)
    }

    /// Removes a block. Who maps it keeps its bytes.
    ///
    /// # Errors
    /// [`StoreError::Missing`], [`StoreError::Io`].
    pub fn remove(&self, name: Name, form: &Form) -> Result<(), StoreError> {
        let (_, tier) = self.path(name, form).ok_or(StoreError::Missing { name })?;
        self.remove_from(tier, name, form)
    }

    /// Removes a block from one tier. Who maps it keeps its bytes.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn remove_from(&self, tier: Tier, name: Name, form: &Form) -> Result<(), StoreError> {
        let path = self.path_in(tier, name, form)?;
        std::fs::remove_file(&path).at(&path)?;
        if let (Form::File(_), Some(folder)) = (form, path.parent()) {
            std::fs::remove_dir(folder).at(folder)?;
        }
        Ok(())
    }

    /// Gives all freed segments back to the system.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn trim(&self) -> Result<(), StoreError> {
        for (_, path) in self.free_segments()? {
            ignore_missing(std::fs::remove_file(&path)).at(&path)?;
        }
        Ok(())
    }

    fn prepare(&self, tier: Tier, name: Name, form: &Form) -> Result<PathBuf, StoreError> {
        let place = self.path_in(tier, name, form)?;
        if let (Form::File(_), Some(folder)) = (form, place.parent()) {
            make_folder(folder)?;
        }
        Ok(place)
    }

    fn shift(&self, name: Name, form: &Form, from: Tier, to: Tier) -> Result<(), StoreError> {
        let old = self.path_in(from, name, form)?;
        if !old.exists() {
            return Err(StoreError::Missing { name });
        }
        let place = self.prepare(to, name, form)?;
        let needed = std::fs::metadata(&old).at(&old)?.len();
        let folder = self.folder(to);
        copy_into(&old, &place, &folder.join(TEMPORARY)).map_err(|error| match error {
            StoreError::Io { source, .. } if is_full(&source) => {
                StoreError::Full { needed, free: free_nbytes(folder), folder: folder.to_path_buf() }
            }
            other => other,
        })?;
        std::fs::remove_file(&old).at(&old)?;
        if let (Form::File(_), Some(folder)) = (form, old.parent()) {
            std::fs::remove_dir(folder).at(folder)?;
        }
        Ok(())
    }

    /// A freed segment that fits, cut or grown to size.
    fn take_free(&self, nbytes: u64) -> Result<Option<(File, PathBuf)>, StoreError> {
        let mut free = self.free_unless_empty()?;
        // Growing costs fresh pages and cutting gives used ones away: the nearest size is best.
        free.retain(|(size, _)| (nbytes / 2..=nbytes.saturating_mul(2)).contains(size));
        free.sort_unstable_by_key(|(size, _)| size.abs_diff(nbytes));
        for (_, path) in free {
            let taken = self.memory.join(TEMPORARY).join(unique());
            match std::fs::rename(&path, &taken) {
                // Another process was faster.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                other => {
                    other.at(&path)?;
                    let file = OpenOptions::new().read(true).write(true).open(&taken).at(&taken)?;
                    file.set_len(nbytes).at(&taken)?;
                    return Ok(Some((file, taken)));
                }
            }
        }
        Ok(None)
    }

    /// Freed segments. That there are none, and the folder has not changed since, takes one system call;
    /// to list it takes five.
    fn free_unless_empty(&self) -> Result<Vec<(u64, PathBuf)>, StoreError> {
        let changed = std::fs::metadata(self.memory.join(FREE)).and_then(|one| one.modified()).ok();
        let mut empty_since = self.empty_since.lock().unwrap_or_else(PoisonError::into_inner);
        if changed.is_some() && *empty_since == changed {
            return Ok(Vec::new());
        }
        let free = self.free_segments()?;
        // Another change at nearly the time of the last one may leave that as it is.
        let is_past = |at: &SystemTime| at.elapsed().is_ok_and(|age| age > CHANGE_INTERVAL);
        *empty_since = changed.filter(|at| free.is_empty() && is_past(at));
        Ok(free)
    }

    /// Freed segments with their sizes, which their names tell.
    fn free_segments(&self) -> Result<Vec<(u64, PathBuf)>, StoreError> {
        let folder = self.memory.join(FREE);
        let mut free = Vec::new();
        for entry in std::fs::read_dir(&folder).at(&folder)? {
            let entry = entry.at(&folder)?;
            let name = entry.file_name();
            let size = name.to_str().and_then(|name| name.split('-').next()?.parse().ok());
            free.extend(size.map(|size| (size, entry.path())));
        }
        Ok(free)
    }
}

/// Whether something in a folder of blocks is one, by its name.
fn is_place(path: &Path) -> bool {
    let file_name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let hex = file_name.strip_suffix(".d").unwrap_or(file_name);
    hex.len() == 2 * size_of::<Name>() && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Removes a block of whatever form; no link is followed.
fn remove_place(path: &Path) -> io::Result<()> {
    let is_folder = path.symlink_metadata()?.is_dir();
    if is_folder { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }
}

/// Gives a file of one cache to another on the same file system, which costs nothing: both have
/// it, and only who has it alone recycles it. Returns the new file, or nothing if that can't be
/// done. The file must not be recycled meanwhile.
pub fn link(path: &Path, into: &Path) -> Option<PathBuf> {
    let new = into.join(unique());
    std::fs::hard_link(path, &new).is_ok().then_some(new)
}

fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
#[path = "folder_tests.rs"]
pub(crate) mod tests;
