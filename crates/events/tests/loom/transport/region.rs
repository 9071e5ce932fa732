//! Memory in which every look at bytes is a write to loom: the two ends of a ring own bytes in turn,
//! so that two looks at the same ones that no atomic has put in order are a race.

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU32, AtomicU64};
use std::collections::HashMap;

const WORD: usize = 8;
/// Bytes before those of the frames, as the ring has them.
const HEADER: usize = 384;

#[derive(Debug)]
pub struct Region {
    bytes: Box<[u64]>,
    touched: Vec<UnsafeCell<()>>,
    counters: HashMap<usize, AtomicU64>,
    words: HashMap<usize, AtomicU32>,
}

// SAFETY: loom's threads take turns, and it finds those who do not.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    pub fn new(len: usize) -> Self {
        let places = (0..HEADER).step_by(128);
        Self {
            bytes: vec![0; len / WORD].into(),
            touched: (0..len / WORD).map(|_| UnsafeCell::new(())).collect(),
            // Lengths of frames may be anywhere.
            counters: places
                .clone()
                .chain((HEADER..len).step_by(WORD))
                .map(|at| (at, AtomicU64::new(0)))
                .collect(),
            words: places.map(|at| (at, AtomicU32::new(0))).collect(),
        }
    }

    pub fn at(&self, offset: usize, len: usize) -> *mut u8 {
        assert!(offset + len <= self.bytes.len() * WORD);
        if offset >= HEADER {
            let words = offset / WORD..(offset + len).div_ceil(WORD);
            for cell in &self.touched[words] {
                cell.with_mut(|_| ());
            }
        }
        self.bytes.as_ptr().cast_mut().cast::<u8>().wrapping_add(offset)
    }

    pub fn counter(&self, offset: usize) -> &AtomicU64 {
        &self.counters[&offset]
    }

    pub fn word(&self, offset: usize) -> &AtomicU32 {
        &self.words[&offset]
    }
}
