//! Blocks that go from worker to worker: a bounded number in and out of each, largest first.

use crate::manager::Manager;
use crate::manager::api::Why;
use crate::manager::graph::WantStage;
use crate::manager::members::Worker;
use crate::manager::record::Record;
use crate::manager::table::{BlockSlot, TaskSlot};
use crate::wire::BlockDesc;
use freestone_base::{Name, WorkerId};

/// How often a block may fail to come before the last holder asked counts as having lost it.
pub(super) const MAX_FAILURES: u32 = 10;

/// How often it is asked for again at once; then, when time has passed.
const HASTY_FAILURES: u32 = 3;

impl Manager {
    /// A task at `target` no longer needs the block there, or whatever else asked for it.
    pub(in crate::manager) fn unwant(
        &mut self,
        slot: BlockSlot,
        target: WorkerId,
        task: Option<TaskSlot>,
    ) {
        let Some(want) = self.graph.blocks[slot].want_mut(target) else { return };
        want.users = want.users.saturating_sub(1);
        let stage = want.stage;
        let active = matches!(stage, WantStage::Active(_));
        if want.users > 0 || active || self.is_used_at(slot, target, task) {
            return;
        }
        self.queues().dequeue(slot, target, stage);
        self.queues().remove_want(slot, target);
    }

    fn is_used_at(&self, slot: BlockSlot, target: WorkerId, except: Option<TaskSlot>) -> bool {
        let block = &self.graph.blocks[slot];
        let client_pins = block.extra.iter().flat_map(|extra| &extra.client_pins);
        block
            .consumers
            .iter()
            .filter_map(|id| self.graph.tasks.find(*id))
            .any(|task| Some(task) != except && self.is_attempted_at(task, target))
            || client_pins.into_iter().any(|pin| pin.worker == target)
    }

    /// A worker has a block, by a transfer or not.
    pub(in crate::manager) fn on_have(
        &mut self,
        id: WorkerId,
        desc: BlockDesc,
        fetched: Option<(WorkerId, u64)>,
    ) {
        let (name, nbytes) = (desc.name, desc.nbytes);
        if let Some((source, duration_ns)) = fetched {
            self.note_transfer(name, nbytes, source, id, duration_ns);
        }
        self.members.touch(id);
        if let Some(worker) =
            self.members.workers.get_mut(id).filter(|worker| !worker.doubted.is_empty())
        {
            worker.doubted.retain(|(doubted, _)| *doubted != name);
        }
        let slot = self.graph.blocks.find(&name);
        // A worker that has adopted a block may still be receiving it, and says so later.
        let adopted = fetched.is_none()
            && slot.is_some_and(|slot| self.graph.blocks[slot].is_to_be_adopted_by(id));
        let ended = slot.filter(|_| !adopted);
        let active = ended.and_then(|slot| self.queues().finish_want(slot, id));
        let Some(slot) = slot.filter(|slot| self.graph.blocks.get(*slot).is_some()) else {
            return self.drop_at(id, desc.name);
        };
        self.add_replica_of(slot, desc, id);
        if adopted {
            self.on_adopted(slot, id);
        }
        if let Some(source) = active {
            self.members.touch(source);
            self.queues().share(slot, source, id);
            self.queues().fill_source(source);
            self.queues().fill_source(id);
            self.queues().fill_target(id);
        }
    }

    fn note_transfer(
        &mut self,
        name: Name,
        nbytes: u64,
        source: WorkerId,
        target: WorkerId,
        duration_ns: u64,
    ) {
        self.counts.transfers += 1;
        self.counts.transferred_nbytes += nbytes;
        // Short transfers measure latency.
        if nbytes >= 1 << 20 && duration_ns > 0 {
            self.transfer.learn(nbytes, duration_ns);
        }
        self.trace(|run| {
            let end_ns = run.now;
            Record::Transfer { name, source, target, nbytes, end_ns, duration_ns }
        });
    }

