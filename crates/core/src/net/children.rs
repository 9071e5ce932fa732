//! Children of this process: what they do first, and how they end.

use std::io;
use std::os::fd::RawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Waits for the end of a child.
pub fn wait(child: u32) -> Option<ExitStatus> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is valid for writes; the number is that of a child of ours, or of none.
        if unsafe { libc::waitpid(child.cast_signed(), &raw mut status, 0) } >= 0 {
            return Some(ExitStatus::from_raw(status));
        }
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return None;
        }
    }
}

/// In the child: dies with its worker, and keeps what it inherits.
///
/// # Errors
/// Those of the operating system.
pub fn prepare(inherited: &[RawFd], worker: u32) -> io::Result<()> {
    // SAFETY: plain system calls on numbers.
    unsafe {
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) < 0 {
            return Err(io::Error::last_os_error());
        }
        if libc::getppid() as u32 != worker {
            // The worker died before we asked to die with it.
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        // Ctrl-C goes to all processes of a terminal; the worker decides what becomes of calls.
        if libc::signal(libc::SIGINT, libc::SIG_IGN) == libc::SIG_ERR {
            return Err(io::Error::last_os_error());
        }
        for fd in inherited {
            if libc::fcntl(*fd, libc::F_SETFD, 0) < 0 {
                return Err(io::Error::last_os_error());
            }
        }
    }
    Ok(())
}
