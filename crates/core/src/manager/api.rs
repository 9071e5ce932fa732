//! What goes into the manager and what comes out.

use super::clock::Now;
use super::config::Config;
use super::overview::{Arguments, Overview, Pause, Query, TaskFigures};
use super::record::Record;
use super::sharing::{Entry, Given, SharedRequest};
use crate::wire::{
    Address, BlockDesc, CallOptions, FromWorker, Keep, Output, Payload, PrintedOf, TaskFailure,
    ToWorker, WorkerStatus,
};
use freestone_base::{FunctionId, Name, Resources, Tenant, Ticket, WorkerId};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

/// What happened.
#[derive(Debug)]
pub enum Event {
    /// A client asks for something.
    Client(Request),
    /// Somebody connected and was given this id. Its `Hello` follows, or it leaves again.
    Connected(WorkerId),
    /// A worker joins (its `Hello`) or says something. `worker` is the id that the shell gave the
    /// connection.
    Worker(WorkerId, FromWorker),
    /// The connection to a worker ended.
    Left(WorkerId),
    /// Time passes.
    Tick,
    /// Another process goes on where one was killed that had this manager, with these settings. All
    /// workers are about to leave; what they ran may have ended unheard.
    TakenUp(Box<Config>),
}

/// What a client asks.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
pub enum Request {
    /// A function that submissions name by its id.
    Define {
        /// Its id, chosen by the client, counted from 0.
        function: FunctionId,
        /// Its name for people.
        label: String,
        /// What workers get.
        definition: Payload,
    },
    /// Calls.
    Submit(Vec<Submission>),
    /// Combine many blocks into one.
    Reduce(Reduction),
    /// A block that is on a worker already: the client wrote it into the folder of `worker`
    /// (see [`ToWorker::Adopt`]). Counts as one reference by the client.
    Put {
        /// The block.
        block: BlockDesc,
        /// Where its bytes are.
        path: String,
        /// Whether the cache takes the file over.
        owned: bool,
        /// Which worker.
        worker: WorkerId,
        /// How long it stays.
        keep: Keep,
        /// Resolved when it is in place.
        ticket: Ticket,
    },
    /// A small value. Counts as one reference by the client.
    PutInline {
        /// Its name.
        name: Name,
        /// The pickled value.
        bytes: Payload,
    },
    /// The client holds one more reference to a block and wants to be told when it is resolved.
    Watch {
        /// The block.
        name: Name,
        /// What to resolve.
        ticket: Ticket,
    },
    /// The client holds one reference less to each; a name may stand here several times.
    Release(Vec<Name>),
    /// Make a block present on `worker` and pin it there; resolved with [`Outcome::Pinned`], or at
    /// once with its bytes if it is small.
    Gather {
        /// The block.
        name: Name,
        /// Where the client can map it.
        worker: WorkerId,
        /// What to resolve.
        ticket: Ticket,
    },
    /// The client no longer maps what `Gather` pinned.
    Unpin {
        /// The block.
        name: Name,
        /// Where.
        worker: WorkerId,
    },
    /// A task that waits for its inputs need not run: it has failed elsewhere. One that has begun or
    /// ended is left alone.
    Fail {
        /// The block that it was to make.
        name: Name,
        /// Where it failed.
        worker: WorkerId,
        /// How.
        failure: TaskFailure,
    },
    /// Cancel the tasks that make these blocks, and what depends on them; running calls are ended.
    Cancel(Vec<Name>),
    /// The same for all clients, though others than the one that asks need them: of actors, which
    /// whoever has a handle may end.
    CancelForAll(Vec<Name>),
    /// Cancel the calls that clients of other processes have submitted with a tag, for each of them.
    /// Answered with [`Outcome::Counted`]: how many they are. Sessions know tags, not the manager.
    CancelTagged {
        /// The tag.
        tag: String,
        /// What waits for the answer.
        ticket: Ticket,
    },
    /// One of several clients no longer needs these blocks, of which it holds so many references:
    /// cancel the tasks that make them, and what depends on them, as far as nobody else needs it.
    Abandon(Vec<(Name, u32)>),
    /// Have a block outlive its clients under a title; it counts as referred to until
    /// `Unpublish`. Answered by [`Outcome::Accepted`]: false if the block is unknown, or another
    /// has the title and is not to be replaced.
    Publish {
        /// What clients find it by.
        publication: Publication,
        /// Whether another block may lose the title.
        replace: bool,
        /// What waits for the answer.
        ticket: Ticket,
    },
    /// Take a title away. Answered by [`Outcome::Accepted`]: whether there was one.
    Unpublish {
        /// The title.
        title: String,
        /// What waits for the answer.
        ticket: Ticket,
    },
    /// Answered by [`Outcome::Publications`], in the order of their titles.
    Publications {
        /// What waits for the answer.
        ticket: Ticket,
    },
    /// Have the tasks that make these blocks run to their end though no client may need them then,
    /// and keep the results for as long as the cluster runs.
    Detach(Vec<Name>),
    /// Let workers go: their calls end, what only they hold is handed over, then they are shut down.
    Retire(Vec<WorkerId>),
    /// Replace the executors of all workers. What the client waits for is cancelled: of one of
    /// several clients the blocks that are given, as by `Abandon`; of the manager's own program all
    /// that nobody else waits for and that is neither published nor detached. Other calls that were
    /// sent to workers begin again.
    Restart {
        /// The blocks, and how many references the client holds to each; not the client's to say.
        abandoned: Option<Vec<(Name, u32)>>,
    },
    /// The blocks of a collection, in order: they are evened out when workers come and go.
    Collect {
        /// Its number, chosen by the client.
        collection: u64,
        /// Its blocks.
        blocks: Vec<Name>,
    },
    /// A collection is no more; its blocks are released besides.
    Disperse {
        /// Its number.
        collection: u64,
    },
    /// All workers that were started have joined: even out the blocks of collections now.
    Balance,
    /// Resolves the ticket with [`Outcome::Locations`].
    WhoHas {
        /// The blocks.
        names: Vec<Name>,
        /// What to resolve.
        ticket: Ticket,
    },
    /// Resolves the ticket with [`Outcome::Explained`].
    Explain {
        /// The block.
        name: Name,
        /// What to resolve.
        ticket: Ticket,
    },
    /// Resolves the ticket with [`Outcome::Statistics`].
    Statistics {
        /// What to resolve.
        ticket: Ticket,
    },
    /// Answered with [`Outcome::Overview`].
    Overview {
        /// What to list.
        query: Query,
        /// Of the answer.
        ticket: Ticket,
    },
    /// Whether to tell [`Action::Trace`] from now on, without a trace too.
    Observe(bool),
    /// About state that clients share by name.
    Shared(SharedRequest),
    /// End all workers; nothing is submitted afterwards.
    Shutdown,
}

