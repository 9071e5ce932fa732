//! When a block comes to be there, and when it and its lineage go.

use super::Graph;
use super::blocks::{Block, Data, Extra, Stored};
use super::tasks::{AGAIN, Stage};
use crate::manager::Manager;
use crate::manager::api::{Outcome, Why};
use crate::manager::table::{BlockSlot, TaskSlot};
use crate::wire::{BlockDesc, Output};
use freestone_base::{FunctionId, WorkerId};

impl Graph {
    /// Notes that a worker has a block; the function that made it, if there were never so many
    /// bytes of that one's at once.
    pub(in crate::manager) fn note_replica(
        &mut self,
        slot: BlockSlot,
        desc: BlockDesc,
        id: WorkerId,
    ) -> Option<FunctionId> {
        let block = &mut self.blocks[slot];
        let maker = block.producer.map(|task| self.tasks[task].function);
        let nbytes = desc.nbytes;
        if let Data::Stored(stored) = &mut block.data {
            let mut raised = None;
            if stored.replicas.is_empty() {
                **stored = Stored::new(desc, maker.or(stored.maker));
                raised = self.functions.held(stored.maker, nbytes);
            }
            stored.replicas.push(id);
            return raised;
        }
        let raised = self.functions.held(maker, nbytes);
        let mut stored = Stored::new(desc, maker);
        stored.replicas.push(id);
        let former = std::mem::replace(&mut block.data, Data::Stored(Box::new(stored)));
        if let Data::Failed(failure) = former {
            block.extra().doomed = Some(failure);
        }
        raised
    }

    /// The done task that has to run again for the block to be there.
    pub(in crate::manager) fn makes_again(&self, slot: BlockSlot) -> Option<TaskSlot> {
        let block = &self.blocks[slot];
        let producer = block.producer.filter(|_| !block.is_available())?;
        self.tasks[producer].stage.is_done().then_some(producer)
    }

    /// Whether a done task may have to run again: an output that is not safe at the manager is
    /// wanted, or something that may have to be made again needs it. What is merely retained is
    /// not made again, so that a long session's lineage does not pile up.
    pub(in crate::manager) fn is_lineage_needed(&self, task: TaskSlot) -> bool {
        self.tasks[task].outputs.iter().any(|slot| {
            let block = &self.blocks[*slot];
            block.producer == Some(task)
                && !matches!(block.data, Data::Inline(_) | Data::Failed(_))
                && (block.is_wanted() || block.lineage > 0)
        })
    }

    /// How urgent the most urgent of the unfinished tasks is that need a block.
    fn urgency_of_consumers(&self, slot: BlockSlot) -> u32 {
        let consumers = self.blocks[slot].consumers.iter();
        let urgencies =
            consumers.filter_map(|id| self.tasks.find(*id)).map(|task| self.tasks[task].urgency);
        urgencies.max().unwrap_or(0)
    }

    /// Removes the record of a done task.
    pub(in crate::manager) fn remove_lineage(&mut self, task: TaskSlot) {
        let Some(record) = self.tasks.remove(task) else { return };
        if let Some(first) = record.outputs.first() {
            self.recent.remember(self.blocks[*first].name, &record);
        }
        for slot in record.inputs {
            let block = &mut self.blocks[slot];
            block.lineage -= 1;
            if block.lineage == 0 && !block.is_wanted() {
                self.dirty.push(slot);
            }
        }
        for slot in record.outputs {
            let block = &mut self.blocks[slot];
            if block.producer == Some(task) {
                block.producer = None;
                if !block.is_wanted() {
                    self.dirty.push(slot);
                }
            }
        }
    }
}

impl Manager {
    /// A worker has a block.
    pub(in crate::manager) fn add_replica(&mut self, desc: BlockDesc, id: WorkerId) {
        match self.graph.blocks.find(&desc.name) {
            Some(slot) => self.add_replica_of(slot, desc, id),
            None => self.drop_at(id, desc.name),
        }
    }

