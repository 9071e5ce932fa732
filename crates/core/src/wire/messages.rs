//! The messages, one enum per direction.
//!
//! Bytes of user values are opaque here: only executors and clients encode and decode them.

use super::address::Address;
use super::attach::Attach;
use super::options::{CallOptions, Isolation, Keep};
use super::payload::Payload;
use super::printed::Printed;
use freestone_base::{FunctionId, Name, Resources, TaskId, Tenant, WorkerId};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::sync::Arc;

/// The version of this protocol; both sides of a connection must speak the same.
pub const PROTOCOL: u32 = 22;

/// How a block's bytes are to be understood.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
pub enum Form {
    /// A value in the block format of [`store`](crate::store).
    Value,
    /// A file kept as it is, with the name that it had.
    File(String),
    /// A value that names other blocks instead of having bytes of its own: of use only on a worker
    /// where they are. It lies like a [`Form::Value`].
    Group,
}

/// A block whose bytes lie in a node's cache.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BlockDesc {
    /// The block's name.
    pub name: Name,
    /// Bytes of its file.
    pub nbytes: u64,
    /// XXH3 (64 bits) of its file, checked by whoever receives it.
    pub checksum: u64,
    /// How to read it.
    pub form: Form,
}

/// An output of a call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Output {
    /// A small value, encoded; it travels with messages and is held by the manager.
    Inline(Payload),
    /// A block in the cache of the worker that ran the call.
    Stored(BlockDesc),
}

/// An input of a call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Input {
    /// A small value, encoded.
    Inline(Payload),
    /// A block that must be in the worker's cache before the call starts.
    Stored(BlockDesc),
}

/// A call, given to a worker.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Assignment {
    /// The task.
    pub task: TaskId,
    /// Counted from 1; an answer to an earlier attempt is stale.
    pub attempt: u32,
    /// The function, sent to the worker before.
    pub function: FunctionId,
    /// The encoded arguments, in which inputs stand as their positions in `inputs`.
    pub arguments: Payload,
    /// The inputs.
    pub inputs: Vec<Input>,
    /// Names of the outputs.
    pub outputs: SmallVec<[Name; 1]>,
    /// How to run it.
    pub options: Arc<CallOptions>,
    /// Larger runs first.
    pub priority: i32,
    /// Whose it is.
    pub tenant: Tenant,
    /// How long the function takes as measured so far, in nanoseconds.
    pub expected_ns: Option<u64>,
}

/// From the manager to a worker.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum ToWorker {
    /// The answer to [`FromWorker::Hello`].
    Welcome {
        /// The worker's id in this run.
        worker: WorkerId,
        /// After so many nanoseconds without a sign of life it counts as lost.
        silence_ns: u64,
    },
    /// The worker may not join or stay, and why; the connection ends. In every version of the
    /// protocol it has this place and form, as [`FromWorker::Hello`] begins with the version.
    Refused(String),
    /// A function, before its first call there.
    Define {
        /// Its id.
        function: FunctionId,
        /// Its name, for traces and messages to people.
        label: String,
        /// The pickled function, with the modules to import before it is called.
        definition: Payload,
    },
    /// Calls to run.
    Run(Vec<Assignment>),
    /// Fetch a block from a peer.
    Fetch {
        /// The block.
        block: BlockDesc,
        /// The peer's id.
        source: WorkerId,
        /// Where the peer listens.
        address: Address,
        /// How long to keep it.
        keep: Keep,
    },
    /// A file that the client wrote into this node's cache folder (`owned`, and it is moved into
    /// its place), or a file of the user's that is to be used where it lies.
    Adopt {
        /// The block.
        block: BlockDesc,
        /// Where its bytes lie now.
        path: String,
        /// Whether the cache owns the file.
        owned: bool,
        /// How long to keep it.
        keep: Keep,
        /// Whether its bytes are compared with the checksum first: time has passed since it was
        /// named.
        verify: bool,
    },
    /// Keep a block where it is mapped by the client, until as many `Unpin`s.
    Pin(Name),
    /// The client no longer maps the block.
    Unpin(Name),
    /// Nothing needs these blocks any more.
    Drop(Vec<Name>),
    /// Keep a block forever that is there already.
    Keep(Name),
    /// Give back calls that have not begun; the worker answers with
    /// [`FromWorker::Returned`] for those it could.
    Return(Vec<TaskId>),
    /// End these calls, also those that run.
    Cancel(Vec<TaskId>),
    /// End the executors, whose calls were cancelled before, and start others in their places.
    Restart,
    /// Members with these certificates, in DER, are trusted no longer: all of them, also those of
    /// which the worker has heard before.
    Revoked(Vec<Vec<u8>>),
    /// End: no new calls; blocks are removed unless kept.
    Shutdown,
}

