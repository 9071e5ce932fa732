//! Blocks that go from worker to worker: a bounded number in and out of each, largest first.

use crate::manager::Manager;
use crate::manager::api::{Action, Record, Why};
use crate::manager::graph::{Data, Want, WantStage};
use crate::manager::hash::SetOf;
use crate::manager::members::Worker;
use crate::manager::table::{BlockSlot, TaskSlot};
use crate::wire::{BlockDesc, ToWorker};
use freestone_base::{Name, WorkerId};
use std::cmp::Reverse;

/// What fetching a block takes besides its bytes.
pub(in crate::manager) const FETCH_NS: u64 = 100_000;

/// How often a block may fail to come before the last holder asked counts as having lost it.
pub(super) const MAX_FAILURES: u32 = 10;

/// How many holders of a block are compared.
const HOLDERS_ASKED: usize = 16;

/// How often it is asked for again at once; then, when time has passed.
const HASTY_FAILURES: u32 = 3;

impl Manager {
    /// Something at `target` needs the block there.
    pub(in crate::manager) fn want(&mut self, slot: BlockSlot, target: WorkerId) {
        let Some(worker) = self.workers.get_mut(target) else { return };
        if worker.blocks.contains(&slot) {
            return;
        }
        let block = &mut self.blocks[slot];
        if !worker.wanted.insert(slot) {
            if let Some(want) = block.want_mut(target) {
                want.users += 1;
            }
            return;
        }
        let want = Want { target, stage: WantStage::Lacking, users: 1, failures: 0, stale: false };
        block.extra().wants.push(want);
        if self.blocks[slot].is_available() {
            self.enqueue(slot, target);
            self.fill_target(target);
        }
    }

    /// A task at `target` no longer needs the block there, or whatever else asked for it.
    pub(in crate::manager) fn unwant(
        &mut self,
        slot: BlockSlot,
        target: WorkerId,
        task: Option<TaskSlot>,
    ) {
        let Some(want) = self.blocks[slot].want_mut(target) else { return };
        want.users = want.users.saturating_sub(1);
        let stage = want.stage;
        let active = matches!(stage, WantStage::Active(_));
        if want.users > 0 || active || self.is_used_at(slot, target, task) {
            return;
        }
        self.dequeue(slot, target, stage);
        self.remove_want(slot, target);
    }

    fn is_used_at(&self, slot: BlockSlot, target: WorkerId, except: Option<TaskSlot>) -> bool {
        let block = &self.blocks[slot];
        let gathers = block.extra.iter().flat_map(|extra| &extra.gathers);
        block
            .consumers
            .iter()
            .filter_map(|id| self.tasks.find(*id))
            .any(|task| Some(task) != except && self.is_attempted_at(task, target))
            || gathers.into_iter().any(|gather| gather.worker == target)
    }

    fn remove_want(&mut self, slot: BlockSlot, target: WorkerId) {
        if let Some(worker) = self.workers.get_mut(target) {
            worker.wanted.remove(&slot);
        }
        let block = &mut self.blocks[slot];
        if let Some(extra) = &mut block.extra {
            extra.wants.retain(|want| want.target != target);
        }
        block.tidy();
        if !block.is_wanted() {
            self.loose.push(slot);
        }
    }

    fn set_stage(&mut self, slot: BlockSlot, target: WorkerId, stage: WantStage) {
        if let Some(want) = self.blocks[slot].want_mut(target) {
            want.stage = stage;
        }
    }

    fn enqueue(&mut self, slot: BlockSlot, target: WorkerId) {
        let key = (Reverse(self.blocks[slot].nbytes()), slot);
        self.set_stage(slot, target, WantStage::Inbox);
        if let Some(worker) = self.workers.get_mut(target) {
            worker.inbox.insert(key);
        }
    }

    fn dequeue(&mut self, slot: BlockSlot, target: WorkerId, stage: WantStage) {
        let nbytes = Reverse(self.blocks[slot].nbytes());
        match stage {
            WantStage::Lacking | WantStage::Active(_) => {}
            WantStage::Inbox => {
                if let Some(worker) = self.workers.get_mut(target) {
                    worker.inbox.remove(&(nbytes, slot));
                }
            }
            WantStage::Outbox(source) => {
                if let Some(worker) = self.workers.get_mut(source) {
                    worker.outbox.remove(&(nbytes, slot, target));
                }
            }
        }
        self.set_stage(slot, target, WantStage::Lacking);
    }

    /// Starts transfers to a worker while it may receive more.
    fn fill_target(&mut self, target: WorkerId) {
        let most = self.config.transfers_in as usize;
        while let Some(worker) = self.workers.get_mut(target) {
            if worker.receiving.len() >= most {
                return;
            }
            let Some((_, slot)) = worker.inbox.pop_first() else { return };
            match self.source(slot, target) {
                Some((source, true)) => self.start(slot, source, target),
                Some((source, false)) => self.enqueue_at_source(slot, source, target),
                None => self.set_stage(slot, target, WantStage::Lacking),
            }
        }
    }

