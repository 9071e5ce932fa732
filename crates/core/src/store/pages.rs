//! Huge pages for blocks in memory.
//!
//! tmpfs gives a file pages of 4 KiB, each of which costs a fault when it is first written and one
//! more in every process that maps it. `MADV_COLLAPSE` (Linux 6.1) puts huge pages in their place,
//! whatever the system's setting for shared memory says.
//!
//! See docs/decisions/127-blocks-in-memory-lie-in-huge-pages.md

use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::AsRawFd;
use std::ptr::{NonNull, null_mut};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of a huge page, and where one may begin.
pub const HUGE: usize = 2 << 20;
/// So much of a range must be there before the rest can join it.
const SMALL: libc::off_t = 4 << 10;
const MADV_COLLAPSE: libc::c_int = 25;
const TMPFS: u32 = 0x0102_1994;
/// Bytes that are asked for at once, at most: first one page, then twice as many each time, so that
/// whoever finds it slow has not waited long.
const STEP: usize = 64 << 20;
/// As much of the processor's time as 512 small pages take. A huge one takes a fifth of it. It takes ten
/// times as much where memory is in pieces that the system first moves, or where a virtual machine
/// has given what is free back to its host.
const WORTH: Duration = Duration::from_micros(500);
/// After a failure files have small pages for so long.
const REST: Duration = Duration::from_secs(10);
/// After a step that was not worth it, new files have small pages for as many times as long as it took:
/// that is at most a twentieth of the time.
const SHARE: u32 = 20;

/// Until when files have small pages.
static FAILED: Mutex<Option<Instant>> = Mutex::new(None);
/// Until when new files have small pages.
static SLOW: Mutex<Option<Instant>> = Mutex::new(None);

/// Gives a file in tmpfs the length that it will have, and huge pages for all of it that they fit into.
/// Does nothing for other files, smaller ones, and where the system has no such pages. Returns how many
/// bytes from the beginning have huge pages for certain.
///
/// A huge page that is there already costs some microseconds, one of new memory 0.1 ms. A file that is
/// not new pays for what it lacks once in its life, however slow that is.
pub fn prepare(file: &File, nbytes: u64, is_new: bool) -> usize {
    let Ok(nbytes) = usize::try_from(nbytes) else { return 0 };
    let whole = nbytes / HUGE * HUGE;
    let is_resting = || rests(&FAILED) || is_new && rests(&SLOW);
    if whole == 0 || is_resting() || !is_in_memory(file) || file.set_len(nbytes as u64).is_err() {
        return 0;
    }
    collapse_all(file, whole)
}

fn rests(until: &Mutex<Option<Instant>>) -> bool {
    let until = until.lock().unwrap_or_else(PoisonError::into_inner);
    until.is_some_and(|until| Instant::now() < until)
}

fn rest(until: &Mutex<Option<Instant>>, time: Duration) {
    *until.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + time);
}

fn is_in_memory(file: &File) -> bool {
    // SAFETY: all zeros are a value of this plain structure.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: an open file, and room for the answer.
    let answered = unsafe { libc::fstatfs(file.as_raw_fd(), &raw mut found) };
    answered == 0 && found.f_type as u32 == TMPFS
}

/// Collapses a file's first `whole` bytes, which are huge pages, until a step fails or is not worth it;
/// returns how many it has collapsed.
fn collapse_all(file: &File, whole: usize) -> usize {
    let Ok(pages) = Pages::map(file, whole) else { return 0 };
    let (mut done, mut step, mut is_worth) = (0, HUGE, true);
    while done < whole && is_worth {
        let nbytes = step.min(whole - done);
        let before = processor_time();
        if !collapse(file, pages.address, done, nbytes) {
            rest(&FAILED, REST);
            break;
        }
        let taken = processor_time().saturating_sub(before);
        is_worth = taken < WORTH * (nbytes / HUGE) as u32;
        if !is_worth {
            rest(&SLOW, taken * SHARE);
        }
        (done, step) = (done + nbytes, STEP.min(2 * step));
    }
    done
}

