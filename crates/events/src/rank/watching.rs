//! Events that the machine gives rise to: something to read, little memory, much load.

use super::condition::Condition;
use super::state::State;
use super::{Inner, Rank};
use crate::error::EventsError;
use crate::event::{Event, EventId, Lasting};
use crate::limits;
use crate::payload::Payload;
use crate::sync::lock;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

impl Rank {
    /// Fires an event at this rank, once, when something is so; the run does not end before, unless
    /// [`Rank::stop`] is called.
    ///
    /// # Errors
    ///
    /// If the descriptor is not open, the run is over, or a thread cannot be started.
    pub fn when(&self, condition: Condition, id: &EventId) -> Result<(), EventsError> {
        if let Condition::Readable(fd) = condition {
            // SAFETY: a plain call, on any number.
            if unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
                return Err(EventsError::NoDescriptor { fd });
            }
        }
        let inner = &self.inner;
        let mut state = inner.state();
        inner.check_over()?;
        state.activity += 1;
        state.watches.push((condition, id.clone()));
        drop(state);
        let mut watcher = lock(&inner.watcher);
        if watcher.is_none() {
            let (ours, theirs) = UnixStream::pair().map_err(EventsError::NoThread)?;
            let ends = ours.set_nonblocking(true).and_then(|()| theirs.set_nonblocking(true));
            ends.map_err(EventsError::NoThread)?;
            Inner::spawn(inner, move |inner| inner.keep_watching(theirs))?;
            *watcher = Some(ours);
        }
        drop(watcher);
        inner.wake_watcher();
        Ok(())
    }
}

impl Inner {
    /// The thread that watches looks again at what it is to watch for.
    pub(super) fn wake_watcher(&self) {
        if let Some(mut watcher) = lock(&self.watcher).as_ref() {
            // A full pipe wakes as well.
            let _ = watcher.write(&[0]);
        }
    }

    fn keep_watching(self: &Arc<Self>, mut woken: UnixStream) {
        while !self.is_over() {
            let watches = self.state().watches.clone();
            let ready = wait(&woken, &watches);
            let mut bytes = [0; 64];
            while woken.read(&mut bytes).is_ok_and(|read| read == bytes.len()) {}
            for (condition, id) in ready {
                self.fire_watch(&mut self.state(), condition, id);
            }
        }
    }

    fn fire_watch(&self, state: &mut State, condition: Condition, id: EventId) {
        let is_it = |other: &(Condition, EventId)| other.0 == condition && other.1 == id;
        // It may have been stopped meanwhile.
        if let Some(position) = state.watches.iter().position(is_it) {
            state.watches.remove(position);
            let (source, lasting) = (self.rank(), Lasting::Once);
            self.deliver(state, Event { source, id, lasting, payload: Payload::default() });
        }
    }
}

/// Waits until one of the conditions may hold, or somebody writes to `woken`; those that do.
fn wait(woken: &UnixStream, watches: &[(Condition, EventId)]) -> Vec<(Condition, EventId)> {
    let poll_of = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut polled = vec![poll_of(woken.as_raw_fd())];
    polled.extend(watches.iter().map(|(condition, _)| match condition {
        Condition::Readable(fd) => poll_of(*fd),
        // Not looked at by the call.
        _ => poll_of(-1),
    }));
    let looks = watches.iter().any(|(condition, _)| !matches!(condition, Condition::Readable(_)));
    let interval = limits::get().condition_interval.as_millis().try_into().unwrap_or(i32::MAX);
    let timeout = if looks { interval } else { -1 };
    // SAFETY: an array with its length.
    unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, timeout) };
    let holds = |condition: &Condition, polled: &libc::pollfd| match condition {
        Condition::Readable(_) => polled.revents != 0,
        Condition::MemoryBelow(nbytes) => memory_left().is_some_and(|left| left <= *nbytes),
        Condition::LoadAbove(load) => load_now().is_some_and(|now| now >= *load),
    };
    let pairs = watches.iter().zip(&polled[1..]);
    pairs
        .filter(|((condition, _), polled)| holds(condition, polled))
        .map(|(one, _)| one.clone())
        .collect()
}

/// Bytes of memory that programs could still get.
fn memory_left() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}

fn load_now() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}
