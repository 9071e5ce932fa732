//! Blocks that a client maps.

use crate::manager::Manager;
use crate::manager::api::{Failure, Outcome, Why};
use crate::manager::graph::{ClientPin, ClientPinStage, Data};
use crate::manager::table::BlockSlot;
use crate::wire::ToWorker;
use freestone_base::{Name, Ticket, WorkerId};
use std::sync::Arc;

impl Manager {
    pub(in crate::manager) fn on_gather(&mut self, name: Name, worker: WorkerId, ticket: Ticket) {
        let slot = self.graph.blocks.find(&name).filter(|slot| !self.graph.is_forgotten(*slot));
        let Some(slot) = slot else {
            let failure = Self::block_failure(name, Why::UnknownInput(name));
            return self.resolve(ticket, Outcome::Failed(failure));
        };
        if let Some(failure) = self.graph.blocks[slot].failure().cloned() {
            return self.resolve(ticket, Outcome::Failed(failure));
        }
        let reachable =
            self.members.workers.is_present(worker) || self.members.workers.is_yet_to_join(worker);
        if !reachable && self.graph.blocks[slot].stored().is_some() {
            let failure = Self::block_failure(name, self.absence(worker));
            return self.resolve(ticket, Outcome::Failed(failure));
        }
        let pin = ClientPin { worker, ticket, stage: ClientPinStage::Waiting, attempts: 0 };
        self.graph.blocks[slot].extra().client_pins.push(pin);
        self.clients.bindings.bind(worker, slot);
        self.demand(slot);
        self.advance_client_pins(slot);
    }

    /// Takes every pin of a block as far as it goes.
    pub(in crate::manager) fn advance_client_pins(&mut self, slot: BlockSlot) {
        let count =
            self.graph.blocks[slot].extra.as_ref().map_or(0, |extra| extra.client_pins.len());
        for index in (0..count).rev() {
            self.advance_gather(slot, index);
        }
    }

    fn advance_gather(&mut self, slot: BlockSlot, index: usize) {
        let block = &mut self.graph.blocks[slot];
        if let Data::Inline(_) = block.data {
            if let Some(output) = block.as_output() {
                let ticket = self.remove_gather(slot, index);
                self.resolve(ticket, Outcome::Ready(output));
            }
            return;
        }
        let pin = block.extra().client_pins[index];
        let (name, available, at) = (block.name, block.is_available(), pin.worker);
        if pin.stage == ClientPinStage::Pinning {
            return;
        }
        let stage = if block.is_at(at) {
            ClientPinStage::Pinning
        } else if available && !self.members.workers.is_yet_to_join(at) {
            ClientPinStage::Fetching
        } else {
            ClientPinStage::Waiting
        };
        block.extra().client_pins[index].stage = stage;
        if stage == ClientPinStage::Pinning {
            block.touch(self.now);
            self.members.send(at, ToWorker::Pin(name));
        } else if stage == ClientPinStage::Fetching && pin.stage == ClientPinStage::Waiting {
            if self.members.workers.is_present(at) {
                self.queues().want(slot, at);
            } else {
                let failure = Self::block_failure(name, self.absence(at));
                let ticket = self.remove_gather(slot, index);
                self.resolve(ticket, Outcome::Failed(failure));
            }
        }
    }

    pub(in crate::manager) fn remove_gather(&mut self, slot: BlockSlot, index: usize) -> Ticket {
        let client_pins = &mut self.graph.blocks[slot].extra().client_pins;
        let pin = client_pins.remove(index);
        if !client_pins.iter().any(|other| other.worker == pin.worker) {
            self.unbind(slot, pin.worker);
        }
        self.graph.blocks[slot].tidy();
        self.graph.dirty.push(slot);
        pin.ticket
    }

    pub(in crate::manager) fn unbind(&mut self, slot: BlockSlot, worker: WorkerId) {
        let still = self.graph.blocks[slot].extra.as_ref().is_some_and(|extra| {
            extra.adopting.iter().any(|adoption| adoption.worker == Some(worker))
                || extra.pins.contains(&worker)
                || extra.client_pins.iter().any(|pin| pin.worker == worker)
        });
        if !still {
            self.clients.bindings.unbind(worker, slot);
        }
    }

    /// A block's replicas are gone: client pins that fetched it wait again.
    pub(in crate::manager) fn rewind_client_pins(&mut self, slot: BlockSlot) {
        let Some(extra) = &mut self.graph.blocks[slot].extra else { return };
        for pin in &mut extra.client_pins {
            if pin.stage == ClientPinStage::Fetching {
                pin.stage = ClientPinStage::Waiting;
            }
        }
    }

