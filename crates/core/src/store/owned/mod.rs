//! Whose folder it is.
//!
//! A folder of ours has a marker in it, a file on which its owner holds a lock for as long as it
//! lives; the kernel lets go of it, however the owner ends. Only a folder with such a marker is ever
//! swept, and only while nobody holds its lock, here or one level below.
//!
//! The marker is the first file in a folder and the last one that is removed, so a process may be
//! killed at any step: an empty folder may be left, or one with an empty marker and nothing else,
//! but none in which blocks lie without a marker. Names are told apart by random numbers, not by process ids, which
//! containers that share a folder use twice.

mod host;
mod removal;

pub use host::{Host, boot_id};

use super::error::{At, StoreError};
use super::files::{make_folder, random_hex};
use removal::remove_tree;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const MARKER: &str = "freestone.lock";
/// The first line of a marker.
const MAGIC: &str = "freestone folder 1";
/// A marker is shorter; whatever else has its name need not be read.
const MAX_MARKER: u64 = 4096;

/// A folder that is ours while this lives. It is removed only when asked for.
#[derive(Debug)]
pub struct OwnedFolder {
    path: PathBuf,
    _lock: File,
}

impl OwnedFolder {
    /// Makes a folder with a name of its own.
    ///
    /// # Errors
    /// [`StoreError::Io`], also where the file system has no locks.
    pub fn create(parent: &Path) -> Result<Self, StoreError> {
        loop {
            // Short, since addresses of sockets in it have little room.
            let name = format!("{}-{}", std::process::id(), &random_hex()[..8]);
            let path = parent.join(name);
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).at(&path),
                Ok(()) => return Self::mark(&path, &Host::this()),
            }
        }
    }

    /// Makes a folder, or takes over one that its owner has left, with what is in it: values that
    /// a program has put there wait for the next worker.
    ///
    /// # Errors
    /// [`StoreError::InUse`] if another process has it, [`StoreError::NotOurs`] if there are
    /// files in it and no marker of ours, [`StoreError::Io`].
    pub fn take(path: &Path) -> Result<Self, StoreError> {
        make_folder(path)?;
        let host = Host::this();
        let not_ours = || StoreError::NotOurs { folder: path.to_path_buf() };
        if !is_own_folder(path) {
            return Err(not_ours());
        }
        if path.join(MARKER).symlink_metadata().is_err() {
            let mut entries = std::fs::read_dir(path).at(path)?;
            return if entries.next().is_none() {
                Self::mark(path, &host)
            } else {
                Err(not_ours())
            };
        }
        let lock = match Marker::read(path) {
            Some(marker) if !marker.is_ours() && !marker.is_begun() => return Err(not_ours()),
            Some(Marker { text, .. }) if !host.may_sweep(path, &text) => {
                return Err(in_use(path, &text));
            }
            Some(marker) => marker.lock().at(path)?.ok_or_else(|| in_use(path, &marker.text))?,
            None => return Err(not_ours()),
        };
        write_marker(&lock, &host).at(path)?;
        Ok(Self { path: path.to_path_buf(), _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the folder and all that is in it, the marker last.
    ///
    /// # Errors
    /// [`StoreError::Io`], after as much as possible was removed; a later sweep tries again.
    pub fn remove(&self) -> Result<(), StoreError> {
        remove_tree(&self.path, MARKER).at(&self.path)
    }

    fn mark(path: &Path, host: &Host) -> Result<Self, StoreError> {
        let marker = path.join(MARKER);
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create_new(true).mode(0o600);
        let file = options.open(&marker).at(&marker)?;
        // Locked before it says what it is, so that nobody sweeps the folder in between.
        try_lock(&file).at(&marker)?;
        write_marker(&file, host).at(&marker)?;
        Ok(Self { path: path.to_path_buf(), _lock: file })
    }
}

/// Removes the folders in `parent` whose owners are dead. Returns how many.
///
/// # Errors
/// [`StoreError::Io`] if `parent` can't be read; what can't be removed is left to a later sweep.
pub fn sweep(parent: &Path) -> Result<usize, StoreError> {
    sweep_as(parent, &Host::this())
}

/// Whether a folder is one of ours whose owner lives, as far as this machine can tell.
pub fn is_in_use(folder: &Path) -> bool {
    Marker::open(folder).is_some_and(|marker| matches!(marker.probe(), Ok(false)))
}

fn sweep_as(parent: &Path, host: &Host) -> Result<usize, StoreError> {
    let mut removed = 0;
    for entry in std::fs::read_dir(parent).at(parent)? {
        let folder = entry.at(parent)?.path();
        // Held until the folder is gone, so that nobody else takes it over meanwhile.
        let Some(_lock) = take_abandoned(&folder, host) else { continue };
        if remove_tree(&folder, MARKER).is_ok() {
            removed += 1;
        }
    }
    Ok(removed)
}

/// The lock of a folder that its owner has left, and with it all folders of ours in it.
fn take_abandoned(folder: &Path, host: &Host) -> Option<File> {
    if !is_own_folder(folder) {
        return None;
    }
    let marker = Marker::open(folder)?;
    if !host.may_sweep(folder, &marker.text) {
        return None;
    }
    let lock = marker.lock().ok().flatten()?;
    let entries = std::fs::read_dir(folder).ok()?;
    // A worker may outlive the program that made its folder.
    let is_abandoned = |inner: &Path| match Marker::open(inner) {
        Some(marker) => marker.probe().unwrap_or(false),
        None => true,
    };
    entries.flatten().all(|entry| is_abandoned(&entry.path())).then_some(lock)
}

/// Whether this is a folder, no link to one, and belongs to this user.
fn is_own_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir() && is_own(&found))
}

