//! Who may call MPI: any thread; one at a time, where the program has begun it with
//! `MPI_THREAD_SERIALIZED`; or only the program's, with `MPI_THREAD_FUNNELED`.
//!
//! The program holds the gate around its own calls. A thread that holds it may pass it again, as it
//! does when it fires an event meanwhile.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

static IS_SERIALISED: AtomicBool = AtomicBool::new(false);
static IS_FUNNELED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this is the thread that may call MPI, where only one may.
    static IS_MAIN: Cell<bool> = const { Cell::new(false) };
}

static HOLDER: Mutex<Option<(ThreadId, usize)>> = Mutex::new(None);
static FREED: Condvar = Condvar::new();
static IS_OFFERED: AtomicBool = AtomicBool::new(false);
/// Threads that wait for the gate.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// The gate is not held by this thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this thread does not hold MPI: hold it first, and let go of it once for each time")]
pub struct NotHeld;

/// Says that the program can hold MPI: it may begin it with `MPI_THREAD_SERIALIZED`.
pub fn offer() {
    IS_OFFERED.store(true, Ordering::Release);
}

/// Whether the program can hold MPI.
pub(super) fn is_offered() -> bool {
    IS_OFFERED.load(Ordering::Acquire)
}

/// Only this thread may call MPI from now on.
pub(super) fn funnel() {
    IS_MAIN.set(true);
    IS_FUNNELED.store(true, Ordering::Release);
}

/// Whether only one thread may call MPI.
pub fn is_funneled() -> bool {
    IS_FUNNELED.load(Ordering::Acquire)
}

/// Whether this thread may call MPI.
pub(super) fn may_call() -> bool {
    !is_funneled() || IS_MAIN.get()
}

/// Whether any thread may call MPI at any time, whatever the program does.
pub(super) fn is_free() -> bool {
    !is_funneled() && !IS_SERIALISED.load(Ordering::Acquire)
}

/// Whether calls have to pass the gate.
pub(super) fn serialise(is_serialised: bool) {
    IS_SERIALISED.store(is_serialised, Ordering::Release);
}

/// Makes a call to MPI, when no other thread makes one, if MPI wants that.
pub(super) fn through<T>(call: impl FnOnce() -> T) -> T {
    if !IS_SERIALISED.load(Ordering::Acquire) {
        return call();
    }
    hold();
    let result = call();
    // Held by this thread, two lines above.
    let _ = release();
    if WAITING.load(Ordering::Acquire) > 0 {
        // Whoever looks for what arrives calls again and again: others would wait for long.
        thread::yield_now();
    }
    result
}

/// Waits until no other thread is in MPI, and keeps them out.
pub fn hold() {
    let me = thread::current().id();
    let mut holder = holder();
    while holder.is_some_and(|(other, _)| other != me) {
        WAITING.fetch_add(1, Ordering::AcqRel);
        holder = FREED.wait(holder).unwrap_or_else(PoisonError::into_inner);
        WAITING.fetch_sub(1, Ordering::AcqRel);
    }
    *holder = Some((me, holder.map_or(0, |(_, times)| times) + 1));
}

/// Lets others into MPI again.
///
/// # Errors
///
/// If this thread does not hold it.
pub fn release() -> Result<(), NotHeld> {
    let me = thread::current().id();
    let mut holder = holder();
    let (_, times) = holder.filter(|(other, _)| *other == me).ok_or(NotHeld)?;
    *holder = (times > 1).then_some((me, times - 1));
    let is_free = holder.is_none();
    drop(holder);
    if is_free {
        FREED.notify_one();
    }
    Ok(())
}

fn holder() -> MutexGuard<'static, Option<(ThreadId, usize)>> {
    HOLDER.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_at_a_time_is_in_mpi() {
        struct Inside(Cell<u32>);
        // SAFETY: touched by whoever holds the gate.
        unsafe impl Sync for Inside {}
        let inside = Inside(Cell::new(0));
        serialise(true);
        let work = || {
            let inside = &inside;
            for _ in 0..1000 {
                hold();
                let before = inside.0.get();
                through(|| inside.0.set(before + 1));
                assert_eq!(inside.0.get(), before + 1);
                release().unwrap();
            }
        };
        thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(work))));
        serialise(false);
        assert_eq!(inside.0.get(), 3000);
        assert_eq!(release(), Err(NotHeld));
    }
}
