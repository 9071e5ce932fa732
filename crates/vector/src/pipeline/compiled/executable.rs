//! Memory that code is in.

use std::ptr::NonNull;

/// Pages with code, which nobody can write any more.
pub struct Executable {
    begin: NonNull<libc::c_void>,
    length: usize,
}

// SAFETY: the memory does not change, and is anybody's to read and run.
unsafe impl Send for Executable {}
// SAFETY: as above.
unsafe impl Sync for Executable {}

impl Executable {
    /// Pages with a copy of code; none where the system allows no code of one's own.
    pub fn of(code: &[u8]) -> Option<Self> {
        let length = code.len();
        // SAFETY: a new mapping takes nothing that is there; it is written before it is run, and as long
        // as the code.
        unsafe {
            let begin = libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if begin == libc::MAP_FAILED {
                return None;
            }
            let own = Self { begin: NonNull::new(begin)?, length };
            std::ptr::copy_nonoverlapping(code.as_ptr(), begin.cast(), length);
            let done = libc::mprotect(begin, length, libc::PROT_READ | libc::PROT_EXEC);
            (done == 0).then_some(own)
        }
    }

    /// The first instruction.
    pub fn begin(&self) -> *const libc::c_void {
        self.begin.as_ptr()
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        // SAFETY: it was mapped by us, and who runs it keeps it.
        unsafe { libc::munmap(self.begin.as_ptr(), self.length) };
    }
}