    pub(in crate::manager) fn on_pinned(&mut self, id: WorkerId, name: Name, path: Option<String>) {
        let slot = self.graph.blocks.find(&name);
        let index = slot.and_then(|slot| {
            let client_pins = &self.graph.blocks[slot].extra.as_ref()?.client_pins;
            client_pins
                .iter()
                .position(|pin| pin.worker == id && pin.stage == ClientPinStage::Pinning)
        });
        let (Some(slot), Some(index)) = (slot, index) else {
            if path.is_some() {
                self.unpin_at(id, name);
            }
            return;
        };
        let (Some(path), Some(block)) = (path, self.graph.blocks[slot].desc()) else {
            return self.pin_again(slot, index, id);
        };
        self.graph.blocks[slot].extra().pins.push(id);
        let ticket = self.remove_gather(slot, index);
        self.resolve(ticket, Outcome::Pinned { block, path });
    }

    fn unpin_at(&mut self, id: WorkerId, name: Name) {
        if let Some(worker) = self.members.workers.get_mut(id).filter(|worker| !worker.is_closing())
        {
            worker.post.unpin.push(name);
            self.members.touch(id);
        }
    }

    pub(in crate::manager) fn on_unpin(&mut self, name: Name, id: WorkerId) {
        let slot = self.graph.blocks.find(&name);
        // An alias is pinned under the name that it has there.
        self.unpin_at(id, slot.map_or(name, |slot| self.graph.blocks[slot].name));
        let Some(slot) = slot else { return };
        let Some(extra) = &mut self.graph.blocks[slot].extra else { return };
        let Some(index) = extra.pins.iter().position(|worker| *worker == id) else { return };
        extra.pins.swap_remove(index);
        self.transfer.cramped.relieve();
        self.unbind(slot, id);
        self.graph.blocks[slot].tidy();
        self.graph.dirty.push(slot);
    }

    /// The block was not where it was to be pinned.
    fn pin_again(&mut self, slot: BlockSlot, index: usize, id: WorkerId) {
        let most = self.config.max_recoveries;
        let pin = &mut self.graph.blocks[slot].extra().client_pins[index];
        pin.stage = ClientPinStage::Waiting;
        pin.attempts += 1;
        if pin.attempts > most {
            let name = self.graph.blocks[slot].name;
            let failure = Self::block_failure(name, Why::InputLost(name));
            let ticket = self.remove_gather(slot, index);
            return self.resolve(ticket, Outcome::Failed(failure));
        }
        self.remove_replica(slot, id);
        if self.graph.blocks.get(slot).is_some() {
            self.demand(slot);
            self.advance_client_pins(slot);
        }
    }

    /// Fails all client pins of a block that failed.
    pub(in crate::manager) fn fail_client_pins(&mut self, slot: BlockSlot) {
        let Some(failure) = self.graph.blocks[slot].failure().cloned() else { return };
        while self.graph.blocks[slot]
            .extra
            .as_ref()
            .is_some_and(|extra| !extra.client_pins.is_empty())
        {
            let ticket = self.remove_gather(slot, 0);
            self.resolve(ticket, Outcome::Failed(failure.clone()));
        }
    }

    /// A worker has joined: clients may have brought it blocks before, or want to map some there.
    pub(in crate::manager) fn bind_early(&mut self, id: WorkerId, adopt: Vec<ToWorker>) {
        for message in adopt {
            self.members.send(id, message);
        }
        for slot in self.bound_to(id) {
            self.advance_client_pins(slot);
        }
    }

    pub(in crate::manager) fn bound_to(&self, id: WorkerId) -> Vec<BlockSlot> {
        self.clients.bindings.of(id)
    }

    /// A worker is lost: what was bound to it is resolved.
    pub(in crate::manager) fn unbind_all(&mut self, id: WorkerId) {
        for slot in self.bound_to(id) {
            self.adopt_elsewhere(slot, id);
            self.on_adopted(slot, id);
            self.unpin_all(slot, id);
            let failure = Self::block_failure(self.graph.blocks[slot].name, self.absence(id));
            self.refuse_clients_at(slot, id, &failure);
        }
    }

    /// Clients never get a block at a worker.
    pub(in crate::manager) fn refuse_clients_at(
        &mut self,
        slot: BlockSlot,
        id: WorkerId,
        why: &Arc<Failure>,
    ) {
        while let Some(index) = self.gather_at(slot, id) {
            let ticket = self.remove_gather(slot, index);
            self.resolve(ticket, Outcome::Failed(Arc::clone(why)));
        }
    }

    fn unpin_all(&mut self, slot: BlockSlot, id: WorkerId) {
        let Some(block) = self.graph.blocks.get_mut(slot) else { return };
        if let Some(extra) = &mut block.extra {
            extra.pins.retain(|worker| *worker != id);
        }
        block.tidy();
        self.graph.dirty.push(slot);
        self.unbind(slot, id);
    }

    fn gather_at(&self, slot: BlockSlot, id: WorkerId) -> Option<usize> {
        let client_pins = &self.graph.blocks.get(slot)?.extra.as_ref()?.client_pins;
        client_pins.iter().position(|pin| pin.worker == id)
    }
}