impl Request {
    /// What waits for it.
    pub fn tickets(&self) -> Vec<Ticket> {
        match self {
            Self::Submit(calls) => calls.iter().flat_map(|call| call.tickets.clone()).collect(),
            Self::Reduce(Reduction { ticket, .. })
            | Self::Put { ticket, .. }
            | Self::Watch { ticket, .. }
            | Self::Gather { ticket, .. }
            | Self::Publish { ticket, .. }
            | Self::Unpublish { ticket, .. }
            | Self::Publications { ticket }
            | Self::CancelTagged { ticket, .. }
            | Self::WhoHas { ticket, .. }
            | Self::Explain { ticket, .. }
            | Self::Overview { ticket, .. }
            | Self::Statistics { ticket } => vec![*ticket],
            Self::Shared(request) => request.ticket().into_iter().collect(),
            _ => Vec::new(),
        }
    }
}

/// A block that outlives the client that had it made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Publication {
    /// What clients find it by.
    pub title: String,
    /// The block.
    pub name: Name,
    /// The name of the function that makes it, for people.
    pub label: String,
}

/// Where a task is to run if it can: it is not taken from there by others that have nothing to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Near {
    /// At a worker.
    Worker(WorkerId),
    /// Where its first input in a cache is.
    Input,
}

/// A call, as a client submits it. Counts as one reference to each output.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
pub struct Submission {
    /// Names of the outputs. If the first is known (live or retained), nothing runs.
    pub outputs: SmallVec<[Name; 1]>,
    /// The function, defined before.
    pub function: FunctionId,
    /// The pickled arguments, in which inputs stand as their positions in `inputs`.
    pub arguments: Payload,
    /// The inputs. An unknown name fails the task with [`Failure::UnknownInput`].
    pub inputs: SmallVec<[Name; 2]>,
    /// How to run it.
    pub options: Arc<CallOptions>,
    /// How often it may raise or time out before it fails for good.
    pub retries: u32,
    /// Larger runs first.
    pub priority: i32,
    /// Whose it is; that of whoever submits it, if it is not said.
    pub tenant: Option<Tenant>,
    /// Only there, if given.
    pub worker: Option<WorkerId>,
    /// There for as long as a worker is there, if given; then anywhere.
    pub near: Option<Near>,
    /// Resolved with the first output; the others resolve their own, as many as `outputs`.
    pub tickets: SmallVec<[Ticket; 1]>,
}

