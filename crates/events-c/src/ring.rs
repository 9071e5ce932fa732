//! A file that a rank maps, and that others read while it runs and after it was killed.
//!
//! The format is that of `python/freestone/observe/rings.py`, which reads it: a header, the record
//! of each thread that is not over, and two halves of records, which are filled in turn.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::ptr::null_mut;

const MAGIC: &[u8; 16] = b"freestone rank 1";
const COUNTS: usize = 128;
const OPEN: usize = 4096;
const OPEN_NBYTES: usize = 512;
const MAX_THREADS: usize = 120;
const HALVES: usize = OPEN + MAX_THREADS * OPEN_NBYTES;
const HALF_NBYTES: usize = 8 << 20;
const NBYTES: usize = HALVES + 2 * HALF_NBYTES;
/// Of the number of a half, and of the length of a record.
const GENERATION: usize = size_of::<u64>();
const LENGTH: usize = size_of::<u32>();
/// What tells this machine, since it was started, from others.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Events, tasks and waits, and how long the waits took, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub fired: u64,
    pub taken: u64,
    pub tasks: u64,
    pub waits: u64,
    pub waited_ns: u64,
}

/// The memory, which one thread at a time writes.
#[derive(Debug)]
pub struct Ring {
    memory: *mut u8,
    half: usize,
    /// Where the next record goes.
    at: usize,
    count: u64,
}

// SAFETY: the mapping belongs to the process, and whoever has the ring alone writes there.
unsafe impl Send for Ring {}

impl Ring {
    /// Makes the file.
    ///
    /// # Errors
    /// If it can't be made or mapped.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file =
            options.read(true).write(true).create(true).truncate(true).mode(0o600).open(path)?;
        file.set_len(NBYTES as u64)?;
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping of as much as the file has.
        let memory = unsafe { libc::mmap(null_mut(), NBYTES, access, flags, file.as_raw_fd(), 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mut ring = Self { memory: memory.cast(), half: 0, at: 0, count: 0 };
        ring.write(0, MAGIC);
        let epoch_ns = now_ns(libc::CLOCK_REALTIME) - now_ns(libc::CLOCK_MONOTONIC);
        ring.write(16, &epoch_ns.to_ne_bytes());
        ring.write(24, &u64::from(std::process::id()).to_ne_bytes());
        ring.write(32, std::fs::read_to_string(BOOT_ID)?.trim().as_bytes());
        ring.begin_half(0);
        Ok(ring)
    }

    fn begin_half(&mut self, half: usize) {
        let first = HALVES + half * HALF_NBYTES;
        // Nothing is in it before its number says that it is the newer one.
        self.write(first + GENERATION, &[0; LENGTH]);
        self.write(first, &(self.count + 1).to_ne_bytes());
        (self.half, self.at) = (half, first + GENERATION);
    }

    /// Notes what is over, unless it would take most of a half.
    pub fn add(&mut self, record: &[u8]) {
        if record.len() > HALF_NBYTES / 2 {
            return;
        }
        let end = HALVES + (self.half + 1) * HALF_NBYTES;
        if self.at + record.len() + 2 * LENGTH > end {
            self.begin_half(1 - self.half);
        }
        let next = self.at + LENGTH + record.len();
        // Who reads goes by the lengths: what follows has none, and this one's comes last.
        self.write(next, &[0; LENGTH]);
        self.write(self.at + LENGTH, record);
        self.write_length(self.at, record.len());
        self.at = next;
        self.count += 1;
    }

    /// Notes what the rank has done since its run began.
    pub fn set_counts(&mut self, counts: &Counts) {
        let Counts { fired, taken, tasks, waits, waited_ns } = *counts;
        for (index, count) in [fired, taken, tasks, waits, waited_ns].iter().enumerate() {
            self.write(COUNTS + index * size_of::<u64>(), &count.to_ne_bytes());
        }
    }

    /// Notes what a thread is at; nothing, if the record is empty or too long.
    pub fn set_open(&mut self, thread: usize, record: &[u8]) {
        if thread >= MAX_THREADS {
            return;
        }
        let at = OPEN + thread * OPEN_NBYTES;
        self.write_length(at, 0);
        if !record.is_empty() && record.len() <= OPEN_NBYTES - LENGTH {
            self.write(at + LENGTH, record);
            self.write_length(at, record.len());
        }
    }

    fn write_length(&mut self, at: usize, length: usize) {
        // A reader in another process sees the record before its length.
        std::sync::atomic::fence(std::sync::atomic::Ordering::Release);
        self.write(at, &u32::try_from(length).unwrap_or(0).to_ne_bytes());
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= NBYTES, "a record is longer than half of the ring");
        // SAFETY: within the mapping, as was looked at, which nobody else writes.
        unsafe { self.memory.add(at).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: our own mapping, which nobody else has the address of.
        unsafe { libc::munmap(self.memory.cast(), NBYTES) };
    }
}

/// What a clock shows, in nanoseconds.
pub fn now_ns(clock: libc::clockid_t) -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the time.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}
