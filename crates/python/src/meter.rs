//! The memory that a call takes, besides what its process had before, and the disk that its
//! temporary files take; and an end to calls that take more than they may.
//!
//! See docs/decisions/048-a-calls-memory-is-measured-as-what-it-adds.md

use freestone_core::net::scratch;
use freestone_core::wire::{Call, DISK_EXCEEDED, MEMORY_EXCEEDED};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often a call that runs is looked at, at most,
const LOOK: Duration = Duration::from_millis(20);
/// and how much longer than a look the time between two is: many files take long to look at.
const REST: u32 = 20;

/// What a call may take, and took.
#[derive(Clone, Debug)]
struct Watched {
    /// What the process had when the call began.
    base: u64,
    /// What the call may take.
    limit: u64,
    /// The most that it was seen to take.
    most: u64,
    /// The folder of its temporary files, and how many bytes may be in it.
    files: Option<(PathBuf, u64)>,
}

impl Watched {
    /// The status with which a call ends that took too much.
    fn excess(&self) -> Option<i32> {
        if self.most > self.limit {
            return Some(MEMORY_EXCEEDED);
        }
        let (folder, limit) = self.files.as_ref()?;
        (scratch::nbytes(folder) > *limit).then_some(DISK_EXCEEDED)
    }
}

#[derive(Default)]
struct Shared {
    watched: Mutex<Option<Watched>>,
    begun: Condvar,
}

/// Looks at the memory and the files of this process while calls run that are to be measured.
///
/// A process that was forked has none of its parent's threads, and needs a meter of its own.
#[derive(Default)]
pub struct Meter {
    shared: Option<Arc<Shared>>,
}

impl Meter {
    /// A call begins that may not take all there is.
    pub fn begin(&mut self, call: &Call) {
        if call.memory.is_none() && call.disk.is_none() {
            return;
        }
        let shared = self.shared.get_or_insert_with(|| {
            let shared = Arc::<Shared>::default();
            let watching = Arc::clone(&shared);
            // Without a thread, what the call took is known only when it ends.
            let _ = std::thread::Builder::new().spawn(move || watch(&watching));
            shared
        });
        // Has the system count the peak anew.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        let base = Usage::now().anonymous;
        let files = call.disk.map(|nbytes| {
            let folder = std::env::temp_dir();
            let limit = scratch::nbytes(&folder).saturating_add(nbytes);
            (folder, limit)
        });
        let limit = call.memory.unwrap_or(u64::MAX);
        *lock(&shared.watched) = Some(Watched { base, limit, most: 0, files });
        shared.begun.notify_one();
    }

    /// The call has ended; the bytes of memory that it took at its peak. If its files take more
    /// than they may, the process ends: what was too short to be seen before is seen now.
    pub fn end(&mut self) -> u64 {
        let Some(shared) = &self.shared else { return 0 };
        let Some(watched) = lock(&shared.watched).take() else { return 0 };
        if watched.excess() == Some(DISK_EXCEEDED) {
            exit(DISK_EXCEEDED);
        }
        let usage = Usage::now();
        let peak = usage.peak.saturating_sub(usage.shared).saturating_sub(watched.base);
        peak.max(watched.most)
    }
}

fn lock(watched: &Mutex<Option<Watched>>) -> MutexGuard<'_, Option<Watched>> {
    watched.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watch(shared: &Shared) {
    let mut watched = lock(&shared.watched);
    loop {
        let Some(call) = watched.as_mut() else {
            watched = shared.begun.wait(watched).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        let start = Instant::now();
        call.most = call.most.max(Usage::now().anonymous.saturating_sub(call.base));
        if let Some(status) = call.excess() {
            exit(status);
        }
        let rest = LOOK.max(start.elapsed() * REST);
        let waited = shared.begun.wait_timeout(watched, rest);
        watched = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Ends the process at once, as being killed would; the worker reads why.
pub fn exit(status: i32) -> ! {
    // SAFETY: nothing of what this process leaves is torn down, and nothing else in it goes on.
    unsafe { libc::_exit(status) }
}

/// The memory of this process, in bytes.
#[derive(Default)]
struct Usage {
    /// Its own.
    anonymous: u64,
    /// That of files and segments, such as the blocks of the node's cache.
    shared: u64,
    /// The most of all since it was last reset.
    peak: u64,
}

impl Usage {
    fn now() -> Self {
        let mut usage = Self::default();
        let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let (Some(key), Some(amount)) = (words.next(), words.next()) else { continue };
            let nbytes = || amount.parse::<u64>().unwrap_or(0) * 1024;
            match key {
                "RssAnon:" => usage.anonymous = nbytes(),
                "RssFile:" | "RssShmem:" => usage.shared += nbytes(),
                "VmHWM:" => usage.peak = nbytes(),
                _ => {}
            }
        }
        usage
    }
}
