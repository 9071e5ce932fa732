//! Starting the ranks of a program: without a launcher, by copying its process.
//!
//! See docs/decisions/027-a-c-program-launches-its-own-ranks.md

use crate::config::Settings;
use crate::error::Refused;
use crate::recording;
use freestone_events::transport::mpi::{Handle, Mpi, Role, World, gate};
use freestone_events::transport::tcp::Invitation;
use freestone_events::transport::{
    Layout, Node, Pulses, Region, Transport, TransportError, is_traced,
};
use freestone_events::{cores, limits, say};
use std::ffi::c_int;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// How a rank reaches the others, the cores that it has, and where it notes what it does.
pub struct Begun {
    pub transport: Box<dyn Transport>,
    pub cores: Vec<usize>,
    pub folder: Option<PathBuf>,
    /// Whether the process that started it says how it has ended.
    pub is_watched: bool,
}

/// Makes this process one of the ranks.
///
/// # Errors
/// If there is no memory or no process for them.
pub fn ranks(settings: &Settings, comm: Option<Handle>) -> Result<Begun, Refused> {
    let refused = |error: TransportError| Refused::not_begun(&error);
    limits::renew().map_err(refused)?;
    if comm.is_none()
        && let Some(invitation) = Invitation::from_environment().map_err(refused)?
    {
        let transport =
            invitation.accept(settings.meet_timeout, settings.arena).map_err(refused)?;
        // The ranks may be on several machines: each has a trace of its own.
        let own = |path| recording::folder_of(&recording::own_path(path, transport.rank()));
        let folder = settings.trace.as_deref().map(own);
        recording::make(folder.as_deref(), u32::MAX);
        return Ok(Begun { transport, cores: cores::of_process(), folder, is_watched: false });
    }
    let folder = settings.trace.as_deref().map(recording::folder_of);
    if comm.is_some() || World::is_here() {
        let transport = world(comm, settings.meet_timeout)?;
        recording::make(folder.as_deref(), transport.ranks());
        return Ok(Begun { transport, cores: cores::of_process(), folder, is_watched: false });
    }
    recording::make(folder.as_deref(), settings.ranks);
    let layout = Layout::new(settings.ranks, settings.arena);
    let region = Region::anonymous(layout.nbytes()).map_err(refused)?;
    let pulses = watched(&region, layout, settings);
    let rank = if settings.ranks == 1 { 0 } else { fork(&region, layout, pulses, settings)? };
    listen_to_interrupts();
    let cores = cores::of_rank(rank, settings.ranks);
    let transport = Box::new(Node::of_process(&region, layout, rank).map_err(refused)?);
    Ok(Begun { transport, cores, folder, is_watched: true })
}

/// Has ranks show that their processes run, if others watch over them.
fn watched(region: &Region, layout: Layout, settings: &Settings) -> Option<Pulses> {
    let stopped = limits::get().stopped_timeout.filter(|_| settings.ranks > 1)?;
    Node::watch(region, layout, stopped);
    Some(Pulses::new(settings.ranks, settings.meet_timeout, stopped, Instant::now()))
}

/// The ranks of `mpiexec`, while a run of them goes on.
static WORLD: Mutex<Option<Arc<World>>> = Mutex::new(None);

fn world(comm: Option<Handle>, timeout: Duration) -> Result<Box<dyn Transport>, Refused> {
    // The header has calls for it.
    gate::offer();
    let begin = || {
        let world = Arc::new(World::begin(&[], comm, timeout, Role::Rank)?);
        let transport = Mpi::new(Arc::clone(&world))?;
        *WORLD.lock().unwrap_or_else(PoisonError::into_inner) = Some(world);
        Ok::<_, TransportError>(transport)
    };
    let transport = begin().map_err(|error| Refused::not_begun(&error))?;
    Ok(Box::new(transport))
}

/// A rank that this process started.
struct Child {
    rank: u32,
    pid: libc::pid_t,
    ended: OwnedFd,
}

