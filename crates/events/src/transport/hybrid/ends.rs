//! Whose process has ended, of the ranks of a node: one descriptor for all of them.

use super::neighbours::Neighbour;
use crate::event::Rank;
use crate::sync::lock;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Mutex;

/// How many are found at once.
const FOUND: i32 = 16;

/// Watches processes until each has ended.
#[derive(Debug)]
pub struct Ends {
    watched: OwnedFd,
    /// Those that have not ended.
    processes: Mutex<BTreeMap<Rank, OwnedFd>>,
}

impl Ends {
    /// Of nobody yet.
    ///
    /// # Errors
    ///
    /// If the system has no descriptor.
    pub fn new() -> io::Result<Self> {
        // SAFETY: a plain call; what it opens is ours.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and nobody else's.
        let watched = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { watched, processes: Mutex::default() })
    }

    /// Watches a neighbour, too, as this number.
    ///
    /// # Errors
    ///
    /// If it has ended.
    pub fn watch(&self, number: Rank, neighbour: &Neighbour) -> io::Result<()> {
        let process = neighbour.end()?;
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: number.into() };
        self.control(libc::EPOLL_CTL_ADD, process.as_raw_fd(), &raw mut event)?;
        lock(&self.processes).insert(number, process);
        Ok(())
    }

    /// What is readable when a process has ended.
    pub fn fd(&self) -> RawFd {
        self.watched.as_raw_fd()
    }

    /// The numbers of those whose processes have ended; each is given once.
    pub fn take(&self) -> Vec<Rank> {
        let mut found = [libc::epoll_event { events: 0, u64: 0 }; FOUND as usize];
        // SAFETY: an array with its length.
        let count = unsafe { libc::epoll_wait(self.fd(), found.as_mut_ptr(), FOUND, 0) };
        let found = found.iter().take(usize::try_from(count).unwrap_or_default());
        let numbers: Vec<Rank> = found.map(|event| event.u64 as Rank).collect();
        for number in &numbers {
            if let Some(process) = lock(&self.processes).remove(number) {
                // It would be found again if a copy of this process had it.
                let none = std::ptr::null_mut();
                let _ = self.control(libc::EPOLL_CTL_DEL, process.as_raw_fd(), none);
            }
        }
        numbers
    }

    fn control(&self, what: i32, fd: RawFd, event: *mut libc::epoll_event) -> io::Result<()> {
        // SAFETY: an event, or null where none is needed.
        if unsafe { libc::epoll_ctl(self.fd(), what, fd, event) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}
