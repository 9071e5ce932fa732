//! How ranks of one node find the memory that they share: each says where ranks meet which descriptors it
//! has, and the others open them by its process.

use crate::transport::TransportError;
use crate::transport::pipe::Pipe;
use crate::transport::region::Region;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::sync::Arc;

/// The variable that says which ranks may share memory.
pub const NODE: &str = "FREESTONE_EVENTS_NODE";
/// What it says if they are to share none.
const NONE: &str = "none";

/// A descriptor of another process, and the file that it has to be of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shared {
    fd: RawFd,
    inode: u64,
}

impl Shared {
    fn new(file: &File) -> io::Result<Self> {
        Ok(Self { fd: file.as_raw_fd(), inode: file.metadata()?.ino() })
    }
}

/// What a rank says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// What ranks have in common that can open each other's descriptors.
    node: String,
    process: u32,
    memory: Shared,
    pipe: Shared,
    /// How much memory its large payloads may take.
    pub arena: usize,
}

impl fmt::Display for Neighbour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, process, memory, pipe, arena } = self;
        let Shared { fd, inode } = memory;
        write!(f, "{node}/{process}/{fd}/{inode}/{}/{}/{arena}", pipe.fd, pipe.inode)
    }
}

impl Neighbour {
    /// Reads what [`fmt::Display`] wrote; none, if it is nothing of the kind.
    pub fn read(word: &str) -> Option<Self> {
        let (node, numbers) = word.split_once('/')?;
        let mut numbers = numbers.split('/');
        let mut next = || numbers.next();
        let found = Self {
            node: node.to_owned(),
            process: next()?.parse().ok()?,
            memory: Shared { fd: next()?.parse().ok()?, inode: next()?.parse().ok()? },
            pipe: Shared { fd: next()?.parse().ok()?, inode: next()?.parse().ok()? },
            arena: next()?.parse().ok()?,
        };
        next().is_none().then_some(found)
    }

    /// Whether both can open each other's descriptors.
    pub fn is_beside(&self, other: &Self) -> bool {
        self.node == other.node
    }

    /// The memory that the ranks of its node share, which has `len` bytes from now on.
    pub fn memory(&self, len: usize) -> io::Result<Arc<Region>> {
        let file = self.open(self.memory)?;
        // All ranks of the node say the same length.
        file.set_len(len as u64)?;
        Region::open(file.as_raw_fd(), len).map_err(io::Error::other)
    }

    /// What wakes it.
    pub fn pipe(&self) -> io::Result<File> {
        self.open(self.pipe)
    }

    /// A descriptor that is readable once its process has ended.
    pub fn end(&self) -> io::Result<OwnedFd> {
        // SAFETY: a plain call; what it opens is ours.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, self.process, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and nobody else's.
        Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
    }

    fn open(&self, shared: Shared) -> io::Result<File> {
        let path = format!("/proc/{}/fd/{}", self.process, shared.fd);
        // With both ends open here, a pipe whose reader has ended is no signal to who writes.
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
        let file = options.open(path)?;
        if file.metadata()?.ino() != shared.inode {
            return Err(io::Error::new(ErrorKind::NotFound, "another process has its number"));
        }
        Ok(file)
    }
}

/// What this rank has for its neighbours.
#[derive(Debug)]
pub struct Here {
    word: Neighbour,
    /// Open as long as somebody may look for it.
    _memory: File,
}

impl Here {
    /// For ranks of the same node; what is written to `pipe` wakes this one.
    ///
    /// # Errors
    ///
    /// If the system has no descriptor.
    pub fn new(node: String, arena: usize, pipe: &Pipe) -> io::Result<Self> {
        let memory = File::from(Region::descriptor(libc::MFD_CLOEXEC)?);
        let word = Neighbour {
            node,
            process: std::process::id(),
            memory: Shared::new(&memory)?,
            pipe: Shared::new(pipe.reader())?,
            arena,
        };
        Ok(Self { word, _memory: memory })
    }

    /// What it says.
    pub fn word(&self) -> &Neighbour {
        &self.word
    }
}

/// The kernel, the numbers of processes in it, the user, and a name: who has the same can open what others have.
/// A container with a network of its own is a node of its own. None, if the system does not say where this is.
pub fn node(name: &str) -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let space = |kind: &str| {
        let space = std::fs::metadata(format!("/proc/self/ns/{kind}"));
        space.map(|space| space.ino().to_string()).ok()
    };
    let spaces = ["pid", "user", "net"].map(space).into_iter().collect::<Option<Vec<_>>>()?;
    // SAFETY: a plain call.
    let user = unsafe { libc::geteuid() };
    Some(format!("{}.{}.{user}.{name}", boot.trim(), spaces.join(".")))
}

/// The name under which the environment has this rank share memory, most often an empty one; none, if it is to
/// share memory with no rank.
///
/// # Errors
///
/// If it is no name.
pub fn name() -> Result<Option<String>, TransportError> {
    named(&std::env::var(NODE).unwrap_or_default())
}

fn named(value: &str) -> Result<Option<String>, TransportError> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if value.len() > 64 || !value.chars().all(is_plain) {
        let must = "a name of up to 64 letters, digits, '-', '_' and '.', or none".to_owned();
        return Err(TransportError::Setting { name: NODE, value: value.to_owned(), must });
    }
    Ok((value != NONE).then(|| value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_rank_says_is_read() {
        let pipe = Pipe::new().unwrap();
        let here = Here::new(node("a-b.c").unwrap(), 4096, &pipe).unwrap();
        let text = here.word().to_string();
        assert_eq!(Neighbour::read(&text).as_ref(), Some(here.word()), "{text}");
        for bad in ["", "node", "node/1/2/3", &format!("{text}/1"), "node/1/2/3/4/5/x"] {
            assert_eq!(Neighbour::read(bad), None, "{bad}");
        }
    }

    #[test]
    fn neighbours_share_memory_and_wake_each_other() {
        let pipe = Pipe::new().unwrap();
        let here = Here::new(node("").unwrap(), 4096, &pipe).unwrap();
        let [first, second] = [(); 2].map(|()| here.word().memory(8192).unwrap());
        first.word(4096).store(7, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(second.word(4096).load(std::sync::atomic::Ordering::Relaxed), 7);
        crate::transport::pipe::wake(&here.word().pipe().unwrap());
        assert_eq!(std::io::Read::read(&mut pipe.reader(), &mut [0; 8]).unwrap(), 1);
        here.word().end().unwrap();
    }

    #[test]
    fn who_has_the_number_of_another_process_is_no_neighbour() {
        let pipe = Pipe::new().unwrap();
        let here = Here::new(node("").unwrap(), 4096, &pipe).unwrap();
        let mut word = here.word().clone();
        word.pipe.inode += 1;
        assert_eq!(word.pipe().unwrap_err().to_string(), "another process has its number");
        word.process = u32::MAX >> 1;
        assert!(word.pipe().is_err() && word.end().is_err());
    }

    #[test]
    fn names_are_plain() {
        assert_eq!(named("").unwrap().as_deref(), Some(""));
        assert_eq!(named("none").unwrap(), None);
        assert_eq!(named("rack-1.node_2").unwrap().as_deref(), Some("rack-1.node_2"));
        for bad in ["a b", "a/b", "a@b", &"x".repeat(65)] {
            assert!(named(bad).unwrap_err().to_string().contains(NODE), "{bad}");
        }
    }
}