impl Submission {
    /// A call with no inputs, outputs or wishes yet.
    pub fn new(function: FunctionId, arguments: Payload) -> Self {
        Self {
            outputs: SmallVec::new(),
            function,
            arguments,
            inputs: SmallVec::new(),
            options: Arc::default(),
            retries: 0,
            priority: 0,
            tenant: None,
            worker: None,
            near: None,
            tickets: SmallVec::new(),
        }
    }
}

/// A reduction: `function` is called with up to `arity` inputs until one block is left.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
pub struct Reduction {
    /// The name of the result.
    pub output: Name,
    /// Called as `function(*values)`; takes 2 to `arity` inputs. The shell's client provides
    /// `arguments[k]` as the pickled arguments of a call with `k + 2` inputs.
    pub function: FunctionId,
    /// See `function`.
    pub arguments: Vec<Payload>,
    /// What to combine, in order; at least one.
    pub inputs: Vec<Name>,
    /// The most inputs of one call, at least 2.
    pub arity: u32,
    /// Whether inputs may be combined in any order: then in order of arrival and by place.
    /// Otherwise only neighbours are combined.
    pub commutes: bool,
    /// How to run each call.
    pub options: Arc<CallOptions>,
    /// As in [`Submission`].
    pub retries: u32,
    /// As in [`Submission`].
    pub priority: i32,
    /// As in [`Submission`].
    pub tenant: Option<Tenant>,
    /// Resolved with the result.
    pub ticket: Ticket,
}

/// What is to be done.
#[derive(Debug)]
pub enum Action {
    /// Send to a worker.
    Send(WorkerId, ToWorker),
    /// A worker is not wanted (wrong key or protocol) or is lost: end its connection.
    Disconnect(WorkerId, String),
    /// Tell the client.
    Resolve(Ticket, Outcome),
    /// For the trace.
    Trace(Record),
    /// A task has printed something: for whoever has these tickets, or the manager's own program if
    /// there are none.
    Print(SmallVec<[Ticket; 2]>, Box<PrintedOf>),
}

/// What a client is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// The block is there.
    Ready(Output),
    /// It will never be there.
    Failed(Arc<Failure>),
    /// It is pinned on the worker asked for, and lies there.
    Pinned {
        /// The block.
        block: BlockDesc,
        /// Where.
        path: String,
    },
    /// Where blocks are, in the order of the question; an empty list for an unknown one. Small
    /// ones held by the manager stand as none.
    Locations(Vec<Vec<WorkerId>>),
    /// Why a task waits, or where and when it ran.
    Explained(Box<Explanation>),
    /// Figures.
    Statistics(Box<Statistics>),
    /// Whether it was done.
    Accepted(bool),
    /// How many they are.
    Counted(u64),
    /// What is published.
    Publications(Vec<Publication>),
    /// Figures by function.
    Overview(Box<Overview>),
    /// What becomes of who enters a lock.
    Entered(Entry),
    /// What becomes of who asks something of a queue or variable.
    Given(Given),
}

impl Outcome {
    /// Whether nothing was done because that worker is gone.
    pub fn lacks(&self, worker: WorkerId) -> bool {
        matches!(self, Self::Failed(failure)
            if matches!(failure.why, Why::WorkerAbsent { worker: absent, .. } if absent == worker))
    }
}

/// Why a task failed for good.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The function's name for people.
    pub label: String,
    /// The name of its (first) output.
    pub name: Name,
    /// Where the last attempt ran.
    pub worker: Option<WorkerId>,
    /// How many attempts there were.
    pub attempts: u32,
    /// The last of them.
    pub last_attempts: Vec<Attempt>,
    /// What happened.
    pub why: Why,
}

