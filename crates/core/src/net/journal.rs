//! The file of a journal, and the folder that is its.
//!
//! What is noted is written by [`Journal::commit`], in one go, before anybody hears of what came of
//! it. Written means given to the operating system: it outlives this process, however that ends, and not
//! a machine that loses its power, which may lose the last half minute.

use crate::journal::{Damage, Entry, Records, append, header, is_header, write_state};
use crate::manager::Now;
use crate::store::{OwnedFolder, StoreError};
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const FILE: &str = "journal";
/// What could not be read is kept under this name.
const DAMAGED: &str = "journal.damaged";
/// One that is being written in place of the other.
const NEW: &str = "journal.new";
const BUFFER: usize = 1 << 20;
/// A journal is compacted when it has grown by as much as the state at its beginning takes, and by so
/// many bytes.
const MIN_GROWTH: u64 = 256 << 20;
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
    /// From how many on it is compacted.
    compact_nbytes: u64,
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
        // Whoever has begun one was killed before it was whole.
        let _ = std::fs::remove_file(folder.join(NEW));
        let failed = |source| JournalError::Io { path: path.clone(), source };
        let mut options = OpenOptions::new();
        let options = options.read(true).append(true).create(true).mode(0o600);
        let mut file = options.open(&path).map_err(failed)?;
        let header = header();
        if file.metadata().map_err(failed)?.len() == 0 {
            file.write_all(&header).map_err(failed)?;
        }
        let mut source = BufReader::with_capacity(BUFFER, File::open(&path).map_err(failed)?);
        let mut found = vec![0; header.len()];
        if source.read_exact(&mut found).is_err() || !is_header(&found) {
            return Err(JournalError::Version { path });
        }
        let nbytes = header.len() as u64;
        let records = Records::new(source, nbytes);
        let (max_nbytes, compact_nbytes, noted) = (MAX_NBYTES, MIN_GROWTH, Vec::new());
        let journal =
            Journal { path, file, nbytes, max_nbytes, compact_nbytes, noted, _folder: owned };
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

    /// Whether the journal has grown by so much that it is to be compacted.
    pub fn is_large(&self) -> bool {
        self.nbytes >= self.compact_nbytes
    }

    /// Replaces the journal by one that has this state, to which it leads. Whenever the process is
    /// killed, one of both is there as a whole.
    ///
    /// # Errors
    /// [`JournalError::Io`]: the journal stays as it is, and goes on.
    pub fn compact(&mut self, now: Now, state: &impl Serialize) -> Result<(), JournalError> {
        self.commit()?;
        let path = self.path.with_file_name(NEW);
        let written = self.write_new(&path, now, state);
        let nbytes = written.as_ref().map_or(0, |(_, nbytes)| *nbytes);
        let written = written.map(|(file, nbytes)| (self.file, self.nbytes) = (file, nbytes));
        self.compact_nbytes = self.nbytes + nbytes.max(MIN_GROWTH);
        written.map_err(|source| {
            let _ = std::fs::remove_file(&path);
            JournalError::Io { path, source }
        })
    }

    /// Writes a journal with this state, which takes the place of this one; its file and size.
    fn write_new(&self, path: &Path, now: Now, state: &impl Serialize) -> io::Result<(File, u64)> {
        // Another one is only there if it could not be removed.
        let mut options = OpenOptions::new();
        let options = options.append(true).create_new(true).mode(0o600);
        let file = options.open(path)?;
        let mut sink = BufWriter::with_capacity(BUFFER, &file);
        let header = header();
        sink.write_all(&header)?;
        let nbytes = write_state(state, now, header.len() as u64, sink)?;
        // What it replaces may be on the disk for long: a loss of power is to leave one of both.
        file.sync_data()?;
        std::fs::rename(path, &self.path)?;
        Ok((file, nbytes))
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
    use crate::journal::StateParts;

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

    /// What the journal of a folder has, as the messages of one client.
    fn entries(folder: &Path) -> Vec<Vec<u8>> {
        let (mut replay, mut parts) = (Replay::open(folder).unwrap(), StateParts::default());
        let mut entries = Vec::new();
        while let Some(record) = replay.next().unwrap() {
            match Entry::decode(record).unwrap() {
                (_, Entry::Client(_, body)) => entries.push(body.to_vec()),
                (7, Entry::State { part, is_last }) => {
                    entries = parts.take(part, is_last).unwrap().unwrap_or_default();
                }
                (_, other) => panic!("{other:?}"),
            }
        }
        entries
    }

    #[test]
    fn a_state_takes_the_place_of_what_has_led_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("lab");
        let mut journal = Replay::open(&folder).unwrap().into_journal(None).unwrap();
        let mut noted = Vec::new();
        for round in 0..20_u8 {
            journal.compact_nbytes = journal.nbytes + 1000;
            while !journal.is_large() {
                journal.note(7, &Entry::Client(1, &[round; 100]));
                noted.push(vec![round; 100]);
                journal.commit().unwrap();
            }
            journal.note(7, &Entry::Client(1, b"noted before"));
            noted.push(b"noted before".to_vec());
            journal.compact(7, &noted).unwrap();
            journal.note(7, &Entry::Client(1, b"and after"));
            noted.push(b"and after".to_vec());
            journal.commit().unwrap();
            noted.drain(..noted.len() - 5);
            journal.compact(7, &noted).unwrap();
        }
        assert!(journal.nbytes < 3000 && !folder.join(NEW).exists());
        drop(journal);
        assert_eq!(entries(&folder), noted);
    }

    #[test]
    fn a_kill_while_it_is_compacted_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("lab");
        write(&folder, 3);
        let before = entries(&folder);
        let mut replay = Replay::open(&folder).unwrap();
        while replay.next().unwrap().is_some() {}
        let mut journal = replay.into_journal(None).unwrap();
        let whole = std::fs::read(&journal.path).unwrap();
        journal.compact(7, &vec![b"state".to_vec()]).unwrap();
        let new = std::fs::read(&journal.path).unwrap();
        let path = journal.path.clone();
        drop(journal);
        for cut in 0..=new.len() {
            std::fs::write(&path, &whole).unwrap();
            std::fs::write(folder.join(NEW), &new[..cut]).unwrap();
            assert_eq!(entries(&folder), before);
            assert!(!folder.join(NEW).exists());
        }
        std::fs::write(&path, &new).unwrap();
        assert_eq!(entries(&folder), [b"state".to_vec()]);
    }

    #[test]
    fn one_that_can_not_be_compacted_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("lab");
        let mut journal = Replay::open(&folder).unwrap().into_journal(None).unwrap();
        std::fs::create_dir(folder.join(NEW)).unwrap();
        journal.compact_nbytes = 0;
        journal.note(7, &Entry::Client(1, b"before"));
        let error = journal.compact(7, &vec![b"state".to_vec()]).unwrap_err();
        assert!(error.to_string().contains(NEW), "{error}");
        assert!(!journal.is_large());
        journal.note(7, &Entry::Client(1, b"after"));
        journal.commit().unwrap();
        drop(journal);
        assert_eq!(entries(&folder), [b"before".to_vec(), b"after".to_vec()]);
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
