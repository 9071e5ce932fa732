//! Memory of large results: kept when it is let go, since new pages are slow, and placed by policy.
//!
//! The system makes a page when it is first written to, and clears it; on virtual machines that
//! takes longer than to compute what goes there. So memory that a result no longer needs is kept for
//! the next one. It is marked as free, and the system takes it back when it needs pages.

use std::sync::{Mutex, MutexGuard, TryLockError};

use crate::numa::{Nodes, Policy, bind};

/// Sizes are multiples of a huge page.
const UNIT: usize = 2 << 20;

/// The most that is kept: this, or an eighth of the machine's memory if that is less.
const KEPT: usize = 2 << 30;

/// Memory that nobody has, the oldest first.
type Free = Mutex<Vec<Region>>;

static FREE: Free = Free::new(Vec::new());

/// Mapped pages, and how they were placed.
#[derive(Debug, PartialEq, Eq)]
struct Region {
    address: usize,
    length: usize,
    policy: Policy,
}

/// Memory for one result.
#[derive(Debug)]
pub struct Memory {
    region: Option<Region>,
    length: usize,
}

impl Memory {
    /// Takes memory of some bytes, of any content; none if the system has no more.
    pub fn new(length: usize, policy: Policy) -> Option<Self> {
        let whole = length.max(1).checked_next_multiple_of(UNIT)?;
        let region = taken(&FREE, whole, policy).or_else(|| mapped(whole, policy))?;
        Some(Self { region: Some(region), length })
    }

    /// Its first byte.
    pub fn address(&self) -> *mut u8 {
        let address = self.region.as_ref().map_or(0, |region| region.address);
        std::ptr::with_exposed_provenance_mut(address)
    }

    /// How many bytes were asked for.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether none were.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(region) = self.region.take() {
            for over in keep(&FREE, region, limit()) {
                unmap(&over);
            }
        }
    }
}

/// What is kept, unless somebody else has it: in a forked child that may be a thread that is not
/// there, so nobody waits.
fn unlocked(free: &Free) -> Option<MutexGuard<'_, Vec<Region>>> {
    match free.try_lock() {
        Ok(free) => Some(free),
        Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Takes kept memory that is large enough, and not much larger.
fn taken(free: &Free, length: usize, policy: Policy) -> Option<Region> {
    let mut free = unlocked(free)?;
    let fits = |one: &Region| {
        one.policy == policy && one.length >= length && one.length - length <= length / 4
    };
    let at = free.iter().rposition(fits)?;
    Some(free.remove(at))
}

fn mapped(length: usize, policy: Policy) -> Option<Region> {
    // SAFETY: a new mapping takes nothing that is there; the advice changes no content.
    let address = unsafe {
        let address = libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        if address == libc::MAP_FAILED {
            return None;
        }
        libc::madvise(address, length, libc::MADV_HUGEPAGE);
        address
    };
    let address = address.expose_provenance();
    bind(address, length, policy, Nodes::here());
    Some(Region { address, length, policy })
}

/// Keeps memory for later; returns what is too much then, the oldest first.
fn keep(free: &Free, region: Region, limit: usize) -> Vec<Region> {
    let address = std::ptr::with_exposed_provenance_mut(region.address);
    // SAFETY: nobody uses the region any more. A system without this advice keeps the pages.
    unsafe { libc::madvise(address, region.length, libc::MADV_FREE) };
    let Some(mut free) = unlocked(free) else {
        return vec![region];
    };
    free.push(region);
    let mut all: usize = free.iter().map(|one| one.length).sum();
    let mut over = Vec::new();
    while all > limit {
        let oldest = free.remove(0);
        all -= oldest.length;
        over.push(oldest);
    }
    over
}

fn unmap(region: &Region) {
    // SAFETY: the region was mapped here, and nobody uses it any more.
    unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(region.address), region.length) };
}

fn limit() -> usize {
    // SAFETY: only asks.
    let (pages, size) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let all =
        usize::try_from(pages).unwrap_or(0).saturating_mul(usize::try_from(size).unwrap_or(0));
    KEPT.min(all / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again() {
        let free = Free::default();
        let region = mapped(37 * UNIT, Policy::Default).expect("there is memory");
        let address = region.address;
        assert!(keep(&free, region, 40 * UNIT).is_empty());
        assert_eq!(taken(&free, 37 * UNIT, Policy::Local), None);
        assert_eq!(taken(&free, 38 * UNIT, Policy::Default), None);
        assert_eq!(taken(&free, 20 * UNIT, Policy::Default), None);
        let again = taken(&free, 36 * UNIT, Policy::Default).expect("it was kept");
        assert_eq!(again.address, address);
        assert_eq!(taken(&free, 36 * UNIT, Policy::Default), None);
        unmap(&again);
    }

    #[test]
    fn the_oldest_is_not_kept() {
        let free = Free::default();
        let regions = [3, 4].map(|size| mapped(size * UNIT, Policy::Default));
        let [first, second] = regions.map(|region| region.expect("there is memory"));
        assert!(keep(&free, first, 5 * UNIT).is_empty());
        let over = keep(&free, second, 5 * UNIT);
        assert_eq!(over.iter().map(|one| one.length).collect::<Vec<_>>(), [3 * UNIT]);
        over.iter().for_each(unmap);
        keep(&free, mapped(UNIT, Policy::Default).expect("there is memory"), 0)
            .iter()
            .for_each(unmap);
    }

    #[test]
    fn a_result_can_be_written() {
        let length = 3 * UNIT - 5;
        let memory = Memory::new(length, Policy::Default).expect("there is memory");
        assert_eq!(memory.len(), length);
        // SAFETY: it is ours, and as long.
        unsafe { memory.address().write_bytes(7, length) };
    }

    #[test]
    fn nobody_waits_for_what_is_kept() {
        let free = Free::default();
        let held = free.lock().expect("nobody panicked");
        assert_eq!(taken(&free, UNIT, Policy::Default), None);
        let region = mapped(UNIT, Policy::Default).expect("there is memory");
        let back = keep(&free, region, UNIT);
        assert_eq!(back.len(), 1);
        back.iter().for_each(unmap);
        drop(held);
    }

    #[test]
    fn no_size_is_too_large_to_be_refused() {
        assert!(Memory::new(usize::MAX, Policy::Default).is_none());
        assert!(Memory::new(1 << 60, Policy::Default).is_none());
    }
}
