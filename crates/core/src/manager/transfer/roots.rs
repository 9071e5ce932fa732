//! What nothing can make again: values that clients put, above all.
//!
//! Such a block keeps a copy at its home, the worker that took it over from a client: that one lives
//! as long as the client does, and others come and go. The copy stays there also when clients have let
//! go of the block, as long as results may have to be made again that were made of it, within limits.

use crate::manager::Manager;
use crate::manager::clock::Now;
use crate::manager::members::Worker;
use crate::manager::table::BlockSlot;
use freestone_base::WorkerId;

/// What clients have let go of takes at most one part in so many of a worker's memory.
const SHARE: u64 = 4;

impl Manager {
    /// Lets go of all copies of a root but one.
    pub(in crate::manager) fn keep_root(&mut self, slot: BlockSlot) {
        let block = &self.graph.blocks[slot];
        let stays = |id: &WorkerId| self.members.workers.get(*id).is_some_and(Worker::is_active);
        let home = self.graph.home_of(block).filter(stays);
        let replicas = block.replicas().to_vec();
        let kept = home.or_else(|| replicas.iter().copied().find(stays));
        // One at a worker that retires is being handed over.
        let Some(kept) = kept else { return };
        self.queues().want_no_more(slot);
        let (name, nbytes) = (self.graph.blocks[slot].name, self.graph.blocks[slot].nbytes());
        for id in replicas.into_iter().filter(|id| *id != kept) {
            self.detach_replica(slot, id);
            self.drop_at(id, name);
        }
        self.members.workers[kept].add_root(slot, nbytes);
        self.thin_roots(kept);
    }

    /// Drops roots at a worker, the longest unused first, if they are too many.
    fn thin_roots(&mut self, id: WorkerId) {
        let quota = self.members.workers[id].status.memory_quota;
        if quota == 0 || self.members.workers[id].roots_nbytes <= quota / SHARE {
            return;
        }
        let roots = self.members.workers[id].roots.iter();
        let mut roots: Vec<(Now, BlockSlot)> =
            roots.map(|slot| (self.graph.blocks[*slot].used_ns(), *slot)).collect();
        roots.sort_unstable();
        for (_, slot) in roots {
            // To half of what is allowed, so that not every further one leads to another look at all.
            if self.members.workers[id].roots_nbytes <= quota / SHARE / 2 {
                return;
            }
            let block = &self.graph.blocks[slot];
            let (name, nbytes, is_root) = (block.name, block.nbytes(), self.graph.is_root(block));
            if is_root {
                self.detach_replica(slot, id);
                self.drop_at(id, name);
            } else {
                self.members.workers[id].remove_root(slot, nbytes);
            }
        }
    }
}

#[cfg(test)]
#[path = "roots_tests.rs"]
mod tests;