    pub(in crate::manager) fn on_fetch_failed(
        &mut self,
        target: WorkerId,
        name: &Name,
        source: WorkerId,
        missing_there: bool,
        free: Option<u64>,
    ) {
        let Some(slot) = self.graph.blocks.find(name) else { return };
        let Some(want) = self.graph.blocks[slot].want_mut(target) else { return };
        let WantStage::Active(sender) = want.stage else { return };
        want.failures += 1;
        want.stage = WantStage::Lacking;
        let is_missing = missing_there && !std::mem::take(&mut want.stale);
        let (users, failures) = (want.users, want.failures);
        self.queues().end(slot, sender, target);
        let mut unused = users == 0 && !self.is_used_at(slot, target, None);
        if let Some(free) = free {
            let nbytes = self.graph.blocks[slot].nbytes();
            // Nothing makes way for a copy that nothing needs there, which might be such a copy, too,
            // and it is not asked for again and again.
            let is_used = self.is_used_at(slot, target, None);
            let mut spare = !is_used && self.transfer.forget_copies(slot);
            let made = !spare && users > 0 && self.make_room(target, nbytes, None);
            spare |= !made && self.transfer.forget_copies(slot);
            if !made && failures >= MAX_FAILURES {
                self.refuse_client_pins_at(slot, target, free);
            }
            if spare || (!made && failures >= MAX_FAILURES) {
                unused = !is_used || !self.is_used_at(slot, target, None);
            }
        } else if is_missing {
            self.note_unfetched(slot, target);
            self.remove_replica(slot, source);
        } else if failures >= MAX_FAILURES {
            self.note_unfetched(slot, target);
            // Who says that it has a block is believed where nothing else can give it.
            if self.is_last_copy(slot, source) {
                self.run_elsewhere(slot, target);
                unused = true;
            } else {
                self.disbelieve(slot, source);
            }
        }
        let block = self.graph.blocks.get(slot);
        let is_there = block.is_some_and(|block| block.is_at(target));
        let closing = self.members.workers.get(target).is_some_and(Worker::is_closing);
        if block.is_some() && (unused || is_there || closing) {
            self.queues().remove_want(slot, target);
        } else if failures < HASTY_FAILURES {
            self.queues().restart(slot, target);
        } else {
            self.transfer.delayed.push((slot, target));
        }
        self.graph.dirty.extend(self.graph.blocks.get(slot).map(|_| slot));
        self.queues().fill_source(sender);
        self.queues().fill_target(target);
    }

    /// A block can't be brought to a worker: that counts as an attempt of what needs it there, so
    /// that it is not made and sent again for ever.
    fn note_unfetched(&mut self, slot: BlockSlot, target: WorkerId) {
        let name = self.graph.blocks[slot].name;
        for id in self.graph.blocks[slot].consumers.clone() {
            let Some(task) = self.graph.tasks.find(id) else { continue };
            if self.graph.tasks[task].stage.assigned_to() == Some(target)
                && self.has_lost_too_often(task)
            {
                self.fail_with(task, Why::InputLost(name));
            }
        }
    }

    /// Whether a block is only there, nothing can make it again, and that worker stays.
    fn is_last_copy(&self, slot: BlockSlot, id: WorkerId) -> bool {
        let stays = self.members.workers.get(id).is_some_and(Worker::is_active);
        let block = self.graph.blocks.get(slot).filter(|block| block.replicas() == [id]);
        stays && block.is_some_and(|block| self.graph.is_irreplaceable(block))
    }

    /// A block can't be brought to a worker, and not be made elsewhere: what needs it there goes to
    /// other workers, and clients there hear of it.
    fn run_elsewhere(&mut self, slot: BlockSlot, target: WorkerId) {
        for id in self.graph.blocks[slot].consumers.clone() {
            let Some(task) = self.graph.tasks.find(id) else { continue };
            if self.graph.tasks[task].stage.assigned_to() != Some(target) {
                continue;
            }
            self.withdraw(task);
            let history = self.graph.tasks[task].history();
            if !history.avoid.contains(&target) {
                history.avoid.push(target);
            }
            self.resume(task);
        }
        let name = self.graph.blocks[slot].name;
        let failure = Self::block_failure(name, Why::InputLost(name));
        self.refuse_clients_at(slot, target, &failure);
    }

    /// Time has passed: what failed to come is asked for again.
    pub(in crate::manager) fn restart_delayed(&mut self) {
        for (slot, target) in std::mem::take(&mut self.transfer.delayed) {
            self.queues().restart(slot, target);
        }
    }
}
