//! Blocks that clients bring: files that a worker is to adopt.
//!
//! What a client wrote for the cache to take over lies on its machine until a worker has it, so
//! another worker of that machine can take it if the one that was asked dies, or the next one
//! that joins.

use crate::manager::Manager;
use crate::manager::graph::{AdoptedFile, Adoption, Data};
use crate::manager::table::BlockSlot;
use crate::wire::{BlockDesc, Keep, ToWorker};
use freestone_base::{Ticket, WorkerId};

impl Manager {
    pub(in crate::manager) fn on_put(
        &mut self,
        desc: BlockDesc,
        (path, owned): (String, bool),
        id: WorkerId,
        keep: Keep,
        ticket: Ticket,
    ) {
        if !owned {
            self.note_origin(id, &desc, &path, keep);
        }
        let slot = self.graph.blocks.find_or_insert(desc.name);
        let block = &mut self.graph.blocks[slot];
        block.references += 1;
        self.raise_keep(slot, keep);
        let block = &mut self.graph.blocks[slot];
        if block.failure().is_some() {
            block.data = Data::Absent;
        }
        let known = block.is_at(id) || matches!(block.data, Data::Inline(_));
        if known {
            self.promise(slot, ticket);
        }
        let ticket = Some(ticket).filter(|_| !known);
        if owned {
            let file = AdoptedFile { block: desc, path, keep, host: String::new() };
            return self.place_file(slot, id, ticket, Box::new(file));
        }
        if known {
            return;
        }
        if !self.members.workers.is_present(id) && !self.members.workers.is_yet_to_join(id) {
            if let Some(ticket) = ticket {
                self.promise(slot, ticket);
            }
            return self.demand(slot);
        }
        let adopt = ToWorker::Adopt { block: desc, path, owned, keep, verify: false };
        self.ask_to_adopt(slot, id, Adoption { worker: Some(id), ticket, file: None }, adopt);
    }

    /// Asks a worker, or if it is gone another one of its machine, to take over what a client
    /// file; if there is none, the next that joins.
    fn place_file(
        &mut self,
        slot: BlockSlot,
        id: WorkerId,
        ticket: Option<Ticket>,
        mut file: Box<AdoptedFile>,
    ) {
        let is_there =
            self.members.workers.is_present(id) || self.members.workers.is_yet_to_join(id);
        if !is_there {
            self.members.workers.host_of(id).clone_into(&mut file.host);
        }
        let place = if is_there { Some(id) } else { self.members.workers.neighbour(&file.host) };
        let Some(place) = place else {
            self.clients.stranded.entry(slot).or_insert(self.now);
            let adoption = Adoption { worker: None, ticket, file: Some(file) };
            return self.graph.blocks[slot].extra().adopting.push(adoption);
        };
        let adopt = ToWorker::Adopt {
            block: file.block.clone(),
            path: file.path.clone(),
            owned: true,
            keep: file.keep,
            verify: false,
        };
        let adoption = Adoption { worker: Some(place), ticket, file: Some(file) };
        self.ask_to_adopt(slot, place, adoption, adopt);
    }

    pub(in crate::manager) fn ask_to_adopt(
        &mut self,
        slot: BlockSlot,
        id: WorkerId,
        adoption: Adoption,
        message: ToWorker,
    ) {
        self.graph.blocks[slot].extra().adopting.push(adoption);
        self.clients.bindings.bind(id, slot);
        if self.members.workers.is_yet_to_join(id) {
            return self.members.arrivals.add_adoption(id, message);
        }
        self.members.send(id, message);
    }

    /// A worker is lost: what it was to take over is for another.
    pub(in crate::manager) fn adopt_elsewhere(&mut self, slot: BlockSlot, id: WorkerId) {
        let adoptions = self.take_adoptions(slot, |adoption| {
            adoption.worker == Some(id) && adoption.file.is_some()
        });
        for Adoption { ticket, file, .. } in adoptions {
            if let Some(file) = file {
                self.place_file(slot, id, ticket, file);
            }
        }
    }

    /// A worker has joined: what clients brought to others of its machine may have waited for it.
    pub(in crate::manager) fn adopt_stranded(&mut self, id: WorkerId) {
        let host = self.members.workers[id].host.clone();
        let slots: Vec<BlockSlot> = self.clients.stranded.keys().copied().collect();
        for slot in slots {
            let fits = |file: &AdoptedFile| file.host.is_empty() || file.host == host;
            let adoptions = self.take_adoptions(slot, |adoption| {
                adoption.worker.is_none() && adoption.file.as_deref().is_some_and(fits)
            });
            for Adoption { ticket, file, .. } in adoptions {
                if let Some(file) = file {
                    self.place_file(slot, id, ticket, file);
                }
            }
            if !self.is_stranded(slot) {
                self.clients.stranded.remove(&slot);
            }
        }
    }

    fn is_stranded(&self, slot: BlockSlot) -> bool {
        let extra = self.graph.blocks.get(slot).and_then(|block| block.extra.as_ref());
        extra.is_some_and(|extra| extra.adopting.iter().any(|one| one.worker.is_none()))
    }

    /// No worker has come for what waited as long as a worker may be silent.
    pub(in crate::manager) fn give_up_stranded(&mut self) {
        let (now, silence_ns) = (self.now, self.config.silence_ns);
        let late = self.clients.stranded.iter().filter(|(_, since)| now - **since > silence_ns);
        let late: Vec<BlockSlot> = late.map(|(slot, _)| *slot).collect();
        for slot in late {
            self.clients.stranded.remove(&slot);
            let adoptions = self.take_adoptions(slot, |adoption| adoption.worker.is_none());
            self.end_adoptions(slot, adoptions);
        }
    }

    /// A worker that was to adopt a block has it, or will never have it: the tickets of those
    /// `Put`s are those of the block now.
    pub(in crate::manager) fn on_adopted(&mut self, slot: BlockSlot, id: WorkerId) {
        let adoptions = self.take_adoptions(slot, |adoption| adoption.worker == Some(id));
        if !adoptions.is_empty() {
            if let Data::Stored(stored) = &mut self.graph.blocks[slot].data
                && stored.replicas.contains(&id)
            {
                stored.home = Some(id);
            }
            self.unbind(slot, id);
            self.end_adoptions(slot, adoptions);
            self.supersede(slot);
        }
    }

    fn take_adoptions(
        &mut self,
        slot: BlockSlot,
        is_meant: impl Fn(&Adoption) -> bool,
    ) -> Vec<Adoption> {
        let Some(block) = self.graph.blocks.get_mut(slot) else { return Vec::new() };
        let Some(extra) = &mut block.extra else { return Vec::new() };
        let (taken, left) = std::mem::take(&mut extra.adopting).into_iter().partition(is_meant);
        extra.adopting = left;
        taken
    }

    fn end_adoptions(&mut self, slot: BlockSlot, adoptions: Vec<Adoption>) {
        if adoptions.is_empty() {
            return;
        }
        self.graph.blocks[slot].tidy();
        for ticket in adoptions.into_iter().filter_map(|adoption| adoption.ticket) {
            self.promise(slot, ticket);
        }
        self.demand(slot);
        self.graph.dirty.push(slot);
    }

    /// Whether a client has put a file there that is not in place yet.
    pub(in crate::manager) fn is_adopting(&self, id: WorkerId) -> bool {
        self.bound_to(id).into_iter().any(|slot| self.graph.blocks[slot].is_to_be_adopted_by(id))
    }
}

#[cfg(test)]
#[path = "adoption_tests.rs"]
mod tests;