fn collapse(file: &File, address: NonNull<u8>, start: usize, nbytes: usize) -> bool {
    // A huge page takes the place of small ones, so each has one to begin with. If there is no room
    // for that, there will be an error when the bytes are written.
    let has_room = (start..start + nbytes).step_by(HUGE).all(|at| has_page(file, at));
    // SAFETY: within the mapping. The content does not change.
    has_room
        && 0 == unsafe { libc::madvise(address.as_ptr().add(start).cast(), nbytes, MADV_COLLAPSE) }
}

/// Has a page in a file at `at`, if there is room.
fn has_page(file: &File, at: usize) -> bool {
    let Ok(at) = libc::off_t::try_from(at) else { return false };
    // SAFETY: an open file; the system checks the numbers.
    0 == unsafe { libc::fallocate(file.as_raw_fd(), 0, at, SMALL) }
}

/// The time that this thread has had a processor.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The first bytes of a file, which are written in place.
pub struct Pages {
    address: NonNull<u8>,
    nbytes: usize,
}

// SAFETY: the bytes belong to nobody else.
unsafe impl Send for Pages {}

impl Pages {
    /// Maps a file's first `nbytes`, which are not none and have their pages: one that can't be had ends
    /// the process.
    ///
    /// # Errors
    /// What the system answers.
    pub fn map(file: &File, nbytes: usize) -> io::Result<Self> {
        let address = map(file, nbytes, libc::PROT_READ | libc::PROT_WRITE)?;
        Ok(Self { address, nbytes })
    }
}

impl Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: mapped with this length for as long as `self` lives, and written by `self` alone.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.nbytes) }
    }
}

impl DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.address.as_ptr(), self.nbytes) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        give_back(self.address.as_ptr().cast(), self.nbytes);
    }
}

/// Maps a file's first `nbytes`, which are not none, where a huge page of the file is one of the mapping's.
///
/// # Errors
/// What the system answers.
pub fn map(file: &File, nbytes: usize, access: libc::c_int) -> io::Result<NonNull<u8>> {
    if nbytes < HUGE {
        return map_at(null_mut(), file, nbytes, access);
    }
    // Addresses that are certainly free and have such a place within; the others go back.
    let room = nbytes + HUGE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: new addresses, wherever the system has some.
    let reserved = unsafe { libc::mmap(null_mut(), room, libc::PROT_NONE, flags, -1, 0) };
    if reserved == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let skipped = reserved.align_offset(HUGE);
    let begin = reserved.wrapping_byte_add(skipped);
    let mapped = map_at(begin, file, nbytes, access);
    let kept = if mapped.is_ok() { nbytes.next_multiple_of(page_size()) } else { 0 };
    give_back(reserved, skipped);
    give_back(begin.wrapping_byte_add(kept), room - skipped - kept);
    mapped
}

fn page_size() -> usize {
    // SAFETY: a question about a constant of the system.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4 << 10)
}

/// Maps a file at an address that the caller has reserved, or wherever there is room.
fn map_at(
    address: *mut libc::c_void,
    file: &File,
    nbytes: usize,
    access: libc::c_int,
) -> io::Result<NonNull<u8>> {
    let place = if address.is_null() { 0 } else { libc::MAP_FIXED };
    // SAFETY: an open file, at an address of the system's choice or one that nobody else has.
    let mapped = unsafe {
        libc::mmap(address, nbytes, access, libc::MAP_SHARED | place, file.as_raw_fd(), 0)
    };
    if mapped == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(mapped.cast()).ok_or_else(io::Error::last_os_error)
}

