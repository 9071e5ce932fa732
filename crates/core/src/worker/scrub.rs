//! Blocks in memory are read again from time to time, slowly, and compared with their checksums.
//!
//! Once a second, as many blocks as make up the bytes of a second are checked, in rounds over all
//! that are in memory, those in use among them. What is damaged is taken out and reported as lost,
//! so that it is fetched from another worker or made again.

use super::Worker;
use super::api::{Action, Now};
use super::cache::Cache;
use crate::wire::BlockDesc;
use freestone_base::Name;
use std::collections::{HashSet, VecDeque};

const INTERVAL_NS: Now = 1_000_000_000;
/// Of small blocks, so many are checked in a turn: to open a file takes longer than to read it.
const MAX_BLOCKS: usize = 256;

/// How far the round has come.
#[derive(Debug)]
pub(super) struct Scrub {
    nbytes_s: u64,
    /// What is left of this round.
    left: VecDeque<Name>,
    due_at: Now,
    /// Blocks that are being read.
    reading: usize,
    /// Those of them that looked damaged, and are held while they are read a second time.
    suspects: HashSet<Name>,
}

impl Scrub {
    pub fn new(nbytes_s: u64) -> Self {
        let (left, suspects) = (VecDeque::new(), HashSet::new());
        Self { nbytes_s, left, due_at: INTERVAL_NS, reading: 0, suspects }
    }

    /// Whether a block is read a second time.
    #[cfg(test)]
    pub fn suspects(&self, name: Name) -> bool {
        self.suspects.contains(&name)
    }

    /// When the next blocks are due.
    pub fn wakeup(&self, cache: &Cache) -> Now {
        let is_idle = self.nbytes_s == 0 || self.reading > 0 || cache.memory_nbytes() == 0;
        if is_idle { Now::MAX } else { self.due_at }
    }
}

impl Worker {
    /// Begins to check the blocks that are due. They are not held for it, so that they can be moved
    /// and removed at any moment: what looks damaged then is read again.
    pub(super) fn scrub(&mut self, now: Now, out: &mut Vec<Action>) {
        if now < self.scrub.wakeup(&self.cache) {
            return;
        }
        if self.scrub.left.is_empty() {
            self.scrub.left.extend(self.cache.in_memory());
        }
        let mut nbytes = 0;
        while nbytes < self.scrub.nbytes_s && self.scrub.reading < MAX_BLOCKS {
            let Some(name) = self.scrub.left.pop_front() else { break };
            nbytes += self.read_again(name, out);
        }
        // What is larger than the bytes of a second is followed by a longer pause.
        let seconds = nbytes.div_ceil(self.scrub.nbytes_s).max(1);
        self.scrub.due_at = now.saturating_add(INTERVAL_NS.saturating_mul(seconds));
    }

    /// Has a block read, if it is in memory. Returns its bytes.
    fn read_again(&mut self, name: Name, out: &mut Vec<Action>) -> u64 {
        let Some(block) = self.cache.get(name).filter(|block| block.is_in_memory()) else {
            return 0;
        };
        let block = block.desc.clone();
        let Some(path) = self.cache.path(name) else { return 0 };
        let nbytes = block.nbytes;
        self.scrub.reading += 1;
        out.push(Action::Scrub { block, path });
        nbytes
    }

    pub(super) fn on_scrubbed(
        &mut self,
        block: &BlockDesc,
        intact: bool,
        now: Now,
        out: &mut Vec<Action>,
    ) {
        let name = block.name;
        self.scrub.reading -= 1;
        let is_suspect = self.scrub.suspects.remove(&name);
        if is_suspect {
            self.cache.release(name, out);
        }
        // Made again meanwhile, or just now, it may have other bytes.
        let found = self.cache.get(name).filter(|found| found.is_in_memory());
        let is_it = found.is_some_and(|found| found.desc == *block);
        if intact || !is_it || self.cache.is_expected(name) {
            return;
        }
        if is_suspect {
            return self.lose_damaged(name, now, out);
        }
        // It may have been removed while it was read, and have come again since. Held, it stays.
        self.scrub.suspects.insert(name);
        self.cache.hold(name);
        self.read_again(name, out);
    }
}
