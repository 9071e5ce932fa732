//! The memory that a call takes, with that of processes that it starts, besides what there was before;
//! the disk that its temporary files take; and an end to calls that take more than they may.
//!
//! See docs/decisions/048-a-calls-memory-is-measured-as-what-it-adds.md

use crate::descendants;
use freestone_core::net::scratch;
use freestone_core::wire::{Call, DISK_EXCEEDED, MEMORY_EXCEEDED};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The shortest time between two measurements of a call that runs,
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// which are at least so many times as far apart as one takes: many files take long to measure.
const MIN_INTERVAL_PER_POLL: u32 = 20;

/// What a call may take, and took.
#[derive(Clone, Debug)]
struct Watched {
    /// What the process had when the call began.
    base: u64,
    /// What its children had then.
    children: u64,
    /// What the call may take.
    limit: u64,
    /// The largest amount that it was seen to take.
    peak: u64,
    /// The folder of its temporary files, and how many bytes may be in it.
    files: Option<(PathBuf, u64)>,
}

impl Watched {
    /// The status with which the process of a call that took too much ends.
    fn excess(&self) -> Option<i32> {
        if self.peak > self.limit {
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

/// Measures the memory and the files of this process while calls run that have limits.
///
/// A process that was forked has none of its parent's threads, and needs a meter of its own.
#[derive(Default)]
pub struct Meter {
    shared: Option<Arc<Shared>>,
}

impl Meter {
    /// A call begins, which may have limits.
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
        // Resets the system's record of the peak.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        let base = Usage::now().anonymous;
        let children = descendants::private_nbytes();
        let files = call.disk.map(|nbytes| {
            let folder = std::env::temp_dir();
            let limit = scratch::nbytes(&folder).saturating_add(nbytes);
            (folder, limit)
        });
        let limit = call.memory.unwrap_or(u64::MAX);
        *lock(&shared.watched) = Some(Watched { base, children, limit, peak: 0, files });
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
        peak.max(watched.peak)
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
        let own = Usage::now().anonymous.saturating_sub(call.base);
        let others = descendants::private_nbytes().saturating_sub(call.children);
        call.peak = call.peak.max(own.saturating_add(others));
        if let Some(status) = call.excess() {
            descendants::end();
            exit(status);
        }
        let interval = POLL_INTERVAL.max(start.elapsed() * MIN_INTERVAL_PER_POLL);
        let waited = shared.begun.wait_timeout(watched, interval);
        watched = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// The most bytes that this process has had in memory so far, with blocks that it maps.
///
/// `getrusage` takes less than a microsecond, but counts what the process had been before it became this
/// program, too; `/proc` takes some 20. So that is asked only when `getrusage` tells of more than was
/// found before.
pub fn peak_resident() -> u64 {
    /// The process, and the most that it was found to have had.
    static KNOWN: Mutex<(u32, u64)> = Mutex::new((0, 0));
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    // A process that was forked has not had what its parent had.
    if known.0 != process {
        *known = (process, 0);
    }
    if max_resident() > known.1 {
        // It is reset where the memory of calls is measured; what was had before was had all the same.
        known.1 = known.1.max(Usage::now().peak);
    }
    known.1
}

/// An upper limit of what this process has had in memory, in bytes.
fn max_resident() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: room for the answer; zeros are an answer, too.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    usage.ru_maxrss.cast_unsigned() * 1024
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_what_linux_counts_and_never_falls() {
        let before = peak_resident();
        assert!(before > 0);
        let touched = std::hint::black_box(vec![1_u8; 64 << 20]);
        let with_it = peak_resident();
        assert!(with_it >= touched.len() as u64);
        drop(touched);
        assert!(peak_resident() >= with_it);
    }
}
