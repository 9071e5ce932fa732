//! The rank that this process is.

use crate::config::{Given, Settings, resolve};
use crate::error::{NOT_HELD, Refused, answer, counted};
use crate::launch::{self, Begun};
use crate::places;
use crate::recording;
use crate::words::Numbers;
use freestone_events::transport::TransportError;
use freestone_events::transport::mpi::gate;
use freestone_events::transport::mpi::{Handle, Library, Role, World};
use freestone_events::{Bridge, EventsError, Progress, Rank, limits, say};
use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A process is one rank of one run at a time. Ranks are kept for ever: threads may still look at
/// one whose run has ended.
static RANK: AtomicPtr<Rank> = AtomicPtr::new(null_mut());

/// The rank of the last run, which has ended.
static ENDED: AtomicPtr<Rank> = AtomicPtr::new(null_mut());

/// The run to which this process is attached. Kept for ever, as ranks are.
static BRIDGE: AtomicPtr<Bridge> = AtomicPtr::new(null_mut());

/// What this process is to a run.
#[derive(Clone, Copy)]
pub enum Part {
    Rank(&'static Rank),
    Bridge(&'static Bridge),
}

impl Part {
    /// The numbers of the run.
    pub fn numbers(self) -> Numbers {
        match self {
            Self::Rank(rank) => rank.into(),
            Self::Bridge(bridge) => bridge.into(),
        }
    }
}

/// This process's part in a run.
pub fn part() -> Result<Part, Refused> {
    // SAFETY: null, or a bridge that was leaked.
    match unsafe { BRIDGE.load(Ordering::Acquire).as_ref() } {
        Some(bridge) => Ok(Part::Bridge(bridge)),
        None => rank().map(Part::Rank),
    }
}

/// This process's rank.
pub fn rank() -> Result<&'static Rank, Refused> {
    // SAFETY: null, or a rank that was leaked.
    unsafe { RANK.load(Ordering::Acquire).as_ref() }.ok_or_else(|| {
        if BRIDGE.load(Ordering::Acquire).is_null() {
            let text = "no run has begun, or it is over; call this between fse_init and fse_finalise";
            return Refused { code: crate::error::OVER, text: text.into() };
        }
        Refused::bad_call(
            "this process has attached to a run and is no rank of it: it can fire, wait, retrieve and \
             detach",
        )
    })
}

/// The numbers of the run, or of the last one, when this process was a rank of it.
fn numbers() -> Result<Numbers, Refused> {
    // SAFETY: null, or a rank that was leaked.
    let ended = || unsafe { ENDED.load(Ordering::Acquire).as_ref() };
    part().map(Part::numbers).or_else(|refused| ended().map(Numbers::from).ok_or(refused))
}

/// Says so if this process exits and is still a rank of a run: its launcher may say nothing.
extern "C" fn report_exit() {
    // SAFETY: plain calls.
    let is_copy = || STARTED.load(Ordering::Relaxed) != unsafe { libc::getpid() };
    if let Ok(rank) = rank()
        && !rank.is_over()
        && !is_copy()
    {
        say(&format!(
            "freestone events: rank {} exits before fse_finalise: it is lost for the others; call fse_finalise on \
             every path to the end of the program, or fse_fail to end the run with an error",
            rank.rank()
        ));
    }
}

/// Detaches this process if it exits and is still attached to a run, which would wait for it for ever.
extern "C" fn detach_at_exit() {
    // SAFETY: null, or a bridge that was leaked.
    let bridge = unsafe { BRIDGE.load(Ordering::Acquire).as_ref() };
    // SAFETY: a plain call.
    let is_copy = || ATTACHED_IN.load(Ordering::Relaxed) != unsafe { libc::getpid() };
    let Some(bridge) = bridge.filter(|_| !is_copy()) else { return };
    BRIDGE.store(null_mut(), Ordering::Release);
    // A run that has ended with an error waits for nobody.
    if !bridge.is_over() {
        say(&format!(
            "freestone events: bridge {} ends before fse_detach: it is detached now, and fires no more; call \
             fse_detach on every path to the end of the program",
            bridge.number()
        ));
    }
    // Whatever goes wrong now, the ranks say more.
    let _ = bridge.detach();
}

/// The process that detaches at its end; 0 before it attaches. A copy of it, by `fork`, is no bridge.
static ATTACHED_IN: AtomicI32 = AtomicI32::new(0);

/// Has this process detach before MPI ends, or at its exit, whichever comes first.
fn detach_in_time(library: &Library) {
    // SAFETY: plain calls; the function has no arguments.
    unsafe {
        let own = libc::getpid();
        if ATTACHED_IN.swap(own, Ordering::Relaxed) != own {
            libc::atexit(detach_at_exit);
            library.before_end(detach_at_exit);
        }
    }
}

/// The process that reports its exit; 0 before the first run. A copy of it, by `fork`, is no rank.
static STARTED: AtomicI32 = AtomicI32::new(0);

/// Has this process say so if it exits before the run is over.
fn watch_exit() {
    // SAFETY: plain calls; the function has no arguments.
    unsafe {
        let own = libc::getpid();
        if STARTED.swap(own, Ordering::Relaxed) != own {
            libc::atexit(report_exit);
        }
    }
}

/// Begins the run.
///
/// # Safety
/// `given` is null or a configuration; no other thread runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_init(given: *const Given) -> c_int {
    // SAFETY: as the header asks for.
    let given = unsafe { given.as_ref() }.copied().unwrap_or_default();
    answer(init(given, None))
}

