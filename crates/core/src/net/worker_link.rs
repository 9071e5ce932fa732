//! A worker's connection to its manager, and how it is sought when it breaks.

use super::connection::{Connection, ConnectionError};
use super::poller::Waker;
use super::stream::Stream;
use super::worker_options::{WorkerError, WorkerOptions};
use crate::wire::Address;
use freestone_base::{Resources, WorkerId};
use freestone_tls::Access;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long to wait between two attempts to come back.
const PAUSE: Duration = Duration::from_millis(250);
/// How long the manager may take to let a worker go that was asked to end; batch systems give about
/// half a minute before they kill.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(20);

/// The manager as the worker sees it.
pub(super) struct Link {
    pub address: Address,
    access: Option<Access>,
    pub key: String,
    pub resources: Resources,
    pub slots: u32,
    pub folder: String,
    /// Where peers ask for blocks.
    pub peers: Address,
    /// How long to try to come back.
    reconnect: Duration,
    /// None while it can't be reached.
    pub connection: Option<Connection>,
    /// The id that the manager gave last.
    pub worker: Option<WorkerId>,
    /// Since when the worker is on its way out.
    pub leaving: Option<Instant>,
    /// Whether the manager said that the run ends.
    pub dismissed: bool,
    pub reached: Receiver<io::Result<Stream>>,
    found: Sender<io::Result<Stream>>,
}

impl Link {
    /// A link that is connected by `connection`.
    pub fn new(options: &WorkerOptions, connection: Connection, peers: Address) -> Self {
        let (found, reached) = channel();
        Self {
            address: options.manager.clone(),
            access: options.access.clone(),
            key: options.key.clone(),
            resources: options.resources.clone(),
            slots: options.slots,
            folder: options.memory_dir.display().to_string(),
            peers,
            reconnect: options.reconnect,
            connection: Some(connection),
            worker: None,
            leaving: None,
            dismissed: false,
            reached,
            found,
        }
    }

    /// Until when the worker may sleep, as far as the manager is concerned.
    pub fn patience(&self) -> Duration {
        self.leaving.map_or(Duration::MAX, |since| LEAVE_TIMEOUT.saturating_sub(since.elapsed()))
    }

    /// The connection broke; whether it may come back.
    pub fn may_return(&self) -> bool {
        let is_far = !matches!(self.address, Address::Unix(_));
        is_far && self.worker.is_some() && self.leaving.is_none() && !self.dismissed
    }

    /// How the worker ends that lost the manager for good.
    pub fn lost(&self, error: &ConnectionError) -> Result<(), WorkerError> {
        let is_near = matches!(self.address, Address::Unix(_));
        if is_near || self.dismissed || self.leaving.is_some() {
            return Ok(());
        }
        let (address, reason) = (self.address.clone(), error.to_string());
        Err(WorkerError::Lost { address, reason })
    }

    /// Tries on a thread to reach the manager again.
    pub fn seek(&self, waker: Waker) -> io::Result<()> {
        let (address, access, found) =
            (self.address.clone(), self.access.clone(), self.found.clone());
        let deadline = Instant::now() + self.reconnect;
        thread::Builder::new().name("freestone-seek".into()).spawn(move || {
            let reached = loop {
                match Stream::connect(&address, access.as_ref()) {
                    Err(_) if Instant::now() < deadline => thread::sleep(PAUSE),
                    reached => break reached,
                }
            };
            // If the worker has ended, nobody waits for this.
            let _ = found.send(reached);
            let _ = waker.wake();
        })?;
        Ok(())
    }
}

/// What this machine calls itself.
pub(super) fn hostname() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or_else(|_| "localhost".to_owned(), |name| name.trim().to_owned())
}