    fn enqueue_at_source(&mut self, slot: BlockSlot, source: WorkerId, target: WorkerId) {
        let nbytes = Reverse(self.blocks[slot].nbytes());
        self.workers[source].outbox.insert((nbytes, slot, target));
        self.set_stage(slot, target, WantStage::Outbox(source));
    }

    /// The holder with the fewest transfers out, and whether it may send now. One that failed
    /// before is asked last.
    fn source(&self, slot: BlockSlot, target: WorkerId) -> Option<(WorkerId, bool)> {
        let failures =
            self.blocks[slot].wants().iter().find(|want| want.target == target)?.failures;
        let replicas = self.blocks[slot].replicas();
        let skip = (target.0 as usize + failures as usize) % replicas.len().max(1);
        let holders = replicas.iter().cycle().skip(skip).take(replicas.len().min(HOLDERS_ASKED));
        let holders = holders.filter_map(|id| self.workers.get(*id));
        let source = holders
            .enumerate()
            .min_by_key(|(turn, holder)| (if failures > 0 { *turn } else { 0 }, holder.outgoing()))?
            .1;
        Some((source.id, source.sending.len() < self.config.transfers_out as usize))
    }

    fn start(&mut self, slot: BlockSlot, source: WorkerId, target: WorkerId) {
        let Some(block) = self.blocks[slot].desc() else { return };
        let keep = self.blocks[slot].keep;
        if let Some(want) = self.blocks[slot].want_mut(target) {
            want.stage = WantStage::Active(source);
            want.stale = false;
        }
        let sender = &mut self.workers[source];
        sender.sending.push((slot, target));
        let address = sender.address.clone();
        let receiver = &mut self.workers[target];
        receiver.receiving.push(slot);
        receiver.post.other.push(ToWorker::Fetch { block, source, address, keep });
        self.touch(target);
    }

    /// A transfer ended: its places are free.
    fn end(&mut self, slot: BlockSlot, source: WorkerId, target: WorkerId) {
        if let Some(worker) = self.workers.get_mut(source) {
            worker.sending.retain(|transfer| *transfer != (slot, target));
        }
        if let Some(worker) = self.workers.get_mut(target) {
            worker.receiving.retain(|other| *other != slot);
        }
    }

    /// Starts transfers from a worker while it may send more.
    fn fill_source(&mut self, source: WorkerId) {
        let (most_in, most_out) = (self.config.transfers_in, self.config.transfers_out);
        while let Some(worker) = self.workers.get_mut(source) {
            if worker.sending.len() >= most_out as usize {
                return;
            }
            let Some((_, slot, target)) = worker.outbox.pop_first() else { return };
            let Some(receiver) = self.workers.get(target) else { continue };
            if receiver.receiving.len() < most_in as usize {
                self.start(slot, source, target);
            } else {
                self.enqueue(slot, target);
            }
        }
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
        self.touch(id);
        if let Some(worker) = self.workers.get_mut(id).filter(|worker| !worker.doubted.is_empty()) {
            worker.doubted.retain(|(doubted, _)| *doubted != name);
        }
        let slot = self.blocks.find(&name);
        // A worker that has adopted a block may still be receiving it, and says so later.
        let adopted =
            fetched.is_none() && slot.is_some_and(|slot| self.blocks[slot].is_to_be_adopted_by(id));
        let ended = slot.filter(|_| !adopted);
        let active = ended.and_then(|slot| self.finish_want(slot, id));
        self.add_replica(desc, id);
        let Some(slot) = slot else { return };
        if adopted {
            self.on_adopted(slot, id);
        }
        if let Some(source) = active {
            self.touch(source);
            self.share(slot, source, id);
            self.fill_source(source);
            self.fill_source(id);
            self.fill_target(id);
        }
    }

    /// A worker has a block of its own making: it need not come, unless it is on its way.
    pub(in crate::manager) fn arrived_otherwise(&mut self, slot: BlockSlot, target: WorkerId) {
        let Some(stage) = self.blocks[slot].want_mut(target).map(|want| want.stage) else { return };
        if !stage.is_active() {
            self.dequeue(slot, target, stage);
            self.remove_want(slot, target);
        }
    }

    /// What was wanted at a worker is there; gives the source if it came by a transfer.
    fn finish_want(&mut self, slot: BlockSlot, target: WorkerId) -> Option<WorkerId> {
        let stage = self.blocks[slot].want_mut(target)?.stage;
        self.dequeue(slot, target, stage);
        self.remove_want(slot, target);
        let WantStage::Active(source) = stage else { return None };
        self.end(slot, source, target);
        Some(source)
    }

