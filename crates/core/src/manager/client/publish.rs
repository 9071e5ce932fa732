//! Blocks that outlive the clients that had them made: under a title, or until they are done.

use crate::manager::Manager;
use crate::manager::api::{Outcome, Publication};
use crate::manager::table::{BlockSlot, Slot};
use crate::wire::Keep;
use freestone_base::{Name, Ticket};
use std::collections::BTreeMap;

/// What is published, by title. Each counts as a reference to its block.
pub(in crate::manager) type Published = BTreeMap<String, Publication>;

impl Manager {
    pub(in crate::manager) fn on_publish(
        &mut self,
        publication: Publication,
        replace: bool,
        ticket: Ticket,
    ) {
        let accepted = self.publish(publication, replace);
        self.resolve(ticket, Outcome::Accepted(accepted));
    }

    fn publish(&mut self, publication: Publication, replace: bool) -> bool {
        let former = self.clients.published.get(&publication.title).map(|former| former.name);
        if former == Some(publication.name) {
            return true;
        }
        if former.is_some() && !replace {
            return false;
        }
        if !self.refer_to(&publication.name) {
            return false;
        }
        self.on_release(former.as_slice());
        self.clients.published.insert(publication.title.clone(), publication);
        true
    }

    /// Keeps a block by one more reference; whether it is known.
    pub(in crate::manager) fn refer_to(&mut self, name: &Name) -> bool {
        let found = self.graph.blocks.find(name).filter(|slot| !self.graph.is_forgotten(*slot));
        let Some(slot) = found else { return false };
        self.graph.blocks[slot].references += 1;
        true
    }

    pub(in crate::manager) fn on_unpublish(&mut self, title: &str, ticket: Ticket) {
        let former = self.clients.published.remove(title);
        self.on_release(former.as_ref().map(|former| former.name).as_slice());
        self.resolve(ticket, Outcome::Accepted(former.is_some()));
    }

    pub(in crate::manager) fn on_publications(&mut self, ticket: Ticket) {
        let all = self.clients.published.values().cloned().collect();
        self.resolve(ticket, Outcome::Publications(all));
    }

    /// Holds each block until it is there or has failed; its result stays with the cluster.
    pub(in crate::manager) fn on_detach(&mut self, names: &[Name]) {
        for name in names {
            let found = self.graph.blocks.find(name).filter(|slot| !self.graph.is_forgotten(*slot));
            let Some(slot) = found else { continue };
            self.raise_keep(slot, Keep::Session);
            self.graph.blocks[slot].references += 1;
            self.promise(slot, Ticket(Ticket::DETACHED | slot.index() as u64));
        }
    }

    /// A detached block is there, or has failed.
    pub(in crate::manager) fn end_detached(&mut self, ticket: Ticket) {
        // The reference has kept the slot from being used again.
        let slot = BlockSlot::of(ticket.0 as u32);
        if let Some(name) = self.graph.blocks.get(slot).map(|block| block.name) {
            self.on_release(&[name]);
        }
    }
}

#[cfg(test)]
#[path = "publish_tests.rs"]
mod tests;
