//! Errors as C has them: a number, and a text for the thread that got it.

use freestone_base::Texts;
use freestone_events::EventsError;
use freestone_events::transport::TransportError;
use std::cell::RefCell;
use std::ffi::{c_char, c_int};

thread_local! {
    static TEXTS: RefCell<Texts> = RefCell::default();
}

/// A call was refused: its number, and what to say.
#[derive(Debug)]
pub struct Refused {
    pub code: c_int,
    pub text: String,
}

pub const BAD_CALL: c_int = -5;
pub const OVER: c_int = -4;
pub const NOT_HELD: c_int = -8;
pub const TRANSPORT: c_int = -9;
pub const NO_START: c_int = -10;
pub const BAD_COMM: c_int = -11;
pub const TOO_LARGE: c_int = -12;
pub const DISAGREEMENT: c_int = -13;

impl Refused {
    pub fn bad_call(text: impl Into<String>) -> Self {
        Self { code: BAD_CALL, text: text.into() }
    }

    pub fn too_large(text: impl Into<String>) -> Self {
        Self { code: TOO_LARGE, text: text.into() }
    }

    pub fn no_start(text: impl Into<String>) -> Self {
        Self { code: NO_START, text: text.into() }
    }

    /// A run that could not be begun.
    pub fn not_begun(error: &TransportError) -> Self {
        Self { code: own_code(error).unwrap_or(NO_START), text: error.to_string() }
    }
}

/// The number of an error that has one of its own.
fn own_code(error: &TransportError) -> Option<c_int> {
    match error {
        TransportError::BadCommunicator { .. } => Some(BAD_COMM),
        TransportError::Disagreement { .. } | TransportError::OtherVersion { .. } => {
            Some(DISAGREEMENT)
        }
        _ => None,
    }
}

impl From<EventsError> for Refused {
    fn from(error: EventsError) -> Self {
        let code = match &error {
            EventsError::TaskFailed { .. } => -1,
            EventsError::RankLost { .. } => -2,
            EventsError::Stuck { .. } => -3,
            EventsError::Over | EventsError::Interrupted => OVER,
            EventsError::NoSuchRank { .. }
            | EventsError::NotGreedy { .. }
            | EventsError::LongId { .. }
            | EventsError::ShortPeriod { .. }
            | EventsError::Removed { .. }
            | EventsError::NoDescriptor { .. } => BAD_CALL,
            EventsError::TooLarge { .. } => TOO_LARGE,
            EventsError::InTask { .. } => -6,
            EventsError::Timeout { .. } | EventsError::NoRoom { .. } => -7,
            EventsError::NotHeld(_) => NOT_HELD,
            EventsError::Transport(error) => own_code(error).unwrap_or(TRANSPORT),
            EventsError::NoThread(_) => NO_START,
        };
        Self { code, text: error.to_string() }
    }
}

/// What C gets: what was counted, or the number of the error, whose text is kept.
pub fn answer(result: Result<c_int, Refused>) -> c_int {
    result.unwrap_or_else(|refused| {
        let code = refused.code;
        remember(&refused);
        code
    })
}

/// A count, as C has it.
pub fn counted(count: usize) -> c_int {
    c_int::try_from(count).unwrap_or(c_int::MAX)
}

/// Keeps the text of an error for [`fse_error`].
pub fn remember(refused: &Refused) {
    TEXTS.with_borrow_mut(|texts| texts.keep(&refused.text));
}

/// What the last call of this thread that failed has to say.
#[unsafe(no_mangle)]
pub extern "C" fn fse_error() -> *const c_char {
    TEXTS.with_borrow(Texts::last)
}
