//! The client's side of the manager's thread: requests go down a queue, outcomes come back into
//! cells. Nothing here waits for the manager but [`Cell::wait`].

use super::cell::Cell;
use super::poller::Waker;
use super::printed::PrintedQueue;
use super::tickets::Tickets;
use crate::manager::{Failure, Outcome, Request, Why};
use crate::session::HomeCache;
use crate::wire::TaskFailure;
use freestone_base::{FunctionId, Name, Ticket};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many released references are told to the manager in one go.
const RELEASE_BATCH: usize = 256;

/// What the client's threads and the manager's thread share.
struct Shared {
    tickets: Mutex<Tickets>,
    released: Mutex<Vec<Name>>,
    closed: AtomicBool,
    functions: AtomicU32,
    clients: AtomicUsize,
    home: Mutex<Option<HomeCache>>,
    printed: PrintedQueue,
    waker: Waker,
}

/// Makes requests of the manager.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
    requests: Sender<Request>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failure(why: Why) -> Arc<Failure> {
    Arc::new(Failure::before(String::new(), Name::default(), why))
}

/// How something ends that no message can carry.
pub(super) fn too_large(nbytes: usize) -> Arc<Failure> {
    failure(Why::Attempt(TaskFailure::of_arguments(nbytes)))
}

impl Client {
    /// A client, and the manager's end of its queue.
    pub fn new(waker: Waker) -> (Self, Receiver<Request>) {
        let (requests, receiver) = channel();
        let shared = Arc::new(Shared {
            tickets: Mutex::default(),
            released: Mutex::default(),
            closed: AtomicBool::new(false),
            functions: AtomicU32::new(0),
            clients: AtomicUsize::new(0),
            home: Mutex::default(),
            printed: PrintedQueue::default(),
            waker,
        });
        (Self { shared, requests }, receiver)
    }

    /// Whether the manager has ended.
    pub fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Acquire)
    }

    /// A number that no function of this manager has.
    pub fn next_function(&self) -> FunctionId {
        FunctionId(self.shared.functions.fetch_add(1, Ordering::Relaxed))
    }

    /// The number that the next function has.
    pub(super) fn functions(&self) -> FunctionId {
        FunctionId(self.shared.functions.load(Ordering::Relaxed))
    }

    /// Functions are numbered from here on, at least.
    pub(super) fn skip_functions(&self, next: FunctionId) {
        self.shared.functions.fetch_max(next.0, Ordering::Relaxed);
    }

    /// How many clients of other processes there are.
    pub fn clients(&self) -> usize {
        self.shared.clients.load(Ordering::Relaxed)
    }

    pub(super) fn count_clients(&self, clients: usize) {
        self.shared.clients.store(clients, Ordering::Relaxed);
    }

    /// Where programs of this machine write blocks, if a worker is there.
    pub fn home(&self) -> Option<HomeCache> {
        lock(&self.shared.home).clone()
    }

    /// Programs of this machine write blocks there from now on.
    pub fn set_home(&self, home: HomeCache) {
        *lock(&self.shared.home) = Some(home);
        let _ = self.shared.waker.wake();
    }

    /// What this program's tasks have printed.
    pub fn printed(&self) -> &PrintedQueue {
        &self.shared.printed
    }

    /// A ticket whose outcome goes into `cell`.
    pub fn ticket(&self, cell: &Cell) -> Ticket {
        lock(&self.shared.tickets).give(cell.clone())
    }

    /// Tickets for many cells at once.
    pub fn tickets(&self, cells: &[Cell]) -> Vec<Ticket> {
        let mut tickets = lock(&self.shared.tickets);
        cells.iter().map(|cell| tickets.give(cell.clone())).collect()
    }

    /// Asks for something. After the manager has ended, whatever waits is resolved as closed.
    pub fn request(&self, request: Request) {
        if self.requests.send(request).is_err() || self.is_closed() {
            self.close();
            return;
        }
        // It fails only when the poller is gone, and then nobody sleeps.
        let _ = self.shared.waker.wake();
    }

    /// Asks for something whose outcome is a single cell's.
    pub fn ask(&self, request: impl FnOnce(Ticket) -> Request) -> Cell {
        let cell = Cell::default();
        self.request(request(self.ticket(&cell)));
        cell
    }

    /// Gives up one reference to a block. Collected, and told to the manager at its next tick or
    /// when there are many.
    pub fn release(&self, name: Name) {
        let mut released = lock(&self.shared.released);
        released.push(name);
        if released.len() >= RELEASE_BATCH {
            self.request(Request::Release(std::mem::take(&mut *released)));
        }
    }

    /// Tells the manager of references given up since the last time. They go through the queue,
    /// behind the submissions that were made before they were given up.
    pub fn flush_released(&self) {
        let mut released = lock(&self.shared.released);
        if !released.is_empty() {
            self.request(Request::Release(std::mem::take(&mut *released)));
        }
    }

    /// Hands outcomes to their cells.
    pub fn resolve(&self, outcomes: &mut Vec<(Ticket, Outcome)>) {
        if outcomes.is_empty() {
            return;
        }
        let mut tickets = lock(&self.shared.tickets);
        let found: Vec<_> = outcomes
            .drain(..)
            .filter_map(|(ticket, outcome)| Some((tickets.take(ticket)?, outcome)))
            .collect();
        drop(tickets);
        for (cell, outcome) in found {
            cell.resolve(outcome);
        }
    }

    /// The manager has ended: whatever still waits is told so.
    pub fn close(&self) {
        self.shared.closed.store(true, Ordering::Release);
        self.shared.printed.close();
        let cells: Vec<_> = lock(&self.shared.tickets).drain().collect();
        for cell in cells {
            cell.resolve(Outcome::Failed(failure(Why::Closed)));
        }
    }
}