/// Begins the run on the ranks of a communicator of MPI's.
///
/// # Safety
/// As for [`fse_init`]; `comm` is a communicator, as bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_init_on(given: *const Given, comm: usize) -> c_int {
    // SAFETY: as the header asks for.
    let given = unsafe { given.as_ref() }.copied().unwrap_or_default();
    answer(init(given, Some(comm)))
}

/// Begins the run on the ranks of a communicator that a program in Fortran has.
///
/// # Safety
/// As for [`fse_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_init_f(given: *const Given, comm: c_int) -> c_int {
    // SAFETY: as the header asks for.
    let given = unsafe { given.as_ref() }.copied().unwrap_or_default();
    answer(of_fortran(comm).and_then(|comm| init(given, Some(comm))))
}

fn of_fortran(comm: c_int) -> Result<Handle, Refused> {
    let library = Library::find(&[]).map_err(|error| Refused::not_begun(&error))?;
    Ok(library.from_fortran(comm))
}

fn init(given: Given, comm: Option<usize>) -> Result<c_int, Refused> {
    places::begin();
    if part().is_ok() {
        return Err(Refused::bad_call(
            "fse_init or fse_attach was called before; a process is one rank, or outside of the run",
        ));
    }
    let settings = resolve(given)?;
    let Begun { transport, cores, folder, is_watched } = launch::ranks(&settings, comm)?;
    let Settings { is_mapped, report_mapping, mut config, .. } = settings;
    if gate::is_funneled() {
        config.progress = Progress::Program;
    }
    if config.workers == 0 {
        config.workers = cores.len();
    }
    config.cores = if is_mapped { cores } else { Vec::new() };
    let rank = Rank::start(transport, config)?;
    if let Some(folder) = folder {
        recording::begin(&folder, rank.rank());
    }
    if report_mapping {
        say(&format!("freestone events: {}", rank.mapping()));
    }
    RANK.store(Box::into_raw(Box::new(rank)), Ordering::Release);
    if !is_watched {
        watch_exit();
    }
    Ok(0)
}

/// Attaches this process, which is outside of the run, to the ranks among those that `mpiexec`
/// started.
#[unsafe(no_mangle)]
pub extern "C" fn fse_attach() -> c_int {
    answer(attach(None))
}

