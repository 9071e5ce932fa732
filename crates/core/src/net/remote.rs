//! A thread that carries a program's requests to a manager in another process.

use super::client::{Client, too_large};
use super::connection::{Connection, ConnectionError};
use super::poller::Poller;
use super::stream::Stream;
use crate::manager::{Outcome, Request};
use crate::session::{FromClient, HomeCache, ToClient};
use crate::wire::{Address, FromWorker, PROTOCOL, PrintedOf};
use freestone_tls::Access;
use mio::Token;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
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
const MANAGER: Token = Token(0);

/// Takes a new home, and the boot of the manager's machine.
pub type OnHome = Box<dyn Fn(&HomeCache, &str) + Send>;

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
    /// How long to look for work before sleeping, in microseconds.
    pub spin_us: u64,
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
    descriptor: RawFd,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl RemoteThread {
    /// Connects, and waits until the manager has said that the client is welcome.
    ///
    /// # Errors
    /// When no manager answers, or it refuses.
    pub fn connect(options: RemoteOptions) -> Result<Self, RemoteError> {
        let stream = Stream::connect(&options.address, options.access.as_ref())?;
        let descriptor = stream.as_raw_fd();
        let poller = Poller::new(options.spin_us)?;
        let connection = Connection::new(stream, poller.registry(), MANAGER)?;
        let (client, requests) = Client::new(poller.waker());
        let lost = Arc::default();
        let mut shell = Shell {
            connection,
            poller,
            requests,
            stash: None,
            client: client.clone(),
            boot: None,
            end: None,
            lost: Arc::clone(&lost),
            on_home: options.on_home,
            on_printed: options.on_printed,
        };
        shell.greet(options.key)?;
        let thread =
            std::thread::Builder::new().name("freestone-client".into()).spawn(|| shell.run())?;
        Ok(Self { client, lost, descriptor, thread: Some(thread) })
    }

    /// Ends the connection: what the program holds at the cluster is released.
    pub fn close(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.client.request(Request::Shutdown);
            // A panic of the thread has closed the cells already, and was printed.
            let _ = thread.join();
        }
    }

    /// In a child of the program, which has no such thread: closes what it has of the connection,
    /// so that its end is that of the program.
    pub fn forget(mut self) {
        // SAFETY: the descriptor is the stream's, whose thread does not exist in this process.
        unsafe { libc::close(self.descriptor) };
        std::mem::forget(self.thread.take());
    }
}

impl Drop for RemoteThread {
    fn drop(&mut self) {
        self.close();
    }
}

struct Shell {
    connection: Connection,
    poller: Poller,
    requests: Receiver<Request>,
    /// A request that was taken while looking for work.
    stash: Option<Request>,
    client: Client,
    /// The boot of the manager's machine, once it has welcomed this client.
    boot: Option<String>,
    /// Why the connection is of no further use, if that is so; empty if either side ended it.
    end: Option<String>,
    lost: Arc<Mutex<Option<String>>>,
    on_home: OnHome,
    on_printed: Option<OnPrinted>,
}

impl Drop for Shell {
    // Also when the thread panics: whoever waits is told.
    fn drop(&mut self) {
        let end = self.end.take().filter(|reason| !reason.is_empty());
        *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = end;
        self.client.close();
    }
}

impl Shell {
    /// Says who this is, and waits for the answer.
    fn greet(&mut self, key: String) -> Result<(), RemoteError> {
        let deadline = Instant::now() + WELCOME_TIMEOUT;
        self.connection.send(&FromWorker::Client { protocol: PROTOCOL, key })?;
        self.connection.flush(self.poller.registry())?;
        while self.boot.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(RemoteError::Silent);
            }
            if !self.poller.wait(Some(left), || false)?.is_empty() {
                self.connection.flush(self.poller.registry())?;
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
            let step = self.send_requests().and_then(|()| {
                if ticked.elapsed() >= TICK {
                    ticked = Instant::now();
                    self.client.flush_released();
                }
                self.wait()
            });
            if let Err(error) = step {
                // What the manager said last is the reason, and may not be read yet: writing fails
                // first.
                let _ = self.receive();
                self.end.get_or_insert_with(|| error.to_string());
            }
        }
    }

    /// Sends what the program has asked, as few messages.
    fn send_requests(&mut self) -> Result<(), ConnectionError> {
        if self.connection.unwritten() > UNWRITTEN_NBYTES {
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
        for (FromClient::Requests(refused), nbytes) in
            self.connection.send_parts(FromClient::Requests(batch))
        {
            let tickets = refused.iter().flat_map(Request::tickets);
            let outcome = |ticket| (ticket, Outcome::Failed(too_large(nbytes)));
            self.client.resolve(&mut tickets.map(outcome).collect());
        }
        self.connection.flush(self.poller.registry())
    }

    fn wait(&mut self) -> Result<(), ConnectionError> {
        let (requests, stash) = (&self.requests, &mut self.stash);
        let may_send = self.connection.unwritten() <= UNWRITTEN_NBYTES;
        let ready = || {
            if stash.is_none() {
                *stash = requests.try_recv().ok();
            }
            may_send && stash.is_some()
        };
        let events = self.poller.wait(Some(TICK), ready)?;
        let mut came = false;
        for event in events {
            if event.token() == MANAGER {
                self.connection.note(event);
                came = true;
            }
        }
        if came {
            self.connection.flush(self.poller.registry())?;
            self.receive()?;
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<(), ConnectionError> {
        let mut messages = Vec::new();
        let received = self.connection.receive(|message: ToClient| messages.push(message));
        for message in messages {
            match message {
                ToClient::Welcome { boot, home } => {
                    if let Some(home) = &home {
                        (self.on_home)(home, &boot);
                    }
                    self.boot = Some(boot);
                }
                ToClient::Home(home) => {
                    (self.on_home)(&home, self.boot.as_deref().unwrap_or_default());
                }
                ToClient::Outcomes(mut outcomes) => self.client.resolve(&mut outcomes),
                ToClient::Printed(piece) => match &self.on_printed {
                    Some(on_printed) => on_printed(&piece),
                    None => self.client.printed().push(*piece),
                },
                ToClient::Refused(reason) => self.end = Some(reason),
                // Nothing is lost: it ends as the cluster of a program does when that closes it.
                ToClient::Closed => self.end = Some(String::new()),
            }
        }
        received.map(drop)
    }
}

/// Appends a request; calls of several go together.
fn merge(batch: &mut Vec<Request>, request: Request) {
    match (batch.last_mut(), request) {
        (Some(Request::Submit(calls)), Request::Submit(more)) => calls.extend(more),
        (_, request) => batch.push(request),
    }
}
