//! The processes that this one has started, and those that they have started.

use std::fs;
use std::path::Path;

/// The bytes of memory that they have for themselves.
///
/// What a forked child still shares with its parent is the parent's, and what they share among
/// themselves is not counted: a sum that counts pages twice would end calls that take little.
pub fn private_nbytes() -> u64 {
    pids().into_iter().map(private_nbytes_of).sum()
}

/// Kills them.
pub fn end() {
    for pid in pids() {
        // SAFETY: a signal to a process that is below this one, or has just ended.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
}

/// Those that there are now; none where Linux does not say so.
fn pids() -> Vec<libc::pid_t> {
    let mut found = children_of("/proc/self/task");
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        let below = children_of(format!("/proc/{pid}/task"));
        found.extend(below);
        next += 1;
    }
    found
}

/// The processes that the threads of one have started.
fn children_of(threads: impl AsRef<Path>) -> Vec<libc::pid_t> {
    let Ok(threads) = fs::read_dir(threads) else { return Vec::new() };
    let texts =
        threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok());
    texts
        .flat_map(|text| {
            text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()
        })
        .collect()
}

fn private_nbytes_of(pid: libc::pid_t) -> u64 {
    let Ok(text) = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) else { return 0 };
    let amount = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key));
        line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0)
            * 1024
    };
    // Pages of files that only this process has written to are its own and not anonymous.
    amount("Private_Dirty:").min(amount("Anonymous:"))
}
