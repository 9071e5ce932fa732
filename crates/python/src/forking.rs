//! Forks of a process whose only thread is Python's: executors, which become children of the worker.

use freestone_core::net::children::prepare;
use pyo3::exceptions::PyOSError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{c_int, c_long, c_void};
use std::io;
use std::ptr;

/// Forks this process, as `os.fork`, but the child is one of this process's parent: a worker looks after its
/// executors itself, whoever forked them. 0 in the child, which dies with its parent and leads a process group.
///
/// Only for a process without other threads: what libraries have asked the C library to do at a fork
/// is not done.
#[pyfunction]
pub fn fork_sibling(_py: Python<'_>) -> PyResult<u32> {
    let parent = std::os::unix::process::parent_id();
    // SAFETY: with the interpreter's lock, as its own `fork` calls it.
    unsafe { ffi::PyOS_BeforeFork() };
    let pid = clone_sibling();
    let error = io::Error::last_os_error();
    if pid == 0 {
        // SAFETY: as above, in the child.
        unsafe { ffi::PyOS_AfterFork_Child() };
        prepare(&[], parent).map_err(PyOSError::new_err)?;
        // SAFETY: a system call on numbers.
        unsafe { libc::setpgid(0, 0) };
        return Ok(0);
    }
    // SAFETY: as above, in this process.
    unsafe { ffi::PyOS_AfterFork_Parent() };
    u32::try_from(pid).map_err(|_| PyOSError::new_err(error))
}

/// What the C library's `fork` does in a process of one thread, with another parent for the child.
fn clone_sibling() -> c_long {
    let mut flags = c_long::from(libc::CLONE_PARENT | libc::SIGCHLD);
    let mut tid: *mut c_int = ptr::null_mut();
    // The C library keeps the thread's number at this address; some kernels do not tell it. Then the child
    // has that of this process there, which no other process has meanwhile.
    // SAFETY: room for the address.
    let known = unsafe { libc::prctl(libc::PR_GET_TID_ADDRESS, &raw mut tid) };
    if known == 0 && !tid.is_null() {
        flags |= c_long::from(libc::CLONE_CHILD_SETTID | libc::CLONE_CHILD_CLEARTID);
    }
    let none = ptr::null_mut::<c_void>();
    // SAFETY: without a stack and without shared memory this is a fork; the order of the last two differs
    // among processors, and the last is only for threads.
    unsafe {
        if cfg!(target_arch = "x86_64") {
            libc::syscall(libc::SYS_clone, flags, none, none, tid, none)
        } else {
            libc::syscall(libc::SYS_clone, flags, none, none, none, tid)
        }
    }
}