    pub(in crate::manager) fn add_replica_of(
        &mut self,
        slot: BlockSlot,
        desc: BlockDesc,
        id: WorkerId,
    ) {
        let Some(worker) = self.members.workers.get_mut(id).filter(|worker| !worker.is_closing())
        else {
            return;
        };
        if let Data::Inline(_) = self.graph.blocks[slot].data {
            // The manager has it: the replica is not needed.
            return self.drop_at(id, desc.name);
        }
        if !worker.blocks.insert(slot) {
            return;
        }
        let was_available = self.graph.blocks[slot].is_available();
        if let Some(function) = self.graph.note_replica(slot, desc, id) {
            self.trace_peak(function);
        }
        self.graph.blocks[slot].touch(self.now);
        self.members.workers[id].nbytes += self.graph.blocks[slot].nbytes();
        self.queues().arrived_otherwise(slot, id);
        self.on_moved(slot, id);
        if !was_available {
            self.on_available(slot);
        } else if self.graph.blocks[slot].extra.is_some() {
            self.advance_client_pins(slot);
        }
        if !self.graph.blocks[slot].is_wanted() {
            self.graph.dirty.push(slot);
        }
    }

    /// The manager was given a small value.
    pub(in crate::manager) fn set_inline(&mut self, slot: BlockSlot, output: Output) -> bool {
        let Output::Inline(bytes) = output else { return false };
        if self.graph.blocks[slot].is_available() {
            return true;
        }
        self.counts.inline_nbytes += bytes.len() as u64;
        self.graph.blocks[slot].data = Data::Inline(bytes);
        self.on_available(slot);
        true
    }

    /// A block that was not there is there now.
    pub(in crate::manager) fn on_available(&mut self, slot: BlockSlot) {
        let block = &mut self.graph.blocks[slot];
        let tickets = std::mem::take(&mut block.tickets);
        if !tickets.is_empty()
            && let Some(output) = block.as_output()
        {
            for ticket in tickets {
                self.resolve(ticket, Outcome::Ready(output.clone()));
            }
        }
        if self.graph.blocks[slot].extra.is_some() {
            self.advance_client_pins(slot);
            self.queues().restart_wants(slot);
            self.feed_reductions(slot);
        }
        if let Some(id) = self.graph.vanished.remove(&slot) {
            self.want_again(slot, id);
        }
        self.wake_consumers(slot);
        if !self.graph.blocks[slot].is_wanted() {
            self.graph.dirty.push(slot);
        }
    }

    fn wake_consumers(&mut self, slot: BlockSlot) {
        let mut consumers = std::mem::take(&mut self.graph.blocks[slot].consumers);
        consumers.retain(|id| {
            let Some(task) = self.graph.tasks.find(*id) else { return false };
            if let Stage::Waiting { missing } = &mut self.graph.tasks[task].stage {
                *missing -= 1;
                if *missing == 0 {
                    self.graph.newly_ready.push(task);
                }
            }
            !self.graph.tasks[task].stage.is_done()
        });
        self.graph.blocks[slot].consumers = consumers;
        self.ready_woken();
    }

    fn ready_woken(&mut self) {
        let mut ready = std::mem::take(&mut self.graph.newly_ready);
        for task in ready.drain(..) {
            if matches!(self.graph.tasks[task].stage, Stage::Waiting { missing: 0 }) {
                self.make_ready(task);
            }
        }
        self.graph.newly_ready = ready;
    }

    /// Someone wants the block: if it is neither there nor under way, it is made again.
    pub(in crate::manager) fn demand(&mut self, slot: BlockSlot) {
        let Some(block) = self.graph.blocks.get(slot) else { return };
        if block.is_available() || block.failure().is_some() {
            return;
        }
        match block.producer {
            Some(task) if self.graph.tasks[task].stage.is_done() => {
                self.revive(task, self.graph.urgency_of_consumers(slot));
            }
            Some(_) => {}
            None if block.is_coming() || self.graph.vanished.contains_key(&slot) => {}
            None if self.graph.has_origin(&block.name) => self.adopt_again(slot),
            None => {
                let doomed = block.extra.as_ref().and_then(|extra| extra.doomed.clone());
                let lost = || Self::block_failure(block.name, Why::InputLost(block.name));
                let failure = doomed.unwrap_or_else(lost);
                self.fail_block(slot, &failure);
            }
        }
    }

