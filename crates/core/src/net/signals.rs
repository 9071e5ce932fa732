//! Signals of a worker's process: SIGTERM ends it in good order, and so does SIGINT if somebody has
//! started it by hand; else that is the client's business.

use std::io::{self, Read};
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI32, Ordering};

/// Where the handler writes to; -1: nowhere. Stored by [`Signals`] before the handler is installed
/// and loaded by the handler.
static PIPE: AtomicI32 = AtomicI32::new(-1);

extern "C" fn on_signal(_signal: libc::c_int) {
    let pipe = PIPE.load(Ordering::Acquire);
    if pipe >= 0 {
        // SAFETY: `write` may be called in a handler; one byte that lives through the call. A full
        // pipe says the same as one byte more.
        unsafe { libc::write(pipe, [1_u8].as_ptr().cast(), 1) };
    }
}

/// While it lives, SIGTERM comes as bytes on a stream, and so does SIGINT, or it is ignored. One in a
/// process at a time; others see no signals.
#[derive(Debug)]
pub struct Signals {
    stream: UnixStream,
    former: Option<[libc::sigaction; 2]>,
}

impl Signals {
    /// Installs the handlers; SIGINT ends an interruptible worker as SIGTERM does.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn install(is_interruptible: bool) -> io::Result<Self> {
        let (stream, writer) = UnixStream::pair()?;
        stream.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        let writer = OwnedFd::from(writer);
        let is_first = PIPE
            .compare_exchange(-1, writer.as_raw_fd(), Ordering::AcqRel, Ordering::Acquire)
            .is_ok();
        if !is_first {
            return Ok(Self { stream, former: None });
        }
        // Closed in `drop`, when the handler can no longer write to it.
        let _ = writer.into_raw_fd();
        let handler = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
        let term = set_action(libc::SIGTERM, handler)?;
        let int = set_action(libc::SIGINT, if is_interruptible { handler } else { libc::SIG_IGN })?;
        Ok(Self { stream, former: Some([term, int]) })
    }

    /// What becomes readable when a signal came.
    pub fn as_raw_fd(&self) -> i32 {
        self.stream.as_raw_fd()
    }

    /// Whether one came since the last question.
    pub fn take(&mut self) -> bool {
        let mut buffer = [0; 64];
        matches!(self.stream.read(&mut buffer), Ok(nbytes) if nbytes > 0)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        let Some(former) = self.former else { return };
        for (signal, action) in [libc::SIGTERM, libc::SIGINT].into_iter().zip(former) {
            // SAFETY: an action that the system itself gave us.
            unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
        }
        let pipe = PIPE.swap(-1, Ordering::AcqRel);
        // SAFETY: ours since `install`, and the handler is gone.
        unsafe { libc::close(pipe) };
    }
}

fn set_action(signal: libc::c_int, handler: libc::sighandler_t) -> io::Result<libc::sigaction> {
    // SAFETY: all zeros are a value of this plain structure.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: as above.
    let mut former: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: the handler only writes to a pipe; both structures live through the call.
    match unsafe { libc::sigaction(signal, &raw const action, &raw mut former) } {
        0 => Ok(former),
        _ => Err(io::Error::last_os_error()),
    }
}