/// From a worker to the manager.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum FromWorker {
    /// The first message on a connection.
    Hello {
        /// [`PROTOCOL`] as the worker speaks it.
        protocol: u32,
        /// Proof that the worker may join.
        key: String,
        /// The id that it had, if it was here before and comes back with its cache.
        former: Option<WorkerId>,
        /// The id of its machine's boot, by which clocks are told apart.
        boot: String,
        /// What its clock says, in nanoseconds.
        now_ns: u64,
        /// What it has.
        resources: Resources,
        /// How many calls it runs at once: its executors.
        slots: u32,
        /// Where its blocks can be asked for.
        address: Address,
        /// Its process.
        pid: u32,
        /// Its machine.
        host: String,
        /// Its cache folder, for clients on the same machine.
        folder: String,
        /// Blocks that it already has.
        blocks: Vec<BlockDesc>,
    },
    /// Calls that ended, in the order in which they did.
    Done(Vec<Report>),
    /// Calls given back as not begun; those asked for and not in here have begun or ended.
    Returned {
        /// What was asked for.
        asked: Vec<TaskId>,
        /// What comes back.
        returned: Vec<TaskId>,
    },
    /// A block is now in this worker's cache.
    Have {
        /// The block.
        block: BlockDesc,
        /// From which peer, and how long it took in nanoseconds, if it was fetched.
        fetched: Option<(WorkerId, u64)>,
    },
    /// A block could not be fetched.
    FetchFailed {
        /// The block.
        name: Name,
        /// The peer that it was asked from.
        source: WorkerId,
        /// Why: for people.
        reason: String,
        /// Whether the source does not have it (any more), so the replica there is gone.
        missing_there: bool,
        /// If it was not asked for since there is no room here: the bytes that are free.
        free: Option<u64>,
    },
    /// The answer to `Pin`.
    Pinned {
        /// The block.
        name: Name,
        /// Where it lies; `None`: it is not here.
        path: Option<String>,
    },
    /// These blocks are gone from this worker's cache, with the reason for people.
    Lost {
        /// Which.
        names: Vec<Name>,
        /// Why.
        reason: String,
    },
    /// From time to time: a sign of life and figures.
    Status(WorkerStatus),
    /// The worker was told to end, and wants to be let go as by `Request::Retire`.
    Leaving,
    /// This is no worker but a client: what follows are messages of [`session`](crate::session).
    /// In every version of the protocol it has this place, and begins with the version.
    Client {
        /// [`PROTOCOL`] as the client speaks it.
        protocol: u32,
        /// Proof that it may use the cluster.
        key: String,
        /// Whether it was connected before.
        attach: Attach,
    },
    /// What an executor has printed; before the report of the call that printed it.
    Printed(Box<Printed>),
    /// A call waits for others: its slot and what it takes are free meanwhile.
    Paused {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// What it waits for, for people.
        what: String,
    },
    /// A call that waited goes on: its slot and what it takes are its own again.
    Resumed {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
    },
}

impl FromWorker {
    /// The number that a worker had which reconnects.
    pub fn former(&self) -> Option<WorkerId> {
        match self {
            Self::Hello { former, .. } => *former,
            _ => None,
        }
    }
}

