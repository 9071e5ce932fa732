//! From the words of C to those of the core: sources, targets, types.

use crate::error::Refused;
use freestone_events::{Bridge, Dependency, EventId, Rank, Source, Target};
use std::ffi::{CStr, c_char, c_int};

pub const OWN: c_int = -1001;
pub const ALL: c_int = -1002;
pub const ANY: c_int = -1003;

/// Types of payloads, as in the header.
pub const NONE: u32 = 0;
pub const ADDRESS: u32 = 6;
pub const BOOL: u32 = 7;
pub const COMPLEX_FLOAT: u32 = 8;
pub const COMPLEX_DOUBLE: u32 = 9;
pub const INT8: u32 = 10;
pub const INT16: u32 = 11;
/// UTF-8, as Python fires its text.
pub const TEXT: u32 = 17;

/// `fse_dependency` of the header.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct On {
    source: c_int,
    id: *const c_char,
}

/// The numbers of a run, as one of its processes knows them.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    pub own: u32,
    pub ranks: u32,
    pub clients: u32,
}

impl From<&Rank> for Numbers {
    fn from(rank: &Rank) -> Self {
        Self { own: rank.rank(), ranks: rank.ranks(), clients: rank.clients() }
    }
}

impl From<&Bridge> for Numbers {
    fn from(bridge: &Bridge) -> Self {
        Self { own: bridge.number(), ranks: bridge.ranks(), clients: bridge.clients() }
    }
}

/// Bytes of one element of a type.
pub fn size_of_type(kind: u32) -> Option<usize> {
    match kind {
        0 => Some(0),
        1 | 3 => Some(4),
        2 | 4 | ADDRESS => Some(8),
        5 | BOOL | INT8 | TEXT => Some(1),
        COMPLEX_FLOAT => Some(8),
        COMPLEX_DOUBLE => Some(16),
        INT16 => Some(2),
        _ => None,
    }
}

/// A word that C gives.
///
/// # Safety
/// `word` is null or ends with a zero byte.
pub unsafe fn text<'a>(word: *const c_char, what: &str) -> Result<&'a CStr, Refused> {
    if word.is_null() {
        return Err(Refused::bad_call(format!("the {what} is a null pointer; give a word")));
    }
    // SAFETY: as the caller says.
    Ok(unsafe { CStr::from_ptr(word) })
}

/// The name of a lock or a task.
///
/// # Safety
/// As for [`text`].
pub unsafe fn name<'a>(word: *const c_char) -> Result<&'a str, Refused> {
    // SAFETY: as the caller says.
    let word = unsafe { text(word, "name")? };
    word.to_str().map_err(|_| Refused::bad_call(format!("the name {word:?} is not UTF-8")))
}

/// An identifier of events.
///
/// # Safety
/// As for [`text`].
pub unsafe fn id(word: *const c_char) -> Result<EventId, Refused> {
    // SAFETY: as the caller says.
    Ok(EventId::new(unsafe { text(word, "identifier")? }.to_bytes()))
}

/// Dependencies; an event of all ranks is one of each.
///
/// # Safety
/// `on` points to `count` of them, whose words end with a zero byte.
pub unsafe fn dependencies(
    numbers: Numbers,
    on: *const On,
    count: usize,
) -> Result<Vec<Dependency>, Refused> {
    if count > c_int::MAX as usize || (on.is_null() && count > 0) {
        return Err(Refused::bad_call(
            "the dependencies are none, fewer than 0, or more than a call can list; give more \
             than 64 as an array",
        ));
    }
    let mut all = Vec::with_capacity(count);
    for index in 0..count {
        // SAFETY: within the array, as the caller says.
        let (source, id) = unsafe {
            let on = *on.add(index);
            (on.source, id(on.id)?)
        };
        match source {
            ALL => all.extend(Dependency::all(numbers.ranks, &id)),
            ANY => all.push(Dependency { source: Source::Any, id }),
            source => {
                let source = Source::Rank(rank_of(numbers, source)?);
                all.push(Dependency { source, id });
            }
        }
    }
    Ok(all)
}

/// A rank, one that has attached, or this one.
pub fn rank_of(numbers: Numbers, number: c_int) -> Result<u32, Refused> {
    let Numbers { own, ranks, clients } = numbers;
    match u32::try_from(number) {
        Ok(found) if found < ranks + clients => Ok(found),
        _ if number == OWN => Ok(own),
        _ => Err(Refused::bad_call(format!(
            "there is no rank {number}; the run has {ranks}, from 0 to {}",
            ranks - 1
        ))),
    }
}

/// A target: a rank, this one, or all.
pub fn target(numbers: Numbers, number: c_int) -> Result<Target, Refused> {
    match number {
        ALL => Ok(Target::All),
        ANY => {
            let own = if numbers.own < numbers.ranks { ", at FSE_SELF" } else { "" };
            Err(Refused::bad_call(format!(
                "FSE_ANY is a source of events only; fire at a rank{own} or at FSE_ALL"
            )))
        }
        number => rank_of(numbers, number).map(Target::Rank),
    }
}
