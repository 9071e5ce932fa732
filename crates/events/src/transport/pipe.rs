//! A pipe that wakes who sleeps until there is something to read, from this process or another.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};

/// Both ends, of which neither blocks.
#[derive(Debug)]
pub struct Pipe {
    reader: File,
    writer: File,
}

impl Pipe {
    /// An empty one.
    ///
    /// # Errors
    ///
    /// If the system has no descriptors.
    pub fn new() -> io::Result<Self> {
        let mut ends = [0; 2];
        // SAFETY: a place for two descriptors.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_NONBLOCK | libc::O_CLOEXEC) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and nobody else's.
        let [reader, writer] = ends.map(|end| unsafe { File::from_raw_fd(end) });
        Ok(Self { reader, writer })
    }

    /// What is readable when somebody has written.
    pub fn reader(&self) -> &File {
        &self.reader
    }

    /// Wakes who sleeps.
    pub fn wake(&self) {
        wake(&self.writer);
    }

    /// Takes what was written.
    pub fn clear(&self) {
        let mut bytes = [0; 64];
        while (&self.reader).read(&mut bytes).is_ok_and(|read| read == bytes.len()) {}
    }
}

impl AsRawFd for Pipe {
    fn as_raw_fd(&self) -> RawFd {
        self.reader.as_raw_fd()
    }
}

/// Writes to a pipe. A full one wakes as well.
pub fn wake(mut writer: &File) {
    let _ = writer.write(&[0]);
}
