//! Blocks in memory are read again from time to time, slowly, and compared with their checksums.
//!
//! Once a second, as many blocks as make up the bytes of a second are checked, in rounds over all
//! that are in memory, those in use among them. What is damaged is taken out and reported as lost,
//! so that it is fetched from another worker or made again.

use super::Worker;
use super::api::{Action, Now};
use super::cache::{Cache, Place};
use crate::store::Tier;
use crate::wire::BlockDesc;
use freestone_base::Name;
use std::collections::VecDeque;

const INTERVAL_NS: Now = 1_000_000_000;
/// Of small blocks, so many are checked in a turn: to open a file takes longer than to read it.
const MAX_BLOCKS: usize = 1024;

/// How far the round has come.
#[derive(Debug)]
pub(super) struct Scrub {
    nbytes_s: u64,
    /// What is left of this round.
    left: VecDeque<Name>,
    due_at: Now,
    /// Blocks that are being read.
    reading: usize,
}

impl Scrub {
    pub fn new(nbytes_s: u64) -> Self {
        Self { nbytes_s, left: VecDeque::new(), due_at: INTERVAL_NS, reading: 0 }
    }

    /// When the next blocks are due.
    pub fn wakeup(&self, cache: &Cache) -> Now {
        let is_idle = self.nbytes_s == 0 || self.reading > 0 || cache.memory_nbytes() == 0;
        if is_idle { Now::MAX } else { self.due_at }
    }
}

impl Worker {
    /// Begins to check the blocks that are due.
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
            let Some(block) = self.cache.get(name) else { continue };
            if block.doomed || block.place != Place::Tier(Tier::Memory) || block.is_leaving() {
                continue;
            }
            let block = block.desc.clone();
            let Some(path) = self.cache.path(name) else { continue };
            nbytes += block.nbytes;
            self.scrub.reading += 1;
            self.cache.hold(name);
            out.push(Action::Scrub { block, path });
        }
        // What is larger than the bytes of a second is followed by a longer pause.
        let seconds = nbytes.div_ceil(self.scrub.nbytes_s).max(1);
        self.scrub.due_at = now.saturating_add(INTERVAL_NS.saturating_mul(seconds));
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
        self.cache.release_unnoticed(name, out);
        // Made again meanwhile, it may have other bytes.
        let is_it = self
            .cache
            .get(name)
            .is_some_and(|found| found.desc == *block && found.place == Place::Tier(Tier::Memory));
        if !intact && is_it {
            self.lose_damaged(name, now, out);
        }
    }
}
