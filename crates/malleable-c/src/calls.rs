//! The calls of the header.

use crate::config::{self, Given, text};
use crate::error::{Refused, answer, remember};
use crate::functions::{AdoptRuns, Functions, UserData};
use freestone_malleable::data::Form;
use freestone_malleable::mpi::Library;
use freestone_malleable::{Job, Kind, MalleableError, Outcome, Role};
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    static NAME: RefCell<CString> = RefCell::default();
}

/// The job that this process is in; a program has one.
static JOB: Mutex<Option<Shared>> = Mutex::new(None);

/// Whether a job was begun, by a program whose end is the job's own concern then. Written and read
/// by one thread, as calls are.
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);

/// Why [`begun`] failed, which later calls repeat: a program that did not look at its answer would
/// hear of nothing else.
static NOT_BEGUN: Mutex<Option<Refused>> = Mutex::new(None);

/// Whether a job has ended; of one thread, too.
static HAS_ENDED: AtomicBool = AtomicBool::new(false);

struct Shared(Job);

// SAFETY: whoever uses it holds the lock; replicated memory is the program's, which waits then.
unsafe impl Send for Shared {}

/// `fsm_resize_info` of the header, without its communicator.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ResizeInfo {
    bridge: usize,
    sources: c_int,
    targets: c_int,
    old_rank: c_int,
    new_rank: c_int,
}

pub fn with_job<T>(act: impl FnOnce(&mut Job) -> Result<T, Refused>) -> Result<T, Refused> {
    let Ok(mut job) = JOB.try_lock() else {
        return Err(Refused::bad_call(
            "another thread, or a function that the library calls, is in the library: call it from \
             one thread, and not from such functions",
        ));
    };
    match job.as_mut() {
        Some(job) => act(&mut job.0),
        None if HAS_ENDED.load(Ordering::Relaxed) => Err(Refused::bad_call(
            "fsm_finalise was called before: there are no rows, ranks and communicator of the job \
             any more",
        )),
        None => Err(not_begun()),
    }
}

fn not_begun() -> Refused {
    let failed = NOT_BEGUN.try_lock().ok().and_then(|failed| failed.clone());
    failed.map_or_else(
        || Refused::bad_call("call fsm_init first"),
        |Refused { code, text }| Refused { code, text: format!("fsm_init has failed: {text}") },
    )
}

/// Keeps why there is no job; an error of a second call is nothing to one that is there.
fn noted(begun: Result<c_int, Refused>) -> Result<c_int, Refused> {
    if let Ok(mut failed) = NOT_BEGUN.lock() {
        *failed = begun.as_ref().err().cloned();
    }
    begun
}

/// As [`with_job`], for calls that call MPI.
fn with_mpi<T>(act: impl FnOnce(&mut Job) -> Result<T, Refused>) -> Result<T, Refused> {
    with_job(|job| {
        job.require_mpi()?;
        act(job)
    })
}

/// Runs before `main` of a program that is linked to this library.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = stand_guard;

extern "C" fn stand_guard() {
    // Who loads this library later may have begun MPI, which no fork keeps.
    if Library::loaded().is_err() {
        freestone_malleable::guard::stand();
        // SAFETY: a function without arguments; without it such a process ends at once.
        unsafe { atexit(outlive_connecting) };
    }
}

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> c_int;
}

extern "C" fn outlive_connecting() {
    if let (false, Ok(library)) = (HAS_BEGUN.load(Ordering::Relaxed), Library::loaded()) {
        let timeout = freestone_malleable::Settings::default().spawn_timeout;
        freestone_malleable::job::outlive_connecting(&library, timeout);
    }
}

/// A joining rank that ends before its first checkpoint says so: the others wait for it.
extern "C" fn end_early() {
    // A function that the library calls may end the process: the job has begun to move then.
    if let Ok(mut job) = JOB.try_lock() {
        job.iter_mut().for_each(|job| job.0.end_early());
    }
}

