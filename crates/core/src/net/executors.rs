//! The processes of a worker's executors.

use super::children::{prepare, wait};
use super::connection::Connection;
use super::fork_server::ForkServer;
use super::grants::Grants;
use super::prints::{Piece, Prints, Reads};
use super::scratch;
use super::stream::Stream;
use crate::worker::Now;
use crate::worker::claim::{Claims, INITIAL};
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use std::ffi::OsString;
use std::io::{self, PipeWriter};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// How executors are started.
#[derive(Clone, Debug)]
pub struct ExecutorOptions {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Variables set for it, besides those of the worker.
    pub environment: Vec<(String, String)>,
    /// The folder of the blocks in memory.
    pub memory_dir: PathBuf,
    /// The folder of the blocks on disk.
    pub disk_dir: PathBuf,
    /// The folder of the folders for their temporary files.
    pub scratch_dir: PathBuf,
}

/// What a worker and an executor share.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Shared {
    /// Which calls are claimed and revoked.
    pub claims: AtomicU64,
    /// How often calls that waited have gone on.
    pub grants: AtomicU32,
    /// See [`Reads`].
    pub reads: AtomicU32,
    /// See [`Reads`].
    pub ends: AtomicU32,
}

/// A page of memory that a worker shares with an executor.
#[derive(Debug)]
struct Page {
    address: *mut Shared,
    file: OwnedFd,
}

/// Bytes of a page that is shared; the system rounds it up.
const PAGE: u16 = size_of::<Shared>() as u16;

impl Page {
    fn new() -> io::Result<Self> {
        // SAFETY: a name that ends with zero.
        let file = unsafe { libc::memfd_create(c"freestone-claims".as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and nobody else has it.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        // SAFETY: an open file.
        if unsafe { libc::ftruncate(file.as_raw_fd(), libc::off_t::from(PAGE)) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let fd = file.as_raw_fd();
        // SAFETY: a fresh mapping at an address that the system chooses, of an open file.
        let address = unsafe {
            libc::mmap(std::ptr::null_mut(), PAGE.into(), access, libc::MAP_SHARED, fd, 0)
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let page = Self { address: address.cast(), file };
        // SAFETY: page-aligned, mapped, and nobody else has it yet.
        unsafe {
            page.address.write(Shared { claims: AtomicU64::new(INITIAL), ..Shared::default() });
        }
        Ok(page)
    }

    fn claims(&self) -> Claims<'_> {
        // SAFETY: mapped as long as `self` lives, and only used as an atomic on both sides.
        Claims::new(unsafe { &(*self.address).claims })
    }

    fn grants(&self) -> Grants<'_> {
        // SAFETY: as above.
        Grants::new(unsafe { &(*self.address).grants })
    }

    fn reads(&self) -> Reads<'_> {
        // SAFETY: as above.
        let shared = unsafe { &*self.address };
        Reads { reads: &shared.reads, ends: &shared.ends }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length, and unmapped only here.
        unsafe { libc::munmap(self.address.cast(), PAGE.into()) };
    }
}

/// A running executor. Dropped, it is killed with all that it has started, and reaped.
#[derive(Debug)]
pub struct Process {
    child: Reaped,
    /// Becomes readable when the process ends, whoever still has its socket.
    pidfd: OwnedFd,
    page: Page,
    /// What it prints.
    prints: Prints,
    /// The connection to it.
    pub connection: Connection,
}

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ended {
    /// The call that it claimed last; 0 for none.
    pub claimed: u32,
    /// The signal that ended it, or
    pub signal: Option<i32>,
    /// the status that it exited with.
    pub status: Option<i32>,
}

impl Process {
    /// Starts an executor and registers its connection and its end: a fork of `server`, if there is one,
    /// and else a new program.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn spawn(
        options: &ExecutorOptions,
        server: Option<&ForkServer>,
        number: u32,
        registry: &Registry,
        [spoke, printed, ended]: [Token; 3],
    ) -> io::Result<Self> {
        let page = Page::new()?;
        let (ours, theirs) = UnixStream::pair()?;
        let scratch = scratch::empty(&options.scratch_dir, number)?;
        let (output, output_of_child) = io::pipe()?;
        let (error, error_of_child) = io::pipe()?;
        let pipes = [output_of_child, error_of_child];
        let variables = variables(options, number, &scratch);
        let child = match server {
            Some(server) => {
                let [output, error] = &pipes;
                let descriptors =
                    [&theirs as &dyn AsRawFd, &page.file, output, error].map(AsRawFd::as_raw_fd);
                server.fork(&variables, descriptors)?
            }
            None => spawn(options, variables, (&theirs, pipes), &page)?,
        };
        drop(theirs);
        // Killed and reaped from here on, whatever fails.
        let child = Reaped(Some(child));
        let pidfd = pidfd_open(child.id())?;
        registry.register(&mut SourceFd(&pidfd.as_raw_fd()), ended, Interest::READABLE)?;
        let prints = Prints::new([output, error])?;
        for pipe in prints.descriptors() {
            registry.register(&mut SourceFd(&pipe), printed, Interest::READABLE)?;
        }
        let connection = Connection::new(Stream::try_from(ours)?, registry, spoke)?;
        Ok(Self { child, pidfd, page, prints, connection })
    }

