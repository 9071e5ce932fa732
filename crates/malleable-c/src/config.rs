//! How a job is resized: what C gives, then the environment, then defaults.

use crate::error::Refused;
use crate::functions::{LayoutFunction, OwnerFunction, layout, owner};
use freestone_malleable::{Method, Settings};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::PathBuf;
use std::time::Duration;

/// `fsm_config` of the header.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Given {
    method: c_int,
    overlap: c_int,
    user_phase: c_int,
    targets: *const c_char,
    target_file: *const c_char,
    layout: Option<LayoutFunction>,
    context: *mut c_void,
    timeout_s: f64,
    spawn_timeout_s: f64,
    step_timeout_s: f64,
    slots: c_int,
    minimal: c_int,
    owner: Option<OwnerFunction>,
}

/// Reads what was given and the environment.
///
/// # Safety
/// `given` is null or points to a whole `fsm_config`, whose texts end with zeros.
pub unsafe fn resolve(given: *const Given) -> Result<Settings, Refused> {
    let defaults = Settings::default();
    // SAFETY: as the caller says; null and zeros are defaults.
    let given = unsafe { given.as_ref() }.copied().unwrap_or(Given {
        method: 0,
        overlap: 0,
        user_phase: 0,
        targets: std::ptr::null(),
        target_file: std::ptr::null(),
        layout: None,
        context: std::ptr::null_mut(),
        timeout_s: 0.0,
        spawn_timeout_s: 0.0,
        step_timeout_s: 0.0,
        slots: 0,
        minimal: 0,
        owner: None,
    });
    let method = match (given.method, variable("METHOD").as_deref()) {
        (0, None | Some("merge")) | (1, _) => Method::Merge,
        (0, Some("baseline")) | (2, _) => Method::Baseline,
        (0, Some(other)) => return Err(bad("METHOD", other, "must be merge or baseline")),
        (other, _) => return Err(bad("method", other, "must be FSM_MERGE or FSM_BASELINE")),
    };
    let is_overlapped = flag("overlap", given.overlap)?;
    let is_minimal = flag("minimal", given.minimal)?;
    if is_minimal && (given.layout.is_some() || given.owner.is_some()) {
        return Err(bad(
            "minimal",
            1,
            "goes without a layout or owner function, which says otherwise",
        ));
    }
    let layout = match (given.layout, given.owner) {
        (Some(_), Some(_)) => {
            return Err(bad(
                "owner",
                "a function",
                "goes without a layout function: give one of both",
            ));
        }
        (Some(function), None) => Some(layout(function, given.context)),
        (None, function) => function.map(|function| owner(function, given.context)),
    };
    // SAFETY: as the caller says.
    let (targets, file) = unsafe { (text(given.targets)?, text(given.target_file)?) };
    let targets = targets.or_else(|| variable("TARGETS")).unwrap_or_default();
    let targets = Settings::parse_targets(&targets).map_err(Refused::bad_call)?;
    let slots = match (given.slots, variable("SLOTS")) {
        (0, None) => None,
        (0, Some(value)) => match value.parse() {
            Ok(slots @ 1..) => Some(slots),
            _ => return Err(bad("SLOTS", value, "must be a number of ranks, at least 1")),
        },
        (slots, _) => match u64::try_from(slots) {
            Ok(slots) => Some(slots),
            Err(_) => return Err(bad("slots", slots, "must be a number of ranks, or 0")),
        },
    };
    Ok(Settings {
        slots,
        method,
        is_overlapped,
        is_minimal,
        has_user_phase: given.user_phase != 0,
        layout,
        targets,
        target_file: file.or_else(|| variable("TARGET_FILE")).map(PathBuf::from),
        timeout: seconds("TIMEOUT_S", given.timeout_s, defaults.timeout)?,
        spawn_timeout: seconds("SPAWN_TIMEOUT_S", given.spawn_timeout_s, defaults.spawn_timeout)?,
        step_timeout: seconds("STEP_TIMEOUT_S", given.step_timeout_s, defaults.step_timeout)?,
    })
}

/// A text of C's, if there is one.
///
/// # Safety
/// It is null or ends with a zero.
pub unsafe fn text(word: *const c_char) -> Result<Option<String>, Refused> {
    if word.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller says.
    let word = unsafe { CStr::from_ptr(word) };
    let text = word.to_str().map_err(|_| Refused::bad_call(format!("{word:?} is not UTF-8")))?;
    Ok(Some(text.to_owned()))
}

fn flag(name: &str, given: c_int) -> Result<bool, Refused> {
    let variable_name = name.to_uppercase();
    match (given, variable(&variable_name).as_deref()) {
        (0, None | Some("0")) => Ok(false),
        (0, Some("1")) | (1, _) => Ok(true),
        (0, Some(other)) => Err(bad(&variable_name, other, "must be 0 or 1")),
        (other, _) => Err(bad(name, other, "must be 0 or 1")),
    }
}

fn seconds(name: &str, given: f64, default: Duration) -> Result<Duration, Refused> {
    let wrong = "must be a number of seconds up to 1e9, or 0 for the default";
    let (seconds, written): (f64, _) = match variable(name) {
        Some(value) if given == 0.0 => {
            (value.parse().map_err(|_| bad(name, &value, wrong))?, value)
        }
        _ => (given, format!("{given:e}")),
    };
    match seconds {
        0.0 => Ok(default),
        0.0..=1e9 => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(bad(name, written, wrong)),
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(format!("FREESTONE_MALLEABLE_{name}")).ok().filter(|value| !value.is_empty())
}

fn bad(name: &str, value: impl std::fmt::Display, rule: &str) -> Refused {
    let name = if name.chars().all(char::is_lowercase) {
        name.to_owned()
    } else {
        format!("FREESTONE_MALLEABLE_{name}")
    };
    Refused::bad_call(format!("{name} is {value}: it {rule}"))
}
