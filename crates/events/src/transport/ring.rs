//! Frames from one rank to another through memory that they share.
//!
//! One writes, one reads. The writer owns `tail`, the reader `head`; both only grow. Frames are a
//! word with their length and a mark, and their bytes, rounded up to whole words; none wraps around
//! the end: what is left there is skipped. The word after the last frame is 0, so that the reader looks
//! nowhere but where the next frame comes: one cache line goes from core to core for a small frame, not
//! two.

use super::region::Region;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::sync::Arc;

const WORD: usize = 8;
const TAIL: usize = 0;
const HEAD: usize = 128;
const WAITING: usize = 256;
/// Bytes before those of the frames: the writer's and the reader's words do not share a line.
const HEADER: usize = 384;
/// Instead of a length: the rest up to the end is skipped.
const SKIP: u64 = u64::MAX;
/// Of a frame that is there: a length may be 0.
const IS_THERE: u64 = 1 << 63;

/// Bytes of memory that a ring of `capacity` takes.
pub const fn footprint(capacity: usize) -> usize {
    HEADER + capacity
}

/// Where a ring lies.
#[derive(Clone, Debug)]
struct RingMemory {
    region: Arc<Region>,
    offset: usize,
    capacity: usize,
}

impl RingMemory {
    fn new(region: Arc<Region>, offset: usize, capacity: usize) -> Self {
        assert!(capacity.is_power_of_two() && offset.is_multiple_of(WORD));
        region.at(offset, footprint(capacity));
        Self { region, offset, capacity }
    }

    fn counter(&self, at: usize) -> &AtomicU64 {
        self.region.counter(self.offset + at)
    }

    fn waiting(&self) -> &AtomicU32 {
        self.region.word(self.offset + WAITING)
    }

    /// The word before a frame's bytes.
    fn length(&self, position: u64) -> &AtomicU64 {
        let at = (position as usize) & (self.capacity - 1);
        self.counter(HEADER + at)
    }

    fn bytes(&self, position: u64, len: usize) -> *mut u8 {
        let at = (position as usize) & (self.capacity - 1);
        self.region.at(self.offset + HEADER + at, len)
    }

    /// Bytes from a position to the end.
    fn left(&self, position: u64) -> usize {
        self.capacity - ((position as usize) & (self.capacity - 1))
    }
}

/// The end that writes.
#[derive(Debug)]
pub struct Writer {
    place: RingMemory,
    tail: u64,
    /// `head` as it was last seen.
    head: u64,
}

/// The end that reads.
#[derive(Debug)]
pub struct Reader {
    place: RingMemory,
    head: u64,
}

impl Writer {
    /// The writing end of the ring at `offset`. There must be no other.
    pub fn new(region: Arc<Region>, offset: usize, capacity: usize) -> Self {
        let place = RingMemory::new(region, offset, capacity);
        let (tail, head) = (load(place.counter(TAIL)), load(place.counter(HEAD)));
        Self { place, tail, head }
    }

    /// The longest frame that a ring takes.
    pub fn longest(&self) -> usize {
        self.place.capacity / 2 - WORD
    }

    /// Writes a frame that consists of `parts`; false if there is no room for it now.
    pub fn push(&mut self, parts: &[&[u8]]) -> bool {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let (skipped, needed) = self.extent(len);
        if !self.has_room(skipped + needed) {
            return false;
        }
        let first = self.tail;
        let frame = first + skipped as u64;
        self.tail = frame + needed as u64;
        // SAFETY: between `tail` and `head + capacity` the bytes are the writer's alone, and a
        // frame does not reach past the end.
        unsafe {
            let mut to = if len > 0 {
                self.place.bytes(frame + WORD as u64, len)
            } else {
                std::ptr::null_mut()
            };
            for part in parts.iter().filter(|part| !part.is_empty()) {
                std::ptr::copy_nonoverlapping(part.as_ptr(), to, part.len());
                to = to.add(part.len());
            }
        }
        self.place.length(self.tail).store(0, Ordering::Relaxed);
        // For who opens this end again.
        self.place.counter(TAIL).store(self.tail, Ordering::Relaxed);
        // Its partner is the load in `Reader::length`: the frame is whole when it is seen.
        self.place.length(frame).store(len as u64 | IS_THERE, Ordering::Release);
        if skipped > 0 {
            self.place.length(first).store(SKIP, Ordering::Release);
        }
        true
    }

    /// The bytes that are skipped before a frame of `len` bytes, and those that it takes.
    fn extent(&self, len: usize) -> (usize, usize) {
        let needed = WORD + len.next_multiple_of(WORD);
        let left = self.place.left(self.tail);
        (if left < needed { left } else { 0 }, needed)
    }

    /// Tells the reader that somebody waits for room; whether that is still so.
    pub fn wait_for_room(&mut self, len: usize) -> bool {
        self.place.waiting().store(1, Ordering::Relaxed);
        // Its partner is in `Reader::was_awaited`: either the reader sees the mark, or we see its
        // `head`.
        fence(Ordering::SeqCst);
        let (skipped, needed) = self.extent(len);
        !self.has_room(skipped + needed)
    }

    /// Whether there is room for so many bytes, and for the word after them.
    fn has_room(&mut self, needed: usize) -> bool {
        let needed = needed + WORD;
        let fits = |head: u64| self.tail + needed as u64 <= head + self.place.capacity as u64;
        if fits(self.head) {
            return true;
        }
        // Its partner is the store in `Reader::release`: what was there has been read.
        self.head = load(self.place.counter(HEAD));
        fits(self.head)
    }
}

impl Reader {
    /// The reading end of the ring at `offset`. There must be no other.
    pub fn new(region: Arc<Region>, offset: usize, capacity: usize) -> Self {
        let place = RingMemory::new(region, offset, capacity);
        let head = load(place.counter(HEAD));
        Self { place, head }
    }

    /// Whether there is a frame.
    pub fn has_frame(&self) -> bool {
        self.length() != 0
    }

    /// The word before the next frame.
    fn length(&self) -> u64 {
        // Its partners are the stores in `Writer::push`.
        load(self.place.length(self.head))
    }

    /// Reads the next frame, if there is one.
    pub fn pop<R>(&mut self, read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let mut word = self.length();
        if word == 0 {
            return None;
        }
        if word == SKIP {
            self.head += self.place.left(self.head) as u64;
            word = self.length();
        }
        let len = (word & !IS_THERE) as usize;
        let bytes: &[u8] = if len == 0 {
            &[]
        } else {
            // SAFETY: the bytes of a frame that is there are written and the reader's alone until
            // `release`; it does not reach past the end.
            unsafe {
                std::slice::from_raw_parts(self.place.bytes(self.head + WORD as u64, len), len)
            }
        };
        let result = read(bytes);
        self.head += (WORD + len.next_multiple_of(WORD)) as u64;
        Some(result)
    }

    /// Gives the writer back what has been read; whether it waits for that.
    pub fn release(&mut self) -> bool {
        // Its partner is the load in `Writer::has_room`.
        self.place.counter(HEAD).store(self.head, Ordering::Release);
        // Its partner is in `Writer::wait_for_room`.
        fence(Ordering::SeqCst);
        self.place.waiting().load(Ordering::Relaxed) != 0
            && self.place.waiting().swap(0, Ordering::Relaxed) != 0
    }
}

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Acquire)
}
