//! Where in what this process prints a call ends.

use freestone_core::net::prints::{Reads, end_of};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// No write to a pipe takes less time, and so no shorter call has made one.
const MIN_PRINTING_NS: u64 = 1_000;
/// Shorter calls are looked at only if the interpreter says that they print, or something was printed
/// here before: to look costs about half a microsecond.
const MIN_CHECKED_NS: u64 = 50_000;

/// How long a line of C code's may be.
const C_BUFFER_NBYTES: usize = 4096;

unsafe extern "C" {
    /// Standard output of C code, which would keep what it prints into a pipe until much has come.
    #[link_name = "stdout"]
    static C_STDOUT: *mut libc::FILE;
}

/// Whether something was printed since the last call ended, as far as the interpreter knows.
static PRINTED: AtomicBool = AtomicBool::new(false);

/// The interpreter is about to print something.
pub fn note_printed() {
    // Read by the thread that runs calls; one that prints besides is of no call in particular.
    PRINTED.store(true, Ordering::Relaxed);
}

/// Tells the worker where what a call printed ends; see [`prints`](freestone_core::net::prints).
#[derive(Debug)]
pub struct Printing {
    pipes: [File; 2],
    reads: Reads<'static>,
}

impl Printing {
    /// For this process, whose standard output and standard error are pipes of its worker's. Calls
    /// may put other files in their place meanwhile.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn new(reads: Reads<'static>) -> io::Result<Self> {
        let pipe = |descriptor| {
            // SAFETY: open for as long as it is borrowed, to be copied.
            let file = unsafe { BorrowedFd::borrow_raw(descriptor) };
            io::Result::Ok(File::from(file.try_clone_to_owned()?))
        };
        // SAFETY: the stream that the C library opened, which has its own lock; without a buffer of
        // ours it makes one.
        unsafe { libc::setvbuf(C_STDOUT, std::ptr::null_mut(), libc::_IOLBF, C_BUFFER_NBYTES) };
        Ok(Self { pipes: [pipe(libc::STDOUT_FILENO)?, pipe(libc::STDERR_FILENO)?], reads })
    }

    /// A call has ended, and took so long.
    pub fn end_call(&self, sequence: u32, took_ns: u64) {
        let has_printed = PRINTED.load(Ordering::Relaxed);
        let was_read = self.reads.reads.load(Ordering::Relaxed) != 0;
        if !(has_printed || took_ns >= MIN_CHECKED_NS || (was_read && took_ns >= MIN_PRINTING_NS)) {
            return;
        }
        PRINTED.store(false, Ordering::Relaxed);
        let is_unread = self.pipes.iter().any(|pipe| unread_nbytes(pipe) > 0);
        // Looked at after the pipes. It pairs with the additions around the worker's reading: if it
        // is even, what this call has printed was read while the call ran.
        let is_being_read = self.reads.reads.load(Ordering::SeqCst) % 2 == 1;
        if is_unread || is_being_read {
            for mut pipe in &self.pipes {
                // If the worker is gone, nobody asks where the call ended.
                let _ = pipe.write_all(&end_of(sequence));
            }
            self.reads.ends.fetch_add(1, Ordering::Release);
        }
    }
}

/// How many bytes of a pipe nobody has read.
fn unread_nbytes(pipe: &File) -> i32 {
    let mut nbytes = 0;
    // SAFETY: room for the answer, which is written if the call succeeds.
    unsafe { libc::ioctl(pipe.as_raw_fd(), libc::FIONREAD, &raw mut nbytes) };
    nbytes
}
