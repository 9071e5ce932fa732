//! Files of the user's that workers use where they lie: when a worker dies, another one of its
//! machine can use them in its place.

use super::blocks::Adoption;
use crate::manager::Manager;
use crate::manager::table::BlockSlot;
use crate::wire::{BlockDesc, Keep, ToWorker};
use freestone_base::{Name, WorkerId};

/// Where a block comes from that no task makes.
pub(in crate::manager) struct Origin {
    path: String,
    block: BlockDesc,
    keep: Keep,
    /// The machine; empty if the worker that was to adopt it never joined.
    host: String,
}

impl Manager {
    /// A client put a file of the user's.
    pub(in crate::manager) fn note_origin(
        &mut self,
        id: WorkerId,
        block: &BlockDesc,
        path: &str,
        keep: Keep,
    ) {
        let host = self.workers.get(id).map(|worker| worker.host.clone()).unwrap_or_default();
        let origin = Origin { path: path.to_owned(), block: block.clone(), keep, host };
        self.origins.insert(block.name, origin);
    }

    /// Whether the block lies in a file that some worker can adopt, now or when it joins.
    pub(in crate::manager) fn has_origin(&self, name: &Name) -> bool {
        !self.closed && self.origins.contains_key(name)
    }

    /// Lets a worker of the file's machine adopt it again, if there is one.
    pub(in crate::manager) fn adopt_again(&mut self, slot: BlockSlot) {
        let Some(origin) = self.origins.get(&self.blocks[slot].name) else { return };
        let fits = |id: &WorkerId| {
            let worker = &self.workers[*id];
            worker.is_active() && (origin.host.is_empty() || worker.host == origin.host)
        };
        let Some(id) = self.workers.ids().into_iter().find(fits) else { return };
        let adopt = ToWorker::Adopt {
            block: origin.block.clone(),
            path: origin.path.clone(),
            owned: false,
            keep: origin.keep,
            verify: true,
        };
        self.blocks[slot].extra().adopting.push(Adoption {
            worker: Some(id),
            ticket: None,
            brought: None,
        });
        self.bound.insert((id, slot));
        self.send(id, adopt);
    }

    /// A worker has joined: it may have the files that someone waits for.
    pub(in crate::manager) fn adopt_at_newcomer(&mut self) {
        let mut names: Vec<Name> = self.origins.keys().copied().collect();
        names.sort_unstable();
        for name in names {
            let Some(slot) = self.blocks.find(&name) else { continue };
            if self.blocks[slot].is_wanted() {
                self.demand(slot);
            }
        }
    }
}
