//! What an executor says to its worker, from the thread that runs calls and from those that wait.

use freestone_base::Tenant;
use freestone_core::net::grants::Grants;
use freestone_core::wire::{CallResult, FromExecutor, Payload, encode_parts};
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A call that runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Running {
    /// Its number in its executor.
    pub sequence: u32,
    /// Larger runs first.
    pub priority: i32,
    /// Whose it is.
    pub tenant: Tenant,
}

/// What is done at the end of a call.
pub type Ending = Box<dyn FnOnce() + Send>;

struct Inner {
    /// The process that runs calls: others that a call has forked are no part of it.
    pid: u32,
    socket: UnixStream,
    /// How calls ended that the worker has not heard of.
    results: Vec<CallResult>,
    running: Option<Running>,
    /// How many threads of the call wait for others.
    waiting: u32,
    /// What is to be done when it ends, by keys of those who ask for it.
    endings: BTreeMap<u64, Ending>,
}

/// What an executor is about to say, and whether its call waits for others.
///
/// A call waits while at least one of its threads does; it takes nothing meanwhile. The last thread
/// that waited goes on once the worker lets it.
pub struct Outbox {
    inner: Mutex<Inner>,
    grants: Grants<'static>,
}

impl Outbox {
    pub(super) fn new(socket: UnixStream, grants: Grants<'static>) -> Self {
        let inner = Inner {
            pid: std::process::id(),
            socket,
            results: Vec::new(),
            running: None,
            waiting: 0,
            endings: BTreeMap::new(),
        };
        Self { inner: Mutex::new(inner), grants }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In a child that runs the call in place of its parent.
    pub(super) fn enter_child(&self) {
        self.lock().pid = std::process::id();
    }

    pub(super) fn begin_call(&self, running: Running) {
        self.lock().running = Some(running);
    }

    pub(super) fn end_call(&self, result: CallResult) {
        let mut inner = self.lock();
        inner.running = None;
        inner.waiting = 0;
        inner.results.push(result);
        let endings = std::mem::take(&mut inner.endings);
        drop(inner);
        for end in endings.into_values() {
            end();
        }
    }

    /// Does what is to be done at the end of a call.
    pub(super) fn run_endings(&self) {
        let endings = std::mem::take(&mut self.lock().endings);
        for end in endings.into_values() {
            end();
        }
    }

    /// Does something when the call ends that runs now, if one does.
    pub fn at_end(&self, key: u64, end: Ending) {
        let mut inner = self.lock();
        if inner.running.is_some() {
            inner.endings.insert(key, end);
        }
    }

    /// Whether something is to be done.
    pub fn ends(&self, key: u64) -> bool {
        self.lock().endings.contains_key(&key)
    }

    /// Has it not done, since it is no longer needed.
    pub fn forget_end(&self, key: u64) {
        // It is dropped when nothing is locked any more.
        let _ending = self.lock().endings.remove(&key);
    }

    pub(super) fn take_results(&self) -> Vec<CallResult> {
        std::mem::take(&mut self.lock().results)
    }

    /// The call that runs.
    pub fn running(&self) -> Option<Running> {
        self.lock().running
    }

    /// A thread of the call that runs is about to wait for others; to be given to
    /// [`end_wait`](Self::end_wait). None if no call runs. `what` it waits for is for people.
    ///
    /// # Errors
    /// If the worker can't be told.
    pub fn begin_wait(&self, what: String) -> std::io::Result<Option<u32>> {
        let mut inner = self.lock();
        let Some(Running { sequence, .. }) = inner.running else { return Ok(None) };
        if inner.pid != std::process::id() {
            return Ok(None);
        }
        inner.waiting += 1;
        if inner.waiting == 1 {
            // It may wait for what depends on calls that ended before it.
            let results = std::mem::take(&mut inner.results);
            inner.say(results, FromExecutor::Paused { sequence, what })?;
        }
        Ok(Some(sequence))
    }

    /// The thread could go on: returns when it may.
    ///
    /// # Errors
    /// If the worker can't be told.
    pub fn end_wait(&self, sequence: u32) -> std::io::Result<()> {
        let count = {
            let mut inner = self.lock();
            // The call may have ended without this thread.
            if inner.running.is_none_or(|running| running.sequence != sequence) {
                return Ok(());
            }
            inner.waiting -= 1;
            if inner.waiting > 0 {
                return Ok(());
            }
            let count = self.grants.count();
            inner.say(Vec::new(), FromExecutor::Resuming { sequence })?;
            count
        };
        self.grants.wait(count);
        Ok(())
    }

    /// Passes on where the call that runs has spent its time, as the interpreter encodes it. To be
    /// called while the call's function runs: the thread that runs it writes nothing meanwhile.
    ///
    /// # Errors
    /// If the worker can't be told.
    pub fn report_profile(&self, samples: Payload) -> std::io::Result<()> {
        let mut inner = self.lock();
        let Some(Running { sequence, .. }) = inner.running else { return Ok(()) };
        if inner.pid != std::process::id() {
            return Ok(());
        }
        inner.say(Vec::new(), FromExecutor::Profiled { sequence, samples })
    }
}

impl Inner {
    fn say(&mut self, results: Vec<CallResult>, message: FromExecutor) -> std::io::Result<()> {
        let mut bytes = Vec::with_capacity(64);
        if !results.is_empty() {
            encode_results(results, Vec::new(), &mut bytes);
        }
        encode_parts(message, &mut bytes);
        self.socket.write_all(&bytes)
    }
}

/// Appends a message about calls that ended; one that no frame can carry is said to have failed.
pub(super) fn encode_results(
    results: Vec<CallResult>,
    unmapped: Vec<freestone_base::Name>,
    bytes: &mut Vec<u8>,
) {
    for (part, nbytes) in encode_parts(FromExecutor::Results { results, unmapped }, bytes) {
        let FromExecutor::Results { results, unmapped } = part else { continue };
        let results = results.into_iter().map(|result| result.too_large(nbytes)).collect();
        encode_parts(FromExecutor::Results { results, unmapped }, bytes);
    }
}
