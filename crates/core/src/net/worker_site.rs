//! The folders and the socket of a worker, of which it leaves nothing.

use super::worker_options::{WorkerError, WorkerOptions};
use crate::store::Folder;
use crate::store::forever::Forever;
use crate::store::lock::Lock;
use crate::wire::BlockDesc;
use crate::worker::WorkerConfig;
use mio::net::UnixListener;
use std::path::PathBuf;

/// Part of the memory quota that is left to freed segments, and the most of it.
const FREE_SHARE: u64 = 4;
const MOST_FREE: u64 = 4 << 30;

/// Folders and socket; removed when dropped, but for what is kept.
pub(super) struct Site {
    pub folder: Folder,
    pub forever: Option<Forever>,
    /// Blocks from former runs.
    pub kept: Vec<BlockDesc>,
    /// Bytes of the memory quota that freed segments may take.
    free_limit: u64,
    /// Once it is ours.
    socket: Option<PathBuf>,
    _locks: [Lock; 2],
}

impl Site {
    /// Makes the folders and takes them.
    pub fn open(options: &WorkerOptions) -> Result<Self, WorkerError> {
        let free_limit = (options.memory_quota / FREE_SHARE).min(MOST_FREE);
        let folder = Folder::open(&options.memory_dir, &options.disk_dir)?;
        let folder = folder.with_free_limit(free_limit);
        let locks = [Lock::take(&options.memory_dir)?, Lock::take(&options.disk_dir)?];
        let (forever, kept) = (None, Vec::new());
        let mut site = Self { folder, forever, kept, free_limit, socket: None, _locks: locks };
        if let Some(folder) = &options.forever_dir {
            let forever = Forever::open(folder)?;
            site.kept = forever.blocks()?;
            site.forever = Some(forever);
        }
        Ok(site)
    }

    /// Makes the socket.
    pub fn listen(mut self, options: &WorkerOptions) -> Result<(UnixListener, Self), WorkerError> {
        let path = options.socket.clone();
        let listener = UnixListener::bind(&path)
            .map_err(|source| WorkerError::Listen { path: path.clone(), source })?;
        self.socket = Some(path);
        Ok((listener, self))
    }

    /// What the state machine needs to know.
    pub fn config(&self, options: &WorkerOptions) -> WorkerConfig {
        WorkerConfig {
            resources: options.resources,
            slots: options.slots,
            memory_quota: options.memory_quota - self.free_limit,
            disk_quota: options.disk_quota,
            memory_folder: options.memory_dir.clone(),
            disk_folder: options.disk_dir.clone(),
            forever_folder: options.forever_dir.clone(),
            transfers_in: options.transfers_in,
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // What can't be removed now is swept by a later run.
        let _ = self.socket.as_ref().map(std::fs::remove_file);
        let _ = self.folder.remove_all();
    }
}
