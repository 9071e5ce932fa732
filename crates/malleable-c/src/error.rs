//! Errors as C has them: a number, and a text for the thread that got it.

use freestone_base::Texts;
use freestone_malleable::{Fault, MalleableError};
use std::cell::RefCell;
use std::ffi::{c_char, c_int};

thread_local! {
    static TEXTS: RefCell<Texts> = RefCell::default();
}

/// A call was refused: its number, and what to say.
#[derive(Clone, Debug)]
pub struct Refused {
    pub code: c_int,
    pub text: String,
}

impl Refused {
    pub fn bad_call(text: impl Into<String>) -> Self {
        Self { code: -6, text: text.into() }
    }
}

impl From<MalleableError> for Refused {
    fn from(error: MalleableError) -> Self {
        let code = match error.fault() {
            Fault::Disagreement => -1,
            Fault::Layout => -2,
            Fault::Timeout => -3,
            Fault::Mpi => -4,
            Fault::Memory => -5,
            Fault::BadCall => -6,
            Fault::Callback => -7,
            Fault::State => -8,
        };
        Self { code, text: error.to_string() }
    }
}

/// What C gets: a number, or that of the error, whose text is kept.
pub fn answer(result: Result<c_int, Refused>) -> c_int {
    result.unwrap_or_else(|refused| {
        remember(&refused.text);
        refused.code
    })
}

/// Keeps a text for [`fsm_error`].
pub fn remember(text: &str) {
    TEXTS.with_borrow_mut(|texts| texts.keep(text));
}

/// What the last call of this thread that failed, or the last resize that was cancelled, has to say.
#[unsafe(no_mangle)]
pub extern "C" fn fsm_error() -> *const c_char {
    TEXTS.with_borrow(Texts::last)
}