fn begun(comm: usize, settings: freestone_malleable::Settings) -> Result<c_int, Refused> {
    let mut job = JOB.try_lock().map_err(|_| Refused::bad_call("fsm_init is running already"))?;
    if job.is_some() {
        return Err(Refused::bad_call("fsm_init was called before: a program has one job"));
    }
    // The linker takes it from the static library because it is named here.
    std::hint::black_box(&BEFORE_MAIN);
    let library = Library::loaded().map_err(Refused::from)?;
    if library.is_null(comm) {
        return Err(Refused::bad_call("the communicator is MPI_COMM_NULL: give one of all ranks"));
    }
    HAS_BEGUN.store(true, Ordering::Relaxed);
    let begun = Job::new(Box::new(library), comm, settings)?;
    if begun.is_joining() {
        library.before_end(end_early)?;
        // SAFETY: a function without arguments; without it the others wait for the set time.
        unsafe { atexit(end_early) };
    }
    *job = Some(Shared(begun));
    Ok(0)
}

/// Begins, with a communicator as C has it.
///
/// # Safety
/// `config` is null or points to a whole `fsm_config`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsm_init_handle(comm: usize, config: *const Given) -> c_int {
    // SAFETY: as the caller says.
    answer(noted(unsafe { config::resolve(config) }.and_then(|settings| begun(comm, settings))))
}

/// Begins, with a communicator as Fortran has it.
///
/// # Safety
/// As for [`fsm_init_handle`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsm_init_fortran(comm: c_int, config: *const Given) -> c_int {
    let begin = || -> Result<c_int, Refused> {
        let comm = Library::loaded()?.of_fortran(comm);
        // SAFETY: as the caller says.
        begun(comm, unsafe { config::resolve(config)? })
    };
    answer(noted(begin()))
}

/// # Safety
/// `word` is null or ends with a zero.
pub unsafe fn name(word: *const c_char) -> Result<String, Refused> {
    // SAFETY: as the caller says.
    let name = unsafe { text(word)? }.filter(|name| !name.is_empty());
    name.ok_or_else(|| Refused::bad_call("data has no name: give one"))
}

/// Registers data. What is wrong with it is an error of the first checkpoint, too: a program that
/// does not look at this call's answer would lose it in a resize.
fn register(act: impl FnOnce(&mut Job) -> Result<(), Refused>) -> c_int {
    answer(with_job(|job| {
        let done = act(job);
        if let Err(refused) = &done {
            // Errors of the job itself are kept already, with their kind.
            job.refused(MalleableError::BadCall(refused.text.clone()));
        }
        done.map(|()| 0)
    }))
}

/// Registers rows.
///
/// # Safety
/// `word` ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsm_register_rows(
    word: *const c_char,
    kind: c_int,
    rows: u64,
    row_nbytes: u64,
) -> c_int {
    register(|job| {
        // SAFETY: as the caller says.
        let name = unsafe { name(word)? };
        let kind = match kind {
            1 => Kind::Constant,
            2 => Kind::Variable,
            _ => {
                return Err(Refused::bad_call(format!(
                    "{name:?}: {kind} is neither FSM_CONSTANT nor FSM_VARIABLE"
                )));
            }
        };
        job.register_rows(&name, rows, row_nbytes, kind)?;
        Ok(())
    })
}

/// Registers bytes that all ranks have alike.
///
/// # Safety
/// `word` ends with a zero; there are `nbytes` bytes until [`fsm_finalise`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsm_register_replicated(
    word: *const c_char,
    bytes: *mut c_void,
    nbytes: u64,
) -> c_int {
    register(|job| {
        // SAFETY: as the caller says.
        let name = unsafe { name(word)? };
        if bytes.is_null() {
            return Err(Refused::bad_call(format!("{name:?}: the address is a null pointer")));
        }
        // SAFETY: as the caller says.
        unsafe { job.register_replicated(&name, bytes.cast(), nbytes)? };
        Ok(())
    })
}

/// Registers rows that functions pack and unpack.
///
/// # Safety
/// `word` ends with a zero; `functions` points to a whole `fsm_functions`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsm_register_user(
    word: *const c_char,
    rows: u64,
    functions: *const Functions,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe { registered_user(word, rows, functions, None, "adopt") }
}

/// Registers rows that functions pack and unpack, of which a rank may have several runs.
///
/// # Safety
/// As for [`fsm_register_user`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsm_register_user_runs(
    word: *const c_char,
    rows: u64,
    functions: *const Functions,
    adopt_runs: Option<AdoptRuns>,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        match adopt_runs {
            Some(_) => registered_user(word, rows, functions, adopt_runs, "adopt_runs"),
            None => registered_user(word, rows, std::ptr::null(), None, "adopt_runs"),
        }
    }
}

