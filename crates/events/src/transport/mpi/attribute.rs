//! An attribute of a communicator, whose deletion calls a function: MPI's way to say that it ends.

use super::Handle;
use std::ffi::{c_int, c_void};

pub(super) type OnDelete = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void) -> c_int;
pub(super) type OnCopy =
    unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;

/// Calls the function that is the attribute.
pub(super) unsafe extern "C" fn on_delete(
    _: Handle,
    _: c_int,
    call: *mut c_void,
    _: *mut c_void,
) -> c_int {
    // SAFETY: the attribute is such a function.
    unsafe { std::mem::transmute::<*mut c_void, extern "C" fn()>(call)() };
    0
}

/// Copies no attribute: the null that MPI has for this differs between libraries.
pub(super) unsafe extern "C" fn on_copy(
    _: Handle,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    is_copied: *mut c_int,
) -> c_int {
    // SAFETY: MPI gives a place for a number.
    unsafe { is_copied.write(0) };
    0
}
