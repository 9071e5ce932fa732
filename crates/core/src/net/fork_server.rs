//! The process that forks a worker's executors: it has loaded what each needs, and has no threads.
//!
//! See docs/decisions/121-executors-are-forked-by-a-server-of-their-worker.md

use super::children;
use std::ffi::OsString;
use std::io::{self, Read};
use std::mem::{size_of, size_of_val};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// A fork takes milliseconds; a server that is stopped, or hangs, is given up.
const TIMEOUT: Duration = Duration::from_secs(5);
/// What it says when it has loaded all.
const READY: &[u8] = b"ready";
/// The longest message of a server: a number.
const ANSWER: usize = 32;
/// What an executor gets: its connection, its page, standard output and standard error.
const DESCRIPTORS: usize = 4;

/// A fork server that was started, a child of this process.
#[derive(Clone, Debug)]
pub struct ForkServerOptions {
    /// The connection to it, which keeps messages apart (`SOCK_SEQPACKET`).
    pub socket: Arc<OwnedFd>,
    /// Its number.
    pub pid: u32,
    /// The program and its arguments, to start another one.
    pub command: Vec<String>,
}

impl ForkServerOptions {
    /// Starts a server, which loads meanwhile what it needs.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn start(command: Vec<String>) -> io::Result<Self> {
        let Some((program, arguments)) = command.split_first() else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "no command for a fork server",
            ));
        };
        let [ours, theirs] = pair()?;
        let (inherited, worker) = (theirs.as_raw_fd(), std::process::id());
        let mut started = Command::new(program);
        started
            .args(arguments)
            .env("FREESTONE__FORK_SOCKET", inherited.to_string())
            .stdin(Stdio::null());
        // SAFETY: between fork and exec, only system calls that may be made there.
        unsafe { started.pre_exec(move || children::prepare(&[inherited], worker)) };
        let pid = started.spawn()?.id();
        Ok(Self { socket: Arc::new(ours), pid, command })
    }
}

/// Two ends of a connection that keeps messages apart.
fn pair() -> io::Result<[OwnedFd; 2]> {
    let mut ends = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: room for two descriptors.
    if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, and nobody else has them.
    Ok(ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) }))
}

/// A running fork server. Dropped, it is killed and reaped; what it has forked stays.
#[derive(Debug)]
pub struct ForkServer {
    socket: UnixStream,
    pid: u32,
    is_ready: bool,
    command: Vec<String>,
}

/// How a server is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Heard {
    /// It loads, or has nothing new to say.
    Nothing,
    /// It forks from now on.
    Ready,
    /// It is gone.
    End,
}

impl ForkServer {
    /// Takes over a server.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn new(options: &ForkServerOptions) -> io::Result<Self> {
        let socket = UnixStream::from(options.socket.try_clone()?);
        socket.set_read_timeout(Some(TIMEOUT))?;
        socket.set_write_timeout(Some(TIMEOUT))?;
        let command = options.command.clone();
        Ok(Self { socket, pid: options.pid, is_ready: false, command })
    }

    /// Starts another one in its place.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn again(&self) -> io::Result<Self> {
        Self::new(&ForkServerOptions::start(self.command.clone())?)
    }

    /// What becomes readable when it is ready, or gone.
    pub fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Whether it forks.
    pub fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// Takes what it says, without waiting.
    pub fn hear(&mut self) -> Heard {
        let mut buffer = [0_u8; ANSWER];
        let (socket, room) = (self.socket.as_raw_fd(), buffer.len());
        // SAFETY: an open socket, and room for so many bytes.
        let nbytes =
            unsafe { libc::recv(socket, buffer.as_mut_ptr().cast(), room, libc::MSG_DONTWAIT) };
        match usize::try_from(nbytes) {
            Ok(nbytes) if buffer[..nbytes] == *READY => {
                self.is_ready = true;
                Heard::Ready
            }
            Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock => {
                Heard::Nothing
            }
            _ => Heard::End,
        }
    }

    /// Forks an executor, a child of this process; returns its number.
    ///
    /// # Errors
    /// Those of the operating system, and what the server says. It is not to be asked again.
    pub fn fork(
        &self,
        variables: &[(String, OsString)],
        descriptors: [RawFd; DESCRIPTORS],
    ) -> io::Result<u32> {
        let mut message = Vec::new();
        for (name, value) in variables {
            for part in [name.as_bytes(), b"=", value.as_bytes(), b"\0"] {
                message.extend_from_slice(part);
            }
        }
        self.send(&message, descriptors)?;
        let mut buffer = [0; ANSWER];
        let nbytes = (&self.socket).read(&mut buffer)?;
        let pid = std::str::from_utf8(&buffer[..nbytes]).ok().and_then(|text| text.parse().ok());
        let pid: u32 = pid.ok_or_else(|| io::Error::other("the fork server forks no more"))?;
        // It does so itself; whoever is first, its group is there from here on.
        // SAFETY: a system call on numbers.
        unsafe { libc::setpgid(pid.cast_signed(), pid.cast_signed()) };
        Ok(pid)
    }

    fn send(&self, message: &[u8], descriptors: [RawFd; DESCRIPTORS]) -> io::Result<()> {
        // Words, so that the header in it is aligned.
        let mut control = [0_u64; 8];
        let nbytes = size_of_val(&descriptors) as u32;
        let mut part =
            libc::iovec { iov_base: message.as_ptr().cast_mut().cast(), iov_len: message.len() };
        // SAFETY: plain structures that may be all zeros; the buffers outlive the call; there is
        // room for the header and the descriptors.
        let sent = unsafe {
            debug_assert!(libc::CMSG_SPACE(nbytes) as usize <= size_of::<[u64; 8]>());
            let mut header: libc::msghdr = std::mem::zeroed();
            header.msg_iov = &raw mut part;
            header.msg_iovlen = 1;
            header.msg_control = control.as_mut_ptr().cast();
            header.msg_controllen = libc::CMSG_SPACE(nbytes) as _;
            let rights = libc::CMSG_FIRSTHDR(&raw const header);
            (*rights).cmsg_level = libc::SOL_SOCKET;
            (*rights).cmsg_type = libc::SCM_RIGHTS;
            (*rights).cmsg_len = libc::CMSG_LEN(nbytes) as _;
            libc::CMSG_DATA(rights).cast::<[RawFd; DESCRIPTORS]>().write_unaligned(descriptors);
            libc::sendmsg(self.socket.as_raw_fd(), &raw const header, libc::MSG_NOSIGNAL)
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl Drop for ForkServer {
    fn drop(&mut self) {
        // SAFETY: a child of ours that has not been reaped, so that its number is not given to others.
        unsafe { libc::kill(self.pid.cast_signed(), libc::SIGKILL) };
        children::wait(self.pid);
    }
}
