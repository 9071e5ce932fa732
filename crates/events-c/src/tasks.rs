//! Submitting tasks, and waiting for events.

use crate::error::{Refused, answer, remember};
use crate::runtime::rank;
use crate::views::{View, Views, give};
use crate::words::{self, On};
use freestone_events::matching::Mode;
use freestone_events::rank::{Done, Events};
use freestone_events::{Failure, Rank, Submit};
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null;
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
}

// SAFETY: who submits a task gives it to other threads, and knows what its context is.
unsafe impl Send for Body {}
// SAFETY: as above.
unsafe impl Sync for Body {}

impl Body {
    fn call(self, events: Events, name: Option<&str>) -> Done {
        let mut views = Views::new(events);
        let (events, count) = views.look();
        let Some(caller) = self.caller else {
            // SAFETY: the views live as long as the call, and stay where they are.
            unsafe { (self.task)(events, count, self.context) };
            return Ok(());
        };
        // SAFETY: as above.
        unsafe { caller(self.task, events, count, self.context) };
        let thrown = |text| {
            let what = name.map_or_else(|| described(self.task), |name| format!("'{name}'"));
            Err(Failure::text(&format!("{what} threw: {text}")))
        };
        THROWN.take().map_or(Ok(()), thrown)
    }
}

/// A task without a name, as debuggers find it.
fn described(task: Task) -> String {
    let address = task as *const c_void;
    // SAFETY: what is found is written there by the call, and zeros are none.
    let (found, info) = unsafe {
        let mut info = std::mem::zeroed::<libc::Dl_info>();
        (libc::dladdr(address, &raw mut info) != 0, info)
    };
    if !found || info.dli_fname.is_null() {
        return format!("the task at {address:p}");
    }
    // SAFETY: names of a program that is loaded, which end with a zero byte.
    let name = |name| unsafe { CStr::from_ptr(name) }.to_string_lossy();
    if info.dli_sname.is_null() {
        let offset = address.addr() - info.dli_fbase.addr();
        return format!("the task at {}+{offset:#x}", name(info.dli_fname));
    }
    format!("the task {}", name(info.dli_sname))
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
    // SAFETY: as the caller says.
    unsafe { fse_submit_by(None, task, context, on, count, flags, name) }
}

/// Submits a task that `caller` calls.
///
/// # Safety
/// As for [`fse_submit_on`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_submit_by(
    caller: Option<Caller>,
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
        submit_body(rank, submit, Body { task, caller, context })
    };
    answer(submit())
}

fn submit_body(rank: &Rank, mut submit: Submit, body: Body) -> Result<c_int, Refused> {
    let name = submit.label.clone();
    if submit.label.is_none() && !submit.on.is_empty() {
        // Where it was submitted would be this file.
        submit.label = Some(format!("the task at {:p}", body.task).into());
    }
    if submit.mode.persistent {
        rank.submit_many(submit, move |_, events| body.call(events, name.as_deref()))?;
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