    /// Runs a task again that is kept as lineage. What it needs is demanded in turn, one level
    /// per step, so that a long lineage does not need a deep stack. All of it is as urgent as what
    /// waits for it: else what was lost would come after all that nobody waits for so far.
    fn revive(&mut self, task: TaskSlot, urgency: u32) {
        let mut steps = vec![task];
        while let Some(task) = steps.pop() {
            if !self.graph.tasks.get(task).is_some_and(|record| record.stage.is_done()) {
                continue;
            }
            self.graph.tasks.renew(task);
            let record = &mut self.graph.tasks[task];
            record.urgency = record.urgency.max(urgency) | AGAIN;
            self.counts.recovered += 1;
            self.counts.waiting += 1;
            for index in 0..self.graph.tasks[task].inputs.len() {
                let slot = self.graph.tasks[task].inputs[index];
                self.graph.blocks[slot].lineage -= 1;
                steps.extend(self.graph.makes_again(slot));
            }
            if self.graph.link(task) == 0 {
                self.resume(task);
            } else {
                self.refuse_without_producer(task);
            }
        }
    }

    /// Fails a task one of whose inputs has failed or can't be made again; what a worker can adopt
    /// again comes.
    fn refuse_without_producer(&mut self, task: TaskSlot) {
        for slot in self.graph.tasks[task].inputs.clone() {
            let block = &self.graph.blocks[slot];
            if block.is_available() || block.producer.is_some() {
                continue;
            }
            self.demand(slot);
            // To fail a block is to fail the tasks that need it, unless it had failed before.
            if self.graph.tasks.get(task).is_none() {
                return;
            }
            if let Some(failure) = self.graph.blocks[slot].failure().cloned() {
                return self.fail_task(task, &failure);
            }
        }
    }

    /// A task no longer uses its inputs: it is done (and may be kept as lineage) or gone.
    pub(in crate::manager) fn end_use(&mut self, task: TaskSlot, as_lineage: bool) {
        self.end_first(task);
        for index in 0..self.graph.tasks[task].inputs.len() {
            let slot = self.graph.tasks[task].inputs[index];
            let block = &mut self.graph.blocks[slot];
            block.unfinished -= 1;
            block.lineage += u32::from(as_lineage);
            if block.unfinished == 0 {
                block.consumers.clear();
                if !block.is_wanted() {
                    self.graph.dirty.push(slot);
                }
            }
        }
    }

    /// Lets go of everything that nothing needs any more.
    pub(in crate::manager) fn let_go(&mut self) {
        while let Some(slot) = self.graph.dirty.pop() {
            if self.graph.blocks.get(slot).is_some_and(|block| !block.is_wanted()) {
                self.let_go_of(slot);
            }
        }
    }

    fn let_go_of(&mut self, slot: BlockSlot) {
        let needed = self.graph.blocks[slot].is_needed();
        if self.graph.is_root(&self.graph.blocks[slot]) {
            self.keep_root(slot);
        } else if !needed {
            self.queues().want_no_more(slot);
            self.let_go_of_data(slot);
        }
        match self.graph.blocks[slot].producer {
            Some(task) if !self.graph.tasks[task].stage.is_done() => {}
            Some(task) => {
                if !self.graph.is_lineage_needed(task) {
                    self.graph.remove_lineage(task);
                }
            }
            None => {
                if !needed && !self.graph.blocks[slot].is_coming() {
                    self.give_up(slot);
                }
                if !needed && is_forgettable(&self.graph.blocks[slot]) {
                    self.graph.forget(slot);
                }
            }
        }
    }

    /// Nothing needs a block that waits for a worker to adopt its file: whoever put it is told.
    fn give_up(&mut self, slot: BlockSlot) {
        let tickets = std::mem::take(&mut self.graph.blocks[slot].tickets);
        if tickets.is_empty() {
            return;
        }
        let name = self.graph.blocks[slot].name;
        let failure = Self::block_failure(name, Why::InputLost(name));
        for ticket in tickets {
            self.resolve(ticket, Outcome::Failed(std::sync::Arc::clone(&failure)));
        }
    }

