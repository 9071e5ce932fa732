//! The folders and the sockets of a worker, of which it leaves nothing.

use super::listener::Listener;
use super::worker_options::{WorkerError, WorkerOptions};
use crate::store::forever::Forever;
use crate::store::ledger::Ledger;
use crate::store::{Folder, OwnedFolder};
use crate::wire::BlockDesc;
use crate::worker::WorkerConfig;
use std::net::IpAddr;
use std::sync::Arc;

/// Part of the memory quota that is left to freed segments, and the most of it.
const FREE_SHARE: u64 = 4;
const MAX_FREE: u64 = 4 << 30;

/// The folders; removed when dropped, but for what is kept.
pub(super) struct WorkerFolders {
    pub folder: Folder,
    /// The quotas, and what of them is taken.
    pub ledger: Arc<Ledger>,
    pub forever: Option<Forever>,
    /// Blocks from former runs.
    pub kept: Vec<BlockDesc>,
    /// Bytes of the memory quota that freed segments may take.
    free_limit: u64,
    owned: [OwnedFolder; 2],
}

impl WorkerFolders {
    /// Makes the folders and takes them.
    pub fn open(options: &WorkerOptions) -> Result<Self, WorkerError> {
        let free_limit = (options.memory_quota / FREE_SHARE).min(MAX_FREE);
        let owned =
            [OwnedFolder::take(&options.memory_dir)?, OwnedFolder::take(&options.disk_dir)?];
        let folder = Folder::open(&options.memory_dir, &options.disk_dir)?;
        let folder = folder.with_free_limit(free_limit).unlimited();
        // Before this worker counts what it has.
        folder.clear()?;
        let (forever, kept) = (None, Vec::new());
        let memory_quota = options.memory_quota - free_limit;
        let ledger =
            Ledger::create(&options.memory_dir, memory_quota, options.disk_quota, options.slots)?;
        let mut folders = Self { folder, ledger, forever, kept, free_limit, owned };
        if let Some(folder) = &options.forever_dir {
            let forever = Forever::open(folder)?;
            folders.kept = forever.blocks()?;
            folders.forever = Some(forever);
        }
        Ok(folders)
    }

    /// What the state machine needs to know.
    pub fn config(&self, options: &WorkerOptions) -> WorkerConfig {
        WorkerConfig {
            resources: options.resources.clone(),
            slots: options.slots,
            memory_quota: options.memory_quota - self.free_limit,
            disk_quota: options.disk_quota,
            memory_folder: options.memory_dir.clone(),
            disk_folder: options.disk_dir.clone(),
            forever_folder: options.forever_dir.clone(),
            transfers_in: options.transfers_in,
            stopped_ns: u64::try_from(options.stopped.as_nanos()).unwrap_or(u64::MAX),
            scrub_nbytes_s: options.scrub_nbytes_s,
        }
    }
}

impl Drop for WorkerFolders {
    fn drop(&mut self) {
        for folder in &self.owned {
            // What can't be removed now is swept by a later run.
            let _ = folder.remove();
        }
    }
}

/// Makes the sockets for peers. `towards` is the interface by which the manager was reached.
pub(super) fn listen(
    options: &WorkerOptions,
    towards: Option<IpAddr>,
) -> Result<Listener, WorkerError> {
    let listening_failed = |source| WorkerError::Listen { path: options.socket.clone(), source };
    let mut listener = Listener::bind(&options.socket).map_err(listening_failed)?;
    let host = options.listen.clone().or_else(|| towards.map(|ip| ip.to_string()));
    if let (Some(access), Some(host)) = (&options.access, host) {
        let place = if host.contains(':') { format!("[{host}]:0") } else { format!("{host}:0") };
        listener.bind_tcp(&place, access.clone()).map_err(listening_failed)?;
    }
    Ok(listener)
}