/// # Safety
/// As for [`fsm_register_user`].
unsafe fn registered_user(
    word: *const c_char,
    rows: u64,
    functions: *const Functions,
    adopt_runs: Option<AdoptRuns>,
    adopt: &str,
) -> c_int {
    register(|job| {
        // SAFETY: as the caller says.
        let (name, functions) = unsafe { (name(word)?, functions.as_ref().copied()) };
        let functions = functions.and_then(|given| UserData::new(&name, given, adopt_runs));
        let functions = functions.ok_or_else(|| {
            Refused::bad_call(format!("{name:?}: nbytes, pack, {adopt} and unpack are all needed"))
        })?;
        job.register_user(&name, rows, Box::new(functions))?;
        Ok(())
    })
}

fn outcome(
    job: &mut Job,
    act: impl FnOnce(&mut Job) -> Result<Outcome, MalleableError>,
) -> Result<c_int, Refused> {
    Ok(match act(job)? {
        Outcome::Resized => 1,
        Outcome::Leave => 2,
        Outcome::UserPhase => 3,
        Outcome::Cancelled => {
            remember(job.cancelled().unwrap_or_default());
            4
        }
        Outcome::Same | Outcome::Over | Outcome::Failed | Outcome::NotCommitted => 0,
    })
}

/// The head of a step.
#[unsafe(no_mangle)]
pub extern "C" fn fsm_checkpoint(step: i64) -> c_int {
    answer(with_mpi(|job| outcome(job, |job| job.checkpoint(step))))
}

/// The end of the user phase.
#[unsafe(no_mangle)]
pub extern "C" fn fsm_commit() -> c_int {
    answer(with_mpi(|job| outcome(job, Job::commit)))
}

/// Ends the job, and gives its memory back.
#[unsafe(no_mangle)]
pub extern "C" fn fsm_finalise() -> c_int {
    answer(with_mpi(|job| outcome(job, Job::end)).map(|_| {
        if let Ok(mut job) = JOB.try_lock() {
            *job = None;
            HAS_ENDED.store(true, Ordering::Relaxed);
        }
        0
    }))
}

/// Asks for a size.
#[unsafe(no_mangle)]
pub extern "C" fn fsm_request(size: c_int) -> c_int {
    answer(with_job(|job| {
        job.request(size.into())?;
        Ok(0)
    }))
}

/// Gives variable data other numbers of rows.
///
/// # Safety
/// `words` points to `length` words that end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsm_set_rows(
    words: *const *const c_char,
    length: c_int,
    count: u64,
) -> c_int {
    answer(with_mpi(|job| {
        let length = usize::try_from(length).unwrap_or_default();
        let words = if words.is_null() || length == 0 {
            &[]
        } else {
            // SAFETY: as the caller says.
            unsafe { std::slice::from_raw_parts(words, length) }
        };
        // SAFETY: as the caller says.
        let names: Result<Vec<_>, _> = words.iter().map(|word| unsafe { name(*word) }).collect();
        job.set_rows(&names?, count)?;
        Ok(0)
    }))
}

/// # Safety
/// `word` is null or ends with a zero.
unsafe fn path(word: *const c_char) -> Result<PathBuf, Refused> {
    // SAFETY: as the caller says.
    let path = unsafe { text(word)? }.filter(|path| !path.is_empty());
    path.map(PathBuf::from).ok_or_else(|| Refused::bad_call("the file has no name: give one"))
}

/// Writes all registered data into a file.
///
/// # Safety
/// `word` ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsm_save(word: *const c_char) -> c_int {
    answer(with_mpi(|job| {
        // SAFETY: as the caller says.
        job.save(&unsafe { path(word)? })?;
        Ok(0)
    }))
}

/// Reads all registered data from a file; 1 if it is there, or this rank joins.
///
/// # Safety
/// `word` ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsm_load(word: *const c_char) -> c_int {
    // SAFETY: as the caller says.
    answer(with_mpi(|job| Ok(job.load(&unsafe { path(word)? })?.into())))
}

/// How often rows have moved, or were replaced, since this rank is in the job.
#[unsafe(no_mangle)]
pub extern "C" fn fsm_changes() -> c_int {
    number(|job| job.changes() as usize)
}