fn give_back(address: *mut libc::c_void, nbytes: usize) {
    if nbytes > 0 {
        // SAFETY: the caller has them from `map`, or reserved them, and nobody else does.
        unsafe { libc::munmap(address, nbytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    fn file(nbytes: usize) -> File {
        let file = tempfile::tempfile_in("/dev/shm").unwrap();
        file.set_len(nbytes as u64).unwrap();
        file
    }

    /// Bytes of a mapping that huge pages have, once each page was read.
    fn huge_nbytes(address: NonNull<u8>, nbytes: usize) -> usize {
        // SAFETY: mapped by the caller.
        let bytes = unsafe { std::slice::from_raw_parts(address.as_ptr(), nbytes) };
        std::hint::black_box(bytes.iter().step_by(4 << 10).fold(0, |all, one| all ^ one));
        let begin = format!("{:x}-", address.addr());
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let of_it = maps.lines().skip_while(|line| !line.starts_with(&begin));
        let line = of_it.skip(1).find(|line| line.starts_with("ShmemPmdMapped:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
    }

    #[test]
    fn all_whole_ranges_of_a_file_get_huge_pages_if_the_system_has_them() {
        let nbytes = 3 * HUGE + 12_345;
        let file = file(nbytes);
        let whole = Pages::map(&file, 3 * HUGE).unwrap();
        let has_them = collapse(&file, whole.address, 0, 3 * HUGE);
        drop(whole);
        let pattern: Vec<u8> = (0..nbytes).map(|at| (at % 251) as u8).collect();
        file.write_all_at(&pattern, 0).unwrap();
        let address = map(&file, nbytes, libc::PROT_READ).unwrap();
        assert!(address.addr().get().is_multiple_of(HUGE));
        // SAFETY: mapped above.
        let bytes = unsafe { std::slice::from_raw_parts(address.as_ptr(), nbytes) };
        assert_eq!(bytes, pattern);
        // A machine without free memory in one piece may have given some of them.
        let huge = huge_nbytes(address, nbytes);
        assert!(if has_them { huge == 3 * HUGE } else { huge < 3 * HUGE }, "{huge}");
        give_back(address.as_ptr().cast(), nbytes);
    }

    #[test]
    fn content_that_is_there_stays() {
        let file = file(2 * HUGE);
        let pattern: Vec<u8> = (0..2 * HUGE).map(|at| (at % 253) as u8).collect();
        file.write_all_at(&pattern, 0).unwrap();
        prepare(&file, 2 * HUGE as u64, false);
        let mut found = vec![0; 2 * HUGE];
        file.read_exact_at(&mut found, 0).unwrap();
        assert_eq!(found, pattern);
    }

    #[test]
    fn a_file_takes_no_more_memory_than_it_has_bytes() {
        use std::os::unix::fs::MetadataExt;
        let file = file(HUGE + SMALL as usize);
        prepare(&file, HUGE as u64 + SMALL as u64, true);
        let taken = file.metadata().unwrap();
        assert!(taken.blocks() * 512 <= HUGE as u64 + SMALL as u64);
        assert_eq!(taken.len(), HUGE as u64 + SMALL as u64);
    }

    #[test]
    fn files_on_disk_are_left_as_they_are() {
        let file = tempfile::tempfile().unwrap();
        prepare(&file, HUGE as u64, true);
        // Somebody's folder for temporary files may be in memory.
        assert!(is_in_memory(&file) || file.metadata().unwrap().len() == 0);
    }

    #[test]
    fn addresses_beside_a_mapping_are_given_back() {
        let mappings = || std::fs::read_to_string("/proc/self/maps").unwrap().lines().count();
        let file = file(HUGE + 1);
        let before = mappings();
        for _ in 0..100 {
            let address = map(&file, HUGE + 1, libc::PROT_READ).unwrap();
            give_back(address.as_ptr().cast(), HUGE + 1);
        }
        assert!(mappings() < before + 50);
    }

    #[test]
    fn a_mapping_that_fails_leaves_no_addresses_behind() {
        let folder = File::open("/dev/shm").unwrap();
        let mappings = || std::fs::read_to_string("/proc/self/maps").unwrap().lines().count();
        let before = mappings();
        assert!((0..100).all(|_| map(&folder, HUGE, libc::PROT_READ).is_err()));
        assert!(mappings() < before + 50);
    }
}
