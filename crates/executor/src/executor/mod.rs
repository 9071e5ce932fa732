//! The loop of an executor: a resident process that runs calls for its worker.
//!
//! It reads batches of calls from its socket, claims each before it begins (the worker may have
//! revoked it), runs it, and reports results in batches too: at the end of the batch, or when some
//! time has passed since the last report.

mod connection;
mod functions;
mod inputs;
mod isolation;
mod outbox;
mod outputs;

use crate::block::Opened;
use crate::group::Groups;
use crate::interpreter::Interpreter;
use crate::meter::{self, Meter};
use crate::printing::Printing;
use connection::Connection;
use freestone_base::Name;
use freestone_core::net::executors::Shared;
use freestone_core::net::grants::Grants;
use freestone_core::net::monotonic_ns;
use freestone_core::net::prints::Reads;
use freestone_core::store::Folder;
use freestone_core::wire::{
    Call, CallResult, FromExecutor, Isolation, Output, Spent, TaskFailure, ToExecutor,
};
use freestone_core::worker::claim::Claims;
use functions::Functions;
pub use outbox::{Outbox, Running};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::os::fd::RawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Results that are ready are reported at the latest when this has passed since the last report.
const REPORT_INTERVAL: Duration = Duration::from_micros(200);

/// A call that took less time has neither forked nor closed descriptors of its executor's.
const MIN_CHECKED_NS: u64 = 1000;
/// A call that took less time has touched a few MiB of new memory at most, and is not measured.
const MIN_MEASURED_NS: u64 = 2_000_000;

type Outputs = SmallVec<[Output; 1]>;

/// What an attempt at a call came to: outputs or a failure to report, or an error that has no
/// description yet.
type Attempt<E> = Result<Result<Outputs, TaskFailure>, E>;

/// Names of blocks that came as inputs of calls and that nobody maps any more.
type Unmapped = Arc<Mutex<Vec<Name>>>;

/// How an executor runs.
pub struct Options {
    /// The connection to the worker.
    pub socket: UnixStream,
    /// By which its worker takes calls back.
    pub claims: Claims<'static>,
    /// By which its worker has calls go on that waited.
    pub grants: Grants<'static>,
    /// By which its worker tells what its calls print apart, if it does.
    pub printing: Option<Printing>,
    /// The cache of its worker.
    pub folder: Folder,
    /// Values up to this size travel in messages.
    pub inline_nbytes: usize,
    /// How long it polls for messages before it sleeps.
    pub spin: Duration,
}

/// Runs calls with an interpreter.
pub struct Executor<I: Interpreter> {
    interpreter: I,
    connection: Connection,
    claims: Claims<'static>,
    folder: Folder,
    inline_nbytes: usize,
    /// This process: a call may leave a child that returns from it as well.
    pid: u32,
    functions: Functions<I::Function>,
    groups: Groups<I::Value>,
    /// Blocks that stay mapped from one call to the next.
    staying: HashMap<Name, Opened>,
    outbox: Arc<Outbox>,
    unmapped: Unmapped,
    reported: Instant,
    meter: Meter,
    printing: Option<Printing>,
}

/// What an executor shares with its worker.
pub type SharedWords = (Claims<'static>, Grants<'static>, Reads<'static>);

/// Maps what an executor shares with its worker, for good.
///
/// # Errors
/// Those of the operating system.
pub fn map_shared(page: RawFd) -> std::io::Result<SharedWords> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let nbytes = size_of::<Shared>();
    // SAFETY: a new mapping at an address that the system chooses.
    let address =
        unsafe { libc::mmap(std::ptr::null_mut(), nbytes, access, libc::MAP_SHARED, page, 0) };
    if address == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: page-aligned, never unmapped, and only used as atomics, on both sides.
    let shared: &'static Shared = unsafe { &*address.cast() };
    let reads = Reads { reads: &shared.reads, ends: &shared.ends };
    Ok((Claims::new(&shared.claims), Grants::new(&shared.grants), reads))
}

