//! Sleeping on a word of memory, also of memory that processes share.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Sleeps until woken, for as long as `word` is `seen`, at most `timeout`. May wake early.
pub fn wait(word: &AtomicU32, seen: u32, timeout: Option<Duration>) {
    let time = timeout.map(|timeout| libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(timeout.subsec_nanos()),
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the word is valid for the call, which changes no memory; so is the time.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, time) };
}

/// Wakes up to `count` who sleep on a word.
pub fn wake(word: &AtomicU32, count: i32) {
    // SAFETY: the call only looks up who sleeps at this address.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, count) };
}
