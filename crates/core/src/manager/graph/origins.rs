//! Files of the user's that workers use where they lie: when a worker dies, another one of its
//! machine can use them in its place.

use super::Graph;
use super::blocks::{Adoption, Block};
use crate::manager::Manager;
use crate::manager::table::BlockSlot;
use crate::wire::{BlockDesc, Keep, ToWorker};
use freestone_base::hash::ByName;
use freestone_base::{Name, WorkerId};
use serde::{Deserialize, Serialize};

/// Where a block comes from that no task makes.
#[derive(Serialize, Deserialize)]
struct Origin {
    path: String,
    block: BlockDesc,
    keep: Keep,
    /// The machine; empty if the worker that was to adopt it never joined.
    host: String,
}

/// Files of the user's, by the names of their blocks.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Origins {
    files: ByName<Origin>,
    closed: bool,
}

impl Origins {
    /// The file is not what it was, or nobody wants its block.
    pub fn forget(&mut self, name: &Name) {
        self.files.remove(name);
    }

    /// The blocks that come from files, in an order that means nothing and is always the same.
    fn names(&self) -> Vec<Name> {
        let mut names: Vec<Name> = self.files.keys().copied().collect();
        names.sort_unstable();
        names
    }
}

impl Graph {
    /// The file of a block is not what it was, or nobody wants it.
    pub fn forget_origin(&mut self, name: &Name) {
        self.origins.forget(name);
    }

    /// The cluster is closed: no worker adopts anything any more.
    pub fn close(&mut self) {
        self.origins.closed = true;
    }

    /// Whether the block lies in a file that some worker can adopt, now or when it joins.
    pub(in crate::manager) fn has_origin(&self, name: &Name) -> bool {
        !self.origins.closed && self.origins.files.contains_key(name)
    }

    /// Whether neither a task nor a file of the user's can give a block again.
    pub(in crate::manager) fn is_irreplaceable(&self, block: &Block) -> bool {
        block.producer.is_none() && !self.has_origin(&block.name) && !block.is_group()
    }

    /// The worker that is to keep a copy of a block, if nothing can make it again.
    pub(in crate::manager) fn home_of(&self, block: &Block) -> Option<WorkerId> {
        block.stored()?.home.filter(|_| self.is_irreplaceable(block))
    }

    /// Whether nobody wants a block, but results may have to be made of it again, and nothing can
    /// make it again.
    pub(in crate::manager) fn is_root(&self, block: &Block) -> bool {
        block.lineage > 0
            && !block.is_needed()
            && block.is_available()
            && block.stored().is_some()
            && self.is_irreplaceable(block)
    }
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
        let host =
            self.members.workers.get(id).map(|worker| worker.host.clone()).unwrap_or_default();
        let origin = Origin { path: path.to_owned(), block: block.clone(), keep, host };
        self.graph.origins.files.insert(block.name, origin);
    }

    /// Lets a worker of the file's machine adopt it again, if there is one.
    pub(in crate::manager) fn adopt_again(&mut self, slot: BlockSlot) {
        let Some(origin) = self.graph.origins.files.get(&self.graph.blocks[slot].name) else {
            return;
        };
        let fits = |id: &WorkerId| {
            let worker = &self.members.workers[*id];
            worker.is_active() && (origin.host.is_empty() || worker.host == origin.host)
        };
        let Some(id) = self.members.workers.ids().into_iter().find(fits) else { return };
        let adopt = ToWorker::Adopt {
            block: origin.block.clone(),
            path: origin.path.clone(),
            owned: false,
            keep: origin.keep,
            verify: true,
        };
        let adoption = Adoption { worker: Some(id), ticket: None, file: None };
        self.ask_to_adopt(slot, id, adoption, adopt);
    }

    /// A worker has joined: it may have the files that someone waits for.
    pub(in crate::manager) fn adopt_at_joined(&mut self) {
        for name in self.graph.origins.names() {
            let Some(slot) = self.graph.blocks.find(&name) else { continue };
            if self.graph.blocks[slot].is_wanted() {
                self.demand(slot);
            }
        }
    }
}