/// What made a task fail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Why {
    /// The last attempt's failure.
    Attempt(TaskFailure),
    /// Each of its last attempts killed its executor.
    Killed {
        /// How many executors died of it.
        kills: u32,
        /// How the last one died.
        last: TaskFailure,
    },
    /// No worker can ever give what it asks for.
    Unschedulable {
        /// What it asks for.
        needs: Resources,
        /// The most that any worker has, each resource for itself.
        largest: Resources,
    },
    /// It may only run on a worker that takes no calls.
    WorkerAbsent {
        /// Which.
        worker: WorkerId,
        /// Since when, in nanoseconds before now; none if there never was such a worker.
        gone_ns: Option<u64>,
        /// The workers that there are.
        present: Vec<WorkerId>,
    },
    /// The program had so many calls that had not ended, which is as many as one may have.
    TooManyCalls {
        /// How many.
        limit: u64,
    },
    /// An input that is not known.
    UnknownInput(Name),
    /// An input has no replica left and nothing that makes it again.
    InputLost(Name),
    /// It may not run twice, and may have begun when the manager's process was killed.
    Interrupted,
    /// It was cancelled.
    Cancelled,
    /// The cluster was closed before it ran.
    Closed,
}

/// A task's life, for a person.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// `unknown`, `waiting`, `ready`, `assigned`, `done`, `failed`, `released`, `block`.
    pub stage: Cow<'static, str>,
    /// The function's name.
    pub label: String,
    /// What that is called with, if it is short.
    pub arguments: Option<Arguments>,
    /// For what it waits in its call.
    pub pause: Option<Pause>,
    /// Inputs that are not there yet.
    pub waits_for: Vec<Name>,
    /// The tasks that make the first of them.
    pub awaited: Vec<TaskFigures>,
    /// Tasks that run before it.
    pub ahead: u64,
    /// What it asks for.
    pub resources: Resources,
    /// Those of its custom resources that others hold, so that it waits.
    pub lacking: Vec<String>,
    /// The last attempts: where, when each began (monotonic clock), how long it ran, how it ended.
    pub attempts: Vec<Attempt>,
    /// How many attempts there were, those that are no longer listed too.
    pub attempted: u32,
    /// Where its output is now.
    pub replicas: Vec<WorkerId>,
    /// Bytes of its output, if known.
    pub nbytes: Option<u64>,
}

/// One attempt at a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Where.
    pub worker: WorkerId,
    /// When it was sent there.
    pub sent_ns: Now,
    /// When it began, if that is known.
    pub start_ns: Now,
    /// How long it ran.
    pub duration_ns: u64,
    /// `running`, `done`, or what went wrong.
    pub ended: String,
}

/// Figures of a run so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// Calls that ran to their end.
    pub done: u64,
    /// Calls that failed for good.
    pub failed: u64,
    /// Submissions that were answered by a live or retained output.
    pub answered: u64,
    /// Attempts made again, for whatever reason.
    pub retried: u64,
    /// Tasks run again because their output was lost.
    pub recovered: u64,
    /// Tasks that wait for inputs.
    pub waiting: u64,
    /// Tasks that wait for a worker.
    pub ready: u64,
    /// Tasks at workers.
    pub assigned: u64,
    /// Tasks given back by a worker and run by another.
    pub stolen: u64,
    /// Blocks sent between workers.
    pub transfers: u64,
    /// Their bytes.
    pub transferred_nbytes: u64,
    /// Blocks of collections that are to move, or move, to even workers out.
    pub moving: u64,
    /// Bytes of small values that the manager holds.
    pub inline_nbytes: u64,
    /// Tasks in the manager's table.
    pub tasks: u64,
    /// Blocks in the manager's table.
    pub blocks: u64,
    /// Time that functions ran, summed, in nanoseconds.
    pub busy_ns: u64,
    /// Each worker.
    pub workers: Vec<WorkerFigures>,
}

/// A worker as the manager sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerFigures {
    /// Its id.
    pub worker: WorkerId,
    /// Its process.
    pub pid: u32,
    /// Its machine.
    pub host: String,
    /// Its cache folder.
    pub folder: String,
    /// Where its blocks can be asked for.
    pub address: Address,
    /// What it has.
    pub resources: Resources,
    /// What of it no task has.
    pub free: Resources,
    /// Its executors.
    pub slots: u32,
    /// Whether it is being let go.
    pub leaving: bool,
    /// Calls that it holds.
    pub assigned: u32,
    /// Calls that it ran.
    pub done: u64,
    /// Blocks that it holds.
    pub blocks: u64,
    /// Their bytes.
    pub nbytes: u64,
    /// The processes of its executors, and the most bytes that each has had in memory.
    pub executors: Vec<(u32, u64)>,
    /// What it last said of itself.
    pub status: WorkerStatus,
}
