//! The connection of an executor to its worker.

use crate::ExecutorError;
use freestone_core::wire::{Frames, FromExecutor, ToExecutor, frame};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Frames over a socket whose descriptor no call may close.
pub struct Connection {
    socket: UnixStream,
    frames: Frames,
    /// How long a read polls before it sleeps.
    spin: Duration,
    /// Which file the socket is.
    identity: Option<(u64, u64)>,
}

impl Connection {
    pub fn new(socket: UnixStream, spin: Duration) -> Self {
        let identity = identity(socket.as_raw_fd());
        Self { socket, frames: Frames::default(), spin, identity }
    }

    /// Whether the descriptor is still the connection's, and no other file's.
    pub fn is_intact(&self) -> bool {
        identity(self.socket.as_raw_fd()) == self.identity
    }

    /// The next message that was received.
    pub fn next(&mut self) -> Result<Option<ToExecutor>, ExecutorError> {
        Ok(self.frames.next()?)
    }

    /// Sends frames.
    pub fn write(&mut self, frames: &[u8]) -> Result<(), ExecutorError> {
        Ok(self.socket.write_all(frames)?)
    }

    /// Sends one message.
    pub fn send(&mut self, message: &FromExecutor) -> Result<(), ExecutorError> {
        let mut bytes = Vec::with_capacity(256);
        frame::encode(message, &mut bytes)?;
        self.write(&bytes)
    }

    /// Reads what there is, after waiting for it; false at the end of the connection.
    pub fn receive(&mut self) -> Result<bool, ExecutorError> {
        match self.read() {
            Ok(nbytes) => Ok(nbytes > 0),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads once, first by polling, then asleep.
    fn read(&mut self) -> std::io::Result<usize> {
        let (socket, frames) = (&mut self.socket, &mut self.frames);
        let start = Instant::now();
        let mut received = frames.read_from(&mut AtOnce(socket));
        while is(&received, ErrorKind::WouldBlock) && start.elapsed() < self.spin {
            std::thread::yield_now();
            received = frames.read_from(&mut AtOnce(socket));
        }
        while is(&received, ErrorKind::WouldBlock) || is(&received, ErrorKind::Interrupted) {
            received = frames.read_from(socket);
        }
        received.map(|(nbytes, _)| nbytes)
    }
}

/// Reads what is there, and waits for nothing, on a socket that blocks: to switch it back and forth would
/// take two more system calls for each read.
struct AtOnce<'a>(&'a UnixStream);

impl Read for AtOnce<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let (socket, room) = (self.0.as_raw_fd(), buffer.len());
        // SAFETY: an open socket, and room for so many bytes.
        let nbytes =
            unsafe { libc::recv(socket, buffer.as_mut_ptr().cast(), room, libc::MSG_DONTWAIT) };
        usize::try_from(nbytes).map_err(|_| std::io::Error::last_os_error())
    }
}

fn is(received: &std::io::Result<(usize, usize)>, kind: ErrorKind) -> bool {
    received.as_ref().is_err_and(|error| error.kind() == kind)
}

/// Which file a descriptor is.
fn identity(descriptor: RawFd) -> Option<(u64, u64)> {
    let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: room for the answer, which is written if the call succeeds.
    unsafe {
        (libc::fstat(descriptor, found.as_mut_ptr()) == 0).then(|| {
            let found = found.assume_init();
            (found.st_dev, found.st_ino)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_at_once_waits_for_nothing_on_a_socket_that_blocks() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut buffer = [0; 8];
        let empty = AtOnce(&ours).read(&mut buffer);
        assert!(empty.is_err_and(|error| error.kind() == ErrorKind::WouldBlock));
        theirs.write_all(b"call").unwrap();
        assert_eq!((AtOnce(&ours).read(&mut buffer).unwrap(), &buffer[..4]), (4, &b"call"[..]));
        drop(theirs);
        assert_eq!(AtOnce(&ours).read(&mut buffer).unwrap(), 0, "the end");
    }
}
