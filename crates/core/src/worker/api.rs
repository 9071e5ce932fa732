//! What goes into the worker and what comes out.

use crate::store::Tier;
use crate::wire::{
    Address, BlockDesc, CallResult, FileProblem, Form, FromWorker, Report, ToExecutor, ToWorker,
};
use freestone_base::{Name, Resources, TaskId};
use std::path::PathBuf;

/// Nanoseconds of a clock that only goes forward.
pub type Now = u64;

/// Settings of a worker.
#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// What its calls may take together.
    pub resources: Resources,
    /// How many executors it has.
    pub slots: u32,
    /// Bytes of blocks in memory, beyond which the least recently used go to disk.
    pub memory_quota: u64,
    /// Bytes of blocks on disk.
    pub disk_quota: u64,
    /// The folder of the blocks in memory.
    pub memory_folder: PathBuf,
    /// The folder of the blocks on disk.
    pub disk_folder: PathBuf,
    /// The folder of the blocks that are kept for later runs.
    pub forever_folder: Option<PathBuf>,
    /// The most blocks that are received at once.
    pub transfers_in: u32,
    /// For how long an executor may be stopped by a signal before it is killed.
    pub stopped_ns: u64,
    /// Bytes of blocks in memory that are read again and checked in each second; 0 is none.
    pub scrub_nbytes_s: u64,
}

/// What a file looked like when it was named: if it changes, it is no longer that block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileStamp {
    /// Bytes.
    pub nbytes: u64,
    /// When it was last written, in nanoseconds since 1970.
    pub modified_ns: i128,
}

/// A file of the user's that is used where it lies, as it should be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternalFile {
    /// Where it lies.
    pub path: String,
    /// What it looked like.
    pub stamp: FileStamp,
}

/// Why a transfer brought nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransferError {
    /// For people.
    pub reason: String,
    /// The peer has no such block, or not the right one.
    pub missing_there: bool,
}

/// What happened.
#[derive(Debug)]
pub enum Event {
    /// The manager says something.
    Manager(ToWorker),
    /// The manager is out of reach, and gives this worker's calls to others. It may come back.
    Parted,
    /// An executor is up.
    Ready {
        /// Which.
        executor: u32,
    },
    /// Calls ended.
    Results {
        /// Where.
        executor: u32,
        /// How.
        results: Vec<CallResult>,
        /// See [`FromExecutor::Results`](crate::wire::FromExecutor::Results).
        unmapped: Vec<Name>,
        /// Outputs that lie on disk since there was no room in memory.
        on_disk: Vec<Name>,
    },
    /// An executor wants to map the members of a group; answered with
    /// [`ToExecutor::Opened`].
    Open {
        /// Which executor.
        executor: u32,
        /// The group.
        group: Name,
        /// Its members.
        members: Vec<Name>,
    },
    /// An executor is dead, and all that it said was handed over before.
    Died {
        /// Which.
        executor: u32,
        /// The call that it claimed last; 0 for none.
        claimed: u32,
        /// The signal that ended it, or
        signal: Option<i32>,
        /// the status that it exited with.
        status: Option<i32>,
    },
    /// The answer to [`Action::Revoke`]: the first revoked sequence, or nothing if the last
    /// revocation is still in force.
    Revoked {
        /// Of which executor.
        executor: u32,
        /// From which call on.
        first: Option<u32>,
        /// The call that the executor claimed last; 0 for none.
        claimed: u32,
        /// Whether it has still to hear of the revocation before, and so needs no word of this one.
        is_unread: bool,
    },
    /// The answer to [`Action::Check`]: all is as it was, or which file is not, and why.
    Checked {
        /// For which task.
        task: TaskId,
        /// Its path, and what is wrong.
        result: Result<(), (String, FileProblem)>,
    },
    /// The answer to [`Action::Adopt`].
    Adopted {
        /// The block.
        block: BlockDesc,
        /// Where it is now, or why not.
        result: Result<Adopted, String>,
    },
    /// The answer to [`Action::Transfer`].
    Arrived {
        /// The block.
        name: Name,
        /// Where it is now, or why not.
        result: Result<Tier, TransferError>,
        /// How long it took, in nanoseconds.
        duration_ns: u64,
    },
    /// The answer to [`Action::MoveToDisk`]: whether it is there now.
    Moved {
        /// The block.
        name: Name,
        /// Why not.
        result: Result<(), String>,
    },
    /// The answer to [`Action::Verify`]: whether its bytes are what they should be.
    Verified {
        /// The block and
        block: BlockDesc,
        /// its file, as they were asked for.
        path: PathBuf,
        /// Whether.
        intact: bool,
    },
    /// The answer to [`Action::Scrub`]: whether its bytes are what they should be.
    Scrubbed {
        /// The block, as it was asked for.
        block: BlockDesc,
        /// Whether.
        intact: bool,
    },
    /// The call that an executor runs waits for others.
    Paused {
        /// Which executor.
        executor: u32,
        /// The call.
        sequence: u32,
        /// What it waits for, for people.
        what: String,
    },
    /// It could go on.
    Resuming {
        /// Which executor.
        executor: u32,
        /// The call.
        sequence: u32,
    },
    /// The answer to [`Action::Preserve`].
    Preserved {
        /// The block.
        name: Name,
        /// Why not.
        result: Result<(), String>,
    },
    /// The answer to [`Action::Measure`].
    Measured {
        /// Bytes of all files of calls.
        nbytes: u64,
    },
    /// The answer to [`Action::Look`].
    Looked {
        /// Which.
        executor: u32,
        /// Whether a signal has stopped it.
        is_stopped: bool,
    },
    /// A peer asks for a block.
    Asked {
        /// Stands for the question.
        question: u64,
        /// The block.
        name: Name,
    },
    /// The answer to [`Action::Serve`].
    Served {
        /// The block.
        name: Name,
        /// Bytes that were sent.
        nbytes: u64,
        /// If the file is no longer the block: why.
        changed: Option<FileProblem>,
    },
}