    /// The calls that it claimed.
    pub fn claims(&self) -> Claims<'_> {
        self.page.claims()
    }

    /// By which calls that waited go on.
    pub fn grants(&self) -> Grants<'_> {
        self.page.grants()
    }

    /// Reads what it has printed.
    pub fn read_prints(&mut self, now: Now) -> Vec<Piece> {
        let claims = self.page.claims();
        self.prints.read(self.page.reads(), || claims.claimed(), now)
    }

    /// Reads what it has printed, if calls have ended that printed something.
    pub fn catch_up_with_prints(&mut self, now: Now) -> Vec<Piece> {
        if self.prints.is_behind(self.page.reads()) { self.read_prints(now) } else { Vec::new() }
    }

    /// What it prints.
    pub fn prints(&mut self) -> &mut Prints {
        &mut self.prints
    }

    /// Whether a signal has stopped it, or one of its children, if it runs a call in one.
    pub fn is_stopped(&self, is_isolated: bool) -> bool {
        let pid = self.child.id().to_string();
        let children = || std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let has_stopped_child =
            || children().is_ok_and(|children| children.split_whitespace().any(is_stopped));
        is_stopped(&pid) || (is_isolated && has_stopped_child())
    }

    /// Kills it and all that it has started.
    pub fn kill(&self) {
        if let Some(child) = self.child.0 {
            kill_group(child);
        }
    }

    /// Ends it, unless it has ended, and says how it did.
    pub fn end(mut self, registry: &Registry) -> Ended {
        // It can only fail if it is not registered, and then nothing is to be done.
        let _ = registry.deregister(&mut SourceFd(&self.pidfd.as_raw_fd()));
        for pipe in self.prints.descriptors() {
            let _ = registry.deregister(&mut SourceFd(&pipe));
        }
        self.connection.deregister(registry);
        let ended = self.child.0.take().and_then(reap);
        Ended {
            claimed: self.claims().claimed(),
            signal: ended.and_then(|ended| ended.signal()),
            status: ended.and_then(|ended| ended.code()),
        }
    }
}

/// A child that is killed and reaped if it is not taken out.
#[derive(Debug)]
struct Reaped(Option<u32>);

impl Reaped {
    fn id(&self) -> u32 {
        self.0.unwrap_or(0)
    }
}

impl Drop for Reaped {
    fn drop(&mut self) {
        self.0.take().and_then(reap);
    }
}

/// Kills a child and its group, and says how it ended: if it had before, that.
fn reap(child: u32) -> Option<ExitStatus> {
    kill_group(child);
    wait(child)
}

fn kill_group(child: u32) {
    // SAFETY: the group of a child of ours that has not been reaped, so that its number is not
    // given to others.
    unsafe { libc::killpg(child.cast_signed(), libc::SIGKILL) };
}

/// The variables of an executor, besides those that name its descriptors.
fn variables(options: &ExecutorOptions, number: u32, scratch: &Path) -> Vec<(String, OsString)> {
    let given = options.environment.iter().map(|(name, value)| (name.clone(), value.into()));
    let own = [
        ("FREESTONE__EXECUTOR", number.to_string().into()),
        ("FREESTONE__MEMORY_DIR", options.memory_dir.clone().into_os_string()),
        ("FREESTONE__DISK_DIR", options.disk_dir.clone().into_os_string()),
        ("TMPDIR", scratch.as_os_str().to_owned()),
    ];
    given.chain(own.map(|(name, value)| (name.to_owned(), value))).collect()
}

fn spawn(
    options: &ExecutorOptions,
    variables: Vec<(String, OsString)>,
    (socket, [output, error]): (&UnixStream, [PipeWriter; 2]),
    page: &Page,
) -> io::Result<u32> {
    let Some((program, arguments)) = options.command.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no command for executors"));
    };
    let inherited = [socket.as_raw_fd(), page.file.as_raw_fd()];
    let worker = std::process::id();
    let mut command = Command::new(program);
    command
        .args(arguments)
        .envs(variables)
        .env("FREESTONE__EXECUTOR_SOCKET", inherited[0].to_string())
        .env("FREESTONE__EXECUTOR_PAGE", inherited[1].to_string())
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(error)
        .process_group(0);
    // SAFETY: between fork and exec, only system calls that may be made there.
    unsafe { command.pre_exec(move || prepare(&inherited, worker)) };
    Ok(command.spawn()?.id())
}

fn pidfd_open(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: a system call on numbers.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.cast_signed(), 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, and nobody else has it; it is closed on exec.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Whether a signal has stopped a process; one that is traced by a debugger does not count.
fn is_stopped(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    // The state comes after the program's name, which stands in parentheses.
    status.is_ok_and(|status| {
        status.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
    })
}
