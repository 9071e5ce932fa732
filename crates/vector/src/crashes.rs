//! Says which compiled kernel ran when a signal ends the process.
//!
//! A kernel of someone else's may crash the process that calls it, and the system then names only
//! the signal. A handler, installed with the first such call, writes what [`note`] announced to
//! standard error, and leaves the signal to whoever handled it before.

use std::collections::HashSet;
use std::os::fd::RawFd;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Mutex, Once, OnceLock, PoisonError};

const SIGNALS: [(libc::c_int, &str); 5] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGABRT, "SIGABRT"),
];

/// How many calls at the same time can be named; others run all the same.
const SLOTS: usize = 64;

/// What runs: texts that live for ever, so that the handler may read them at any time. Stored by
/// [`note`] and [`Note`]'s `drop`, and loaded by the handler.
static RUNNING: [AtomicPtr<String>; SLOTS] = [const { AtomicPtr::new(ptr::null_mut()) }; SLOTS];
/// What handled each of [`SIGNALS`] before.
static FORMER: OnceLock<Vec<libc::sigaction>> = OnceLock::new();
static INSTALLED: Once = Once::new();
static TEXTS: Mutex<Option<HashSet<&'static String>>> = Mutex::new(None);

/// While it lives, a crash of the process is reported with its text.
#[derive(Debug)]
pub struct Note {
    slot: Option<&'static AtomicPtr<String>>,
}

/// Announces what this thread begins to run, such as `the kernel 'f' of libf.so`.
pub fn note(text: &str) -> Note {
    INSTALLED.call_once(install);
    let text = ptr::from_ref(kept(text)).cast_mut();
    let slot = RUNNING.iter().find(|slot| {
        slot.compare_exchange(ptr::null_mut(), text, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    });
    Note { slot }
}

impl Drop for Note {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            slot.store(ptr::null_mut(), Ordering::Release);
        }
    }
}

/// Returns a copy of a text that is never freed; equal texts have one.
fn kept(text: &str) -> &'static String {
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    let texts = texts.get_or_insert_default();
    if let Some(known) = texts.get(&text.to_owned()) {
        return known;
    }
    let made: &'static String = Box::leak(Box::new(text.to_owned()));
    texts.insert(made);
    made
}

fn install() {
    let former = SIGNALS.map(|(signal, _)| {
        // SAFETY: all zeros are a value of this plain structure.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = on_crash as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_ONSTACK;
        // SAFETY: as above.
        let mut former: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: both structures live through the call, and the handler does only what a handler
        // may. It fails for no signal of the list.
        unsafe { libc::sigaction(signal, &raw const action, &raw mut former) };
        former
    });
    let _ = FORMER.set(former.into());
}

/// Several threads may crash at the same time, by the same kernel.
static IS_REPORTED: AtomicBool = AtomicBool::new(false);

extern "C" fn on_crash(signal: libc::c_int) {
    let at = SIGNALS.iter().position(|(known, _)| *known == signal).unwrap_or(0);
    if IS_REPORTED.swap(true, Ordering::AcqRel) {
        // Another thread reports, and then ends this process; if it can't, this one does.
        // SAFETY: `poll` of no descriptors may be called in a handler.
        unsafe { libc::poll(ptr::null_mut(), 0, 1000) };
    } else {
        report(libc::STDERR_FILENO, SIGNALS[at].1);
    }
    // SAFETY: all zeros are the default action. The signal is blocked until this handler returns,
    // and then comes to whoever had it before.
    unsafe {
        let former = FORMER.get().map_or_else(|| std::mem::zeroed(), |former| former[at]);
        libc::sigaction(signal, &raw const former, ptr::null_mut());
        libc::raise(signal);
    }
}

/// Writes what runs, each text once, without taking a lock or memory.
fn report(to: RawFd, signal: &str) {
    let running = |at: usize| RUNNING[at].load(Ordering::Acquire);
    for at in 0..SLOTS {
        let text = running(at);
        if text.is_null() || (0..at).any(|before| running(before) == text) {
            continue;
        }
        // SAFETY: whatever a slot holds was leaked by `kept`.
        let text: &'static String = unsafe { &*text };
        for part in ["freestone: the process crashed (", signal, ") in ", text, "\n"] {
            // SAFETY: `write` may be called in a handler, with bytes that live through the call.
            unsafe { libc::write(to, part.as_ptr().cast(), part.len()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::{AsRawFd, FromRawFd};

    fn reported() -> String {
        let mut ends = [0; 2];
        // SAFETY: room for two descriptors.
        assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
        // SAFETY: both are ours, and new.
        let (mut reader, writer) =
            unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) };
        report(writer.as_raw_fd(), "SIGBUS");
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("a pipe without a writer ends");
        text
    }

    #[test]
    fn what_runs_is_reported_once_and_what_has_ended_is_not() {
        let first = note("the kernel 'f'");
        let same = note("the kernel 'f'");
        let other = note("the kernel 'g'");
        let line = |name: &str| format!("freestone: the process crashed (SIGBUS) in {name}\n");
        assert_eq!(reported(), line("the kernel 'f'") + &line("the kernel 'g'"));
        drop(first);
        drop(other);
        assert_eq!(reported(), line("the kernel 'f'"));
        drop(same);
        assert_eq!(reported(), "");
        let many: Vec<_> = (0..2 * SLOTS).map(|_| note("the kernel 'h'")).collect();
        assert_eq!(reported(), line("the kernel 'h'"));
        drop(many);
        assert_eq!(reported(), "");
    }
}