/// Where an adopted file is now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Adopted {
    /// In the cache.
    Owned(Tier),
    /// Where it was.
    External(ExternalFile),
}

/// What is to be done.
#[derive(Debug, PartialEq)]
pub enum Action {
    /// Tell the manager; after the reports so far.
    Tell(FromWorker),
    /// Tell the manager how a call ended; reports of a turn go together.
    Report(Report),
    /// Send to an executor.
    Send(u32, ToExecutor),
    /// Start an executor. Its sequences begin at 1.
    Spawn(u32),
    /// Kill an executor; [`Event::Died`] follows.
    Kill(u32),
    /// Revoke what an executor has not begun, from a sequence on; answered with
    /// [`Event::Revoked`].
    Revoke {
        /// Which.
        executor: u32,
        /// From where.
        from: u32,
        /// Whether it was sent nothing since the last revocation: more can be revoked before it
        /// has heard of that.
        again: bool,
    },
    /// Have the call of an executor go on that waited.
    Continue(u32),
    /// Look whether files are as they were; answered with [`Event::Checked`].
    Check {
        /// For which task.
        task: TaskId,
        /// The files.
        files: Vec<ExternalFile>,
    },
    /// Move a file into its place, or look at it where it lies; answered with
    /// [`Event::Adopted`].
    Adopt {
        /// The block.
        block: BlockDesc,
        /// The file.
        path: String,
        /// Whether to move it.
        owned: bool,
        /// Whether to compare its bytes with the checksum first.
        verify: bool,
    },
    /// Remove a file that a client wrote into the cache folder and that is not needed.
    Discard {
        /// The file.
        path: String,
    },
    /// Receive a block from a peer; answered with [`Event::Arrived`].
    Transfer {
        /// The block.
        block: BlockDesc,
        /// Where to ask.
        address: Address,
        /// Where to put it.
        tier: Tier,
    },
    /// Look how much the temporary files of calls take; answered with [`Event::Measured`].
    Measure,
    /// Look whether an executor is stopped, or the process in which it runs a call; answered with
    /// [`Event::Looked`].
    Look {
        /// Which.
        executor: u32,
        /// Whether it runs a call in a process of its own.
        is_isolated: bool,
    },
    /// Move a block from memory to disk; answered with [`Event::Moved`].
    MoveToDisk {
        /// The block.
        name: Name,
        /// How it lies there.
        form: Form,
    },
    /// Read a block and compare its checksum; answered with [`Event::Verified`].
    Verify {
        /// The block.
        block: BlockDesc,
        /// Its file.
        path: PathBuf,
    },
    /// Read a block that may be used, moved and removed meanwhile, and compare its checksum;
    /// answered with [`Event::Scrubbed`].
    Scrub {
        /// The block.
        block: BlockDesc,
        /// Its file.
        path: PathBuf,
    },
    /// Copy a block to those that are kept for later runs; answered with [`Event::Preserved`].
    Preserve {
        /// The block.
        block: BlockDesc,
        /// Its file.
        path: PathBuf,
    },
    /// Send a block to a peer; answered with [`Event::Served`].
    Serve {
        /// To whom.
        question: u64,
        /// The block.
        block: BlockDesc,
        /// Its file.
        path: PathBuf,
        /// What it must look like, if it is not ours.
        stamp: Option<FileStamp>,
    },
    /// Tell a peer that the block is not here.
    Refuse {
        /// Whom.
        question: u64,
    },
    /// Remove a block's file; nobody maps or reads it, so its pages can be used again.
    Remove {
        /// The block.
        name: Name,
        /// How it lies there.
        form: Form,
        /// Where.
        tier: Tier,
    },
    /// Remove a block from those that are kept: it is damaged.
    Forget(BlockDesc),
    /// End the worker; why, unless it was asked for.
    End(Option<String>),
}
