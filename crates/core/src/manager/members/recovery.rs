//! Workers that are lost, and blocks that are lost with them.

use super::workers::Worker;
use crate::manager::Manager;
use crate::manager::api::{Action, Why};
use crate::manager::graph::{Queue, Stage};
use crate::manager::record::Record;
use crate::manager::table::{BlockSlot, TaskSlot};
use crate::wire::{Spent, TaskFailure};
use freestone_base::{Name, TaskId, WorkerId};

/// How many workers, and no others, die under a task before it is taken to be the cause,
const MANY_DEATHS: u32 = 8;
/// and before it is, however many workers die under others.
const MAX_DEATHS: u32 = 20;
/// A task that was sent to so many workers that died is refused, also if it never began.
const MAX_SENT: u32 = 100;

impl Manager {
    pub(in crate::manager) fn on_left(&mut self, id: WorkerId) {
        if self.members.workers.is_yet_to_join(id) {
            return self.on_never_joined(id);
        }
        let Some(mut worker) = self.members.workers.remove(id) else { return };
        self.members.workers.give_up(id, self.now);
        self.trace(|run| Record::Left { worker: id, at_ns: run.now });
        if worker.is_active() {
            self.transfer.count_loss();
        }
        self.forget_firsts(id);
        let mut tasks = self.take_back(&worker);
        tasks.extend(self.take_queue(id, std::mem::take(&mut worker.queue)));
        self.queues().end_transfers_of(&worker);
        self.remove_replicas(worker.blocks.iter().copied().collect(), id);
        if !self.awaits_workers() {
            self.give_up_vanished(|_, at| at == id);
        }
        self.unbind_all(id);
        self.transfer.balance.on_left(id);
        self.leave_shared_of(id);
        for task in tasks {
            let Some(task) = self.graph.tasks.find(task) else { continue };
            if matches!(self.graph.tasks[task].stage, Stage::Waiting { .. }) {
                self.resume(task);
            }
        }
        self.refuse_unschedulable();
    }

    /// A worker left before it joined: what was for it is resolved.
    fn on_never_joined(&mut self, id: WorkerId) {
        self.members.workers.give_up(id, self.now);
        let early = self.members.arrivals.take(id);
        self.enqueue_pinned(id, early.tasks);
        self.unbind_all(id);
    }

    /// The tasks that a lost worker held; they stand as waiting.
    fn take_back(&mut self, worker: &Worker) -> Vec<TaskId> {
        let mut tasks = Vec::new();
        let ahead = worker.ahead.iter().map(|(task, _)| *task);
        let paused = worker.paused.iter().map(|(task, _)| *task);
        for id in worker.running.iter().copied().chain(paused).chain(ahead) {
            let Some(task) = self.graph.tasks.find(id) else { continue };
            let Stage::Assigned { worker: at, running } = self.graph.tasks[task].stage else {
                continue;
            };
            if at != worker.id {
                continue;
            }
            self.counts.assigned -= 1;
            self.counts.waiting += 1;
            self.counts.retried += 1;
            self.graph.tasks[task].stage = Stage::Waiting { missing: 0 };
            let survives = if running {
                self.survives_death(task, worker.id)
            } else {
                self.survives_sending(task)
            };
            if survives {
                tasks.push(id);
            }
        }
        tasks
    }

    /// The tasks that were queued for a worker; they stand as waiting.
    pub(in crate::manager) fn take_queue(
        &mut self,
        worker: WorkerId,
        mut queue: Queue,
    ) -> Vec<TaskId> {
        let mut tasks = Vec::new();
        for entry in queue.drain() {
            let Some(task) = self.graph.tasks.find_queued(entry, Stage::Queued(worker)) else {
                continue;
            };
            self.counts.ready -= 1;
            self.counts.waiting += 1;
            self.unqueue(task, worker);
            self.graph.tasks[task].stage = Stage::Waiting { missing: 0 };
            tasks.push(self.graph.tasks.id(task));
        }
        tasks
    }

    /// Counts a worker that died before it began a task; whether the task may try another.
    fn survives_sending(&mut self, task: TaskSlot) -> bool {
        let history = self.graph.tasks[task].history();
        history.unbegun += 1;
        let kills = history.unbegun + history.deaths;
        if kills >= MAX_SENT {
            let last = TaskFailure::Killed { signal: None, status: None };
            self.fail_with(task, Why::Killed { kills, last });
            return false;
        }
        true
    }

    /// Counts a worker that died under a task; whether the task may try another.
    fn survives_death(&mut self, task: TaskSlot, id: WorkerId) -> bool {
        let last = TaskFailure::Killed { signal: None, status: None };
        self.graph.note_attempt(task, id, &Spent::default(), &last);
        let lost_workers = self.transfer.lost_workers();
        let history = self.graph.tasks[task].history();
        if history.deaths == 0 {
            history.lost_before = lost_workers.saturating_sub(1);
        }
        history.deaths += 1;
        let kills = history.deaths;
        // It is to blame where all lost workers died under it. Of a few workers that are preempted
        // all the time one in three runs it anyway.
        let deaths_of_all = lost_workers - history.lost_before;
        let is_cause = kills >= MANY_DEATHS.max(deaths_of_all);
        let survives = !is_cause && kills < MAX_DEATHS;
        if !survives {
            self.fail_with(task, Why::Killed { kills, last });
        }
        survives
    }

