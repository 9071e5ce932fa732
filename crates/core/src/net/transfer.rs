//! Blocks on their way between workers.
//!
//! Both ends are blocking threads: one sends the file as it is, the other writes what it reads
//! and computes the checksum in between. What stalls is given up.

use super::clock::monotonic_ns;
use super::idle::Idle;
use super::stream::Stream;
use crate::store::{Folder, StoreError, Tier};
use crate::wire::{
    Address, BlockAnswer, BlockDesc, BlockRequest, FileProblem, Frames, PROTOCOL, frame,
};
use crate::worker::{FileStamp, TransferError};
use freestone_tls::Access;
use freestone_tls::Tls;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How much is asked of the system in one call.
const CHUNK: usize = 1 << 20;
/// How often a transfer that waits looks whether it is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// A transfer that gets nowhere for this long is given up.
const STALL: Duration = Duration::from_secs(30);

/// A stream that blocks, but not for ever, and not after `stop`.
struct Patient {
    stream: PeerStream,
    /// Stored when the worker ends; nothing else is published by it.
    stop: Arc<AtomicBool>,
    moved: Instant,
}

enum PeerStream {
    Unix(UnixStream),
    Tls(Box<Tls<TcpStream>>),
}

impl Patient {
    fn new(stream: Stream, stop: Arc<AtomicBool>) -> io::Result<Self> {
        let stream = match stream {
            Stream::Unix(stream) => PeerStream::Unix(stream.into()),
            Stream::Tls(tls) => PeerStream::Tls(Box::new(tls.map(TcpStream::from))),
        };
        match &stream {
            PeerStream::Unix(stream) => {
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(POLL_INTERVAL))?;
                stream.set_write_timeout(Some(POLL_INTERVAL))?;
            }
            PeerStream::Tls(tls) => {
                let stream = tls.stream();
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(POLL_INTERVAL))?;
                stream.set_write_timeout(Some(POLL_INTERVAL))?;
            }
        }
        let patient = Self { stream, stop, moved: Instant::now() };
        enlarge_buffers(patient.fd().as_raw_fd());
        Ok(patient)
    }

    /// The stream as the loop of a worker has it, to be used again: an encrypted one, since its
    /// hands need not be shaken again.
    fn into_stream(self) -> Option<Stream> {
        let PeerStream::Tls(tls) = self.stream else { return None };
        let stream = tls.stream();
        stream.set_read_timeout(None).and_then(|()| stream.set_write_timeout(None)).ok()?;
        stream.set_nonblocking(true).ok()?;
        Some(Stream::Tls(Box::new(tls.map(mio::net::TcpStream::from_std))))
    }

    fn fd(&self) -> BorrowedFd<'_> {
        use std::os::fd::AsFd;
        match &self.stream {
            PeerStream::Unix(stream) => stream.as_fd(),
            PeerStream::Tls(tls) => tls.stream().as_fd(),
        }
    }

    /// Tries until something moves, the worker ends, or it has taken too long.
    fn patiently(
        &mut self,
        mut attempt: impl FnMut(&mut PeerStream) -> io::Result<usize>,
    ) -> io::Result<usize> {
        loop {
            match attempt(&mut self.stream) {
                Ok(nbytes) => {
                    self.moved = Instant::now();
                    return Ok(nbytes);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    if self.stop.load(Ordering::Relaxed) {
                        return Err(io::Error::other("the worker ends"));
                    }
                    if self.moved.elapsed() > STALL {
                        return Err(ErrorKind::TimedOut.into());
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.patiently(|stream| match stream {
            PeerStream::Unix(stream) => stream.read(buffer),
            PeerStream::Tls(tls) => tls.read(buffer),
        })
    }
}

impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.patiently(|stream| match stream {
            PeerStream::Unix(stream) => stream.write(bytes),
            PeerStream::Tls(tls) => tls.write(bytes),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.patiently(|stream| match stream {
            PeerStream::Unix(_) => Ok(0),
            PeerStream::Tls(tls) => tls.push().map(|()| 0),
        })
        .map(|_| ())
    }
}

/// What a file looks like now.
///
/// # Errors
/// Those of the operating system.
pub fn stamp_of(path: &Path) -> io::Result<FileStamp> {
    let found = std::fs::metadata(path)?;
    if !found.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a file"));
    }
    Ok(stamp(&found))
}

fn stamp(found: &std::fs::Metadata) -> FileStamp {
    use std::os::unix::fs::MetadataExt;
    let modified_ns = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
    FileStamp { nbytes: found.len(), modified_ns }
}

/// Compares a file with what it was.
///
/// # Errors
/// What is wrong with it.
pub fn check(path: &Path, expected: &FileStamp) -> Result<(), FileProblem> {
    match stamp_of(path) {
        Ok(found) if found == *expected => Ok(()),
        Ok(found) if found.nbytes != expected.nbytes => {
            let what = format!("it has {} bytes now, and had {}", found.nbytes, expected.nbytes);
            Err(FileProblem::Changed(what))
        }
        Ok(_) => Err(FileProblem::Changed("it was written to since".to_owned())),
        Err(error) => Err(error.into()),
    }
}

/// What came of sending a block.
#[derive(Debug, Default)]
pub struct Sent {
    /// Bytes that went.
    pub nbytes: u64,
    /// If the file is no longer the block: why.
    pub changed: Option<FileProblem>,
    /// The stream, if the peer may ask for more on it.
    pub stream: Option<Stream>,
}

/// Sends a file's bytes to a peer that asked for them.
pub fn send(
    stream: Stream,
    path: &Path,
    expected: Option<FileStamp>,
    stop: Arc<AtomicBool>,
) -> Sent {
    let Ok(mut stream) = Patient::new(stream, stop) else { return Sent::default() };
    let opened =
        File::open(path).and_then(|file| file.metadata().map(|found| (file, stamp(&found))));
    let (file, changed) = match (opened, expected) {
        (Ok((file, found)), Some(expected)) if found != expected => {
            (Some((file, found)), check(path, &expected).err())
        }
        (Ok(opened), _) => (Some(opened), None),
        (Err(error), Some(_)) => (None, Some(error.into())),
        (Err(_), None) => (None, None),
    };
    let Some((file, found)) = file.filter(|_| changed.is_none()) else {
        // If the peer is gone as well, it does not need to know.
        let _ = answer(&mut stream, &BlockAnswer::Missing);
        return Sent { changed, ..Sent::default() };
    };
    let sent = answer(&mut stream, &BlockAnswer::Follows { nbytes: found.nbytes })
        .and_then(|()| send_file(&mut stream, &file, found.nbytes));
    match sent {
        Ok(nbytes) => Sent { nbytes, changed: None, stream: stream.into_stream() },
        // The peer sees the end of the stream, and knows that bytes are missing.
        Err(_) => Sent::default(),
    }
}

fn answer(stream: &mut Patient, answer: &BlockAnswer) -> io::Result<()> {
    let mut bytes = Vec::new();
    frame::encode(answer, &mut bytes).map_err(io::Error::other)?;
    stream.write_all(&bytes)
}

fn send_file(stream: &mut Patient, file: &File, nbytes: u64) -> io::Result<u64> {
    if matches!(stream.stream, PeerStream::Tls(_)) {
        return send_encrypted(stream, file, nbytes);
    }
    let mut sent = 0;
    while sent < nbytes {
        let wanted = (nbytes - sent).min(CHUNK as u64) as usize;
        let to = stream.fd().as_raw_fd();
        let moved = stream.patiently(|_| {
            // SAFETY: both are open; the file's own position is used.
            let moved =
                unsafe { libc::sendfile(to, file.as_raw_fd(), std::ptr::null_mut(), wanted) };
            usize::try_from(moved).map_err(|_| io::Error::last_os_error())
        })?;
        if moved == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        sent += moved as u64;
    }
    Ok(sent)
}

/// What is encrypted has to come by here.
fn send_encrypted(stream: &mut Patient, file: &File, nbytes: u64) -> io::Result<u64> {
    let mut buffer = vec![0; CHUNK.min(nbytes as usize)];
    let mut file = file.take(nbytes);
    let mut sent = 0;
    while sent < nbytes {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        stream.write_all(&buffer[..read])?;
        sent += read as u64;
    }
    stream.flush()?;
    Ok(sent)
}

/// Where and how blocks are received.
#[derive(Clone, Debug)]
pub struct Receiving {
    /// Where they go.
    pub folder: Folder,
    /// Proof that we may have them.
    pub key: String,
    /// The cluster's certificate, for peers of other machines.
    pub access: Option<Access>,
    /// Whether to ask peers on this machine for links instead of bytes.
    pub links: bool,
    /// Stored when the worker ends.
    pub stop: Arc<AtomicBool>,
    /// Connections to peers of other machines that have given what they were asked for.
    pub idle: Arc<Mutex<Idle<Address, Stream>>>,
}

const WRONG_CHECKSUM: &str = "its checksum is not that of the block";

/// Why a peer gives nothing.
enum Unanswered {
    /// It did not hear the question, or not answer it.
    Gone(TransferError),
    /// It said so.
    Refused(TransferError),
}

/// What a peer gives.
enum Answer {
    /// The first bytes of the block; the others follow.
    Bytes(Vec<u8>),
    /// Its file, with the checksum that it has.
    Linked(PathBuf, u64),
}

impl Receiving {
    /// Asks a peer for a block and writes it into its place.
    ///
    /// # Errors
    /// [`TransferError`]; then nothing is left.
    pub fn receive(
        &self,
        block: &BlockDesc,
        address: &Address,
        tier: Tier,
    ) -> Result<Tier, TransferError> {
        let (mut stream, answer) = self.reach(block, address, tier)?;
        let first = match answer {
            Answer::Bytes(first) => first,
            Answer::Linked(path, checksum) => {
                return self.take_linked(block, &path, checksum, tier);
            }
        };
        let segment = match tier {
            Tier::Memory => self.folder.segment(block.nbytes),
            Tier::Disk => self.folder.segment_in(Tier::Disk, block.nbytes),
        };
        let mut segment = segment.map_err(|error| failed(&error, false))?;
        let mut bytes = first.as_slice().chain(&mut stream);
        segment.append_from(&mut bytes).map_err(|error| failed(&error, false))?;
        if let Some(stream) = stream.into_stream() {
            self.idle().put(address.clone(), stream, monotonic_ns());
        }
        segment.finish().map_err(|error| failed(&error, false))?;
        if segment.checksum() != block.checksum {
            return Err(failed(&WRONG_CHECKSUM, true));
        }
        let tier = segment.tier();
        let committed = self.folder.commit(segment, block.name, block.form.clone());
        committed.map(|_| tier).map_err(|error| failed(&error, false))
    }

    /// Closes connections that were of no use for a while.
    pub fn expire(&self) {
        self.idle().expire(monotonic_ns());
    }

    fn idle(&self) -> MutexGuard<'_, Idle<Address, Stream>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks a peer for a block, over a connection that is there already if it can be.
    fn reach(
        &self,
        block: &BlockDesc,
        address: &Address,
        tier: Tier,
    ) -> Result<(Patient, Answer), TransferError> {
        let kept = self.idle().take(address, monotonic_ns());
        if let Some(stream) = kept {
            match self.ask(stream, block, tier) {
                // The peer may have closed it, or be another one by now.
                Err(Unanswered::Gone(_)) => {}
                Err(Unanswered::Refused(error)) => return Err(error),
                Ok(answered) => return Ok(answered),
            }
        }
        let stream = Stream::connect(address, self.access.as_ref());
        let stream = stream.map_err(|error| failed(&error, false))?;
        let asked = self.ask(stream, block, tier);
        asked.map_err(|silence| match silence {
            Unanswered::Gone(error) | Unanswered::Refused(error) => error,
        })
    }

    /// Takes over a file that the peer has as well. It is read, as bytes that are sent are: it may have
    /// been damaged since it was made.
    fn take_linked(
        &self,
        block: &BlockDesc,
        path: &Path,
        checksum: u64,
        tier: Tier,
    ) -> Result<Tier, TransferError> {
        if path.parent() != Some(&self.folder.for_links(tier)) {
            return Err(failed(&"the peer linked the block elsewhere", false));
        }
        let taken = if checksum == block.checksum && is_intact(path, block) {
            self.folder
                .adopt(path, block)
                .map_err(|error| failed(&error, matches!(error, StoreError::WrongSize { .. })))
        } else {
            Err(failed(&WRONG_CHECKSUM, true))
        };
        if taken.is_err() {
            // Ours, and of no use; gone if it was taken after all.
            let _ = std::fs::remove_file(path);
        }
        taken
    }

    /// Sends the request and reads the answer.
    fn ask(
        &self,
        stream: Stream,
        block: &BlockDesc,
        tier: Tier,
    ) -> Result<(Patient, Answer), Unanswered> {
        let is_near = matches!(stream, Stream::Unix(_));
        let gone = |error: &dyn std::fmt::Display| Unanswered::Gone(failed(&error, false));
        let mut stream =
            Patient::new(stream, Arc::clone(&self.stop)).map_err(|error| gone(&error))?;
        let link_into =
            (self.links && is_near).then(|| self.folder.for_links(tier).display().to_string());
        let (name, key) = (block.name, self.key.clone());
        let request = BlockRequest { protocol: PROTOCOL, key, name, link_into };
        let mut bytes = Vec::new();
        frame::encode(&request, &mut bytes).map_err(|error| gone(&error))?;
        stream.write_all(&bytes).map_err(|error| gone(&error))?;
        let mut frames = Frames::default();
        let answer = loop {
            let (nbytes, _) = frames.read_from(&mut stream).map_err(|error| gone(&error))?;
            if nbytes == 0 {
                return Err(gone(&"the peer closed the connection"));
            }
            if let Some(answer) = frames.next().map_err(|error| gone(&error))? {
                break answer;
            }
        };
        let answer = given(answer, block, || frames.take_rest()).map_err(Unanswered::Refused)?;
        Ok((stream, answer))
    }
}

/// What a peer's answer means for the block that it was asked for.
fn given(
    answer: BlockAnswer,
    block: &BlockDesc,
    rest: impl FnOnce() -> Vec<u8>,
) -> Result<Answer, TransferError> {
    match answer {
        BlockAnswer::Follows { nbytes } if nbytes == block.nbytes => {
            let mut first = rest();
            first.truncate(block.nbytes as usize);
            Ok(Answer::Bytes(first))
        }
        BlockAnswer::Follows { nbytes } => {
            let reason = format!("the peer has {nbytes} bytes for it, not {}", block.nbytes);
            Err(TransferError { reason, missing_there: true })
        }
        BlockAnswer::Linked { path, checksum } => Ok(Answer::Linked(path.into(), checksum)),
        BlockAnswer::Missing => Err(failed(&"the peer does not have it", true)),
        BlockAnswer::Refused(reason) => Err(TransferError { reason, missing_there: false }),
    }
}

fn failed(error: &impl ToString, missing_there: bool) -> TransferError {
    TransferError { reason: error.to_string(), missing_there }
}

/// Whether a block in a tier is whole: it has the checksum that it should have.
pub fn is_intact(path: &Path, block: &BlockDesc) -> bool {
    crate::store::forever::checksum_of(path).is_ok_and(|found| found == block.checksum)
}

/// Larger buffers mean fewer turns between the two ends; the system may allow less.
fn enlarge_buffers(fd: i32) {
    let nbytes: libc::c_int = 4 << 20;
    for option in [libc::SO_SNDBUF, libc::SO_RCVBUF] {
        let length = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: an open socket, and a value that lives through the call.
        unsafe {
            libc::setsockopt(fd, libc::SOL_SOCKET, option, (&raw const nbytes).cast(), length);
        }
    }
}
