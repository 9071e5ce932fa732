//! Large payloads, in memory that ranks share: written once by who fires, read in place by all
//! who consume, used again when the last of them has let go.

use super::error::TransportError;
use super::region::Region;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Bytes before those of a block: how many hold it, and the next in the list of those let go.
const HEADER: usize = 64;
const NEXT: usize = 8;
const SMALLEST: usize = 4096;

/// Where an arena lies: its bytes, and the word with the first block of those let go.
#[derive(Clone, Debug)]
pub struct ArenaMemory {
    /// The memory.
    pub region: Arc<Region>,
    /// Where the arena begins.
    pub offset: usize,
    /// How long it is.
    pub len: usize,
    /// Where the word is.
    pub freed: usize,
}

impl ArenaMemory {
    fn freed(&self) -> &AtomicU64 {
        // SAFETY: in the region, aligned, and only ever used as an atomic.
        unsafe { AtomicU64::from_ptr(self.region.at(self.freed, 8).cast()) }
    }

    fn holders(&self, block: usize) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { AtomicU32::from_ptr(self.region.at(self.offset + block, 4).cast()) }
    }

    fn next(&self, block: usize) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(self.region.at(self.offset + block + NEXT, 8).cast()) }
    }

    /// Lets go of a block once; the last to do so gives it back to its owner.
    fn release(&self, block: usize) {
        // Its partners are the others' decrements: what they read, they read before.
        if self.holders(block).fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        let mut first = self.freed().load(Ordering::Relaxed);
        loop {
            self.next(block).store(first, Ordering::Relaxed);
            let word = block as u64 + 1;
            // Its partner is the swap in `Arena::collect`.
            match self.freed().compare_exchange_weak(
                first,
                word,
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(found) => first = found,
            }
        }
    }
}

/// A payload in an arena; let go when it is dropped.
#[derive(Debug)]
pub struct Block {
    place: ArenaMemory,
    at: usize,
    len: usize,
}

impl Block {
    /// A block of another rank's that this one was told of, which it holds from now on.
    ///
    /// # Errors
    ///
    /// If there is no such block.
    pub fn received(place: ArenaMemory, at: usize, len: usize) -> Result<Self, TransportError> {
        let end = at.checked_add(HEADER).and_then(|start| start.checked_add(len));
        if !at.is_multiple_of(HEADER) || end.is_none_or(|end| end > place.len) {
            return Err(TransportError::BadFrame { len, what: "its block is not in the arena" });
        }
        Ok(Self { place, at, len })
    }

    /// Where it lies in its arena.
    pub fn at(&self) -> usize {
        self.at
    }

    /// One more holds it: who is about to be told of it.
    pub fn hold(&self) {
        self.place.holders(self.at).fetch_add(1, Ordering::Relaxed);
    }

    /// One who was to be told was not.
    pub fn unhold(&self) {
        self.place.release(self.at);
    }
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let start = self.place.region.at(self.place.offset + self.at + HEADER, self.len);
        // SAFETY: written before anyone was told of it, and not written while it is held.
        unsafe { std::slice::from_raw_parts(start, self.len) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.place.release(self.at);
    }
}

/// A rank's own arena.
#[derive(Debug)]
pub struct Arena {
    place: ArenaMemory,
    /// Where nothing has been yet.
    unused_at: usize,
    /// Free blocks by size, the one used last on top: its pages are there.
    free: HashMap<usize, Vec<usize>>,
    sizes: HashMap<usize, usize>,
    used: usize,
}

impl Arena {
    /// The arena at a place. There must be no other.
    pub fn new(place: ArenaMemory) -> Self {
        Self { place, unused_at: 0, free: HashMap::new(), sizes: HashMap::new(), used: 0 }
    }

    /// Copies a payload into a block; held once, by who gets it.
    ///
    /// # Errors
    ///
    /// If there is no room now, or never.
    pub fn place(&mut self, parts: &[&[u8]]) -> Result<Block, TransportError> {
        let len = total(parts);
        let size = rounded(len + HEADER);
        if size > self.place.len {
            return Err(TransportError::TooLarge { nbytes: len, limit: self.place.len - HEADER });
        }
        self.collect();
        let at = self.take(size).ok_or(TransportError::Full)?;
        self.place.holders(at).store(1, Ordering::Relaxed);
        let mut to = self.place.region.at(self.place.offset + at + HEADER, len);
        for part in parts {
            // SAFETY: the block is nobody else's, and has room for all parts.
            unsafe {
                std::ptr::copy_nonoverlapping(part.as_ptr(), to, part.len());
                to = to.add(part.len());
            }
        }
        Ok(Block { place: self.place.clone(), at, len })
    }

