//! Events that come from the machine: clocks, descriptors, memory and load.

use crate::error::{Refused, answer, counted};
use crate::runtime::rank;
use crate::words;
use freestone_events::rank::Condition;
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
        rank()?.every(duration(seconds)?, &id)?;
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

/// Fires an event at this rank once there is something to read from a descriptor.
///
/// # Safety
/// `id` ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_when_readable(descriptor: c_int, id: *const c_char) -> c_int {
    // SAFETY: as the caller says.
    unsafe { when(Condition::Readable(descriptor), id) }
}

/// Fires an event at this rank once so many bytes of memory, or fewer, are left.
///
/// # Safety
/// `id` ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_when_memory_below(nbytes: u64, id: *const c_char) -> c_int {
    // SAFETY: as the caller says.
    unsafe { when(Condition::MemoryBelow(nbytes), id) }
}

/// Fires an event at this rank once the machine's load is so high, or higher.
///
/// # Safety
/// `id` ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_when_load_above(load: f64, id: *const c_char) -> c_int {
    if load.is_nan() {
        let text = "the load is nan, which no load reaches; give a number, as uptime shows it";
        return answer(Err(Refused::bad_call(text)));
    }
    // SAFETY: as the caller says.
    unsafe { when(Condition::LoadAbove(load), id) }
}

unsafe fn when(condition: Condition, id: *const c_char) -> c_int {
    // SAFETY: as the caller says.
    let id = unsafe { words::id(id) };
    answer(id.and_then(|id| Ok(rank()?.when(condition, &id).map(|()| 0)?)))
}
