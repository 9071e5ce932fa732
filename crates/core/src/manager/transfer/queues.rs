//! Blocks on their way from worker to worker: a bounded number in and out of each, largest first.
//!
//! What waits is in line at both its source and its target, so that a place that is free at either is
//! given to the first of its line whose other side has a place, too. Moving it between the two lines
//! instead, to the one that is full, moves most of a line whenever a transfer ends.

use crate::manager::Manager;
use crate::manager::graph::{Data, Graph, Want, WantStage};
use crate::manager::members::{Members, Worker};
use crate::manager::table::BlockSlot;
use crate::wire::ToWorker;
use freestone_base::WorkerId;
use freestone_base::hash::SetOf;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// How many holders of a block are compared.
const HOLDERS_ASKED: usize = 16;

/// How many transfers a worker takes part in at once.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Limits {
    pub transfers_in: u32,
    pub transfers_out: u32,
}

/// What workers want, receive and send: the records of blocks and workers, borrowed for one step.
pub(in crate::manager) struct Queues<'a> {
    graph: &'a mut Graph,
    members: &'a mut Members,
    limits: Limits,
}

impl Manager {
    /// The queues of transfers.
    pub(in crate::manager) fn queues(&mut self) -> Queues<'_> {
        let limits = self.transfer.limits;
        Queues { graph: &mut self.graph, members: &mut self.members, limits }
    }
}

