//! Where a ready task goes.

use crate::manager::Manager;
use crate::manager::api::Near;
use crate::manager::graph::{Block, Entry, Stage, Task, UNMEASURED_NS, rank};
use crate::manager::members::Worker;
use crate::manager::table::{BlockSlot, TaskSlot};
use freestone_base::WorkerId;
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// How many inputs of a task, and holders of an input, are looked at.
const INPUTS_SEEN: usize = 64;
const HOLDERS_SEEN: usize = 4;
const CANDIDATES_SEEN: usize = 16;

impl Manager {
    /// Puts a ready task into a queue: a worker's if its inputs or its past speak for one, else
    /// that of its class.
    pub(in crate::manager) fn place(&mut self, task: TaskSlot) {
        let record = &self.graph.tasks[task];
        let avoids = record.history.as_ref().is_some_and(|history| !history.avoid.is_empty());
        let by_place =
            avoids || record.inputs.iter().any(|slot| self.graph.blocks[*slot].stored().is_some());
        let worker = match record.pinned.or_else(|| self.tied_to(record)) {
            Some(worker) => Some(worker),
            None if by_place => self.soonest(record),
            None => None,
        };
        match worker {
            Some(worker) => self.enqueue_for(task, worker),
            None => self.enqueue_for_all(task),
        }
    }

    fn enqueue_for_all(&mut self, task: TaskSlot) {
        let entry = self.graph.enter(task);
        let record = &mut self.graph.tasks[task];
        record.stage = Stage::Ready;
        let queue = self.schedule.classes.queue(record.class);
        queue.push(record.tenant, rank(record.priority, record.urgency), entry);
    }

    pub(in crate::manager) fn enqueue_for(&mut self, task: TaskSlot, worker: WorkerId) {
        let entry = self.graph.enter(task);
        let record = &mut self.graph.tasks[task];
        record.stage = Stage::Queued(worker);
        record.charged_ns = self.graph.functions.mean_ns(record.function).unwrap_or(UNMEASURED_NS);
        let Some(holder) = self.members.workers.get_mut(worker) else {
            return self.members.arrivals.add_task(worker, entry);
        };
        holder.backlog_ns += record.charged_ns;
        let rank = rank(record.priority, record.urgency);
        holder.queue.push(record.tenant, rank, entry);
        self.members.workers.reorder(worker);
        self.members.touch(worker);
    }

    /// A worker has joined: tasks that are to run only there have waited for it.
    pub(in crate::manager) fn enqueue_pinned(&mut self, worker: WorkerId, tasks: Vec<Entry>) {
        for entry in tasks {
            // One that was taken back may be in the worker's own queue by now.
            let Some(task) = self.graph.tasks.find_queued(entry, Stage::Queued(worker)) else {
                continue;
            };
            self.graph.tasks[task].stage = Stage::Waiting { missing: 0 };
            self.counts.ready -= 1;
            self.counts.waiting += 1;
            self.resume(task);
        }
    }

    /// The worker that can start a task soonest, among those that hold its inputs and the least
    /// loaded.
    fn soonest(&self, task: &Task) -> Option<WorkerId> {
        let needs = &task.options.resources;
        let avoid: &[WorkerId] = task.history.as_ref().map_or(&[], |history| &history.avoid);
        let usable = |id: &WorkerId| {
            !avoid.contains(id)
                && self
                    .members
                    .workers
                    .get(*id)
                    .is_some_and(|worker| worker.is_active() && worker.can_hold(needs))
        };
        let mut candidates: SmallVec<[WorkerId; 16]> = SmallVec::new();
        let least_loaded = self.members.workers.least_loaded_of_each_shape(needs, avoid);
        let holders = task.inputs.iter().take(INPUTS_SEEN).flat_map(|slot| {
            self.graph.blocks[*slot].replicas().iter().take(HOLDERS_SEEN).copied()
        });
        for id in least_loaded.chain(holders) {
            if candidates.len() < CANDIDATES_SEEN && !candidates.contains(&id) && usable(&id) {
                candidates.push(id);
            }
        }
        let cost = |id: &WorkerId| {
            let fetch_ns = self.fetch_ns(task, *id);
            let worker = &self.members.workers[*id];
            (worker.wait_ns().saturating_add(fetch_ns), fetch_ns, worker.load, *id)
        };
        // Where all are to be avoided, anyone is better than no one.
        candidates.into_iter().min_by_key(cost).or_else(|| self.members.workers.least_loaded(needs))
    }