    /// Blocks are gone from a worker. What can't be made again has failed, but calls there may say
    /// why (a file was changed): their word is waited for.
    pub(in crate::manager) fn on_lost(&mut self, id: WorkerId, names: &[Name]) {
        for name in names {
            let Some(slot) = self.graph.blocks.find(name) else { continue };
            let block = &self.graph.blocks[slot];
            let looked = block.is_at(id) || block.is_to_be_adopted_by(id);
            if looked && block.replicas().iter().all(|replica| *replica == id) {
                // The worker looked at the file: it is not what it was, and never will be.
                self.graph.forget_origin(name);
            }
            if self.detach_replica(slot, id) {
                if self.graph.blocks[slot].producer.is_none() && self.has_calls_with(slot, id) {
                    self.graph.vanished.insert(slot, id);
                    self.take_back_consumers(slot, Some(id));
                } else {
                    self.on_gone(slot);
                }
            }
            self.on_adopted(slot, id);
        }
    }

    fn has_calls_with(&self, slot: BlockSlot, id: WorkerId) -> bool {
        let mut consumers =
            self.graph.blocks[slot].consumers.iter().filter_map(|id| self.graph.tasks.find(*id));
        consumers.any(|task| self.graph.tasks[task].stage.assigned_to() == Some(id))
    }

    /// Nobody said why blocks vanished at certain workers.
    fn give_up_vanished(&mut self, is_at: impl Fn(&Self, WorkerId) -> bool) {
        let given_up = self.graph.vanished.iter().filter(|(_, at)| is_at(self, **at));
        let given_up: Vec<BlockSlot> = given_up.map(|(slot, _)| *slot).collect();
        for slot in given_up {
            if self.graph.vanished.remove(&slot).is_some() {
                self.on_gone(slot);
            }
        }
    }

    /// A block's last replica is gone: tasks that were given to workers wait for it again, so
    /// that they do not hold the slots that it takes to make it; if someone wants it, it is made.
    pub(in crate::manager) fn on_gone(&mut self, slot: BlockSlot) {
        self.take_back_consumers(slot, None);
        if self.graph.blocks[slot].is_wanted() {
            self.demand(slot);
        } else {
            self.graph.dirty.push(slot);
        }
    }

    pub(in crate::manager) fn take_back_consumers(
        &mut self,
        slot: BlockSlot,
        but_at: Option<WorkerId>,
    ) {
        self.rewind_client_pins(slot);
        self.rewind_reductions(slot);
        let consumers = self.graph.blocks[slot].consumers.clone();
        for id in consumers {
            let Some(task) = self.graph.tasks.find(id) else { continue };
            let at = self.graph.tasks[task].stage.assigned_to();
            if at.is_none() || at != but_at {
                // A straggler's first attempt lacks the block, too, and may hold what it takes to
                // make it again.
                self.end_first(task);
                self.withdraw(task);
            }
            if matches!(self.graph.tasks[task].stage, Stage::Waiting { .. }) {
                self.recount(task);
            }
        }
    }

    /// A worker no longer has a block that others have: it comes again for the tasks there that
    /// have not begun.
    pub(in crate::manager) fn want_again(&mut self, slot: BlockSlot, id: WorkerId) {
        if self.members.workers.get(id).is_none() {
            return;
        }
        for index in 0..self.graph.blocks[slot].consumers.len() {
            let found = self.graph.tasks.find(self.graph.blocks[slot].consumers[index]);
            if found.is_some_and(|task| self.is_attempted_at(task, id)) {
                self.queues().want(slot, id);
            }
        }
    }

    /// Counts what a waiting task waits for.
    fn recount(&mut self, task: TaskSlot) {
        let inputs = self.graph.tasks[task].inputs.iter();
        let missing =
            inputs.filter(|slot| !self.graph.blocks[**slot].is_available()).count() as u32;
        self.graph.tasks[task].stage = Stage::Waiting { missing };
    }

    pub(in crate::manager) fn on_tick(&mut self) {
        let silence_ns = self.config.silence_ns;
        for id in self.members.workers.ids() {
            let silent_ns = self.now.saturating_sub(self.members.workers[id].seen_ns);
            if silent_ns > silence_ns {
                let reason = format!("it gave no sign of life for {} s", silent_ns / 1_000_000_000);
                self.out.push(Action::Disconnect(id, reason));
                self.on_left(id);
            }
        }
        // Who is away may reconnect with what vanished; whose calls are silent has had its time.
        let awaits = self.awaits_workers();
        self.give_up_vanished(|manager, at| !awaits || manager.has_joined(at));
        self.give_up_stranded();
        self.restart_delayed();
        self.refuse_cramped();
        self.steal_again();
        self.replicate_due();
        self.replicate_again();
        self.balance_again();
        self.look_ahead();
        self.speculate();
    }
}

#[cfg(test)]
#[path = "recovery_tests.rs"]
mod tests;