    fn let_go_of_data(&mut self, slot: BlockSlot) {
        let block = &mut self.graph.blocks[slot];
        match &mut block.data {
            Data::Inline(bytes) if block.lineage == 0 => {
                self.counts.inline_nbytes -= bytes.len() as u64;
                block.data = Data::Absent;
            }
            Data::Stored(stored) => {
                let nbytes = stored.nbytes;
                if !stored.replicas.is_empty() {
                    self.graph.functions.freed(stored.maker, nbytes);
                }
                for id in std::mem::take(&mut stored.replicas) {
                    self.drop_replica(slot, id);
                    if let Some(worker) = self.members.workers.get_mut(id) {
                        worker.remove_block(slot, nbytes);
                    }
                    self.queues().mark_stale(slot, id);
                }
            }
            Data::Failed(_) if block.producer.is_none() && block.lineage == 0 => {
                block.data = Data::Absent;
            }
            _ => {}
        }
    }

    /// A worker is to drop a replica of a block.
    pub(in crate::manager) fn drop_replica(&mut self, slot: BlockSlot, id: WorkerId) {
        let Block { name, producer, .. } = self.graph.blocks[slot];
        let is_remade = producer.is_some_and(|task| !self.graph.tasks[task].stage.is_done());
        if let Some(worker) = self.members.workers.get_mut(id).filter(|_| is_remade) {
            worker.doubted.push((name, false));
        }
        self.drop_at(id, name);
    }

    pub(in crate::manager) fn drop_at(&mut self, id: WorkerId, name: freestone_base::Name) {
        if let Some(worker) = self.members.workers.get_mut(id).filter(|worker| !worker.is_closing())
        {
            worker.post.drop.push(name);
            self.members.touch(id);
            self.transfer.cramped.relieve();
        }
    }

    /// A replica is gone.
    pub(in crate::manager) fn remove_replica(&mut self, slot: BlockSlot, id: WorkerId) {
        if self.detach_replica(slot, id) {
            self.on_gone(slot);
        }
    }

    /// A worker has none of its blocks any more. All are gone before anything is made again:
    /// several may come from one task.
    pub(in crate::manager) fn remove_replicas(&mut self, mut blocks: Vec<BlockSlot>, id: WorkerId) {
        blocks.sort_unstable();
        blocks.retain(|slot| self.detach_replica(*slot, id));
        for slot in blocks {
            let Some(block) = self.graph.blocks.get(slot) else { continue };
            if block.is_available() {
                continue;
            }
            let can_be_made = block.producer.is_some() || self.graph.has_origin(&block.name);
            if self.awaits_workers() && block.is_wanted() && !can_be_made {
                self.graph.vanished.insert(slot, id);
                self.take_back_consumers(slot, None);
            } else {
                self.on_gone(slot);
            }
        }
    }

    /// Forgets a replica; whether it was the last.
    pub(in crate::manager) fn detach_replica(&mut self, slot: BlockSlot, id: WorkerId) -> bool {
        let block = &mut self.graph.blocks[slot];
        let Data::Stored(stored) = &mut block.data else { return false };
        let Some(index) = stored.replicas.iter().position(|replica| *replica == id) else {
            return false;
        };
        stored.replicas.swap_remove(index);
        stored.home = stored.home.filter(|home| *home != id);
        let (nbytes, gone) = (stored.nbytes, stored.replicas.is_empty());
        if gone {
            self.graph.functions.freed(stored.maker, nbytes);
        }
        if let Some(worker) = self.members.workers.get_mut(id) {
            worker.remove_block(slot, nbytes);
        }
        self.queues().redirect_wants(slot, id);
        if gone {
            self.queues().lack_all(slot);
        } else {
            self.want_again(slot, id);
        }
        gone
    }
}

/// Whether nothing refers to the block's entry; its producer is gone already.
fn is_forgettable(block: &Block) -> bool {
    let used = |extra: &Extra| {
        !extra.wants.is_empty()
            || !extra.adopting.is_empty()
            || !extra.pins.is_empty()
            || extra.reducing.is_some()
    };
    block.lineage == 0 && block.tickets.is_empty() && !block.extra.as_deref().is_some_and(used)
}
