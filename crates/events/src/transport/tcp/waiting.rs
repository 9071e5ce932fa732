//! Waiting for something to read, or for room to write.

use super::Shared;
use super::watch::Watcher;
use crate::sync::lock;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::Ordering;
use std::time::Duration;

impl Shared {
    /// Waits until there is something to read, `beside` too, or room to write what waits.
    pub(super) fn wait(&self, beside: Option<RawFd>, timeout: Option<Duration>) {
        let watched = |fd, events| libc::pollfd { fd, events, revents: 0 };
        // A negative descriptor is not looked at.
        let reports = lock(&self.watcher).as_ref().and_then(Watcher::fd).unwrap_or(-1);
        let others = [reports, self.pipe.as_raw_fd(), beside.unwrap_or(-1)];
        let mut polled: Vec<_> = others.map(|fd| watched(fd, libc::POLLIN)).into();
        for peer in self.connected() {
            let peer = lock(peer);
            if !peer.is_closed {
                let write = if peer.waits() { libc::POLLOUT } else { 0 };
                polled.push(watched(peer.fd(), libc::POLLIN | write));
            }
        }
        let time = timeout.map(|timeout| libc::timespec {
            tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: libc::c_long::from(timeout.subsec_nanos()),
        });
        let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: an array with its length, and a time or null.
        unsafe {
            let len = polled.len() as libc::nfds_t;
            libc::ppoll(polled.as_mut_ptr(), len, time, std::ptr::null());
        }
        if polled[0].revents != 0 {
            self.has_report.store(true, Ordering::Relaxed);
        }
    }
}