/// The same, to the ranks of a communicator of MPI's.
#[unsafe(no_mangle)]
pub extern "C" fn fse_attach_on(comm: usize) -> c_int {
    answer(attach(Some(comm)))
}

/// The same, to those of a communicator that a program in Fortran has.
#[unsafe(no_mangle)]
pub extern "C" fn fse_attach_f(comm: c_int) -> c_int {
    answer(of_fortran(comm).and_then(|comm| attach(Some(comm))))
}

/// The communicator to which this process was attached last.
static ATTACHED: Mutex<Option<Arc<World>>> = Mutex::new(None);

/// Ends MPI with the process, if it was begun by attaching: at once would be to wait for all others.
extern "C" fn end_mpi() {
    if let Some(world) = &*ATTACHED.lock().unwrap_or_else(PoisonError::into_inner) {
        world.end();
    }
}

fn attach(comm: Option<Handle>) -> Result<c_int, Refused> {
    if part().is_ok() {
        return Err(Refused::bad_call("fse_init or fse_attach was called before; detach first"));
    }
    let Settings { meet_timeout, config, .. } = resolve(Given::default())?;
    let begin = || {
        let world = Arc::new(World::begin(&[], comm, meet_timeout, Role::Client)?);
        let kept = ATTACHED.lock().unwrap_or_else(PoisonError::into_inner).replace(world.clone());
        if kept.is_none() {
            // SAFETY: a function without arguments.
            unsafe { libc::atexit(end_mpi) };
        }
        let bridge = Bridge::attach(world.clone(), config.send_timeout)?;
        // After `end_mpi`, so that it is called first.
        detach_in_time(world.library());
        Ok(bridge)
    };
    let bridge = begin().map_err(|error: TransportError| Refused::not_begun(&error))?;
    BRIDGE.store(Box::into_raw(Box::new(bridge)), Ordering::Release);
    Ok(0)
}

/// Ends this process's part in a run that it is outside of.
#[unsafe(no_mangle)]
pub extern "C" fn fse_detach() -> c_int {
    let detach = || -> Result<c_int, Refused> {
        match part()? {
            Part::Bridge(bridge) => {
                BRIDGE.store(null_mut(), Ordering::Release);
                Ok(bridge.detach().map(|()| 0)?)
            }
            Part::Rank(_) => Err(Refused::bad_call("this process is a rank; call fse_finalise")),
        }
    };
    answer(detach())
}

/// Takes in what has arrived and sends what waits.
#[unsafe(no_mangle)]
pub extern "C" fn fse_progress() -> c_int {
    answer(rank().and_then(|rank| Ok(counted(rank.progress()?))))
}

/// Waits for the end of the run.
#[unsafe(no_mangle)]
pub extern "C" fn fse_finalise() -> c_int {
    let result = rank().and_then(finalise);
    if let Err(refused) = &result {
        say(&format!("freestone events: {}", refused.text));
    }
    answer(result)
}

/// The error of a call that has another name in C.
fn named(error: EventsError) -> EventsError {
    match error {
        EventsError::InTask { .. } => EventsError::InTask { call: "fse_finalise" },
        error => error,
    }
}

fn finalise(rank: &Rank) -> Result<c_int, Refused> {
    loop {
        let has_ended = rank.wait_end(Some(limits::get().signal_interval));
        // Also if another rank was quicker to end the run for it, or is lost because it ended itself.
        if launch::was_interrupted() {
            say(&format!("interrupted\n{}", rank.report()));
            launch::interrupt();
        }
        if has_ended.map_err(named)? {
            break;
        }
    }
    let finished = rank.finish();
    recording::end();
    ENDED.store(RANK.swap(null_mut(), Ordering::AcqRel), Ordering::Release);
    launch::part();
    launch::leave();
    let summary = finished?;
    for left in summary.held {
        say(&format!(
            "freestone events: the run ended with {left} that a persistent task had taken"
        ));
    }
    Ok(0)
}

