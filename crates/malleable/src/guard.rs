//! A process that stands between the launcher and a joining rank, so that losing one is not losing
//! the job.
//!
//! MPICH's launcher ends a whole job when it loses a process that has not taken leave. Of a joining
//! rank it sees the guard, which holds the line to it (PMI 1), too, and takes leave in the name of a
//! rank that ends before it has come to its first checkpoint. One that does not come in time is
//! killed: the others have cancelled the resize, and the launcher would wait for it. From the
//! checkpoint on the guard ends as the rank does.
//!
//! See docs/decisions/021-joining-processes-have-a-guard-process.md

use std::env;
use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// What a process finds that is to have a guard: how long it may take, in seconds.
pub const VARIABLE: &str = "FREESTONE_MALLEABLE_GUARD";
/// The line to the launcher.
pub const LINE: &CStr = c"PMI_FD";
/// What a rank writes when its end is that of the job, and when it is not any more.
const JOINED: u8 = b'+';
const DISMISSED: u8 = b'-';

/// Where a guarded rank writes; -1 without a guard. Written before `main`, so by one thread.
static PIPE: AtomicI32 = AtomicI32::new(-1);

/// Forks, if this process is to have a guard, and returns in the child. It has to be called before
/// the process has threads or has begun MPI.
pub fn stand() {
    let Some(timeout) = env::var(VARIABLE).ok().and_then(|text| text.parse().ok()) else { return };
    let name = LINE.to_str().unwrap_or_default();
    let line = env::var(name).ok().and_then(|text| text.parse().ok());
    let (Some(line), Ok(timeout)) = (line, Duration::try_from_secs_f64(timeout)) else { return };
    let mut ends = [0; 2];
    // SAFETY: there is one thread, before `main`; what the child inherits it uses as its own.
    unsafe {
        env::remove_var(VARIABLE);
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return;
        }
        let [reads, writes] = ends;
        match libc::fork() {
            0 => {
                libc::close(reads);
                // The launcher kills those that it knows, which is the guard.
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                PIPE.store(writes, Ordering::Relaxed);
            }
            -1 => {
                libc::close(reads);
                libc::close(writes);
            }
            rank => {
                libc::close(writes);
                guard(rank, reads, line, timeout);
            }
        }
    }
}

/// From now on this rank's end is that of the job.
pub fn join() {
    report(JOINED);
}

/// Ends this process at once, if it has a guard: others that were started with it may be lost, and
/// `MPI_Finalize` would wait for them.
pub fn leave() {
    if dismiss() {
        // SAFETY: flushes all of C's streams; then the process ends.
        unsafe {
            libc::fflush(std::ptr::null_mut());
            libc::_exit(0);
        }
    }
}

/// From now on this rank's end is that of nobody else; whether it has a guard that takes leave.
pub fn dismiss() -> bool {
    report(DISMISSED)
}

fn report(word: u8) -> bool {
    let pipe = PIPE.load(Ordering::Relaxed);
    // SAFETY: one byte, into a pipe of ours.
    pipe >= 0 && unsafe { libc::write(pipe, (&raw const word).cast(), 1) } == 1
}

/// Waits for the end of a rank, and ends as it does, or takes leave in its name.
fn guard(rank: libc::pid_t, reads: c_int, line: c_int, timeout: Duration) -> ! {
    for signal in [libc::SIGUSR1, libc::SIGUSR2, libc::SIGPIPE] {
        // SAFETY: who signals all that runs a program does not mean this process.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    let has_joined = follow(rank, reads, timeout);
    let mut status = 0;
    // SAFETY: a child of this process, and then the end of it, by the same signal if there was one.
    unsafe {
        libc::waitpid(rank, &raw mut status, 0);
        if !has_joined {
            if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) != 0 {
                let code = libc::WEXITSTATUS(status);
                eprintln!("freestone: a joining process ended with status {code} before it joined");
            }
            take_leave(line);
            libc::_exit(0);
        }
        if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            libc::signal(signal, libc::SIG_DFL);
            libc::kill(libc::getpid(), signal);
        }
        libc::_exit(libc::WEXITSTATUS(status));
    }
}

/// Whether the rank is in the job when it closes its end of the pipe, as it does when it ends.
fn follow(rank: libc::pid_t, reads: c_int, timeout: Duration) -> bool {
    let (began, mut is_due, mut has_joined) = (Instant::now(), true, false);
    loop {
        let left = timeout.saturating_sub(began.elapsed()).as_millis() + 1;
        let wait = if is_due { c_int::try_from(left).unwrap_or(c_int::MAX) } else { -1 };
        let mut pipe = libc::pollfd { fd: reads, events: libc::POLLIN, revents: 0 };
        let mut word = 0_u8;
        // SAFETY: one descriptor, one byte, and a child of this process.
        unsafe {
            if libc::poll(&raw mut pipe, 1, wait) == 0 {
                let seconds = timeout.as_secs_f64();
                eprintln!(
                    "freestone: a joining process was not at its first checkpoint in {seconds} s, and is killed"
                );
                libc::kill(rank, libc::SIGKILL);
                is_due = false;
            } else if pipe.revents != 0 {
                if libc::read(reads, (&raw mut word).cast(), 1) != 1 {
                    return has_joined;
                }
                (is_due, has_joined) = (false, word == JOINED);
            }
        }
    }
}

/// Sends the launcher what `MPI_Finalize` sends at last, and waits for its answer. A rank that has
/// done so itself has no line any more.
fn take_leave(line: c_int) {
    let text = b"cmd=finalize\n";
    let mut byte = 0_u8;
    // SAFETY: bytes of ours.
    unsafe {
        if libc::write(line, text.as_ptr().cast(), text.len()) > 0 {
            while libc::read(line, (&raw mut byte).cast(), 1) == 1 && byte != b'\n' {}
        }
    }
}
