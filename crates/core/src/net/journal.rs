//! The file of a journal, and the folder that is its.
//!
//! What is noted is written by [`Journal::commit`], in one go, before anybody hears of what came of
//! it. Written means given to the operating system: it outlives this process, however that ends, and not
//! a machine that loses its power, which may lose the last half minute.

use crate::journal::{Damage, Entry, Records, append, header, is_header};
use crate::manager::Now;
use crate::store::{OwnedFolder, StoreError};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const FILE: &str = "journal";
/// What could not be read is kept under this name.
const DAMAGED: &str = "journal.damaged";
const READ: usize = 1 << 20;
/// A journal of so many bytes is written no further: it would fill the disk of its user.
const MAX_NBYTES: u64 = 8 << 30;
/// A buffer that grew beyond this for a large message is given back.
const RETAINED: usize = 1 << 20;

/// Why a journal can't be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Another manager has it, or the folder is not ours.
    #[error("the journal: {0}")]
    Folder(#[from] StoreError),
    /// The operating system says no.
    #[error("the journal {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It has grown too large.
    #[error("the journal {} is removed, since it has reached {nbytes} bytes", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// Its size.
        nbytes: u64,
    },
    /// Another version has written it, which may come to another state by what stands there.
    #[error(
        "{} is no journal of this version of freestone; go on with the version that wrote it, or \
         remove it, and what the cluster knew with it",
        path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
    },
}

/// A journal that is written.
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Bytes in the file.
    nbytes: u64,
    /// How many there may be.
    max_nbytes: u64,
    /// What is noted and not written yet.
    noted: Vec<u8>,
    _folder: OwnedFolder,
}

/// A journal that is read, until its end.
pub struct Replay {
    journal: Journal,
    records: Records<BufReader<File>>,
}

impl Replay {
    /// Takes a folder, which is made if it is missing, and reads its journal from the beginning.
    ///
    /// # Errors
    /// [`JournalError`]
    pub fn open(folder: &Path) -> Result<Self, JournalError> {
        let owned = OwnedFolder::take(folder)?;
        let path = folder.join(FILE);
        let failed = |source| JournalError::Io { path: path.clone(), source };
        let mut options = OpenOptions::new();
        let options = options.read(true).append(true).create(true).mode(0o600);
        let mut file = options.open(&path).map_err(failed)?;
        let header = header();
        if file.metadata().map_err(failed)?.len() == 0 {
            file.write_all(&header).map_err(failed)?;
        }
        let mut source = BufReader::with_capacity(READ, File::open(&path).map_err(failed)?);
        let mut found = vec![0; header.len()];
        if source.read_exact(&mut found).is_err() || !is_header(&found) {
            return Err(JournalError::Version { path });
        }
        let nbytes = header.len() as u64;
        let records = Records::new(source, nbytes);
        let (max_nbytes, noted) = (MAX_NBYTES, Vec::new());
        let journal = Journal { path, file, nbytes, max_nbytes, noted, _folder: owned };
        Ok(Self { journal, records })
    }

    /// Hands out the next record; none at the end of what can be read.
    ///
    /// # Errors
    /// [`Damage`]
    pub fn next(&mut self) -> Result<Option<&[u8]>, Damage> {
        self.records.next()
    }

    /// Where the record ends that was read last.
    pub fn offset(&self) -> u64 {
        self.records.offset()
    }

    /// What was read is to be gone on with, from the damage on if there is any: what comes after
    /// that is kept elsewhere.
    ///
    /// # Errors
    /// [`JournalError::Io`]
    pub fn into_journal(self, damage: Option<Damage>) -> Result<Journal, JournalError> {
        let offset = damage.map_or(self.records.offset(), |damage| damage.offset);
        let mut journal = self.journal;
        journal
            .cut(offset)
            .map_err(|source| JournalError::Io { path: journal.path.clone(), source })?;
        Ok(journal)
    }
}