/// Figures of a worker.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct WorkerStatus {
    /// Bytes in the memory tier.
    pub memory_nbytes: u64,
    /// Bytes that may be in it.
    pub memory_quota: u64,
    /// Bytes in the disk tier.
    pub disk_nbytes: u64,
    /// Calls that wait here.
    pub waiting: u32,
    /// Calls that run here.
    pub running: u32,
    /// Executors started in place of dead ones.
    pub executors_restarted: u32,
    /// Bytes sent to peers.
    pub sent_nbytes: u64,
    /// Bytes received from peers.
    pub received_nbytes: u64,
}

/// What a call took of its executor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Spent {
    /// When the function began, in nanoseconds of the monotonic clock of its machine.
    pub start_ns: u64,
    /// How long it took before to map or unpickle its inputs and arguments.
    pub opening_ns: u64,
    /// How long the function ran.
    pub duration_ns: u64,
    /// How long it took then to pickle and store its outputs.
    pub storing_ns: u64,
    /// Bytes that it took at its peak, if they were measured.
    pub memory: u64,
    /// The executor's process.
    pub pid: u32,
    /// The most bytes that the process which ran it has had in memory so far, with blocks that it
    /// maps; 0 if that was not measured.
    pub resident: u64,
}

impl Spent {
    /// For how long the executor could do nothing else.
    pub fn occupied_ns(&self) -> u64 {
        self.opening_ns.saturating_add(self.duration_ns).saturating_add(self.storing_ns)
    }
}

/// How a call ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The task.
    pub task: TaskId,
    /// The attempt that this answers.
    pub attempt: u32,
    /// What it took.
    pub spent: Spent,
    /// Its outputs, one per name, or why there are none.
    pub result: Result<SmallVec<[Output; 1]>, TaskFailure>,
}

/// Why a file can't be used.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum FileProblem {
    /// It is gone.
    Missing,
    /// The worker may not read it.
    Unreadable,
    /// It is not what it was when it was named: what differs, or what the operating system says.
    Changed(String),
}

impl From<std::io::Error> for FileProblem {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::NotFound => Self::Missing,
            std::io::ErrorKind::PermissionDenied => Self::Unreadable,
            _ => Self::Changed(error.to_string()),
        }
    }
}

impl std::fmt::Display for FileProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing => f.write_str("it is gone"),
            Self::Unreadable => f.write_str("it may not be read"),
            Self::Changed(what) => f.write_str(what),
        }
    }
}

/// Why an attempt at a call gave no outputs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum TaskFailure {
    /// The function raised.
    Raised(Box<RaisedException>),
    /// The executor died under it.
    Killed {
        /// The signal that ended it, or
        signal: Option<i32>,
        /// the status that it exited with.
        status: Option<i32>,
    },
    /// It ran for longer than it may.
    TimedOut {
        /// The limit, in nanoseconds.
        timeout_ns: u64,
    },
    /// It took more memory than it may.
    MemoryExceeded {
        /// What it may take, in bytes.
        limit: u64,
    },
    /// Its files took more of the disk than they may.
    DiskExceeded {
        /// What they may take, in bytes.
        limit: u64,
    },
    /// It was cancelled.
    Cancelled,
    /// An input vanished from this worker before the call began; it is not the call's fault.
    InputLost {
        /// Which.
        name: Name,
    },
    /// No room for inputs or outputs in the node's cache.
    StorageFull {
        /// Bytes asked for.
        needed: u64,
        /// Bytes that there were.
        free: u64,
        /// The folder that is full.
        folder: String,
    },
    /// A file of the user's can't be used.
    File {
        /// Which.
        path: String,
        /// What is wrong with it.
        problem: FileProblem,
    },
    /// No frame can carry what it is given, or what it gave.
    TooLarge {
        /// Bytes of the message.
        nbytes: u64,
        /// Whether it is its result; its arguments and small inputs otherwise.
        is_result: bool,
    },
}

