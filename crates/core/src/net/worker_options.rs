//! What a worker needs to know to start, and why it may not.

use super::fork_server::ForkServerOptions;
use crate::store::StoreError;
use crate::wire::Address;
use freestone_base::Resources;
use freestone_tls::Access;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// How to start a worker.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    /// Where the manager listens.
    pub manager: Address,
    /// Proof that this worker may join, which its peers must show as well.
    pub key: String,
    /// The cluster's certificate; without one only unix sockets are used.
    pub access: Option<Access>,
    /// The host or interface at which peers of other machines ask for blocks, if there is an
    /// access: by default the one by which the manager was reached.
    pub listen: Option<String>,
    /// How long to try to reach a manager of another machine again before giving up.
    pub reconnect: Duration,
    /// Whether to do so with a manager of this machine, too: it has a journal, and another process
    /// may go on with it.
    pub is_journaled: bool,
    /// The unix socket at which peers ask for blocks; made here, removed at the end.
    pub socket: PathBuf,
    /// What calls may take together.
    pub resources: Resources,
    /// How many executors.
    pub slots: u32,
    /// The folder of the blocks in memory: in tmpfs. Removed at the end.
    pub memory_dir: PathBuf,
    /// The folder of the blocks on disk. Removed at the end.
    pub disk_dir: PathBuf,
    /// The folder of the blocks that are kept for later runs, if there shall be any.
    pub forever_dir: Option<PathBuf>,
    /// Bytes of the memory tier, those of freed segments among them.
    pub memory_quota: u64,
    /// Bytes of the disk tier.
    pub disk_quota: u64,
    /// The program that is an executor, and its arguments.
    pub executor_command: Vec<String>,
    /// What forks executors, sooner than they start as a program.
    pub fork_server: Option<ForkServerOptions>,
    /// Variables set for executors, besides those of this process.
    pub environment: Vec<(String, String)>,
    /// How long to look for work before sleeping, in microseconds; 0 is not at all.
    pub spin_us: u64,
    /// For how long an executor may be stopped by a signal before it is replaced.
    pub stopped: Duration,
    /// The most blocks received at once.
    pub transfers_in: u32,
    /// The most blocks sent at once.
    pub transfers_out: u32,
    /// Bytes of blocks in memory that are checked in each second; 0 is none.
    pub scrub_nbytes_s: u64,
    /// Whether peers on this machine hand blocks over as hard links instead of bytes.
    pub links: bool,
    /// Whether SIGINT ends the worker as SIGTERM does: nobody else has started it than a person at a
    /// terminal, or a program that stands for one.
    pub is_interruptible: bool,
}

/// Why a worker could not be started, or ended early.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The manager can't be reached.
    #[error("the manager at {address} can't be reached: {source}")]
    Manager {
        /// Where it should be.
        address: Address,
        /// Why.
        source: io::Error,
    },
    /// The manager does not want this worker.
    #[error("the manager at {address} refuses this worker: {reason}")]
    Refused {
        /// Where it is.
        address: Address,
        /// Why.
        reason: String,
    },
    /// The manager is gone, and did not come back.
    #[error("the manager at {address} is gone: {reason}")]
    Lost {
        /// Where it was.
        address: Address,
        /// What the connection said.
        reason: String,
    },
    /// The socket for peers can't be made.
    #[error("the worker can't listen at {}: {source}", path.display())]
    Listen {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The cache's folders can't be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It can't do its work, for instance since executors do not start.
    #[error("the worker gives up: {reason}")]
    Ended {
        /// Why.
        reason: String,
    },
    /// The operating system says no.
    #[error("the worker can't go on: {0}")]
    Io(#[from] io::Error),
}
