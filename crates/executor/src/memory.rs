//! What an executor does with memory that its calls free.
//!
//! See docs/decisions/031-executors-keep-memory-that-calls-free.md

#[cfg(target_env = "gnu")]
use std::os::raw::c_int;

/// Larger pieces are mapped for themselves, and unmapped when they are freed; the most that glibc
/// takes.
#[cfg(target_env = "gnu")]
const MAPPED_FROM: c_int = 32 << 20;
/// So much that is free may stay with the process.
#[cfg(target_env = "gnu")]
const KEPT: c_int = 64 << 20;

/// Has freed memory used again rather than given back: calls of a kind ask for the same sizes again
/// and again, and pages that the system has to make anew cost more than most of what is computed in
/// them. Does nothing where the user has set glibc's own variables, or there is no glibc.
pub fn keep_freed() {
    #[cfg(target_env = "gnu")]
    for (variable, parameter, value) in [
        ("MALLOC_MMAP_THRESHOLD_", libc::M_MMAP_THRESHOLD, MAPPED_FROM),
        ("MALLOC_TRIM_THRESHOLD_", libc::M_TRIM_THRESHOLD, KEPT),
    ] {
        if std::env::var_os(variable).is_none() {
            // SAFETY: sets a number in the allocator, which locks for it.
            unsafe { libc::mallopt(parameter, value) };
        }
    }
}
