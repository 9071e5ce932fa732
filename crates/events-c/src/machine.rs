//! Events that come from the machine: clocks.

use crate::error::{Refused, answer, counted};
use crate::runtime::rank;
use crate::words;
use std::ffi::{c_char, c_int};
use std::time::Duration;

fn duration(seconds: f64) -> Result<Duration, Refused> {
    let text = || format!("{seconds} s is no time to wait");
    Duration::try_from_secs_f64(seconds).map_err(|_| Refused::bad_call(text()))
}

/// Fires an event at this rank in a while.
///
/// # Safety
/// `id` ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_after(seconds: f64, id: *const c_char) -> c_int {
    // SAFETY: as the caller says.
    let id = unsafe { words::id(id) };
    answer(id.and_then(|id| {
        rank()?.after(duration(seconds)?, &id);
        Ok(0)
    }))
}

/// Fires an event at this rank again and again.
///
/// # Safety
/// `id` ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_every(seconds: f64, id: *const c_char) -> c_int {
    // SAFETY: as the caller says.
    let id = unsafe { words::id(id) };
    answer(id.and_then(|id| {
        rank()?.every(duration(seconds)?, &id);
        Ok(0)
    }))
}

/// Stops what `fse_every` began; how many.
///
/// # Safety
/// `id` ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_stop(id: *const c_char) -> c_int {
    // SAFETY: as the caller says.
    let id = unsafe { words::id(id) };
    answer(id.and_then(|id| Ok(counted(rank()?.stop(&id)))))
}
