//! A file of a job's state: rows at their places, then the index, then where that begins.

use super::index::{Chunk, Index, Piece};
use std::fs::{File, FileType, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"FSSTATE2";
const ALIGNMENT: u64 = 4096;
/// What a checksum covers: a rank that needs a row reads all of its chunk.
const CHUNK: usize = 4 << 20;
/// Where the index begins, its bytes, those of what only Python reads, and their checksum.
const TRAILER: usize = 8 + 8 + 8 + 4 + 8;

/// The first place at or behind a byte where a part may begin.
pub fn aligned(byte: u64) -> u64 {
    byte.div_ceil(ALIGNMENT) * ALIGNMENT
}

/// Links that are followed at most, as the kernel does.
const LINKS: usize = 40;

/// Where the file is written that a path names: links are followed, also to what is not there yet.
///
/// # Errors
///
/// If something is there that a regular file may not replace: a device, a pipe, a socket, a folder.
pub fn target(path: &Path) -> io::Result<PathBuf> {
    require_regular(std::fs::metadata(path))?;
    let mut target = path.to_owned();
    for _ in 0..LINKS {
        let Ok(next) = target.read_link() else {
            // A link of this name would be replaced when the file gets its own.
            require_regular(std::fs::symlink_metadata(unfinished(&target))).map_err(|error| {
                io::Error::other(format!("{}: {error}", unfinished(&target).display()))
            })?;
            return Ok(target);
        };
        target = target.parent().unwrap_or(Path::new("")).join(next);
    }
    Err(io::Error::other(format!("more than {LINKS} links lead on from it")))
}

fn require_regular(found: io::Result<std::fs::Metadata>) -> io::Result<()> {
    match found {
        Ok(found) if found.is_file() => Ok(()),
        Ok(found) => Err(io::Error::other(format!(
            "it is a {}, and no file can take its place",
            kind(found.file_type())
        ))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn kind(found: FileType) -> &'static str {
    match () {
        () if found.is_dir() => "folder",
        () if found.is_fifo() => "pipe",
        () if found.is_socket() => "socket",
        () if found.is_symlink() => "link",
        () => "device",
    }
}

/// The file that is written before it gets its name.
pub fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

/// Makes a file with room for parts.
///
/// # Errors
///
/// What the system answers.
pub fn begin(part: &Path, nbytes: u64) -> io::Result<()> {
    let file = File::create(part)?;
    file.write_all_at(MAGIC, 0)?;
    file.set_len(nbytes)
}

/// Opens a file that was begun.
///
/// # Errors
///
/// What the system answers.
pub fn open_to_write(part: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(part)
}

/// Writes bytes of a part from its byte `first` on.
///
/// # Errors
///
/// What the system answers.
pub fn write(file: &File, offset: u64, first: u64, bytes: &[u8]) -> io::Result<Vec<Chunk>> {
    let mut first = first;
    let mut chunks = Vec::new();
    for piece in bytes.chunks(CHUNK) {
        file.write_all_at(piece, offset + first)?;
        let end = first + piece.len() as u64;
        chunks.push(Chunk { first, end, checksum: crc32fast::hash(piece) });
        first = end;
    }
    Ok(chunks)
}

/// Writes the index, and gives the file its name once all of it is on the disk.
///
/// # Errors
///
/// What the system answers.
pub fn complete(part: &Path, path: &Path, start: u64, index: &Index) -> io::Result<()> {
    let file = open_to_write(part)?;
    let mut end = index.text().into_bytes();
    let (nbytes, checksum) = (end.len() as u64, crc32fast::hash(&end));
    for number in [start, nbytes, 0] {
        end.extend(number.to_le_bytes());
    }
    end.extend(checksum.to_le_bytes());
    end.extend(MAGIC);
    file.write_all_at(&end, start)?;
    file.sync_all()?;
    std::fs::rename(part, path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// A file that was written before, open to be read.
#[derive(Debug)]
pub struct StateFile {
    file: File,
    /// What is in it.
    pub index: Index,
}

impl StateFile {
    /// Opens a file, and reads its index.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn open(path: &Path) -> Result<Self, String> {
        let unread = |error: io::Error| format!("can't be read ({error})");
        let found = std::fs::metadata(path).map_err(unread)?;
        if !found.is_file() {
            // A pipe would keep its reader waiting for a writer.
            return Err(format!("is a {}, and no file", kind(found.file_type())));
        }
        let file = File::open(path).map_err(unread)?;
        let nbytes = file.metadata().map_err(unread)?.len();
        let other = || "does not end as the state of a job of this version does".to_owned();
        let at = nbytes.checked_sub(TRAILER as u64).ok_or_else(other)?;
        let mut trailer = [0; TRAILER];
        file.read_exact_at(&mut trailer, at).map_err(unread)?;
        if !trailer.ends_with(MAGIC) {
            return Err(other());
        }
        let number = |at: usize| {
            let bytes: Vec<u8> = trailer[at..at + 8].to_vec();
            u64::from_le_bytes(bytes.try_into().unwrap_or_default())
        };
        let (start, of_text, of_python) = (number(0), number(8), number(16));
        let damaged = || "is damaged at its end".to_owned();
        let length = of_text.checked_add(of_python).filter(|length| *length <= nbytes);
        let mut end = vec![0; length.ok_or_else(damaged)? as usize];
        file.read_exact_at(&mut end, start).map_err(|_| damaged())?;
        if crc32fast::hash(&end).to_le_bytes() != trailer[24..28] {
            return Err(damaged());
        }
        let text = std::str::from_utf8(&end[..of_text as usize]).map_err(|_| damaged())?;
        let index = Index::parse(text)?;
        let mut pieces = index.entries.iter().flat_map(|entry| &entry.pieces);
        if pieces.any(|piece| piece.offset.saturating_add(piece.nbytes) > nbytes) {
            return Err(damaged());
        }
        Ok(Self { file, index })
    }

    /// Reads bytes of a part from its byte `first` on, and checks all chunks that they are of.
    ///
    /// # Errors
    ///
    /// Where it is damaged.
    pub fn read(&self, piece: &Piece, first: u64, into: &mut [u8]) -> Result<(), String> {
        let end = first.saturating_add(into.len() as u64);
        let begin = piece.chunks.partition_point(|chunk| chunk.end <= first);
        let mut done = first;
        for chunk in piece.chunks[begin..].iter().take_while(|chunk| chunk.first < end) {
            let damaged = || format!("is damaged in bytes {} to {}", chunk.first, chunk.end);
            let nbytes = chunk.end.checked_sub(chunk.first).filter(|n| *n <= CHUNK as u64);
            let mut bytes = vec![0; nbytes.ok_or_else(damaged)? as usize];
            let is_read = self.file.read_exact_at(&mut bytes, piece.offset + chunk.first).is_ok();
            if !is_read || crc32fast::hash(&bytes) != chunk.checksum || chunk.first > done {
                return Err(damaged());
            }
            let last = chunk.end.min(end);
            let found = &bytes[(done - chunk.first) as usize..(last - chunk.first) as usize];
            into[(done - first) as usize..(last - first) as usize].copy_from_slice(found);
            done = last;
        }
        if done == end { Ok(()) } else { Err(format!("has no bytes {done} to {end}")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Entry;

    fn made_folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("freestone-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn links_are_followed_and_what_is_no_file_stays() {
        let folder = made_folder("target");
        let (link, chain) = (folder.join("link"), folder.join("chain"));
        std::os::unix::fs::symlink("far/state", &link).unwrap();
        std::os::unix::fs::symlink(&link, &chain).unwrap();
        // Neither the file nor its folder is there yet.
        for path in [&link, &chain] {
            assert_eq!(target(path).unwrap(), folder.join("far/state"));
        }
        assert_eq!(target(Path::new("no-such-file")).unwrap(), Path::new("no-such-file"));
        let around = folder.join("around");
        std::os::unix::fs::symlink("around", &around).unwrap();
        target(&around).unwrap_err();
        let socket = folder.join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for (path, kind) in
            [(&*socket, "socket"), (&folder, "folder"), (Path::new("/dev/null"), "device")]
        {
            let error = target(path).unwrap_err().to_string();
            assert_eq!(error, format!("it is a {kind}, and no file can take its place"));
            assert_eq!(StateFile::open(path).unwrap_err(), format!("is a {kind}, and no file"));
        }
        std::os::unix::fs::symlink(&socket, folder.join("state.part")).unwrap();
        let error = target(&folder.join("state")).unwrap_err().to_string();
        assert!(error.contains("state.part: it is a link, "), "{error}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    fn written(folder: &Path) -> (PathBuf, Vec<u8>) {
        let path = folder.join("state");
        let part = unfinished(&path);
        let bytes: Vec<u8> = (0..10_000_u32).map(|number| (number * 7) as u8).collect();
        begin(&part, 3 * ALIGNMENT + ALIGNMENT).unwrap();
        let file = open_to_write(&part).unwrap();
        let mut chunks = Vec::new();
        for first in [0_usize, 4000, 6000] {
            let end =
                [4000, 6000, 10_000][[0, 4000, 6000].iter().position(|f| *f == first).unwrap()];
            chunks.extend(write(&file, ALIGNMENT, first as u64, &bytes[first..end]).unwrap());
        }
        let piece = Piece { row_nbytes: Some(10), nbytes: 10_000, offset: ALIGNMENT, chunks };
        let entry =
            Entry { name: "x".to_owned(), rows: 1000, pieces: vec![piece], ..Entry::default() };
        let index = Index { step: 3, ranks: 3, saved_s: 1.0, entries: vec![entry] };
        complete(&part, &path, 4 * ALIGNMENT, &index).unwrap();
        assert!(!part.exists());
        (path, bytes)
    }

    #[test]
    fn any_rows_are_read_and_damage_is_seen() {
        let folder = made_folder("state");
        let (path, bytes) = written(&folder);
        let state = StateFile::open(&path).unwrap();
        let piece = &state.index.entries[0].pieces[0];
        for (first, end) in [(0, 10_000), (3990, 6010), (5000, 5000), (9999, 10_000)] {
            let mut into = vec![0; end - first];
            state.read(piece, first as u64, &mut into).unwrap();
            assert_eq!(into, bytes[first..end]);
        }
        let mut into = [0; 2];
        assert!(state.read(piece, 9999, &mut into).unwrap_err().starts_with("has no bytes"));
        let whole = std::fs::read(&path).unwrap();
        for at in [ALIGNMENT as usize + 5000, whole.len() - 40, whole.len() - 20, whole.len() - 1] {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, &damaged).unwrap();
            let found = StateFile::open(&path).and_then(|state| {
                state.read(&state.index.entries[0].pieces[0], 0, &mut vec![0; 10_000])
            });
            assert!(found.is_err(), "byte {at}");
        }
        for nbytes in [0, 7, TRAILER, whole.len() - 1] {
            std::fs::write(&path, &whole[..nbytes]).unwrap();
            assert!(StateFile::open(&path).is_err(), "{nbytes} bytes");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
