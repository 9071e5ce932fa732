//! Submitting tasks, and waiting for events.

use crate::error::{Refused, answer, remember};
use crate::runtime::rank;
use crate::views::{View, Views, give};
use crate::words::{self, On};
use freestone_events::matching::Mode;
use freestone_events::rank::{Done, Events};
use freestone_events::{Rank, Submit};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::null;
use std::time::Duration;

type Task = unsafe extern "C" fn(*const View, c_int, *mut c_void);

const PERSISTENT: c_uint = 1;
const GREEDY: c_uint = 2;

/// A function of C and what it is called with.
#[derive(Clone, Copy)]
struct Body {
    task: Task,
    context: *mut c_void,
}

// SAFETY: who submits a task gives it to other threads, and knows what its context is.
unsafe impl Send for Body {}
// SAFETY: as above.
unsafe impl Sync for Body {}

impl Body {
    #[allow(clippy::unnecessary_wraps)] // as tasks are
    fn call(self, events: Events) -> Done {
        let mut views = Views::new(events);
        let (events, count) = views.look();
        // SAFETY: the views live as long as the call, and stay where they are.
        unsafe { (self.task)(events, count, self.context) };
        Ok(())
    }
}

/// Submits a task.
///
/// # Safety
/// As the header asks for: a function, `count` dependencies, words that end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_submit_on(
    task: Option<Task>,
    context: *mut c_void,
    on: *const On,
    count: usize,
    flags: c_uint,
    name: *const c_char,
) -> c_int {
    let submit = || -> Result<c_int, Refused> {
        let rank = rank()?;
        let task = task.ok_or_else(|| Refused::bad_call("the task is a null pointer"))?;
        // SAFETY: as the caller says.
        let on = unsafe { words::dependencies(rank, on, count)? };
        if flags & !(PERSISTENT | GREEDY) != 0 {
            return Err(Refused::bad_call(format!(
                "the flags are {flags}; possible are FSE_PERSISTENT and FSE_GREEDY"
            )));
        }
        let (persistent, greedy) = (flags & PERSISTENT != 0, flags & GREEDY != 0);
        let name = if name.is_null() {
            None
        } else {
            // SAFETY: as the caller says.
            Some(unsafe { words::name(name)? }.to_owned())
        };
        let label = name.as_deref().map(Into::into);
        let submit = Submit { on, mode: Mode { persistent, greedy }, name, label };
        submit_body(rank, submit, Body { task, context })
    };
    answer(submit())
}

fn submit_body(rank: &Rank, mut submit: Submit, body: Body) -> Result<c_int, Refused> {
    if submit.label.is_none() && !submit.on.is_empty() {
        // Where it was submitted would be this file.
        submit.label = Some(format!("the task at {:p}", body.task).into());
    }
    if submit.mode.persistent {
        rank.submit_many(submit, move |_, events| body.call(events))?;
    } else {
        rank.submit(submit, move |_, events| body.call(events))?;
    }
    Ok(0)
}

/// Waits for events.
///
/// # Safety
/// As the header asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_wait_on(
    on: *const On,
    count: usize,
    timeout_s: f64,
    found: *mut c_int,
) -> *const View {
    let wait = || -> Result<Events, Refused> {
        let rank = rank()?;
        // SAFETY: as the caller says.
        let on = unsafe { words::dependencies(rank, on, count)? };
        Ok(rank.wait(on, Duration::try_from_secs_f64(timeout_s).ok())?)
    };
    given(wait(), found)
}

/// Takes events that are there.
///
/// # Safety
/// As the header asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_retrieve_any_on(
    on: *const On,
    count: usize,
    found: *mut c_int,
) -> *const View {
    let retrieve = || -> Result<Events, Refused> {
        let rank = rank()?;
        // SAFETY: as the caller says.
        let on = unsafe { words::dependencies(rank, on, count)? };
        Ok(rank.retrieve_any(&on)?.into_iter().map(|(_, event)| event).collect())
    };
    given(retrieve(), found)
}

fn given(events: Result<Events, Refused>, found: *mut c_int) -> *const View {
    match events {
        Ok(events) => give(events, found),
        Err(refused) => {
            remember(&refused);
            if !found.is_null() {
                // SAFETY: C gives null or a place for a number.
                unsafe { found.write(0) };
            }
            null()
        }
    }
}