/// Copies this process, once for each rank, and watches over the copies: returns in them only.
fn fork(
    region: &Arc<Region>,
    layout: Layout,
    pulses: Option<Pulses>,
    settings: &Settings,
) -> Result<u32, Refused> {
    let ranks = settings.ranks;
    let mut children = Vec::with_capacity(ranks as usize);
    // SAFETY: writes out what is buffered, which all copies would write else.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    // SAFETY: plain calls.
    let parent = unsafe { libc::getpid() };
    // The ranks die with this process, which therefore outlives a Ctrl-C from before they begin.
    let held = Interrupts::hold();
    for rank in 0..ranks {
        // SAFETY: the header asks for this to be called before any thread is started.
        match unsafe { libc::fork() } {
            0 => {
                die_with(parent);
                drop(held);
                return Ok(rank);
            }
            pid if pid > 0 => children.push(Child { rank, pid, ended: descriptor_of(pid)? }),
            _ => {
                let error = std::io::Error::last_os_error();
                for child in &children {
                    // SAFETY: a child of ours that nobody has waited for.
                    unsafe { libc::kill(child.pid, libc::SIGKILL) };
                }
                return Err(Refused::no_start(format!("rank {rank} can't be started: {error}")));
            }
        }
    }
    // SAFETY: the ranks are interrupted too, and end.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
    drop(held);
    watch(region, layout, pulses, children, settings.grace)
}

/// Ctrl-C waits as long as this lives.
struct Interrupts {
    before: libc::sigset_t,
}

impl Interrupts {
    fn hold() -> Self {
        // SAFETY: sets of signals, which are filled before they are used.
        unsafe {
            let (mut interrupt, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigemptyset(&raw mut interrupt);
            libc::sigaddset(&raw mut interrupt, libc::SIGINT);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const interrupt, &raw mut before);
            Self { before }
        }
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        // SAFETY: the set that was there before.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut());
        }
    }
}

/// The process ends with the one that watches.
fn die_with(parent: libc::pid_t) {
    // SAFETY: plain calls.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != parent {
            libc::_exit(1);
        }
    }
}

fn descriptor_of(pid: libc::pid_t) -> Result<OwnedFd, Refused> {
    // SAFETY: a plain call; what it opens is ours.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if fd < 0 {
        let error = std::io::Error::last_os_error();
        return Err(Refused::no_start(format!("a rank can't be watched: {error}")));
    }
    // SAFETY: just opened, and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as c_int) })
}

/// Waits for the ranks, tells the others when one is lost, and ends as the first that failed.
fn watch(
    region: &Region,
    layout: Layout,
    mut pulses: Option<Pulses>,
    mut children: Vec<Child>,
    grace: Duration,
) -> ! {
    let mut code = 0;
    let mut is_one_lost = false;
    let mut end: Option<Instant> = None;
    while !children.is_empty() {
        // A program that computes would not hear of it before its next call.
        let is_over = || children.iter().any(|child| Node::has_given_up(region, child.rank));
        if is_one_lost && end.is_none() && is_over() {
            end = Some(Instant::now() + grace);
        }
        if end.is_some_and(|end| Instant::now() >= end) {
            kill(&children, grace);
            end = None;
            is_one_lost = false;
        }
        let watched = |child: &Child| libc::pollfd {
            fd: child.ended.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let mut polled: Vec<_> = children.iter().map(watched).collect();
        let until_look = pulses.as_ref().map(|pulses| pulses.until_look(Instant::now()));
        let interval = is_one_lost.then_some(limits::get().loss_interval);
        let wait = [until_look, interval].into_iter().flatten().min();
        let wait = wait.map_or(-1, |wait| wait.as_millis().max(1).try_into().unwrap_or(c_int::MAX));
        // SAFETY: an array, with its length.
        unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, wait) };
        if let Some(pulses) = &mut pulses {
            kill_stopped(region, pulses, &children);
        }
        for index in (0..polled.len()).rev().filter(|&index| polled[index].revents != 0) {
            let child = children.swap_remove(index);
            let ended = status(child.pid);
            if Node::lose(region, layout, child.rank) {
                let (rank, ending) = (child.rank, ending(ended));
                say(&format!("freestone events: rank {rank} is lost: its process {ending}"));
                is_one_lost = true;
            }
            if code == 0 {
                code = if ended < 0 { 128 - ended } else { ended };
            }
        }
    }
    // SAFETY: what the program registered to be done at its end is for its ranks to do.
    unsafe { libc::_exit(code) }
}

