//! What of the machine a program can wait for.

use std::os::fd::RawFd;

/// Something of the machine that a program can wait for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Condition {
    /// There is something to read from a descriptor, or its other side is closed.
    Readable(RawFd),
    /// So many bytes of memory, or fewer, are left on this machine.
    MemoryBelow(u64),
    /// So many threads, or more, have run or wanted to on this machine, over the last minute.
    LoadAbove(f64),
}
