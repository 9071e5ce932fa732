//! A thread that carries a program's requests to a manager in another process.
//!
//! Over a unix socket the end of the connection is the end of the manager's process, in whose place
//! another may go on if it has a journal. Over TCP it may be the network's. In both cases the manager
//! is sought for a while, and what was asked and answered is not lost.

use super::client::{Client, too_large};
use super::connection::{Connection, ConnectionError};
use super::poller::Poller;
use super::seek::Seek;
use super::stream::Stream;
use crate::manager::{Outcome, Request};
use crate::session::{FromClient, HomeCache, Resumable, ToClient};
use crate::wire::{Address, Attach, FromWorker, PROTOCOL, PrintedOf, encode_parts};
use freestone_base::{Name, WorkerId};
use freestone_tls::Access;
use mio::Token;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a manager may take to say whether a client is welcome.
const WELCOME_TIMEOUT: Duration = Duration::from_secs(10);
/// How often references that were given up are passed on when nothing else happens.
const TICK: Duration = Duration::from_millis(100);
/// The most requests that go together.
const REQUESTS_PER_TURN: usize = 4096;
/// No more is taken of the program's requests while so many bytes wait to be written.
const UNWRITTEN_NBYTES: usize = 64 << 20;
/// How long a manager may take to close the connection of a program that leaves.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(1);
const MANAGER: Token = Token(0);
/// In place of a descriptor while there is none.
const NO_DESCRIPTOR: RawFd = -1;

/// Takes a new home, and the boot of the manager's machine.
pub type OnHome = Box<dyn Fn(&HomeCache, &str) + Send>;

/// Takes the former and the new number of a worker that has reconnected.
pub type OnRenumbered = Box<dyn Fn(WorkerId, WorkerId) + Send>;

/// Takes what a task has printed.
pub type OnPrinted = Box<dyn Fn(&PrintedOf) + Send>;

/// How to reach a manager.
pub struct RemoteOptions {
    /// Where it listens.
    pub address: Address,
    /// The cluster's certificate, if it is reached over TCP.
    pub access: Option<Access>,
    /// Proof that the program may use the cluster.
    pub key: String,
    /// How long to try to reconnect, if the manager waits for it; not at all if it is zero.
    pub reconnect: Duration,
    /// How long to look for work before sleeping, in microseconds.
    pub spin_us: u64,
    /// Called on the thread when a worker has reconnected, under another number.
    pub on_renumbered: OnRenumbered,
    /// Called on the thread with each new home, and the boot of the manager's machine.
    pub on_home: OnHome,
    /// Called on the thread with what tasks print; by default it waits in
    /// [`Client::printed`].
    pub on_printed: Option<OnPrinted>,
}