impl<I: Interpreter> Executor<I> {
    /// An executor that has run nothing yet.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn new(interpreter: I, options: Options) -> std::io::Result<Self> {
        let outbox = Outbox::new(options.socket.try_clone()?, options.grants);
        Ok(Self {
            interpreter,
            connection: Connection::new(options.socket, options.spin),
            claims: options.claims,
            folder: options.folder,
            inline_nbytes: options.inline_nbytes,
            pid: std::process::id(),
            functions: Functions::new(),
            groups: Groups::new(),
            staying: HashMap::new(),
            outbox: Arc::new(outbox),
            unmapped: Arc::default(),
            reported: Instant::now(),
            meter: Meter::default(),
            printing: options.printing,
        })
    }

    /// What it says to its worker: for calls that wait for others.
    pub fn outbox(&self) -> Arc<Outbox> {
        Arc::clone(&self.outbox)
    }

    /// Runs calls until the worker ends the connection.
    ///
    /// # Errors
    /// If the connection breaks, or something else than messages comes from it. A call's errors are
    /// reported to the worker.
    pub fn run(mut self) -> Result<(), I::Error> {
        self.send(&FromExecutor::Ready { pid: self.pid })?;
        loop {
            let postponed = self.groups.next_postponed();
            let message = if postponed.is_some() { postponed } else { self.connection.next()? };
            match message {
                Some(ToExecutor::Shutdown) => return self.report(),
                Some(message) => self.on_message(message)?,
                None => {
                    self.report()?;
                    if !self.receive()? {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn on_message(&mut self, message: ToExecutor) -> Result<(), I::Error> {
        match message {
            ToExecutor::Define { function, label, definition } => {
                self.functions.define(function, label, definition);
            }
            ToExecutor::Calls(calls) => self.run_all(calls)?,
            ToExecutor::Resume => self.claims.resume(),
            ToExecutor::Opened { group, paths } => self.groups.on_opened(group, paths),
            ToExecutor::Forget(names) => {
                for name in &names {
                    self.groups.forget(*name);
                    self.staying.remove(name);
                }
            }
            ToExecutor::Shutdown => {}
        }
        Ok(())
    }

    fn run_all(&mut self, calls: Vec<Call>) -> Result<(), I::Error> {
        for call in calls {
            if !self.claims.try_claim(call.sequence) {
                continue;
            }
            let Call { sequence, priority, tenant, .. } = call;
            self.outbox.begin_call(Running { sequence, priority, tenant });
            let result = self.run_call(call);
            self.end_prints(&result);
            self.outbox.end_call(result);
            if self.reported.elapsed() >= REPORT_INTERVAL {
                self.report()?;
            }
        }
        Ok(())
    }

    /// Tells the worker where what a call printed ends.
    fn end_prints(&self, ended: &CallResult) {
        if let Some(printing) = &self.printing {
            let took_ns = if ended.result.is_ok() { ended.spent.occupied_ns() } else { u64::MAX };
            printing.end_call(ended.sequence, took_ns);
        }
    }

    /// Reports to the worker what has ended since the last report.
    fn report(&mut self) -> Result<(), I::Error> {
        let unmapped =
            std::mem::take(&mut *self.unmapped.lock().unwrap_or_else(PoisonError::into_inner));
        self.reported = Instant::now();
        let results = self.outbox.take_results();
        if results.is_empty() && unmapped.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(256);
        outbox::encode_results(results, unmapped, &mut bytes);
        let connection = &mut self.connection;
        Ok(self.interpreter.detach(|| connection.write(&bytes))?)
    }

    fn send(&mut self, message: &FromExecutor) -> Result<(), I::Error> {
        let connection = &mut self.connection;
        Ok(self.interpreter.detach(|| connection.send(message))?)
    }

    /// Reads what there is, after waiting for it; false at the end of the connection.
    fn receive(&mut self) -> Result<bool, I::Error> {
        let connection = &mut self.connection;
        Ok(self.interpreter.detach(|| connection.receive())?)
    }

    fn run_call(&mut self, call: Call) -> CallResult {
        let sequence = call.sequence;
        let mut spent = Spent { start_ns: monotonic_ns(), ..Spent::default() };
        let attempt = match call.isolation {
            Isolation::Shared => self.run_here(&call, &mut spent),
            Isolation::Fork => self.run_forked(&call, &mut spent),
            Isolation::Process => self.run_separately(call, &mut spent),
        };
        spent.pid = self.pid;
        CallResult { sequence, spent, result: self.described(attempt) }
    }

    /// What is reported of an attempt.
    fn described(&self, attempt: Attempt<I::Error>) -> Result<Outputs, TaskFailure> {
        attempt.unwrap_or_else(|error| Err(self.raised(&error, true)))
    }

    fn raised(&self, error: &I::Error, is_encoding: bool) -> TaskFailure {
        TaskFailure::Raised(Box::new(self.interpreter.describe(error, is_encoding)))
    }

    /// Runs a call in this process. `spent` becomes what it took.
    fn run_here(&mut self, call: &Call, spent: &mut Spent) -> Attempt<I::Error> {
        // Its inputs may be of classes that come with it.
        self.functions.load(&self.interpreter, call.function)?;
        match self.open_inputs(call, spent)? {
            Ok(inputs) => self.run_with(call, inputs, spent),
            Err(failure) => Ok(Err(failure)),
        }
    }

    fn run_with(
        &mut self,
        call: &Call,
        inputs: Vec<I::Value>,
        spent: &mut Spent,
    ) -> Attempt<I::Error> {
        let function = self.functions.load(&self.interpreter, call.function)?;
        let loaded = monotonic_ns();
        let arguments = self.interpreter.arguments(call.arguments.as_slice(), inputs)?;
        self.meter.begin(call);
        spent.start_ns = monotonic_ns();
        spent.opening_ns += spent.start_ns - loaded;
        let value = self.interpreter.call(function, arguments);
        let ended = monotonic_ns();
        spent.duration_ns = ended - spent.start_ns;
        if spent.duration_ns >= MIN_CHECKED_NS {
            self.check_process(value.as_ref().err());
        }
        spent.memory = self.meter.end();
        let result = match value {
            Ok(value) => self.outputs(&value, call).map_err(|error| {
                let label = self.functions.label(call.function);
                self.interpreter.refuse_result(&value, label, error)
            }),
            Err(error) => Ok(Err(self.raised(&error, false))),
        };
        spent.storing_ns = monotonic_ns() - ended;
        if spent.occupied_ns() >= MIN_MEASURED_NS {
            spent.resident = meter::peak_resident();
        }
        result
    }

    /// Ends this process if it is a child that the call has forked, or if the call closed the
    /// connection to the worker, whose descriptor may be another file's by now.
    fn check_process(&self, error: Option<&I::Error>) {
        let status = if std::process::id() != self.pid {
            self.interpreter.exit_status(error)
        } else if !self.connection.is_intact() {
            let label = "a call closed its executor's connection to the worker: it may close only";
            eprintln!("freestone: {label} the descriptors that it has opened");
            1
        } else {
            return;
        };
        // SAFETY: ends the process at once; what is the parent's, or the worker's, is left alone.
        unsafe { libc::_exit(status) }
    }
}