/// The number of this rank.
#[unsafe(no_mangle)]
pub extern "C" fn fse_rank() -> c_int {
    answer(numbers().map(|numbers| numbers.own.cast_signed()))
}

/// How many ranks there are.
#[unsafe(no_mangle)]
pub extern "C" fn fse_ranks() -> c_int {
    answer(numbers().map(|numbers| numbers.ranks.cast_signed()))
}

/// Whether this rank joined a run that was on.
#[unsafe(no_mangle)]
pub extern "C" fn fse_has_joined() -> c_int {
    answer(rank().map(|rank| c_int::from(rank.has_joined())))
}

/// Waits until nothing is left to do on any rank.
#[unsafe(no_mangle)]
pub extern "C" fn fse_drain() -> c_int {
    answer(rank().and_then(|rank| Ok(rank.drain().map(|()| 0)?)))
}

/// Keeps events out of MPI, for calls of the program's own.
#[unsafe(no_mangle)]
pub extern "C" fn fse_hold_mpi() -> c_int {
    gate::hold();
    0
}

/// Lets events into MPI again.
#[unsafe(no_mangle)]
pub extern "C" fn fse_release_mpi() -> c_int {
    let refused = |error: gate::NotHeld| Refused { code: NOT_HELD, text: error.to_string() };
    answer(gate::release().map(|()| 0).map_err(refused))
}

/// How many tasks of this rank run at the same time.
#[unsafe(no_mangle)]
pub extern "C" fn fse_workers() -> c_int {
    answer(rank().map(|rank| counted(rank.workers())))
}

/// How many of its workers run tasks.
#[unsafe(no_mangle)]
pub extern "C" fn fse_busy_workers() -> c_int {
    answer(rank().map(|rank| counted(rank.busy_workers())))
}

/// The worker that runs this task.
#[unsafe(no_mangle)]
pub extern "C" fn fse_worker() -> c_int {
    let outside = "this is no task; ask inside of one which worker runs it";
    let worker = |rank: &Rank| rank.worker().ok_or_else(|| Refused::bad_call(outside));
    answer(rank().and_then(worker).map(counted))
}

/// The core on which a worker stays.
#[unsafe(no_mangle)]
pub extern "C" fn fse_core(worker: c_int) -> c_int {
    let core = |rank: &Rank| {
        let found = usize::try_from(worker).ok().and_then(|worker| rank.core(worker));
        found.ok_or_else(|| {
            Refused::bad_call(format!(
                "worker {worker} stays on no core; there are {}, and they are mapped if \
                 fse_config.mapping is 1 or FREESTONE_EVENTS_MAPPING=linear",
                rank.workers()
            ))
        })
    };
    answer(rank().and_then(core).map(counted))
}

/// `fse_statistics` of the header.
#[repr(C)]
#[derive(Debug)]
pub struct Figures {
    fired: u64,
    arrived: u64,
    tasks: u64,
    waiting: u64,
    ready: u64,
    unconsumed: u64,
    workers: c_int,
    busy: c_int,
}

/// Writes down what this rank has done and is doing.
///
/// # Safety
/// `into` is null or a place for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_get_statistics(into: *mut Figures) -> c_int {
    let get = || -> Result<c_int, Refused> {
        let found = rank()?.statistics();
        if into.is_null() {
            return Err(Refused::bad_call("there is no place for the statistics: a null pointer"));
        }
        let figures = Figures {
            fired: found.fired,
            arrived: found.arrived,
            tasks: found.tasks,
            waiting: found.waiting as u64,
            ready: found.ready as u64,
            unconsumed: found.unconsumed as u64,
            workers: counted(found.workers),
            busy: counted(found.busy),
        };
        // SAFETY: as the caller says.
        unsafe { into.write(figures) };
        Ok(0)
    };
    answer(get())
}

/// Says what waits on this rank.
#[unsafe(no_mangle)]
pub extern "C" fn fse_report() -> c_int {
    answer(rank().map(|rank| {
        say(&rank.report());
        0
    }))
}
