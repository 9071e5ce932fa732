//! Locks, and tasks by their names.

use crate::error::{Refused, answer, counted};
use crate::places;
use crate::recording;
use crate::runtime::rank;
use crate::words;
use freestone_events::Rank;
use std::ffi::{c_char, c_int};

/// # Safety
/// `word` is null or ends with a zero byte.
unsafe fn named(
    word: *const c_char,
    call: impl FnOnce(&Rank, &str) -> Result<c_int, Refused>,
) -> c_int {
    // SAFETY: as the caller says.
    let name = unsafe { words::name(word) };
    answer(name.and_then(|name| call(rank()?, name)))
}

/// Takes a lock, waiting for it.
///
/// # Safety
/// `name` ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_lock(name: *const c_char) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        named(name, |rank, name| {
            let label = places::here();
            Ok(recording::locks(name, || rank.lock_as(label, name)).map(|()| 0)?)
        })
    }
}

/// Takes a lock if nobody else has it; whether this task has it now.
///
/// # Safety
/// `name` ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_try_lock(name: *const c_char) -> c_int {
    // SAFETY: as the caller says.
    unsafe { named(name, |rank, name| Ok(c_int::from(rank.try_lock(name)))) }
}

/// Whether this task has a lock.
///
/// # Safety
/// `name` ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_holds_lock(name: *const c_char) -> c_int {
    // SAFETY: as the caller says.
    unsafe { named(name, |rank, name| Ok(c_int::from(rank.holds_lock(name)))) }
}

/// Lets go of a lock.
///
/// # Safety
/// `name` ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_unlock(name: *const c_char) -> c_int {
    // SAFETY: as the caller says.
    unsafe { named(name, |rank, name| Ok(rank.unlock(name).map(|()| 0)?)) }
}

/// Whether tasks of a name wait for events.
///
/// # Safety
/// `name` ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_is_submitted(name: *const c_char) -> c_int {
    // SAFETY: as the caller says.
    unsafe { named(name, |rank, name| Ok(c_int::from(rank.is_submitted(name)))) }
}

/// Removes the tasks of a name that are not ready; how many.
///
/// # Safety
/// `name` ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_remove(name: *const c_char) -> c_int {
    // SAFETY: as the caller says.
    unsafe { named(name, |rank, name| Ok(counted(rank.remove(name)))) }
}
