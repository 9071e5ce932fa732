//! Memory of large results: kept when it is let go, since new pages are slow, and placed by policy.
//!
//! The system makes a page when it is first written to, and clears it; on virtual machines that
//! takes longer than to compute what goes there. So memory that a result no longer needs is kept for
//! the next one. It is marked as free, and the system takes it back when it needs pages.

use std::sync::{Mutex, PoisonError};

use crate::numa::{Nodes, Policy, bind};

/// Sizes are multiples of a huge page.
const UNIT: usize = 2 << 20;

/// The most that is kept: this, or an eighth of the machine's memory if that is less.
const KEPT: usize = 2 << 30;

static FREE: Mutex<Vec<Region>> = Mutex::new(Vec::new());

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
        let region = taken(whole, policy).or_else(|| mapped(whole, policy))?;
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
            for over in keep(region, limit()) {
                unmap(&over);
            }
        }
    }
}

/// Takes kept memory that is large enough, and not much larger.
fn taken(length: usize, policy: Policy) -> Option<Region> {
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
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
fn keep(region: Region, limit: usize) -> Vec<Region> {
    let address = std::ptr::with_exposed_provenance_mut(region.address);
    // SAFETY: nobody uses the region any more. A system without this advice keeps the pages.
    unsafe { libc::madvise(address, region.length, libc::MADV_FREE) };
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
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
        let length = 37 * UNIT - 5;
        let first = Memory::new(length, Policy::Default).expect("there is memory");
        assert_eq!(first.len(), length);
        let address = first.address();
        // SAFETY: it is ours, and as long.
        unsafe { address.write_bytes(7, length) };
        drop(first);
        let other = Memory::new(length - 100, Policy::Local).expect("there is memory");
        assert_ne!(other.address(), address);
        let again = Memory::new(length - 100, Policy::Default).expect("there is memory");
        assert_eq!(again.address(), address);
    }

    #[test]
    fn too_much_is_not_kept() {
        let region = mapped(UNIT, Policy::Default).expect("there is memory");
        let found = keep(region, 0);
        assert!(found.iter().any(|one| one.length == UNIT));
        found.iter().for_each(unmap);
    }

    #[test]
    fn no_size_is_too_large_to_be_refused() {
        assert!(Memory::new(usize::MAX, Policy::Default).is_none());
        assert!(Memory::new(1 << 60, Policy::Default).is_none());
    }
}