/// Why a program can't use a cluster of another process.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// Nobody answers there.
    #[error("nobody answers: {0}")]
    Unreachable(#[from] io::Error),
    /// What answers says nothing that can be understood, or nothing at all.
    #[error("no manager answers: {0}")]
    Connection(#[from] ConnectionError),
    /// The manager does not say in time whether the client is welcome.
    #[error("the manager has not answered within {} s", WELCOME_TIMEOUT.as_secs())]
    Silent,
    /// The manager does not want this client.
    #[error("the manager refuses this program: {0}")]
    Refused(String),
}

/// A program's connection to a manager in another process.
pub struct RemoteThread {
    /// For requests.
    pub client: Client,
    /// Why the connection ended, if neither the program nor the cluster was closed.
    pub lost: Arc<Mutex<Option<String>>>,
    shared: Arc<Shared>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl RemoteThread {
    /// Connects, and waits until the manager has said that the client is welcome.
    ///
    /// # Errors
    /// When no manager answers, or it refuses.
    pub fn connect(options: RemoteOptions) -> Result<Self, RemoteError> {
        let stream = Stream::connect(&options.address, options.access.as_ref())?;
        let poller = Poller::new(options.spin_us)?;
        let (client, requests) = Client::new(poller.waker());
        let lost = Arc::default();
        let shared = Arc::new(Shared::default());
        let mut shell = Shell {
            connection: None,
            poller,
            requests,
            stash: None,
            client: client.clone(),
            welcome: None,
            session: None,
            seek: Seek::new(options.address.clone(), options.access.clone()),
            until: None,
            end: None,
            lost: Arc::clone(&lost),
            shared: Arc::clone(&shared),
            options,
        };
        shell.greet(stream)?;
        let thread =
            std::thread::Builder::new().name("freestone-client".into()).spawn(|| shell.run())?;
        Ok(Self { client, lost, shared, thread: Some(thread) })
    }

    /// Ends the connection: what the program holds at the cluster is released.
    pub fn close(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.shared.closing.store(true, Ordering::Release);
            self.client.request(Request::Shutdown);
            // A panic of the thread has closed the cells already, and was printed.
            let _ = thread.join();
        }
    }

    /// In a child of the program, which has no such thread: closes what it has of the connection,
    /// so that its end is that of the program.
    pub fn forget(mut self) {
        let descriptor = self.shared.descriptor.load(Ordering::Acquire);
        if descriptor != NO_DESCRIPTOR {
            // SAFETY: the descriptor is the stream's, whose thread does not exist in this process.
            unsafe { libc::close(descriptor) };
        }
        std::mem::forget(self.thread.take());
    }
}

impl Drop for RemoteThread {
    fn drop(&mut self) {
        self.close();
    }
}

/// What the program's threads and the connection's share.
struct Shared {
    /// That of the stream.
    descriptor: AtomicI32,
    /// Whether the program ends the connection, so that it is not to be sought.
    closing: AtomicBool,
}

impl Default for Shared {
    fn default() -> Self {
        Self { descriptor: AtomicI32::new(NO_DESCRIPTOR), closing: AtomicBool::new(false) }
    }
}

struct Shell {
    /// None while the manager is sought.
    connection: Option<Connection>,
    poller: Poller,
    requests: Receiver<Request>,
    /// A request that was taken while looking for work.
    stash: Option<Request>,
    client: Client,
    /// The boot of the manager's machine, and how many messages the manager has got, as it says
    /// when it welcomes this client.
    welcome: Option<(String, u64)>,
    /// By which the manager knows this client when it reconnects, and what may be lost by then.
    session: Option<(Name, Resumable)>,
    seek: Seek,
    /// How long it is sought for, and why.
    until: Option<(Instant, String)>,
    /// Why the connection is of no further use, if that is so; empty if either side ended it.
    end: Option<String>,
    lost: Arc<Mutex<Option<String>>>,
    shared: Arc<Shared>,
    options: RemoteOptions,
}

impl Drop for Shell {
    // Also when the thread panics: whoever waits is told.
    fn drop(&mut self) {
        let end = self.end.take().filter(|reason| !reason.is_empty());
        *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = end;
        self.shared.descriptor.store(NO_DESCRIPTOR, Ordering::Release);
        self.client.close();
    }
}

impl Shell {
    /// Says who this is, waits for the answer, and sends again what was lost.
    fn greet(&mut self, stream: Stream) -> Result<(), RemoteError> {
        let descriptor = stream.as_raw_fd();
        let connection = Connection::new(stream, self.poller.registry(), MANAGER)?;
        let attach = match &self.session {
            Some((session, resumable)) => {
                Attach::Again { session: *session, received: resumable.received() }
            }
            // On the manager's machine it says no unless it has a journal.
            None if !self.options.reconnect.is_zero() => {
                let reconnect_ms = self.options.reconnect.as_millis();
                Attach::Resumable { reconnect_ms: u64::try_from(reconnect_ms).unwrap_or(u64::MAX) }
            }
            None => Attach::Once,
        };
        let key = self.options.key.clone();
        self.shared.descriptor.store(descriptor, Ordering::Release);
        let connection = self.connection.insert(connection);
        connection.send(&FromWorker::Client { protocol: PROTOCOL, key, attach })?;
        connection.flush(self.poller.registry())?;
        self.await_welcome()?;
        if let (Some((_, resumable)), Some(connection), Some((_, received))) =
            (&mut self.session, &mut self.connection, &self.welcome)
        {
            let confirmed = resumable.confirm(*received);
            confirmed.map_err(|error| RemoteError::Refused(error.to_string()))?;
            resumable.unconfirmed().for_each(|frame| connection.append(frame));
            connection.flush(self.poller.registry())?;
        }
        Ok(())
    }

    fn await_welcome(&mut self) -> Result<(), RemoteError> {
        let deadline = Instant::now() + WELCOME_TIMEOUT;
        self.welcome = None;
        while self.welcome.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || self.shared.closing.load(Ordering::Acquire) {
                return Err(RemoteError::Silent);
            }
            if !self.poller.wait(Some(left), || false)?.is_empty() {
                self.flush()?;
                let received = self.receive();
                if let Some(reason) = self.end.take() {
                    return Err(RemoteError::Refused(reason));
                }
                received?;
            }
        }
        Ok(())
    }

    fn run(mut self) {
        let mut ticked = Instant::now();
        while self.end.is_none() {
            let time_passed = ticked.elapsed() >= TICK;
            if time_passed {
                ticked = Instant::now();
                self.client.flush_released();
            }
            if self.connection.is_none() {
                self.look_for_manager();
                continue;
            }
            let step = self.send_requests().and_then(|()| self.report(time_passed));
            if let Err(error) = step.and_then(|()| self.wait()) {
                // What the manager said last is the reason, and may not be read yet: writing fails
                // first.
                let _ = self.receive();
                if self.end.is_none() {
                    self.on_broken(&error);
                }
            }
        }
        self.leave();
    }

    /// The connection is of no further use: the manager is sought, if the client may reconnect.
    fn on_broken(&mut self, error: &ConnectionError) {
        self.disconnect();
        let reason = error.to_string();
        if self.session.is_none() || matches!(error, ConnectionError::Frame(_)) {
            self.end = Some(reason);
            return;
        }
        let reconnect = self.options.reconnect;
        let address = &self.seek.address;
        eprintln!(
            "freestone: the connection to the cluster at {address} is lost ({reason}); reconnecting \
             for {} s",
            reconnect.as_secs_f64()
        );
        self.until = Some((Instant::now() + reconnect, reason));
        self.look_again();
    }

    fn look_again(&mut self) {
        let Some((until, reason)) = &self.until else { return };
        if let Err(error) = self.seek.begin(*until, self.poller.waker()) {
            self.end = Some(format!("{reason}; nothing can look for it: {error}"));
        }
    }

    /// Sees whether the manager was reached again.
    fn look_for_manager(&mut self) {
        if self.shared.closing.load(Ordering::Acquire) {
            self.end = Some(String::new());
            return;
        }
        let Some(reached) = self.seek.end() else {
            // Woken when it was, or the program ends the connection.
            let _ = self.poller.wait(Some(TICK), || false);
            return;
        };
        let Err(error) = reached.map_err(RemoteError::from).and_then(|new| self.greet(new)) else {
            eprintln!("freestone: reconnected to the cluster at {}", self.seek.address);
            self.until = None;
            return;
        };
        self.disconnect();
        let Some((until, reason)) = &self.until else { return };
        let is_over = *until <= Instant::now();
        match error {
            RemoteError::Refused(error) => self.end = Some(error),
            error if is_over => {
                let seconds = self.options.reconnect.as_secs_f64();
                self.end = Some(format!("{reason}, and for {seconds} s ('reconnect_s') {error}"));
            }
            _ => self.look_again(),
        }
    }

    fn disconnect(&mut self) {
        self.shared.descriptor.store(NO_DESCRIPTOR, Ordering::Release);
        if let Some(mut connection) = self.connection.take() {
            connection.deregister(self.poller.registry());
        }
    }

    /// The manager is not to wait for a client that has left: it says so, and waits until the
    /// manager has read it, since what comes meanwhile could have the system discard it.
    fn leave(&mut self) {
        if self.session.is_none() || !self.shared.closing.load(Ordering::Acquire) {
            return;
        }
        let Some(connection) = &mut self.connection else { return };
        let _ = connection.send(&FromClient::Leave);
        let deadline = Instant::now() + LEAVE_TIMEOUT;
        while Instant::now() < deadline && self.flush().is_ok() {
            if self.poller.wait(Some(TICK), || false).is_err() || self.receive().is_err() {
                return;
            }
        }
    }

    fn flush(&mut self) -> Result<(), ConnectionError> {
        let connection = self.connection.as_mut();
        connection.map_or(Ok(()), |connection| connection.flush(self.poller.registry()))
    }

    /// Bytes that the manager may not have.
    fn unsent_nbytes(&self) -> usize {
        let unwritten = self.connection.as_ref().map_or(0, Connection::unwritten);
        unwritten.max(self.session.as_ref().map_or(0, |(_, resumable)| resumable.nbytes()))
    }

    /// Informs the manager of how many of its messages have come, if it is time.
    fn report(&mut self, time_passed: bool) -> Result<(), ConnectionError> {
        let (Some((_, resumable)), Some(connection)) = (&mut self.session, &mut self.connection)
        else {
            return Ok(());
        };
        if let Some(received) = resumable.report(time_passed) {
            connection.send(&FromClient::Received(received))?;
        }
        connection.flush(self.poller.registry())
    }

    /// Sends what the program has asked, as few messages.
    fn send_requests(&mut self) -> Result<(), ConnectionError> {
        if self.unsent_nbytes() > UNWRITTEN_NBYTES {
            return Ok(());
        }
        let mut batch = Vec::new();
        while batch.len() < REQUESTS_PER_TURN {
            match self.stash.take().map_or_else(|| self.requests.try_recv(), Ok) {
                Ok(Request::Shutdown) | Err(TryRecvError::Disconnected) => {
                    self.end = Some(String::new());
                    break;
                }
                Ok(request) => merge(&mut batch, request),
                Err(TryRecvError::Empty) => break,
            }
        }
        if batch.is_empty() {
            return Ok(());
        }
        let mut frames = Vec::new();
        for (part, nbytes) in encode_parts(FromClient::Requests(batch), &mut frames) {
            let FromClient::Requests(refused) = part else { continue };
            let tickets = refused.iter().flat_map(Request::tickets);
            let outcome = |ticket| (ticket, Outcome::Failed(too_large(nbytes)));
            self.client.resolve(&mut tickets.map(outcome).collect());
        }
        if let Some((_, resumable)) = &mut self.session {
            resumable.send(&frames);
        }
        if let Some(connection) = &mut self.connection {
            connection.append(&frames);
        }
        self.flush()
    }

    fn wait(&mut self) -> Result<(), ConnectionError> {
        let may_send = self.unsent_nbytes() <= UNWRITTEN_NBYTES;
        let (requests, stash) = (&self.requests, &mut self.stash);
        let ready = || {
            if stash.is_none() {
                *stash = requests.try_recv().ok();
            }
            may_send && stash.is_some()
        };
        let events = self.poller.wait(Some(TICK), ready)?;
        let mut came = false;
        for event in events {
            if event.token() == MANAGER
                && let Some(connection) = &mut self.connection
            {
                connection.note(event);
                came = true;
            }
        }
        if came {
            self.flush()?;
            self.receive()?;
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<(), ConnectionError> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        let mut messages = Vec::new();
        let received = connection.receive(|message: ToClient| messages.push(message));
        for message in messages {
            self.on_message(message);
        }
        received.map(drop)
    }

    fn on_message(&mut self, message: ToClient) {
        match message {
            ToClient::Welcome { boot, home, session, received } => {
                if let Some(home) = &home {
                    (self.options.on_home)(home, &boot);
                }
                self.welcome = Some((boot, received));
                if let (Some(name), None) = (session, &self.session) {
                    self.session = Some((name, Resumable::default()));
                }
                return;
            }
            ToClient::Received(received) => {
                let Some((_, resumable)) = &mut self.session else { return };
                if let Err(error) = resumable.confirm(received) {
                    self.end = Some(error.to_string());
                }
                return;
            }
            ToClient::Refused(reason) => self.end = Some(reason),
            // Nothing is lost: it ends as the cluster of a program does when that closes it.
            ToClient::Closed => self.end = Some(String::new()),
            ToClient::Home(home) => {
                let boot = self.welcome.as_ref().map_or("", |(boot, _)| boot);
                (self.options.on_home)(&home, boot);
            }
            ToClient::Renumbered { former, worker } => {
                (self.options.on_renumbered)(former, worker);
            }
            ToClient::Outcomes(mut outcomes) => self.client.resolve(&mut outcomes),
            ToClient::Printed(piece) => match &self.options.on_printed {
                Some(on_printed) => on_printed(&piece),
                None => self.client.printed().push(*piece),
            },
        }
        if let Some((_, resumable)) = &mut self.session {
            resumable.count();
        }
    }
}

/// Appends a request; calls of several go together.
fn merge(batch: &mut Vec<Request>, request: Request) {
    match (batch.last_mut(), request) {
        (Some(Request::Submit(calls)), Request::Submit(more)) => calls.extend(more),
        (_, request) => batch.push(request),
    }
}