    /// Bytes in blocks that somebody holds.
    #[cfg(test)]
    pub fn used(&mut self) -> usize {
        self.collect();
        self.used
    }

    fn take(&mut self, size: usize) -> Option<usize> {
        let again = self.free.get_mut(&size).and_then(Vec::pop);
        let at = again.or_else(|| self.take_unused(size)).or_else(|| self.take_larger(size))?;
        self.used += *self.sizes.entry(at).or_insert(size);
        Some(at)
    }

    fn take_unused(&mut self, size: usize) -> Option<usize> {
        let at = self.unused_at;
        (at + size <= self.place.len).then(|| {
            self.unused_at += size;
            at
        })
    }

    fn take_larger(&mut self, size: usize) -> Option<usize> {
        let fitting = self.free.iter().filter(|(other, free)| **other >= size && !free.is_empty());
        let smallest = fitting.map(|(&other, _)| other).min()?;
        self.free.get_mut(&smallest)?.pop()
    }

    /// Takes back what everyone has let go.
    fn collect(&mut self) {
        if self.place.freed().load(Ordering::Relaxed) == 0 {
            return;
        }
        // Its partner is in `ArenaMemory::release`.
        let mut next = self.place.freed().swap(0, Ordering::Acquire);
        while next != 0 {
            let at = next as usize - 1;
            next = self.place.next(at).load(Ordering::Relaxed);
            let size = self.sizes.get(&at).copied().unwrap_or(SMALLEST);
            self.used -= size;
            self.free.entry(size).or_default().push(at);
        }
    }
}

/// The size of the block for so many bytes: at most a quarter more, so that blocks fit again.
fn rounded(nbytes: usize) -> usize {
    let quarter = (nbytes.max(SMALLEST).next_power_of_two() / 8).max(HEADER);
    nbytes.max(SMALLEST).next_multiple_of(quarter)
}

/// Bytes of all parts.
pub(crate) fn total(parts: &[&[u8]]) -> usize {
    parts.iter().map(|part| part.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: usize = 1 << 20;

    fn arena() -> Arena {
        let region = Region::anonymous(LEN + 64).unwrap();
        Arena::new(ArenaMemory { region, offset: 64, len: LEN, freed: 0 })
    }

    #[test]
    fn a_block_is_used_again_when_the_last_has_let_go() {
        let mut arena = arena();
        let block = arena.place(&[b"some ", b"bytes"]).unwrap();
        assert_eq!(&block[..], b"some bytes");
        let at = block.at();
        block.hold();
        let other = Block::received(arena.place.clone(), at, 10).unwrap();
        drop(block);
        assert_eq!((&other[..], arena.used()), (&b"some bytes"[..], SMALLEST));
        drop(other);
        assert_eq!(arena.used(), 0);
        assert_eq!(arena.place(&[b"x"]).unwrap().at(), at);
    }

    #[test]
    fn a_full_arena_says_so() {
        let mut arena = arena();
        let bytes = vec![1; 200_000];
        let blocks: Vec<_> = std::iter::from_fn(|| arena.place(&[&bytes]).ok()).collect();
        assert_eq!(blocks.len(), 4);
        assert!(matches!(arena.place(&[&bytes]), Err(TransportError::Full)));
        drop(blocks);
        assert!(arena.place(&[&bytes]).is_ok());
        let huge = vec![1; LEN];
        assert!(matches!(arena.place(&[&huge]), Err(TransportError::TooLarge { .. })));
        assert_eq!(arena.used(), 0);
    }

    #[test]
    fn threads_let_go_at_the_same_time() {
        let mut arena = arena();
        for _ in 0..200 {
            let block = Arc::new(arena.place(&[&[3; 5000]]).unwrap());
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    block.hold();
                    let (place, at) = (arena.place.clone(), block.at());
                    std::thread::spawn(move || {
                        let block = Block::received(place, at, 5000).unwrap();
                        assert!(block.iter().all(|&byte| byte == 3));
                    })
                })
                .collect();
            drop(block);
            for thread in threads {
                thread.join().unwrap();
            }
            assert_eq!(arena.used(), 0);
        }
    }

    #[test]
    fn blocks_fit_again() {
        for nbytes in [1, 4096, 4097, 5000, 65_536, 1_000_000] {
            let size = rounded(nbytes);
            assert!(
                size >= nbytes && size <= nbytes.max(SMALLEST) * 5 / 4 + 64,
                "{nbytes}: {size}"
            );
        }
    }
}