impl Journal {
    fn cut(&mut self, offset: u64) -> io::Result<()> {
        if self.file.metadata()?.len() > offset {
            std::fs::copy(&self.path, self.path.with_file_name(DAMAGED))?;
            self.file.set_len(offset)?;
        }
        self.nbytes = offset;
        Ok(())
    }

    /// Notes what came at `now`.
    pub fn note(&mut self, now: Now, entry: &Entry<'_>) {
        let offset = self.nbytes + self.noted.len() as u64;
        append(offset, &mut self.noted, |out| entry.encode(now, out));
    }

    /// Writes what was noted.
    ///
    /// # Errors
    /// Those of the operating system, and that it is too large: the journal is of no further use, and
    /// is removed, since what comes next would be missing in it.
    pub fn commit(&mut self) -> Result<(), JournalError> {
        if self.noted.is_empty() {
            return Ok(());
        }
        if self.nbytes > self.max_nbytes {
            self.remove();
            return Err(JournalError::Full { path: self.path.clone(), nbytes: self.nbytes });
        }
        let written = self.file.write_all(&self.noted);
        self.nbytes += self.noted.len() as u64;
        self.noted.clear();
        self.noted.shrink_to(RETAINED);
        written.map_err(|source| {
            self.remove();
            JournalError::Io { path: self.path.clone(), source }
        })
    }

    fn remove(&self) {
        // One that can't be removed is emptied at least.
        if std::fs::remove_file(&self.path).is_err() {
            let _ = self.file.set_len(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, count: u32) {
        let mut replay = Replay::open(folder).unwrap();
        while replay.next().unwrap().is_some() {}
        let mut journal = replay.into_journal(None).unwrap();
        for client in 0..count {
            journal.note(7, &Entry::Client(client, &[1; 100]));
        }
        journal.commit().unwrap();
    }

    fn read(folder: &Path) -> (u32, Option<Damage>) {
        let mut replay = Replay::open(folder).unwrap();
        let mut count = 0;
        loop {
            match replay.next() {
                Ok(Some(record)) => {
                    let (now, entry) = Entry::decode(record).unwrap();
                    assert!(now == 7 && matches!(entry, Entry::Client(_, _)));
                    count += 1;
                }
                Ok(None) => return (count, None),
                Err(damage) => {
                    replay.into_journal(Some(damage.clone())).unwrap();
                    return (count, Some(damage));
                }
            }
        }
    }

    #[test]
    fn what_is_committed_is_read_by_the_next_and_so_is_what_that_writes() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("lab");
        write(&folder, 3);
        write(&folder, 2);
        assert_eq!(read(&folder), (5, None));
    }

    #[test]
    fn one_that_grows_too_large_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("lab");
        let mut journal = Replay::open(&folder).unwrap().into_journal(None).unwrap();
        journal.max_nbytes = 1000;
        let mut commit = || {
            journal.note(7, &Entry::Client(1, &[1; 700]));
            journal.commit()
        };
        commit().unwrap();
        commit().unwrap();
        assert!(matches!(commit(), Err(JournalError::Full { .. })));
        assert!(!folder.join(FILE).exists());
    }

    #[test]
    fn one_at_a_time_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("lab");
        let first = Replay::open(&folder).unwrap();
        let second = Replay::open(&folder);
        assert!(matches!(second, Err(JournalError::Folder(StoreError::InUse { .. }))));
        drop(first);
        assert!(Replay::open(&folder).is_ok());
    }

    #[test]
    fn what_is_damaged_is_kept_and_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("lab");
        write(&folder, 4);
        let path = folder.join(FILE);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        let (count, damage) = read(&folder);
        assert!(count == 3 && damage.is_some());
        assert_eq!(std::fs::read(folder.join(DAMAGED)).unwrap().len(), whole.len() - 3);
        write(&folder, 1);
        assert_eq!(read(&folder), (4, None));
    }

    #[test]
    fn what_another_version_wrote_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("lab");
        write(&folder, 1);
        let path = folder.join(FILE);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[header().len() - 1] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(matches!(Replay::open(&folder), Err(JournalError::Version { .. })));
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
}