    /// A new holder takes over half of those that wait for the same block at its source.
    fn share(&mut self, slot: BlockSlot, source: WorkerId, holder: WorkerId) {
        if !self.blocks.get(slot).is_some_and(|block| block.is_at(holder)) {
            return;
        }
        let nbytes = Reverse(self.blocks[slot].nbytes());
        let Some(worker) = self.workers.get_mut(source) else { return };
        let range = (nbytes, slot, WorkerId(0))..=(nbytes, slot, WorkerId(u32::MAX));
        let waiting: Vec<WorkerId> = worker.outbox.range(range).map(|entry| entry.2).collect();
        for target in waiting.iter().skip(waiting.len() / 2) {
            self.workers[source].outbox.remove(&(nbytes, slot, *target));
            self.enqueue_at_source(slot, holder, *target);
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
            let seen = nbytes as f64 * 1e9 / duration_ns as f64;
            self.bandwidth += (seen - self.bandwidth) / 8.0;
        }
        if self.config.trace {
            let end_ns = self.now;
            let record = Record::Transfer { name, source, target, nbytes, end_ns, duration_ns };
            self.out.push(Action::Trace(record));
        }
    }

    pub(in crate::manager) fn on_fetch_failed(
        &mut self,
        target: WorkerId,
        name: &Name,
        source: WorkerId,
        missing_there: bool,
        free: Option<u64>,
    ) {
        let Some(slot) = self.blocks.find(name) else { return };
        let Some(want) = self.blocks[slot].want_mut(target) else { return };
        let WantStage::Active(sender) = want.stage else { return };
        want.failures += 1;
        want.stage = WantStage::Lacking;
        let is_missing = missing_there && !std::mem::take(&mut want.stale);
        let (users, failures) = (want.users, want.failures);
        self.end(slot, sender, target);
        let mut unused = users == 0;
        if let Some(free) = free {
            let nbytes = self.blocks[slot].nbytes();
            // Nothing makes way for a copy that nothing needs there, which might be such a copy, too,
            // and it is not asked for again and again.
            let is_used = self.is_used_at(slot, target, None);
            let mut spare = !is_used && self.hot.remove(&slot).is_some();
            let made = !spare && users > 0 && self.make_room(target, nbytes, None);
            spare |= !made && self.hot.remove(&slot).is_some();
            if !made && failures >= MAX_FAILURES {
                self.refuse_gathers_at(slot, target, free);
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
        let block = self.blocks.get(slot);
        let is_there = block.is_some_and(|block| block.is_at(target));
        let closing = self.workers.get(target).is_some_and(Worker::is_closing);
        if block.is_some() && (unused || is_there || closing) {
            self.remove_want(slot, target);
        } else if failures < HASTY_FAILURES {
            self.restart(slot, target);
        } else {
            self.delayed.push((slot, target));
        }
        self.loose.extend(self.blocks.get(slot).map(|_| slot));
        self.fill_source(sender);
        self.fill_target(target);
    }

    /// A block can't be brought to a worker: that counts as an attempt of what needs it there, so
    /// that it is not made and sent again for ever.
    fn note_unfetched(&mut self, slot: BlockSlot, target: WorkerId) {
        let name = self.blocks[slot].name;
        for id in self.blocks[slot].consumers.clone() {
            let Some(task) = self.tasks.find(id) else { continue };
            if self.tasks[task].stage.assigned_to() == Some(target) && self.has_lost_too_often(task)
            {
                self.fail_with(task, Why::InputLost(name));
            }
        }
    }

    /// Whether a block is only there, nothing can make it again, and that worker stays.
    fn is_last_copy(&self, slot: BlockSlot, id: WorkerId) -> bool {
        let stays = self.workers.get(id).is_some_and(Worker::is_active);
        let block = self.blocks.get(slot).filter(|block| block.replicas() == [id]);
        stays && block.is_some_and(|block| self.is_irreplaceable(block))
    }

    /// A block can't be brought to a worker, and not be made elsewhere: what needs it there goes to
    /// other workers, and clients there hear of it.
    fn run_elsewhere(&mut self, slot: BlockSlot, target: WorkerId) {
        for id in self.blocks[slot].consumers.clone() {
            let Some(task) = self.tasks.find(id) else { continue };
            if self.tasks[task].stage.assigned_to() != Some(target) {
                continue;
            }
            self.withdraw(task);
            let history = self.tasks[task].history();
            if !history.avoid.contains(&target) {
                history.avoid.push(target);
            }
            self.resume(task);
        }
        let name = self.blocks[slot].name;
        let failure = Self::block_failure(name, Why::InputLost(name));
        self.refuse_clients_at(slot, target, &failure);
    }

    /// A want that stands as lacking is queued if the block is there.
    fn restart(&mut self, slot: BlockSlot, target: WorkerId) {
        let Some(block) = self.blocks.get_mut(slot) else { return };
        let (available, there) = (block.is_available(), block.is_at(target));
        let Some(want) = block.want_mut(target) else { return };
        if want.stage == WantStage::Lacking && there {
            return self.remove_want(slot, target);
        }
        let Some(want) = self.blocks[slot].want_mut(target) else { return };
        if want.stage == WantStage::Lacking && available {
            self.enqueue(slot, target);
            self.fill_target(target);
        }
    }

    /// Time has passed: what failed to come is asked for again.
    pub(in crate::manager) fn restart_delayed(&mut self) {
        for (slot, target) in std::mem::take(&mut self.delayed) {
            self.restart(slot, target);
        }
    }

    /// A block that was not there is there: those that lacked it can have it.
    pub(in crate::manager) fn restart_wants(&mut self, slot: BlockSlot) {
        if matches!(self.blocks[slot].data, Data::Inline(_)) {
            return;
        }
        let targets: Vec<WorkerId> = self.blocks[slot].wants().iter().map(|w| w.target).collect();
        for target in targets {
            self.restart(slot, target);
        }
    }

    /// A worker has a block no more: what transfers from there find says nothing about a copy that
    /// comes there later.
    pub(in crate::manager) fn mark_stale(&mut self, slot: BlockSlot, source: WorkerId) {
        let wants = self.blocks[slot].extra.iter_mut().flat_map(|extra| &mut extra.wants);
        for want in wants.filter(|want| want.stage == WantStage::Active(source)) {
            want.stale = true;
        }
    }

    /// A worker lost a block: those that waited for it there wait elsewhere.
    pub(in crate::manager) fn redirect_wants(&mut self, slot: BlockSlot, source: WorkerId) {
        self.mark_stale(slot, source);
        let waiting = self.blocks[slot].wants().iter();
        let waiting = waiting.filter(|want| want.stage == WantStage::Outbox(source));
        let targets: Vec<WorkerId> = waiting.map(|want| want.target).collect();
        for target in targets {
            self.dequeue(slot, target, WantStage::Outbox(source));
            self.restart(slot, target);
        }
    }

    /// A worker is lost (and out of the table): nothing goes to it or comes from it any more. Those
    /// that receive from it notice and say so.
    pub(in crate::manager) fn end_transfers_of(&mut self, worker: &Worker) {
        let id = worker.id;
        self.abandon_all(&worker.wanted, id, true);
        for (_, slot, target) in &worker.outbox {
            self.set_stage(*slot, *target, WantStage::Lacking);
        }
        for (_, slot, target) in &worker.outbox {
            self.restart(*slot, *target);
        }
    }

    /// A worker ends: what it wanted, it wants no more; what is under way to it, only if `active`.
    pub(in crate::manager) fn abandon_all(
        &mut self,
        wanted: &SetOf<BlockSlot>,
        id: WorkerId,
        active: bool,
    ) {
        let mut wanted: Vec<BlockSlot> = wanted.iter().copied().collect();
        wanted.sort_unstable();
        for slot in wanted {
            self.abandon(slot, id, active);
        }
    }

    /// A worker ends: what it wanted, it wants no more.
    fn abandon(&mut self, slot: BlockSlot, target: WorkerId, active: bool) {
        let Some(block) = self.blocks.get_mut(slot) else { return };
        let Some(stage) = block.want_mut(target).map(|want| want.stage) else { return };
        if stage.is_active() && !active {
            return;
        }
        self.dequeue(slot, target, stage);
        self.remove_want(slot, target);
        for index in 0..self.blocks.get(slot).map_or(0, |block| block.replicas().len()) {
            self.touch(self.blocks[slot].replicas()[index]);
        }
        if let WantStage::Active(source) = stage {
            self.end(slot, source, target);
            self.fill_source(source);
        }
    }

    /// A block is not needed any more: what is not under way need not come.
    pub(in crate::manager) fn want_no_more(&mut self, slot: BlockSlot) {
        for Want { target, stage, .. } in self.blocks[slot].wants().to_vec() {
            if !matches!(stage, WantStage::Active(_)) {
                self.dequeue(slot, target, stage);
                self.remove_want(slot, target);
            }
        }
    }

    /// A block is nowhere any more: none of those that want it can be served.
    pub(in crate::manager) fn lack_all(&mut self, slot: BlockSlot) {
        for index in 0..self.blocks[slot].wants().len() {
            let Want { target, stage, .. } = self.blocks[slot].wants()[index];
            if !matches!(stage, WantStage::Active(_)) {
                self.dequeue(slot, target, stage);
            }
        }
    }
}
