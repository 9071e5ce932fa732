//! Memory for the rows of one array: addresses for all of them, pages for those that are held.
//!
//! A byte of an array has one address in a process for as long as the job lives. So rows that stay
//! are never copied, what arrives never overwrites what is still read, and a pointer to rows that
//! have left faults.
//!
//! See docs/decisions/016-rows-of-a-malleable-job-keep-their-addresses.md

use std::io;
use std::ops::Range;

/// Addresses for all bytes of an array.
#[derive(Debug)]
pub struct Storage {
    base: *mut u8,
    nbytes: usize,
    /// Pages that can be used, in order; no two touch.
    open: Vec<Range<usize>>,
}

// SAFETY: plain memory, of which this is the only owner.
unsafe impl Send for Storage {}

impl Storage {
    /// Reserves addresses; none of them can be used yet.
    ///
    /// # Errors
    ///
    /// What the system answers.
    pub fn reserve(nbytes: u64) -> io::Result<Self> {
        let nbytes = usize::try_from(nbytes).map_err(io::Error::other)?;
        if nbytes == 0 {
            return Ok(Self { base: std::ptr::dangling_mut(), nbytes, open: Vec::new() });
        }
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: new addresses, wherever the system has some.
        let base =
            unsafe { libc::mmap(std::ptr::null_mut(), nbytes, libc::PROT_NONE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { base: base.cast(), nbytes, open: Vec::new() })
    }

    /// Makes bytes usable, besides those that are; new ones are zero.
    ///
    /// # Errors
    ///
    /// What the system answers.
    pub fn open(&mut self, bytes: &Range<usize>) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let pages = self.pages(bytes);
        let start = self.base.wrapping_add(pages.start).cast();
        // SAFETY: pages of ours.
        let code = unsafe {
            let code = libc::mprotect(start, pages.len(), libc::PROT_READ | libc::PROT_WRITE);
            // Fewer page faults; the kernel may refuse, and nothing is lost.
            libc::madvise(start, pages.len(), libc::MADV_HUGEPAGE);
            code
        };
        if code != 0 {
            return Err(io::Error::last_os_error());
        }
        self.open.push(pages);
        self.open = united(std::mem::take(&mut self.open));
        Ok(())
    }

    /// Gives back all pages without any of these bytes, which come in order.
    pub fn keep(&mut self, bytes: &[Range<usize>]) {
        let kept = bytes.iter().filter(|bytes| !bytes.is_empty());
        let kept = united(kept.map(|bytes| self.pages(bytes)).collect());
        for pages in without(&self.open, &kept) {
            let start = self.base.wrapping_add(pages.start).cast();
            // SAFETY: pages of ours, which nobody may use any more.
            unsafe {
                libc::madvise(start, pages.len(), libc::MADV_DONTNEED);
                libc::mprotect(start, pages.len(), libc::PROT_NONE);
            }
        }
        self.open = kept;
    }

    /// The address of a byte.
    pub fn at(&self, byte: usize) -> *mut u8 {
        self.base.wrapping_add(byte)
    }

    fn pages(&self, bytes: &Range<usize>) -> Range<usize> {
        // SAFETY: no arguments that could be wrong.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(1).cast_unsigned() as usize;
        bytes.start / page * page
            ..(bytes.end.div_ceil(page) * page).min(self.nbytes.div_ceil(page) * page)
    }
}

/// The same in order, where those that touch are one.
fn united(ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut ranges = ranges;
    ranges.sort_unstable_by_key(|range| range.start);
    let mut found: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match found.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => found.push(range),
        }
    }
    found
}

/// What is in some ranges and not in others; both are in order.
fn without(ranges: &[Range<usize>], others: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for range in ranges {
        let mut start = range.start;
        for other in others {
            found.push(start..other.start.min(range.end));
            start = start.max(other.end);
        }
        found.push(start..range.end);
    }
    found.retain(|range| !range.is_empty());
    found
}

impl Drop for Storage {
    fn drop(&mut self) {
        if self.nbytes > 0 {
            // SAFETY: mapped by `reserve`.
            unsafe { libc::munmap(self.base.cast(), self.nbytes) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_has_its_address_and_its_bytes() {
        let mut storage = Storage::reserve(1 << 40).unwrap();
        storage.open(&(5000..20_000)).unwrap();
        // SAFETY: bytes that are open.
        unsafe { std::ptr::write_bytes(storage.at(5000), 7, 15_000) };
        storage.open(&(15_000..50_000)).unwrap();
        storage.keep(std::slice::from_ref(&(16_000..50_000)));
        // SAFETY: as above.
        unsafe {
            assert_eq!(*storage.at(16_000), 7);
            assert_eq!(*storage.at(19_999), 7);
            assert_eq!(*storage.at(30_000), 0);
        }
        storage.keep(&[]);
        storage.open(&(16_000..16_001)).unwrap();
        // SAFETY: as above.
        assert_eq!(unsafe { *storage.at(16_000) }, 0);
    }

    #[test]
    fn rows_between_runs_that_are_kept_are_given_back() {
        let mut storage = Storage::reserve(1 << 30).unwrap();
        storage.open(&(0..100_000)).unwrap();
        // SAFETY: bytes that are open.
        unsafe { std::ptr::write_bytes(storage.at(0), 7, 100_000) };
        storage.keep(&[0..10, 20_000..20_010, 20_020..30_000]);
        assert_eq!(storage.open.len(), 2);
        assert!(without(&storage.open, std::slice::from_ref(&(0..100_000))).is_empty());
        assert_eq!(without(&[0..10, 20..30], &[2..4, 6..22]), [0..2, 4..6, 22..30]);
        // SAFETY: as above.
        unsafe { assert_eq!((*storage.at(9), *storage.at(29_999)), (7, 7)) };
        storage.open(&(0..100_000)).unwrap();
        assert_eq!(storage.open.len(), 1);
        // SAFETY: as above.
        unsafe { assert_eq!((*storage.at(15_000), *storage.at(90_000)), (0, 0)) };
    }

    #[test]
    fn an_array_without_rows_has_no_memory() {
        let mut storage = Storage::reserve(0).unwrap();
        storage.open(&(0..0)).unwrap();
        storage.keep(&[]);
    }
}
