//! Submitting tasks, and waiting for events.

use crate::error::{Refused, answer, remember};
use crate::places;
use crate::recording;
use crate::runtime::{Part, part, rank};
use crate::views::{View, Views, give};
use crate::words::{self, OWN, On};
use freestone_events::matching::Mode;
use freestone_events::rank::{Code, Done, Events};
use freestone_events::{Failure, Rank, Submit};
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null;
use std::sync::Arc;
use std::time::Duration;

type Task = unsafe extern "C" fn(*const View, c_int, *mut c_void);
/// Calls a task, and gives the text of what it throws to [`fse_thrown`]; of a program in C++.
type Caller = unsafe extern "C" fn(Task, *const View, c_int, *mut c_void);

thread_local! {
    /// What the task that this thread runs has thrown.
    static THROWN: RefCell<Option<String>> = const { RefCell::new(None) };
}

const PERSISTENT: c_uint = 1;
const GREEDY: c_uint = 2;

/// A function of C and what it is called with.
#[derive(Clone, Copy)]
struct Body {
    task: Task,
    caller: Option<Caller>,
    context: *mut c_void,
    code: Code,
}

/// `fse_options` of the header.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    flags: c_uint,
    name: *const c_char,
    at_least: usize,
    within_s: f64,
}

// SAFETY: who submits a task gives it to other threads, and knows what its context is.
unsafe impl Send for Body {}
// SAFETY: as above.
unsafe impl Sync for Body {}

impl Body {
    fn call(self, events: Events, name: Option<&str>) -> Done {
        let called = || places::name_of(&self.code, name);
        recording::runs(called, events, |events| self.run(events, name))
    }

    fn run(self, events: Events, name: Option<&str>) -> Done {
        let mut views = Views::new(events);
        let (events, count) = views.look();
        // SAFETY: the views live as long as the call, and stay where they are.
        places::run(self.code, (events, count), || unsafe {
            match self.caller {
                None => (self.task)(events, count, self.context),
                Some(caller) => caller(self.task, events, count, self.context),
            }
        });
        if self.caller.is_none() {
            return Ok(());
        }
        let thrown = |text| {
            let what = places::described(&self.code, name);
            // SAFETY: the views are there still.
            let given = unsafe { places::given((events, count)) };
            Err(Failure::text(&format!("{what} threw: {text}{given}")))
        };
        THROWN.take().map_or(Ok(()), thrown)
    }
}

/// What the task that this thread runs has thrown: called by the header's part in C++.
///
/// # Safety
/// `text` ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_thrown(text: *const c_char) {
    // SAFETY: as the caller says.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    THROWN.set(Some(text));
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
    let options = Options { flags, name, at_least: 0, within_s: 0.0 };
    // SAFETY: as the caller says.
    unsafe { fse_submit_by(None, task, context, on, count, &raw const options) }
}

/// Submits a task, also in batches.
///
/// # Safety
/// As for [`fse_submit_on`]; `options` is null or some.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_submit_with(
    task: Option<Task>,
    context: *mut c_void,
    on: *const On,
    count: usize,
    options: *const Options,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe { fse_submit_by(None, task, context, on, count, options) }
}

/// Submits a task that `caller` calls.
///
/// # Safety
/// As for [`fse_submit_with`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_submit_by(
    caller: Option<Caller>,
    task: Option<Task>,
    context: *mut c_void,
    on: *const On,
    count: usize,
    options: *const Options,
) -> c_int {
    let code = places::task(task.map_or(null(), |task| task as *const c_void));
    let submit = || -> Result<c_int, Refused> {
        let rank = rank()?;
        let task = task.ok_or_else(|| Refused::bad_call("the task is a null pointer"))?;
        // SAFETY: as the caller says.
        let on = unsafe { words::dependencies(rank.into(), on, count)? };
        // SAFETY: as the caller says.
        let options = unsafe { options.as_ref() };
        let mut submit = Submit { on, ..Submit::default() };
        if let Some(options) = options {
            // SAFETY: as the caller says.
            unsafe { apply(options, &mut submit)? };
        }
        let name = submit.name.as_deref().map(Into::into);
        submit_body(rank, submit, name, Body { task, caller, context, code })
    };
    answer(submit())
}

unsafe fn apply(options: &Options, submit: &mut Submit) -> Result<(), Refused> {
    let Options { flags, name, at_least, within_s } = *options;
    if flags & !(PERSISTENT | GREEDY) != 0 {
        return Err(Refused::bad_call(format!(
            "the flags are {flags}; possible are FSE_PERSISTENT and FSE_GREEDY"
        )));
    }
    let (persistent, greedy) = (flags & PERSISTENT != 0, flags & GREEDY != 0);
    submit.mode = Mode { persistent, greedy, at_least };
    submit.within = Duration::try_from_secs_f64(within_s).map_err(|_| {
        Refused::bad_call(format!("within_s is {within_s}: it must be a number of seconds"))
    })?;
    if !name.is_null() {
        // SAFETY: as the caller says.
        submit.name = Some(unsafe { words::name(name)? }.to_owned());
    }
    Ok(())
}

fn submit_body(
    rank: &Rank,
    mut submit: Submit,
    name: Option<Arc<str>>,
    body: Body,
) -> Result<c_int, Refused> {
    submit.label = Some(places::label(body.code, name.clone()));
    if submit.mode.persistent {
        rank.submit_many(submit, move |_, events| body.call(events, name.as_deref()))?;
    } else if name.is_none() {
        // Without the name a task is so small that it is kept in place.
        rank.submit(submit, move |_, events| body.call(events, None))?;
    } else {
        rank.submit(submit, move |_, events| body.call(events, name.as_deref()))?;
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
        let part = part()?;
        // SAFETY: as the caller says.
        let on = unsafe { words::dependencies(part.numbers(), on, count)? };
        let label = places::here();
        if timeout_s.is_nan() {
            let text = "timeout_s is nan; give seconds, or a number below 0 to wait for as long as it takes";
            return Err(Refused::bad_call(text));
        }
        let timeout = Duration::try_from_secs_f64(timeout_s).ok();
        match part {
            Part::Rank(rank) => Ok(recording::waits(on, |on| rank.wait_as(label, on, timeout))?),
            Part::Bridge(bridge) => Ok(bridge.wait(&label, on, timeout, &|| false)?),
        }
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
        let part = part()?;
        // SAFETY: as the caller says.
        let on = unsafe { words::dependencies(part.numbers(), on, count)? };
        let found = match part {
            Part::Rank(rank) => rank.retrieve_any(&on)?,
            Part::Bridge(bridge) => bridge.retrieve_any(&on)?,
        };
        let events: Events = found.into_iter().map(|(_, event)| event).collect();
        recording::took(&events);
        Ok(events)
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
                unsafe { found.write(refused.code) };
            }
            null()
        }
    }
}

/// The first event with an identifier from a source.
///
/// # Safety
/// `events` points to `count` of them, `id` ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_find(
    events: *const View,
    count: c_int,
    source: c_int,
    id: *const c_char,
) -> *const View {
    let (Ok(rank), false, false) = (rank(), events.is_null(), id.is_null()) else {
        return null();
    };
    let source = if source == OWN { rank.rank().cast_signed() } else { source };
    // SAFETY: as the caller says.
    let (events, id) =
        unsafe { (std::slice::from_raw_parts(events, count.max(0) as usize), CStr::from_ptr(id)) };
    events.iter().find(|event| event.fits(source, id)).map_or(null(), std::ptr::from_ref)
}
