//! Which processes of a communicator have ended: MPI does not say, so those of one machine watch each
//! other, and tell those of other machines.

use super::stopped::{Stopped, is_stopped};
use crate::limits;
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Where a process runs, and as which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessId {
    pub pid: u32,
    /// A machine that has booted, and a namespace of process numbers there.
    pub host: String,
}

impl ProcessId {
    /// That of this process.
    pub fn own() -> Self {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let host = format!("{} {}", boot.trim(), namespace.display());
        Self { pid: std::process::id(), host }
    }
}

/// Processes of this machine that have not ended.
#[derive(Debug)]
pub struct Watch {
    /// Lists who has ended in the order in which they did: survivors that leave because of the
    /// first loss come behind it. `None` if the system gives none.
    ready: Option<OwnedFd>,
    /// Their process numbers and descriptors, by number; a process that can't be watched is not here.
    watched: BTreeMap<u32, (u32, OwnedFd)>,
    /// Whether all processes are on this machine.
    sees_all: bool,
    /// Who has ended, reported or not.
    gone: Vec<u32>,
    /// None, where processes may be stopped for ever.
    stopped: Option<Stopped>,
}

impl Watch {
    /// Watches those of `ids` that are on this one's machine; `own` is not watched.
    pub fn new(ids: &[ProcessId], own: u32) -> Self {
        let host = ids.get(own as usize).map(|id| id.host.clone());
        let is_here = |id: &ProcessId| Some(&id.host) == host.as_ref();
        let others = (0..).zip(ids).filter(|(number, id)| *number != own && is_here(id));
        let ready = queue();
        let watched: BTreeMap<_, _> = others
            .filter_map(|(number, id)| {
                let process = open(id.pid)?;
                add(ready.as_ref()?, &process, number).then_some((number, (id.pid, process)))
            })
            .collect();
        let sees_all = watched.len() + 1 >= ids.len();
        let limit = limits::get().stopped_timeout;
        let stopped = limit.map(|limit| Stopped::new(limit, Instant::now()));
        Self { ready, watched, sees_all, gone: Vec::new(), stopped }
    }

    /// Whether no process is on another machine.
    pub fn sees_all(&self) -> bool {
        self.sees_all
    }

    /// Who has ended since this was asked last, in that order. It waits for one for at most
    /// `timeout`, cut to whole milliseconds.
    pub fn ended(&mut self, timeout: Duration) -> Vec<u32> {
        let Some(ready) = &self.ready else { return Vec::new() };
        let mut found = vec![libc::epoll_event { events: 0, u64: 0 }; self.watched.len().max(1)];
        let timeout = timeout.as_millis().try_into().unwrap_or(i32::MAX);
        let room = found.len().try_into().unwrap_or(i32::MAX);
        // SAFETY: an array, with its length.
        let count =
            unsafe { libc::epoll_wait(ready.as_raw_fd(), found.as_mut_ptr(), room, timeout) };
        let ended = found.iter().take(count.try_into().unwrap_or(0)).map(|one| one.u64 as u32);
        let ended: Vec<_> = ended.collect();
        for (_, process) in ended.iter().filter_map(|number| self.watched.remove(number)) {
            remove(ready, &process);
        }
        self.gone.extend(&ended);
        ended
    }

    /// Who has been stopped for too long, of those from this number on; each is reported once.
    pub fn stopped(&mut self, first: u32) -> Vec<u32> {
        let Self { ready: Some(ready), watched, gone, stopped: Some(stopped), .. } = self else {
            return Vec::new();
        };
        let pid_of = |number| watched.get(&number).map(|(pid, _)| *pid);
        let is_stopped = |number| pid_of(number).is_some_and(is_stopped);
        let found = stopped.look(
            Instant::now(),
            watched.range(first..).map(|(number, _)| *number),
            is_stopped,
        );
        for (_, process) in found.iter().filter_map(|number| watched.remove(number)) {
            remove(ready, &process);
        }
        gone.extend(&found);
        found
    }

    /// The first with a number below `limit` who has ended or is stopped, reported or not.
    pub fn gone_below(&mut self, limit: u32) -> Option<u32> {
        self.ended(Duration::ZERO);
        self.stopped(0);
        self.gone.iter().copied().find(|number| *number < limit)
    }
}

fn queue() -> Option<OwnedFd> {
    // SAFETY: a plain call; what it opens is ours.
    let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    // SAFETY: just opened, and nobody else's.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Whether `queue` will list `process`, as `number`, when it has ended.
fn add(queue: &OwnedFd, process: &OwnedFd, number: u32) -> bool {
    let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: number.into() };
    // SAFETY: two open files, and an event that outlives the call.
    unsafe {
        libc::epoll_ctl(queue.as_raw_fd(), libc::EPOLL_CTL_ADD, process.as_raw_fd(), &raw mut event)
            == 0
    }
}

/// A copy of the file in a forked process would keep it listed.
fn remove(queue: &OwnedFd, process: &OwnedFd) {
    // SAFETY: two open files; the last argument is not read.
    unsafe {
        libc::epoll_ctl(
            queue.as_raw_fd(),
            libc::EPOLL_CTL_DEL,
            process.as_raw_fd(),
            std::ptr::null_mut(),
        );
    }
}

fn open(pid: u32) -> Option<OwnedFd> {
    // SAFETY: a plain call; what it opens is ours.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.cast_signed(), 0) };
    // SAFETY: just opened, and nobody else's.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn who_has_ended_is_reported_once() {
        let own = ProcessId::own();
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let other = ProcessId { pid: child.id(), host: own.host.clone() };
        let elsewhere = ProcessId { pid: child.id(), host: "another".to_owned() };
        let mut watch = Watch::new(&[own.clone(), other.clone()], 0);
        assert!(watch.sees_all());
        assert!(!Watch::new(&[own, other, elsewhere], 0).sees_all());
        assert_eq!(watch.ended(Duration::ZERO), []);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(watch.ended(Duration::from_secs(60)), [1]);
        assert_eq!(watch.ended(Duration::ZERO), []);
    }

    #[test]
    fn who_ended_first_is_reported_first() {
        let own = ProcessId::own();
        let mut children: Vec<_> =
            (0..8).map(|_| Command::new("sleep").arg("60").spawn().unwrap()).collect();
        let mut ids = vec![own.clone()];
        ids.extend(children.iter().map(|one| ProcessId { pid: one.id(), host: own.host.clone() }));
        let mut watch = Watch::new(&ids, 0);
        let order = [5, 2, 8, 1, 7, 3, 6, 4];
        for number in order {
            let child = &mut children[number - 1];
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(watch.ended(Duration::ZERO), order.map(|number| number as u32));
        assert_eq!(watch.gone_below(5), Some(2));
    }
}
