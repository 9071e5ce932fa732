//! An attribute of a communicator, whose deletion calls a function: MPI's way to say that it ends.

use crate::Handle;
use std::ffi::{c_int, c_void};

type OnCopy =
    unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
type OnDelete = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void) -> c_int;

/// `MPI_Comm_create_keyval`.
pub type CreateKey = unsafe extern "C" fn(OnCopy, OnDelete, *mut c_int, *mut c_void) -> c_int;
/// `MPI_Comm_set_attr`.
pub type SetAttribute = unsafe extern "C" fn(Handle, c_int, *mut c_void) -> c_int;

/// Has MPI call a function at the beginning of its end, when messages still go: it deletes the
/// attributes of `own` first, the communicator of this process alone.
///
/// # Errors
///
/// The call that MPI refused, and its code; then nothing is called.
///
/// # Safety
///
/// The functions are those of one library that is initialised, and `own` is its `MPI_COMM_SELF`.
pub unsafe fn before_end(
    create_key: CreateKey,
    set_attribute: SetAttribute,
    own: Handle,
    call: extern "C" fn(),
) -> Result<(), (&'static str, c_int)> {
    let mut key = 0;
    // SAFETY: functions of the types that MPI has for them, there for as long as the process; a place
    // for a number.
    match unsafe { create_key(on_copy, on_delete, &raw mut key, std::ptr::null_mut()) } {
        0 => {}
        code => return Err(("MPI_Comm_create_keyval", code)),
    }
    // SAFETY: a communicator that is there, as the caller says; the attribute is only what `on_delete`
    // is given.
    match unsafe { set_attribute(own, key, call as *mut c_void) } {
        0 => Ok(()),
        code => Err(("MPI_Comm_set_attr", code)),
    }
}

/// Calls the function that is the attribute.
unsafe extern "C" fn on_delete(_: Handle, _: c_int, call: *mut c_void, _: *mut c_void) -> c_int {
    // SAFETY: what `before_end` has made of such a function.
    let call = unsafe { std::mem::transmute::<*mut c_void, extern "C" fn()>(call) };
    call();
    0
}

/// Copies no attribute: the null that MPI has for this differs between libraries.
unsafe extern "C" fn on_copy(
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
