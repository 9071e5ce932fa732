//! A manager that was lost is sought for a while, on a thread.

use super::poller::Waker;
use super::stream::Stream;
use crate::wire::Address;
use freestone_tls::Access;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long to wait between two attempts.
const INTERVAL: Duration = Duration::from_millis(250);

/// Where a manager is, and what comes of seeking it.
pub(super) struct Seek {
    pub address: Address,
    pub access: Option<Access>,
    reached: Receiver<io::Result<Stream>>,
    found: Sender<io::Result<Stream>>,
}

impl Seek {
    /// Nothing is sought yet.
    pub fn new(address: Address, access: Option<Access>) -> Self {
        let (found, reached) = channel();
        Self { address, access, reached, found }
    }

    /// Tries to reach the manager until `deadline`, at least once; `waker` wakes who waits for it.
    ///
    /// # Errors
    /// When the system has no thread for it.
    pub fn begin(&self, deadline: Instant, waker: Waker) -> io::Result<()> {
        let (address, access, found) =
            (self.address.clone(), self.access.clone(), self.found.clone());
        thread::Builder::new().name("freestone-seek".into()).spawn(move || {
            let reached = loop {
                match Stream::connect(&address, access.as_ref()) {
                    Err(_) if Instant::now() < deadline => thread::sleep(INTERVAL),
                    reached => break reached,
                }
            };
            // If the one that sought has ended, nobody waits for this.
            let _ = found.send(reached);
            let _ = waker.wake();
        })?;
        Ok(())
    }

    /// What has come of it, if something has.
    pub fn end(&self) -> Option<io::Result<Stream>> {
        self.reached.try_recv().ok()
    }
}