/// What the others have registered, as a joining rank knows it: the name, or null.
///
/// # Safety
/// `rows` and `nbytes` are null or places for numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsm_expected(
    index: c_int,
    rows: *mut u64,
    nbytes: *mut u64,
) -> *const c_char {
    let found = with_job(|job| {
        let found = usize::try_from(index).ok().and_then(|index| job.expected(index));
        let found = found.ok_or_else(|| Refused::bad_call("nothing more is registered"))?;
        let size = match found.form {
            Form::Rows { row_nbytes, .. } => row_nbytes,
            Form::Replicated { nbytes } => nbytes,
            Form::User { .. } => 0,
        };
        Ok((found.name.clone(), found.rows().unwrap_or_default(), size))
    });
    let Ok((name, count, size)) = found else { return std::ptr::null() };
    // SAFETY: as the caller says.
    unsafe {
        if let Some(rows) = rows.as_mut() {
            *rows = count;
        }
        if let Some(nbytes) = nbytes.as_mut() {
            *nbytes = size;
        }
    }
    NAME.set(CString::new(name).unwrap_or_default());
    NAME.with_borrow(|name| name.as_ptr())
}

/// The resize that is to be committed.
///
/// # Safety
/// `info` is a place for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsm_resize_handle(info: *mut ResizeInfo) -> c_int {
    let number = |rank: Option<usize>| rank.map_or(-1, |rank| c_int::try_from(rank).unwrap_or(-1));
    answer(with_mpi(|job| {
        let resize = job.resize()?;
        // SAFETY: as the caller says.
        let Some(info) = (unsafe { info.as_mut() }) else {
            return Err(Refused::bad_call("the info is a null pointer"));
        };
        *info = ResizeInfo {
            bridge: resize.bridge,
            sources: number(Some(resize.sources)),
            targets: number(Some(resize.targets)),
            old_rank: number(resize.old_rank),
            new_rank: number(resize.new_rank),
        };
        Ok(0)
    }))
}

/// The communicator, as C has it.
#[unsafe(no_mangle)]
pub extern "C" fn fsm_comm_handle() -> usize {
    // No communicator of the interface is 0, which C takes for an error.
    with_job(|job| job.comm().ok_or_else(not_in)).unwrap_or_else(|refused| {
        remember(&refused.text);
        0
    })
}

/// The communicator, or another one of a resize, as Fortran has it.
#[unsafe(no_mangle)]
pub extern "C" fn fsm_to_fortran(comm: usize) -> c_int {
    Library::loaded().map_or(-1, |library| library.to_fortran(comm))
}

fn not_in() -> Refused {
    Refused::bad_call("this process has no communicator: it is not in the job yet, or has left it")
}

fn number(of: impl FnOnce(&mut Job) -> usize) -> c_int {
    answer(with_job(|job| Ok(c_int::try_from(of(job)).unwrap_or(c_int::MAX))))
}

/// What this process is.
#[unsafe(no_mangle)]
pub extern "C" fn fsm_role() -> c_int {
    number(|job| match job.role() {
        Role::Staying => 1,
        Role::Joining => 2,
        Role::Leaving => 3,
    })
}

/// Whether it was spawned, and has not joined yet.
#[unsafe(no_mangle)]
pub extern "C" fn fsm_is_joining() -> c_int {
    number(|job| usize::from(job.is_joining()))
}

/// The number of this rank.
#[unsafe(no_mangle)]
pub extern "C" fn fsm_rank() -> c_int {
    number(|job| job.rank())
}

/// How many ranks there are.
#[unsafe(no_mangle)]
pub extern "C" fn fsm_size() -> c_int {
    number(|job| job.size())
}

/// How often the job was resized since this rank is in it.
#[unsafe(no_mangle)]
pub extern "C" fn fsm_resizes() -> c_int {
    number(|job| job.resizes() as usize)
}

/// The program's step.
#[unsafe(no_mangle)]
pub extern "C" fn fsm_step() -> i64 {
    counted(|job| job.step())
}

/// Bytes of rows that this rank has sent in resizes.
#[unsafe(no_mangle)]
pub extern "C" fn fsm_sent_nbytes() -> i64 {
    counted(|job| job.sent_nbytes().cast_signed())
}

fn counted(of: impl FnOnce(&mut Job) -> i64) -> i64 {
    with_job(|job| Ok(of(job))).unwrap_or_else(|refused| answer(Err(refused)).into())
}