/// Ends the ranks whose processes have been stopped for too long, if it is time to look.
fn kill_stopped(region: &Region, pulses: &mut Pulses, children: &[Child]) {
    let now = Instant::now();
    if !pulses.until_look(now).is_zero() {
        return;
    }
    for still in pulses.look(now, |rank| Node::beats(region, rank)) {
        let child = children.iter().find(|child| child.rank == still.rank);
        if let Some(Child { rank, pid, .. }) = child.filter(|child| !is_traced(child.pid as u32)) {
            say(&format!("freestone events: rank {rank} is killed: its process {pid} {still}"));
            // SAFETY: a child of ours that nobody has waited for.
            unsafe { libc::kill(*pid, libc::SIGKILL) };
        }
    }
}

/// Ends ranks that have not heard that the run is over; their ends are waited for as any others.
fn kill(children: &[Child], grace: Duration) {
    for child in children {
        let (rank, seconds) = (child.rank, grace.as_secs_f64());
        say(&format!(
            "freestone events: rank {rank} is killed: it computes {seconds} s after another was lost"
        ));
        // SAFETY: a child of ours that nobody has waited for.
        unsafe { libc::kill(child.pid, libc::SIGKILL) };
    }
}

/// How a child ended: its code, or a signal's number, negative.
fn status(pid: libc::pid_t) -> c_int {
    let mut status = 0;
    // SAFETY: a place for a number.
    while unsafe { libc::waitpid(pid, &raw mut status, 0) } < 0 {
        if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return 1;
        }
    }
    if libc::WIFSIGNALED(status) { -libc::WTERMSIG(status) } else { libc::WEXITSTATUS(status) }
}

fn ending(ended: c_int) -> String {
    match ended {
        0.. => format!("exited with {ended} before fse_finalise"),
        _ => format!("was killed by signal {}", -ended),
    }
}

extern "C" fn on_interrupt(_signal: c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// Ctrl-C is noticed by who waits for the end, unless the program has a way of its own.
fn listen_to_interrupts() {
    let handler = on_interrupt as extern "C" fn(c_int) as libc::sighandler_t;
    // SAFETY: the handler only sets a flag.
    unsafe {
        let before = libc::signal(libc::SIGINT, handler);
        if before != libc::SIG_DFL {
            libc::signal(libc::SIGINT, before);
        }
    }
}

/// Whether Ctrl-C was pressed.
pub fn was_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Ends this process as Ctrl-C does.
pub fn interrupt() {
    leave();
    // SAFETY: plain calls.
    unsafe { libc::raise(libc::SIGINT) };
}

/// Takes part in what ranks in Python tell each other at the end of a run under `mpiexec`: how
/// each of them ended. There is nothing to say of a rank in C.
pub fn part() {
    if let Some(world) = &*WORLD.lock().unwrap_or_else(PoisonError::into_inner)
        && !world.has_loss()
    {
        // What is wrong with MPI at the end of a run, MPI says itself.
        let _ = world.exchange(&[]);
    }
}

/// Ctrl-C is the program's again, and MPI ends if it began here.
pub fn leave() {
    if let Some(world) = WORLD.lock().unwrap_or_else(PoisonError::into_inner).take() {
        world.end();
    }
    // SAFETY: looks at what is set, and takes away only our own.
    unsafe {
        let before = libc::signal(libc::SIGINT, libc::SIG_DFL);
        let ours = on_interrupt as extern "C" fn(c_int) as libc::sighandler_t;
        if before != ours {
            libc::signal(libc::SIGINT, before);
        }
    }
}
