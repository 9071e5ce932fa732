//! What Python wants done around the threads of a rank.

use freestone_events::Host;
use pyo3::ffi::{PyGILState_Ensure, PyGILState_Release, PyGILState_STATE};
use pyo3::prelude::*;
use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

thread_local! {
    /// Whether this thread is a rank's.
    static IS_RANKS: Cell<bool> = const { Cell::new(false) };
    /// What gives back the state that Python keeps of this thread.
    static KEPT: Cell<Option<PyGILState_STATE>> = const { Cell::new(None) };
}

/// Has Python keep the state of this thread, if it is a rank's: else it would forget the thread after
/// each task. Threads that run none never ask for the interpreter's lock.
pub fn keep_thread(_attached: Python<'_>) {
    if IS_RANKS.get() && KEPT.get().is_none() {
        // SAFETY: attached; given back when the thread ends.
        KEPT.set(Some(unsafe { PyGILState_Ensure() }));
    }
}

/// Looks for signals.
#[derive(Default)]
pub struct PythonHost {
    signal: Mutex<Option<PyErr>>,
}

impl PythonHost {
    /// What interrupted a wait.
    pub fn take_signal(&self) -> Option<PyErr> {
        self.signal.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Host for PythonHost {
    fn around(&self, body: &mut (dyn FnMut() + Send)) {
        IS_RANKS.set(true);
        body();
        if let Some(state) = KEPT.take() {
            // SAFETY: what `keep_thread` got, in the same thread, which is attached again.
            Python::attach(|_| unsafe { PyGILState_Release(state) });
        }
    }

    fn hears_signals(&self) -> bool {
        // Python handles signals in its main thread only.
        // SAFETY: plain calls.
        unsafe { libc::gettid() == libc::getpid() }
    }

    fn is_interrupted(&self) -> bool {
        Python::attach(|py| match py.check_signals() {
            Ok(()) => false,
            Err(error) => {
                *self.signal.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                true
            }
        })
    }
}