/// A Python exception, as the executor saw it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RaisedException {
    /// The pickled exception; empty if it can't be pickled.
    pub pickled: Payload,
    /// Its type's name.
    pub kind: String,
    /// Its message.
    pub message: String,
    /// The remote traceback.
    pub traceback: String,
    /// Whether it came while arguments or results were encoded or decoded, or the function loaded:
    /// then a retry can't help.
    pub in_encoding: bool,
}

/// From a worker to an executor of its own.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum ToExecutor {
    /// A function, before its first call there.
    Define {
        /// Its id.
        function: FunctionId,
        /// Its name for people.
        label: String,
        /// The pickled function.
        definition: Payload,
    },
    /// Calls, to be run in order.
    Calls(Vec<Call>),
    /// Calls revoked before this message must be passed over; those after it run.
    Resume,
    /// The answer to [`FromExecutor::Open`].
    Opened {
        /// The group.
        group: Name,
        /// Where its members lie, in the order of the question; `None`: not all are here.
        paths: Option<Vec<String>>,
    },
    /// These groups and blocks are not to be held any longer.
    Forget(Vec<Name>),
    /// End.
    Shutdown,
}

/// A call with everything that it needs in place.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Call {
    /// Numbered upwards per executor; claimed by the executor before it begins.
    pub sequence: u32,
    /// The function.
    pub function: FunctionId,
    /// The encoded arguments.
    pub arguments: Payload,
    /// The inputs, in the positions that the arguments name.
    pub inputs: Vec<PlacedInput>,
    /// Names of the outputs.
    pub outputs: SmallVec<[Name; 1]>,
    /// How it is kept apart.
    pub isolation: Isolation,
    /// How long its outputs stay.
    pub keep: Keep,
    /// Larger runs first; what the call submits comes before its like.
    pub priority: i32,
    /// Whose it is, and so what it submits.
    pub tenant: Tenant,
    /// Cores that it may use.
    pub cores: u32,
    /// Bytes that it may take besides what its process has, if they are to be measured.
    pub memory: Option<u64>,
    /// Bytes of temporary files that it may add to those that are there, if there is a limit.
    pub disk: Option<u64>,
}

/// An input that is in place.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PlacedInput {
    /// A small value, encoded.
    Inline(Payload),
    /// A block in this node's cache.
    Mapped {
        /// Its name.
        name: Name,
        /// Where it lies.
        path: String,
        /// How to read it.
        form: Form,
        /// Whether it stays mapped after the call, until it is to be forgotten.
        stays: bool,
    },
}

/// From an executor to its worker.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum FromExecutor {
    /// It can take calls.
    Ready {
        /// Its process.
        pid: u32,
    },
    /// Calls that ended.
    Results {
        /// How they ended.
        results: Vec<CallResult>,
        /// Blocks that this executor no longer maps, once per call that brought them.
        unmapped: Vec<Name>,
    },
    /// An output was written into the cache folder while its call still runs.
    Stored(BlockDesc),
    /// It wants to map the members of a group, and to hold them for later calls.
    Open {
        /// The group.
        group: Name,
        /// Its members. Each is told as unmapped once it is no longer mapped for the group.
        members: Vec<Name>,
    },
    /// The call that runs waits for others, and takes nothing meanwhile.
    Paused {
        /// The call.
        sequence: u32,
        /// What it waits for, for people.
        what: String,
    },
    /// It could go on, and waits until it may: until the word that it shares with its worker says
    /// so.
    Resuming {
        /// The call.
        sequence: u32,
    },
    /// Where the call that runs has spent its time since the last message of this kind.
    Profiled {
        /// The call.
        sequence: u32,
        /// As the interpreter encodes it.
        samples: Payload,
    },
}

/// How a call ended in an executor.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CallResult {
    /// The call.
    pub sequence: u32,
    /// What it took.
    pub spent: Spent,
    /// Its outputs, or why there are none.
    pub result: Result<SmallVec<[Output; 1]>, TaskFailure>,
}
