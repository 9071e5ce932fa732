//! A worker's connection to its manager: hello, reports, and what happens when it breaks.
//!
//! Over a unix socket the end of the connection is the end of the manager. Over TCP it may be the
//! network's: the worker keeps its cache and tries to come back for a while.

use super::clock::monotonic_ns;
use super::connection::{Connection, ConnectionError};
use super::poller::Waker;
use super::stream::Stream;
use super::worker::{Role, Shell};
use super::worker_options::{WorkerError, WorkerOptions};
use crate::store::owned::boot_id;
use crate::wire::{Address, FromWorker, PROTOCOL, Report, ToWorker};
use crate::worker::Event;
use freestone_base::{Resources, WorkerId};
use freestone_tls::Access;
use mio::Registry;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// One message to the manager has about this many bytes of outputs at most.
const MESSAGE_NBYTES: usize = 8 << 20;
/// How long to wait between two attempts to come back.
const PAUSE: Duration = Duration::from_millis(250);
/// How long the manager may take to let a worker go that was told to end; batch systems give about
/// half a minute before they kill.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(20);

/// The manager as the worker sees it.
pub(super) struct Link {
    address: Address,
    access: Option<Access>,
    key: String,
    resources: Resources,
    slots: u32,
    folder: String,
    /// Where peers ask for blocks.
    peers: Address,
    /// How long to try to come back.
    reconnect: Duration,
    /// None while it can't be reached.
    connection: Option<Connection>,
    /// The id that the manager gave last.
    worker: Option<WorkerId>,
    /// Since when the worker is on its way out.
    leaving: Option<Instant>,
    /// Whether the manager said that the run ends.
    dismissed: bool,
    reached: Receiver<io::Result<Stream>>,
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
            resources: options.resources,
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
    fn may_return(&self) -> bool {
        let is_far = !matches!(self.address, Address::Unix(_));
        is_far && self.worker.is_some() && self.leaving.is_none() && !self.dismissed
    }

    fn lost(&self, error: &ConnectionError) -> Result<(), WorkerError> {
        let is_near = matches!(self.address, Address::Unix(_));
        if is_near || self.dismissed || self.leaving.is_some() {
            return Ok(());
        }
        let (address, reason) = (self.address.clone(), error.to_string());
        Err(WorkerError::Lost { address, reason })
    }

    /// Tries on a thread to reach the manager again.
    fn seek(&self, waker: Waker) -> io::Result<()> {
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

impl Shell {
    /// Says who this is and what is here.
    pub(super) fn greet(&mut self) {
        let link = &self.link;
        let hello = FromWorker::Hello {
            protocol: PROTOCOL,
            key: link.key.clone(),
            former: link.worker,
            boot: boot_id(),
            now_ns: monotonic_ns(),
            resources: link.resources,
            slots: link.slots,
            address: link.peers.clone(),
            pid: std::process::id(),
            host: hostname(),
            folder: link.folder.clone(),
            blocks: self.worker.blocks(),
        };
        self.tell(hello);
    }

    /// Takes what the manager says.
    pub(super) fn on_manager(&mut self, event: &mio::event::Event) {
        let Some(connection) = &mut self.link.connection else { return };
        connection.note(event);
        let mut messages = Vec::new();
        let received = connection.receive(|message: ToWorker| messages.push(message));
        for message in messages {
            match &message {
                ToWorker::Welcome { worker, .. } => self.link.worker = Some(*worker),
                ToWorker::Shutdown => self.link.dismissed = true,
                ToWorker::Refused(reason) => {
                    let (address, reason) = (self.link.address.clone(), reason.clone());
                    self.end = Some(Err(WorkerError::Refused { address, reason }));
                    return;
                }
                _ => {}
            }
            self.handle(Event::Manager(message));
        }
        if let Err(error) = received {
            self.lose_manager(&error);
        }
    }

    /// Appends a message to the manager's connection; while it is lost there is nobody to tell.
    pub(super) fn tell(&mut self, message: FromWorker) {
        let Some(connection) = &mut self.link.connection else { return };
        for (part, nbytes) in connection.send_parts(message) {
            let FromWorker::Done(reports) = part else {
                // What is left is its greeting, which says what lies in its cache.
                let reason = format!("{nbytes} bytes are too many for a message to the manager");
                self.end = Some(Err(WorkerError::Ended { reason }));
                return;
            };
            let failed = reports.into_iter().map(|report| report.too_large(nbytes));
            connection.send_parts(FromWorker::Done(failed.collect()));
        }
    }

    /// Reports go together, but not so many that they do not fit into one frame.
    pub(super) fn send_reports(&mut self) {
        let mut nbytes = 0;
        let mut together = Vec::new();
        for report in std::mem::take(&mut self.reports) {
            nbytes += report_nbytes(&report);
            together.push(report);
            if nbytes > MESSAGE_NBYTES {
                self.tell(FromWorker::Done(std::mem::take(&mut together)));
                nbytes = 0;
            }
        }
        if !together.is_empty() {
            self.tell(FromWorker::Done(together));
        }
    }

    /// Writes what was told in this turn.
    pub(super) fn flush_manager(&mut self) {
        let registry: &Registry = self.poller.registry();
        let Some(connection) = &mut self.link.connection else { return };
        if let Err(error) = connection.flush(registry) {
            self.lose_manager(&error);
        }
    }

    /// SIGTERM: the manager is asked to let this worker go; a second one ends it at once.
    pub(super) fn on_terminated(&mut self) {
        if self.link.leaving.is_some() || self.link.connection.is_none() {
            self.end = Some(Ok(()));
            return;
        }
        self.link.leaving = Some(Instant::now());
        self.tell(FromWorker::Leaving);
    }

    /// Looks whether the manager was reached again, and whether its time is over.
    pub(super) fn look_after_manager(&mut self) {
        if self.link.patience().is_zero() {
            self.end = Some(Ok(()));
        }
        let Ok(reached) = self.link.reached.try_recv() else { return };
        let connected = reached.and_then(|stream| {
            let token = self.token(Role::Manager);
            Connection::new(stream, self.poller.registry(), token)
        });
        match connected {
            Ok(connection) => {
                self.link.connection = Some(connection);
                self.greet();
            }
            Err(error) => self.end = Some(self.link.lost(&error.into())),
        }
    }

    fn lose_manager(&mut self, error: &ConnectionError) {
        if let Some(mut connection) = self.link.connection.take() {
            self.roles.remove(&connection.token());
            connection.deregister(self.poller.registry());
        }
        let sought = self.link.may_return() && self.link.seek(self.poller.waker()).is_ok();
        if !sought {
            self.end = Some(self.link.lost(error));
            return;
        }
        eprintln!("freestone: the manager at {} is lost: {error}; trying again", self.link.address);
        self.handle(Event::Parted);
        // What was not told is told to nobody.
        self.reports.clear();
    }
}

pub(super) fn hostname() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or_else(|_| "localhost".to_owned(), |name| name.trim().to_owned())
}

fn report_nbytes(report: &Report) -> usize {
    use crate::wire::{Output, TaskFailure};
    match &report.result {
        Ok(outputs) => outputs
            .iter()
            .map(|output| match output {
                Output::Inline(bytes) => bytes.len(),
                Output::Stored(_) => 64,
            })
            .sum(),
        Err(TaskFailure::Raised(raised)) => {
            raised.pickled.len() + raised.message.len() + raised.traceback.len()
        }
        Err(_) => 64,
    }
}
