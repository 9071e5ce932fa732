//! Whose folder it is.
//!
//! A folder's owner holds a lock on a file in it for as long as it lives; the kernel lets go of
//! it, however the owner ends. A later run removes folders whose lock nobody holds.

use super::error::{At, StoreError};
use super::files::unique;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const LOCK: &str = "lock";

/// The lock on a folder, let go when dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock on a folder.
    ///
    /// # Errors
    /// [`StoreError::InUse`] if another process has it, [`StoreError::Io`].
    pub fn take(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(LOCK);
        // Locked before it has its name, so that nobody sweeps the folder in between.
        let hidden = folder.join(unique());
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).mode(0o600);
        if path.exists() {
            return Self::take_existing(folder, options.open(&path).at(&path)?);
        }
        let mut file = options.create_new(true).open(&hidden).at(&hidden)?;
        try_lock(&file).at(&hidden)?;
        write!(file, "{}", std::process::id()).at(&hidden)?;
        std::fs::rename(&hidden, &path).at(&path)?;
        Ok(Self { _file: file })
    }

    fn take_existing(folder: &Path, mut file: File) -> Result<Self, StoreError> {
        match try_lock(&file) {
            Ok(()) => {
                file.set_len(0).at(folder)?;
                write!(file, "{}", std::process::id()).at(folder)?;
                Ok(Self { _file: file })
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let mut owner = String::new();
                // The number is only for the message.
                let _ = file.read_to_string(&mut owner);
                let pid = owner.trim().parse().unwrap_or(0);
                Err(StoreError::InUse { folder: folder.to_path_buf(), pid })
            }
            Err(error) => Err(error).at(folder),
        }
    }
}

/// Removes the folders in `parent` whose owners are dead. Returns how many.
///
/// # Errors
/// [`StoreError::Io`] if `parent` can't be read; what can't be removed is left to a later sweep.
pub fn sweep(parent: &Path) -> Result<usize, StoreError> {
    let mut removed = 0;
    for entry in std::fs::read_dir(parent).at(parent)? {
        let folder = entry.at(parent)?.path();
        if is_abandoned(&folder) && std::fs::remove_dir_all(&folder).is_ok() {
            removed += 1;
        }
    }
    Ok(removed)
}

fn is_abandoned(folder: &Path) -> bool {
    let path = folder.join(LOCK);
    File::open(path).is_ok_and(|file| try_lock(&file).is_ok())
}

fn try_lock(file: &File) -> io::Result<()> {
    // SAFETY: an open file.
    match unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_the_dead_are_swept() {
        let parent = tempfile::tempdir().unwrap();
        let folders = ["alive", "dead", "other"].map(|name| parent.path().join(name));
        for folder in &folders {
            std::fs::create_dir(folder).unwrap();
        }
        let lock = Lock::take(&folders[0]).unwrap();
        drop(Lock::take(&folders[1]).unwrap());
        assert_eq!(sweep(parent.path()).unwrap(), 1);
        assert_eq!(folders.each_ref().map(|folder| folder.exists()), [true, false, true]);
        let again = Lock::take(&folders[0]);
        assert!(matches!(again, Err(StoreError::InUse { pid, .. }) if pid == std::process::id()));
        drop(lock);
        assert!(Lock::take(&folders[0]).is_ok());
    }
}
