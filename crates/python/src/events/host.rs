//! What Python wants done around the threads of a rank.

use freestone_events::Host;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Keeps the state that Python has of a thread, and looks for signals.
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
        // Attached once for all: else Python would forget the thread after each task.
        Python::attach(|py| py.detach(body));
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
