//! What there is room for, and what has to go when there is none.

use super::{Block, Cache};
use crate::store::Tier;
use crate::worker::api::Action;
use freestone_base::Name;

/// Where a block that is to come can go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::worker) enum Room {
    /// There is room now.
    In(Tier),
    /// There will be, when blocks that are being moved are gone.
    Later,
    /// Nowhere: so many bytes are free.
    Nowhere { free: u64 },
}

impl Cache {
    /// Where `nbytes` more can go.
    pub fn room(&self, nbytes: u64) -> Room {
        let free_memory = self.free_memory();
        if nbytes <= free_memory {
            return Room::In(Tier::Memory);
        }
        let free_disk = self.free_disk();
        if nbytes <= free_memory + self.leaving {
            return Room::Later;
        }
        match self.room_on_disk(nbytes) {
            // What is on its way to disk may fail to get there and what is used may be let go, but
            // nobody knows when: it is better to say so.
            Room::Nowhere { .. } => Room::Nowhere { free: free_memory.max(free_disk) },
            room => room,
        }
    }

    /// The most bytes that one more block can have.
    pub fn free(&self) -> u64 {
        self.free_memory().max(self.free_disk())
    }

    /// Whether `nbytes` more can go to disk.
    pub fn room_on_disk(&self, nbytes: u64) -> Room {
        let free = self.free_disk();
        if nbytes <= free {
            return Room::In(Tier::Disk);
        }
        // What runs ends, and gives back what it reserved.
        if nbytes <= free + self.disk_reserved { Room::Later } else { Room::Nowhere { free } }
    }

    /// A call begins that may make files of `nbytes`.
    pub fn reserve_disk(&mut self, nbytes: u64) {
        self.disk_reserved += nbytes;
    }

    /// It has ended.
    pub fn unreserve_disk(&mut self, nbytes: u64) {
        self.disk_reserved -= nbytes;
    }

    /// Files of calls take so much now.
    pub fn note_scratch(&mut self, nbytes: u64) {
        self.scratch = nbytes;
    }

    /// Whether two more blocks fit, whatever is moved to disk for them: a move takes as much room
    /// there as it leaves in memory.
    pub fn fits(&self, first: u64, second: u64) -> bool {
        let memory = self.free_memory() + self.leaving;
        let mut free = [memory, self.free_disk() + self.disk_reserved];
        [first, second].into_iter().all(|nbytes| {
            let room = free.iter_mut().find(|room| **room >= nbytes);
            room.map(|room| *room -= nbytes).is_some()
        })
    }

    /// Removes from memory what has a copy among the blocks that are kept, the longest unused
    /// first, until there is room for as many bytes.
    pub fn shed(&mut self, nbytes: u64, out: &mut Vec<Action>) {
        if self.config.forever_folder.is_none() {
            return;
        }
        let is_kept = |name: &&Name| self.blocks.get(*name).is_some_and(Block::is_preserved);
        let kept: Vec<Name> = self.idle.values().filter(is_kept).copied().collect();
        for name in kept {
            if nbytes <= self.free_memory() {
                return;
            }
            self.send_away(name, out);
        }
    }

    /// Whether memory is over its quota for want of blocks that can be moved and room to move
    /// them to.
    #[cfg(test)]
    pub fn is_overfull_rightly(&self) -> bool {
        let leaving = self.leaving > 0;
        let oldest = self.idle.first_key_value().and_then(|(_, name)| self.blocks.get(name));
        leaving
            || oldest
                .is_none_or(|block| !block.is_preserved() && block.desc.nbytes > self.free_disk())
    }

    /// Bytes of the disk that blocks have, and that are promised to blocks and calls.
    #[cfg(test)]
    pub fn disk_given(&self) -> u64 {
        self.disk + self.disk_promised + self.disk_reserved
    }

    /// Sets bytes aside for a block on its way.
    pub fn promise(&mut self, tier: Tier, nbytes: u64) {
        *self.promised_in(tier) += nbytes;
    }

    /// The block on its way has come, or never will.
    pub fn end_promise(&mut self, tier: Tier, nbytes: u64) {
        *self.promised_in(tier) -= nbytes;
    }

    /// Sends the least recently used blocks to disk until memory is within its quota, with
    /// `needed` bytes to spare.
    pub fn enforce(&mut self, needed: u64, out: &mut Vec<Action>) {
        let quota = self.config.memory_quota;
        let taken = self.taken[0];
        while self.memory + self.memory_promised + taken + needed > quota + self.leaving {
            let Some((_, &name)) = self.idle.first_key_value() else { return };
            if !self.send_away(name, out) {
                return;
            }
        }
    }

    /// Whether memory is over its quota and only what is used is in it.
    pub fn is_pressed(&self) -> bool {
        let quota = self.config.memory_quota;
        self.idle.is_empty() && self.memory + self.memory_promised > quota + self.leaving
    }
}
