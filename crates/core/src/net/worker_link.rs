//! A worker's connection to its manager, and how it is sought when it breaks.

use super::connection::{Connection, ConnectionError};
use super::poller::Waker;
use super::seek::Seek;
use super::unsent::Unsent;
use super::worker_options::{WorkerError, WorkerOptions};
use crate::wire::Address;
use freestone_base::{Resources, WorkerId};
use std::io;
use std::time::{Duration, Instant};

/// How long the manager may take to let a worker go that was asked to end; batch systems give about
/// half a minute before they kill.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(20);

/// The manager as the worker sees it.
pub(super) struct Link {
    pub seek: Seek,
    pub key: String,
    pub resources: Resources,
    pub slots: u32,
    pub folder: String,
    /// Where peers ask for blocks.
    pub peers: Address,
    /// How long to try to come back.
    reconnect: Duration,
    /// Whether another process may go on with a manager of this machine.
    is_journaled: bool,
    /// None while it can't be reached.
    pub connection: Option<Connection>,
    /// When messages over it are to be written.
    pub unsent: Unsent,
    /// The id that the manager gave last.
    pub worker: Option<WorkerId>,
    /// Since when the worker is on its way out.
    pub leaving: Option<Instant>,
    /// Whether the manager said that the run ends.
    pub dismissed: bool,
}

impl Link {
    /// A link that is connected by `connection`.
    pub fn new(options: &WorkerOptions, connection: Connection, peers: Address) -> Self {
        Self {
            seek: Seek::new(options.manager.clone(), options.access.clone()),
            key: options.key.clone(),
            resources: options.resources.clone(),
            slots: options.slots,
            folder: options.memory_dir.display().to_string(),
            peers,
            reconnect: options.reconnect,
            is_journaled: options.is_journaled,
            connection: Some(connection),
            unsent: Unsent::default(),
            worker: None,
            leaving: None,
            dismissed: false,
        }
    }

    /// Until when the worker may sleep, as far as the manager is concerned.
    pub fn patience(&self) -> Duration {
        self.leaving.map_or(Duration::MAX, |since| LEAVE_TIMEOUT.saturating_sub(since.elapsed()))
    }

    /// The connection broke; whether it may come back.
    pub fn may_return(&self) -> bool {
        let is_far = !matches!(self.seek.address, Address::Unix(_));
        (is_far || self.is_journaled)
            && self.worker.is_some()
            && self.leaving.is_none()
            && !self.dismissed
    }

    /// How the worker ends that lost the manager for good.
    pub fn lost(&self, error: &ConnectionError) -> Result<(), WorkerError> {
        let is_near = matches!(self.seek.address, Address::Unix(_));
        if is_near || self.dismissed || self.leaving.is_some() {
            return Ok(());
        }
        let (address, reason) = (self.seek.address.clone(), error.to_string());
        Err(WorkerError::Lost { address, reason })
    }

    /// Tries on a thread to reach the manager again.
    pub fn reconnect(&self, waker: Waker) -> io::Result<()> {
        self.seek.begin(Instant::now() + self.reconnect, waker)
    }
}

/// What this machine calls itself.
pub(super) fn hostname() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or_else(|_| "localhost".to_owned(), |name| name.trim().to_owned())
}