    /// Where a task has to run, while there is that worker: near a place or an input, or where a
    /// group is that it needs; at the worker that has least to do, if there are several.
    pub(in crate::manager) fn tied_to(&self, task: &Task) -> Option<WorkerId> {
        let needs = &task.options.resources;
        let active = |id: &WorkerId| {
            let avoids = task.history.as_ref().is_some_and(|history| history.avoid.contains(id));
            let holds = |worker: &Worker| worker.is_active() && needs.fit(&worker.resources);
            !avoids && self.members.workers.get(*id).is_some_and(holds)
        };
        if let Some(Near::Worker(id)) = task.near
            && active(&id)
        {
            return Some(id);
        }
        let ties = |block: &Block| match task.near {
            Some(Near::Input) => block.stored().is_some(),
            _ => block.is_group(),
        };
        let mut inputs = task.inputs.iter().take(INPUTS_SEEN).map(|slot| &self.graph.blocks[*slot]);
        let holders = inputs.find(|block| ties(block))?.replicas().iter().copied().filter(active);
        holders.min_by_key(|id| (self.members.workers[*id].wait_ns(), *id))
    }

    /// A call over a group that can't run where the group is (its worker retires, or lacks what the
    /// call needs) takes the group's members as inputs besides, so that they come along; its
    /// arguments don't refer to them. Whether there were any.
    pub(in crate::manager) fn take_members(&mut self, task: TaskSlot) -> bool {
        let record = &self.graph.tasks[task];
        if !record.inputs.iter().any(|slot| self.graph.blocks[*slot].is_group()) {
            return false;
        }
        let place = record.pinned.or_else(|| self.tied_to(record));
        let known: BTreeSet<BlockSlot> = record.inputs.iter().copied().collect();
        let is_away = |slot: &&BlockSlot| {
            let block = &self.graph.blocks[**slot];
            block.is_group() && place.is_none_or(|id| !block.is_at(id))
        };
        let away = record.inputs.iter().filter(is_away);
        let makers = away.filter_map(|slot| self.graph.blocks[*slot].producer);
        let members = makers.flat_map(|maker| self.graph.tasks[maker].inputs.iter().copied());
        let members: BTreeSet<BlockSlot> = members.filter(|slot| !known.contains(slot)).collect();
        for slot in &members {
            self.graph.add_input(task, *slot);
        }
        !members.is_empty()
    }

    /// How long the inputs that are not at a worker, nor on their way there, take to fetch.
    pub(in crate::manager) fn fetch_ns(&self, task: &Task, id: WorkerId) -> u64 {
        let seen = task.inputs.len().min(INPUTS_SEEN) as u64;
        let missing = task.inputs.iter().take(INPUTS_SEEN);
        let seen_ns: u64 = missing.map(|slot| self.fetch_block_ns(*slot, id)).sum();
        // Those that were looked at stand for all.
        seen_ns / seen.max(1) * (task.inputs.len() as u64).max(1)
    }

    pub(in crate::manager) fn fetch_block_ns(&self, slot: BlockSlot, id: WorkerId) -> u64 {
        let block = &self.graph.blocks[slot];
        let Some(stored) = block.stored() else { return 0 };
        let worker = &self.members.workers[id];
        if worker.blocks.contains(&slot) || worker.wanted.contains(&slot) {
            return 0;
        }
        self.transfer.fetch_ns(stored.nbytes)
    }
}