fn is_own(found: &Metadata) -> bool {
    // SAFETY: it always succeeds.
    found.uid() == unsafe { libc::geteuid() }
}

/// The marker of a folder, as it was found.
struct Marker {
    path: PathBuf,
    file: File,
    text: String,
}

impl Marker {
    /// Reads the marker of a folder, if it is one: a file of ours that says so, and no link.
    fn open(folder: &Path) -> Option<Self> {
        Self::read(folder).filter(Self::is_ours)
    }

    /// Reads a file of a marker's name, if it is this user's, and no link.
    fn read(folder: &Path) -> Option<Self> {
        let path = folder.join(MARKER);
        let mut options = OpenOptions::new();
        // Written to, since locks over NFS want that; and a pipe of this name blocks nobody.
        let options = options.read(true).write(true);
        let options = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY);
        let mut file = options.open(&path).ok()?;
        if !file.metadata().is_ok_and(|found| found.is_file() && is_own(&found)) {
            return None;
        }
        let mut text = String::new();
        Read::by_ref(&mut file).take(MAX_MARKER).read_to_string(&mut text).ok()?;
        Some(Self { path, file, text })
    }

    fn is_ours(&self) -> bool {
        self.text.lines().next() == Some(MAGIC)
    }

    /// Whether it is what a process leaves that is killed while it makes a folder: empty, and the
    /// only file there.
    fn is_begun(&self) -> bool {
        let others = || {
            let mut entries = std::fs::read_dir(self.path.parent()?).ok()?;
            Some(entries.any(|entry| entry.is_ok_and(|entry| entry.file_name() != MARKER)))
        };
        self.text.is_empty() && others() == Some(false)
    }

    /// The locked file; nothing if another process has it.
    fn lock(&self) -> io::Result<Option<File>> {
        if !self.is_free(libc::LOCK_EX)? {
            return Ok(None);
        }
        Some(self.file.try_clone()).transpose()
    }

    /// Whether nobody holds the lock. It is let go again with the marker.
    fn probe(&self) -> io::Result<bool> {
        self.is_free(libc::LOCK_SH)
    }

    fn is_free(&self, kind: libc::c_int) -> io::Result<bool> {
        match lock(&self.file, kind) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            other => other?,
        }
        // Whoever had it may have removed it just now, and another may have made a new one.
        let (ours, there) = (self.file.metadata()?, self.path.symlink_metadata());
        Ok(there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())))
    }
}

fn write_marker(file: &File, host: &Host) -> io::Result<()> {
    let text = format!("{MAGIC}\n{}pid {}\n", host.lines(), std::process::id());
    // Over the one that is there, at once, and cut only then: whenever this process is killed, the
    // file is a marker.
    file.write_all_at(text.as_bytes(), 0)?;
    file.set_len(text.len() as u64)
}

fn in_use(folder: &Path, text: &str) -> StoreError {
    // The number is only for the message.
    let pid = text.lines().find_map(|line| line.strip_prefix("pid ")?.parse().ok());
    StoreError::InUse { folder: folder.to_path_buf(), pid: pid.unwrap_or(0) }
}

fn try_lock(file: &File) -> io::Result<()> {
    lock(file, libc::LOCK_EX)
}

fn lock(file: &File, kind: libc::c_int) -> io::Result<()> {
    // SAFETY: an open file.
    match unsafe { libc::flock(file.as_raw_fd(), kind | libc::LOCK_NB) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests;
