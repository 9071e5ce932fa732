//! A worker's connection to its manager: hello, reports, and what happens when it breaks.
//!
//! Over a unix socket the end of the connection is the end of the manager's process, in whose place
//! another may go on if it has a journal. Over TCP it may be the network's. In both cases the worker
//! keeps its cache and tries to come back for a while.

use super::clock::monotonic_ns;
use super::connection::{Connection, ConnectionError};
use super::worker::{Role, Shell};
use super::worker_link::hostname;
use super::worker_options::WorkerError;
use crate::store::owned::boot_id;
use crate::wire::{FromWorker, PROTOCOL, Report, ToWorker};
use crate::worker::Event;
use mio::Registry;
use std::time::{Duration, Instant};

/// One message to the manager has about this many bytes of outputs at most.
const MESSAGE_NBYTES: usize = 8 << 20;

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
            resources: link.resources.clone(),
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
        let is_writable = event.is_writable();
        let mut messages = Vec::new();
        let received = connection.receive(|message: ToWorker| messages.push(message));
        for message in messages {
            match &message {
                ToWorker::Welcome { worker, .. } => self.link.worker = Some(*worker),
                ToWorker::Shutdown => self.link.dismissed = true,
                ToWorker::Restart => self.restart_fork_server(),
                ToWorker::Revoked(certificates) => self.shut_out(certificates),
                ToWorker::Refused(reason) => {
                    let (address, reason) = (self.link.seek.address.clone(), reason.clone());
                    self.end = Some(Err(WorkerError::Refused { address, reason }));
                    return;
                }
                _ => {}
            }
            self.handle(Event::Manager(message));
        }
        match received {
            Err(error) => self.lose_manager(&error),
            Ok(_) if is_writable => self.flush_manager(),
            Ok(_) => {}
        }
    }

    /// Appends a message to the manager's connection; while it is lost there is nobody to tell.
    pub(super) fn tell(&mut self, message: FromWorker) {
        let Some(connection) = &mut self.link.connection else { return };
        self.link.unsent.note(&message, monotonic_ns());
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

    /// Writes messages, unless they may wait for more while there are calls to begin.
    pub(super) fn flush_unsent(&mut self) {
        if self.link.unsent.is_due(self.worker.has_calls_to_begin(), monotonic_ns()) {
            self.flush_manager();
        }
    }

    /// Until when the worker may sleep with messages that are not written.
    pub(super) fn unsent_patience(&self) -> Duration {
        let until_due = |due_ns: u64| Duration::from_nanos(due_ns.saturating_sub(monotonic_ns()));
        self.link.unsent.due_ns().map_or(Duration::MAX, until_due)
    }

    /// Writes the messages that wait.
    pub(super) fn flush_manager(&mut self) {
        let registry: &Registry = self.poller.registry();
        let Some(connection) = &mut self.link.connection else { return };
        // What the socket does not take now is written as soon as it does.
        self.link.unsent.clear();
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
        let Some(reached) = self.link.seek.end() else { return };
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
        let sought = self.link.may_return() && self.link.reconnect(self.poller.waker()).is_ok();
        if !sought {
            self.end = Some(self.link.lost(error));
            return;
        }
        let address = &self.link.seek.address;
        eprintln!("freestone: the manager at {address} is lost: {error}; trying again");
        self.handle(Event::Parted);
        // What was not told is told to nobody.
        self.reports.clear();
        self.link.unsent.clear();
    }
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