impl Queues<'_> {
    /// Something at `target` needs the block there.
    pub fn want(&mut self, slot: BlockSlot, target: WorkerId) {
        let Some(worker) = self.members.workers.get_mut(target) else { return };
        if worker.blocks.contains(&slot) {
            return;
        }
        let block = &mut self.graph.blocks[slot];
        if !worker.wanted.insert(slot) {
            if let Some(want) = block.want_mut(target) {
                want.users += 1;
            }
            return;
        }
        let want = Want { target, stage: WantStage::Lacking, users: 1, failures: 0, stale: false };
        block.extra().wants.push(want);
        if self.graph.blocks[slot].is_available() {
            self.enqueue(slot, target);
        }
    }

    pub(super) fn remove_want(&mut self, slot: BlockSlot, target: WorkerId) {
        if let Some(worker) = self.members.workers.get_mut(target) {
            worker.wanted.remove(&slot);
        }
        let block = &mut self.graph.blocks[slot];
        if let Some(extra) = &mut block.extra {
            extra.wants.retain(|want| want.target != target);
        }
        block.tidy();
        if !block.is_wanted() {
            self.graph.dirty.push(slot);
        }
    }

    fn set_stage(&mut self, slot: BlockSlot, target: WorkerId, stage: WantStage) {
        if let Some(want) = self.graph.blocks[slot].want_mut(target) {
            want.stage = stage;
        }
    }

    /// Begins the transfer if both sides have room for one more, else puts it in line at both.
    fn enqueue(&mut self, slot: BlockSlot, target: WorkerId) {
        let Some(source) = self.source(slot, target) else { return };
        if self.can_send(source) && self.can_receive(target) {
            return self.start(slot, source, target);
        }
        self.set_stage(slot, target, WantStage::Queued(source));
        let nbytes = self.graph.blocks[slot].nbytes();
        if let Some(worker) = self.members.workers.get_mut(target) {
            worker.expect(slot, nbytes, source);
        }
        self.members.workers[source].outbox.insert((Reverse(nbytes), slot, target));
    }

    fn can_send(&self, source: WorkerId) -> bool {
        let worker = self.members.workers.get(source);
        worker.is_some_and(|worker| worker.sending.len() < self.limits.transfers_out as usize)
    }

    fn can_receive(&self, target: WorkerId) -> bool {
        let worker = self.members.workers.get(target);
        worker.is_some_and(|worker| worker.receiving.len() < self.limits.transfers_in as usize)
    }

    pub(super) fn dequeue(&mut self, slot: BlockSlot, target: WorkerId, stage: WantStage) {
        if let WantStage::Queued(source) = stage {
            let nbytes = self.graph.blocks[slot].nbytes();
            if let Some(worker) = self.members.workers.get_mut(target) {
                worker.expect_no_more(slot, nbytes);
            }
            if let Some(worker) = self.members.workers.get_mut(source) {
                worker.outbox.remove(&(Reverse(nbytes), slot, target));
            }
        }
        self.set_stage(slot, target, WantStage::Lacking);
    }

    /// Starts transfers to a worker while it may receive more, from those that may send more.
    pub(super) fn fill_target(&mut self, target: WorkerId) {
        while self.can_receive(target) {
            let mut inbox = self.members.workers[target].inbox.iter();
            let first = inbox.find(|(_, source)| self.can_send(**source));
            let Some((&(_, slot), &source)) = first else { return };
            self.start_queued(slot, source, target);
        }
    }

    fn start_queued(&mut self, slot: BlockSlot, source: WorkerId, target: WorkerId) {
        self.dequeue(slot, target, WantStage::Queued(source));
        self.start(slot, source, target);
    }

    /// The holder with the fewest transfers out. One that failed before is asked last.
    fn source(&self, slot: BlockSlot, target: WorkerId) -> Option<WorkerId> {
        let failures =
            self.graph.blocks[slot].wants().iter().find(|want| want.target == target)?.failures;
        let replicas = self.graph.blocks[slot].replicas();
        let skip = (target.0 as usize + failures as usize) % replicas.len().max(1);
        let holders = replicas.iter().cycle().skip(skip).take(replicas.len().min(HOLDERS_ASKED));
        let holders = holders.filter_map(|id| self.members.workers.get(*id));
        let source = holders
            .enumerate()
            .min_by_key(|(turn, holder)| (if failures > 0 { *turn } else { 0 }, holder.outgoing()))?
            .1;
        Some(source.id)
    }

    fn start(&mut self, slot: BlockSlot, source: WorkerId, target: WorkerId) {
        let Some(block) = self.graph.blocks[slot].desc() else { return };
        let keep = self.graph.blocks[slot].keep;
        if let Some(want) = self.graph.blocks[slot].want_mut(target) {
            want.stage = WantStage::Active(source);
            want.stale = false;
        }
        let sender = &mut self.members.workers[source];
        sender.sending.push((slot, target));
        let address = sender.address.clone();
        let receiver = &mut self.members.workers[target];
        receiver.receiving.push(slot);
        receiver.post.other.push(ToWorker::Fetch { block, source, address, keep });
        self.members.touch(target);
    }

    /// A transfer ended: its places are free.
    pub(super) fn end(&mut self, slot: BlockSlot, source: WorkerId, target: WorkerId) {
        if let Some(worker) = self.members.workers.get_mut(source) {
            worker.sending.retain(|transfer| *transfer != (slot, target));
        }
        if let Some(worker) = self.members.workers.get_mut(target) {
            worker.receiving.retain(|other| *other != slot);
        }
    }

    /// Starts transfers from a worker while it may send more, to those that may receive more.
    pub(super) fn fill_source(&mut self, source: WorkerId) {
        while self.can_send(source) {
            let mut outbox = self.members.workers[source].outbox.iter();
            let first = outbox.find(|(_, _, target)| self.can_receive(*target));
            let Some(&(_, slot, target)) = first else { return };
            self.start_queued(slot, source, target);
        }
    }

    /// A worker has a block of its own making: it need not come, unless it is on its way.
    pub fn arrived_otherwise(&mut self, slot: BlockSlot, target: WorkerId) {
        let Some(stage) = self.graph.blocks[slot].want_mut(target).map(|want| want.stage) else {
            return;
        };
        if !stage.is_active() {
            self.dequeue(slot, target, stage);
            self.remove_want(slot, target);
        }
    }

    /// What was wanted at a worker is there; gives the source if it came by a transfer.
    pub(super) fn finish_want(&mut self, slot: BlockSlot, target: WorkerId) -> Option<WorkerId> {
        let stage = self.graph.blocks[slot].want_mut(target)?.stage;
        self.dequeue(slot, target, stage);
        self.remove_want(slot, target);
        let WantStage::Active(source) = stage else { return None };
        self.end(slot, source, target);
        Some(source)
    }

    /// A new holder takes over half of those that wait for the same block at its source.
    pub(super) fn share(&mut self, slot: BlockSlot, source: WorkerId, holder: WorkerId) {
        if !self.graph.blocks.get(slot).is_some_and(|block| block.is_at(holder)) {
            return;
        }
        let nbytes = Reverse(self.graph.blocks[slot].nbytes());
        let Some(worker) = self.members.workers.get_mut(source) else { return };
        let range = (nbytes, slot, WorkerId(0))..=(nbytes, slot, WorkerId(u32::MAX));
        let waiting: Vec<WorkerId> = worker.outbox.range(range).map(|entry| entry.2).collect();
        for target in waiting.iter().skip(waiting.len() / 2) {
            self.members.workers[source].outbox.remove(&(nbytes, slot, *target));
            self.members.workers[holder].outbox.insert((nbytes, slot, *target));
            self.members.workers[*target].expect(slot, nbytes.0, holder);
            self.set_stage(slot, *target, WantStage::Queued(holder));
        }
    }

    /// A want that stands as lacking is queued if the block is there.
    pub(super) fn restart(&mut self, slot: BlockSlot, target: WorkerId) {
        let Some(block) = self.graph.blocks.get_mut(slot) else { return };
        let (available, there) = (block.is_available(), block.is_at(target));
        let Some(want) = block.want_mut(target) else { return };
        if want.stage == WantStage::Lacking && there {
            return self.remove_want(slot, target);
        }
        let Some(want) = self.graph.blocks[slot].want_mut(target) else { return };
        if want.stage == WantStage::Lacking && available {
            self.enqueue(slot, target);
        }
    }

    /// A block that was not there is there: those that lacked it can have it.
    pub fn restart_wants(&mut self, slot: BlockSlot) {
        if matches!(self.graph.blocks[slot].data, Data::Inline(_)) {
            return;
        }
        let targets: Vec<WorkerId> =
            self.graph.blocks[slot].wants().iter().map(|w| w.target).collect();
        for target in targets {
            self.restart(slot, target);
        }
    }

    /// A worker has a block no more: what transfers from there find says nothing about a copy that
    /// comes there later.
    pub fn mark_stale(&mut self, slot: BlockSlot, source: WorkerId) {
        let wants = self.graph.blocks[slot].extra.iter_mut().flat_map(|extra| &mut extra.wants);
        for want in wants.filter(|want| want.stage == WantStage::Active(source)) {
            want.stale = true;
        }
    }

    /// A worker lost a block: those that waited for it there wait elsewhere.
    pub fn redirect_wants(&mut self, slot: BlockSlot, source: WorkerId) {
        self.mark_stale(slot, source);
        let waiting = self.graph.blocks[slot].wants().iter();
        let waiting = waiting.filter(|want| want.stage == WantStage::Queued(source));
        let targets: Vec<WorkerId> = waiting.map(|want| want.target).collect();
        for target in targets {
            self.dequeue(slot, target, WantStage::Queued(source));
            self.restart(slot, target);
        }
    }

    /// A worker is lost (and out of the table): nothing goes to it or comes from it any more. Those
    /// that receive from it notice and say so.
    pub fn end_transfers_of(&mut self, worker: &Worker) {
        let id = worker.id;
        self.abandon_all(&worker.wanted, id, true);
        for (_, slot, target) in &worker.outbox {
            self.dequeue(*slot, *target, WantStage::Queued(id));
        }
        for (_, slot, target) in &worker.outbox {
            self.restart(*slot, *target);
        }
    }

    /// A worker ends: what it wanted, it wants no more; what is under way to it, only if `active`.
    pub fn abandon_all(&mut self, wanted: &SetOf<BlockSlot>, id: WorkerId, active: bool) {
        let mut wanted: Vec<BlockSlot> = wanted.iter().copied().collect();
        wanted.sort_unstable();
        for slot in wanted {
            self.abandon(slot, id, active);
        }
    }

    /// A worker ends: what it wanted, it wants no more.
    fn abandon(&mut self, slot: BlockSlot, target: WorkerId, active: bool) {
        let Some(block) = self.graph.blocks.get_mut(slot) else { return };
        let Some(stage) = block.want_mut(target).map(|want| want.stage) else { return };
        if stage.is_active() && !active {
            return;
        }
        self.dequeue(slot, target, stage);
        self.remove_want(slot, target);
        for index in 0..self.graph.blocks.get(slot).map_or(0, |block| block.replicas().len()) {
            self.members.touch(self.graph.blocks[slot].replicas()[index]);
        }
        if let WantStage::Active(source) = stage {
            self.end(slot, source, target);
            self.fill_source(source);
        }
    }

    /// A block is not needed any more: what is not under way need not come.
    pub fn want_no_more(&mut self, slot: BlockSlot) {
        for Want { target, stage, .. } in self.graph.blocks[slot].wants().to_vec() {
            if !matches!(stage, WantStage::Active(_)) {
                self.dequeue(slot, target, stage);
                self.remove_want(slot, target);
            }
        }
    }

    /// A block is nowhere any more: none of those that want it can be served.
    pub fn lack_all(&mut self, slot: BlockSlot) {
        for index in 0..self.graph.blocks[slot].wants().len() {
            let Want { target, stage, .. } = self.graph.blocks[slot].wants()[index];
            if !matches!(stage, WantStage::Active(_)) {
                self.dequeue(slot, target, stage);
            }
        }
    }
}

#[cfg(test)]
#[path = "queues_tests.rs"]
mod tests;
