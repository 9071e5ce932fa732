//! From ready to sent: who gets what, and what is sent at the end of an event.

use super::Schedule;
use crate::manager::Manager;
use crate::manager::api::Action;
use crate::manager::graph::{Stage, Task, UNMEASURED_NS};
use crate::manager::members::Worker;
use crate::manager::table::TaskSlot;
use crate::wire::{Assignment, ToWorker};
use freestone_base::sizing::{AHEAD_NS, calls_ahead};
use freestone_base::{Resources, TaskId, WorkerId};

/// A queue that a worker may take from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Own,
    Class(u32),
}

impl Manager {
    /// All inputs of a task that waited are there.
    pub(in crate::manager) fn make_ready(&mut self, task: TaskSlot) {
        self.allocate(task);
        let record = &mut self.graph.tasks[task];
        record.ready_ns = self.now;
        let (options, pinned) = (record.options.clone(), record.pinned);
        if let Some(why) = self.refusal(&options.resources, pinned) {
            return self.fail_with(task, why);
        }
        if self.take_members(task) {
            return self.resume(task);
        }
        self.counts.waiting -= 1;
        self.counts.ready += 1;
        self.place(task);
    }

    /// Hands ready tasks to workers with room.
    pub(in crate::manager) fn dispatch(&mut self) {
        for index in 0..self.members.touched().len() {
            let id = self.members.touched()[index];
            self.feed_own(id);
            self.members.workers.reorder(id);
        }
        while let Some((id, class)) = self.next_taker() {
            self.feed(id, class);
            self.members.workers.reorder(id);
        }
        // The first attempts of stragglers that were ended meanwhile had what waits there.
        while let Some(id) = self.schedule.freed.pop() {
            self.feed_own(id);
            self.members.workers.reorder(id);
        }
        for index in 0..self.members.touched().len() {
            self.steal_for(self.members.touched()[index]);
        }
    }

    /// Sends a worker what is queued for it as long as there is room; ready tasks of all that go
    /// first go first.
    fn feed_own(&mut self, id: WorkerId) {
        while self.members.workers.get(id).is_some_and(|worker| !worker.queue.is_empty()) {
            let Some((from, task)) = self.best_for(id) else { return };
            if !self.has_room(&self.members.workers[id], task) {
                return;
            }
            self.take(from, id);
            self.assign(task, id);
        }
    }

    /// The least loaded worker that has room for the first task of some class, and the class.
    fn next_taker(&mut self) -> Option<(WorkerId, u32)> {
        let mut taker = None;
        for class in 0..self.schedule.classes.len() {
            let Some(task) = self.first_of_class(class) else { continue };
            let needs = &self.graph.tasks[task].options.resources;
            let Some(id) = self.members.workers.least_loaded_for(needs) else { continue };
            let worker = &self.members.workers[id];
            let better = taker.is_none_or(|(load, than, _)| (worker.load, id) < (load, than));
            if better && self.has_room(worker, task) {
                taker = Some((worker.load, id, class));
            }
        }
        taker.map(|(_, id, class)| (id, class))
    }

    /// Gives one task to a worker with a free slot, or as many as may travel ahead to one without.
    /// There is room for the first of `class`, at least.
    fn feed(&mut self, id: WorkerId, class: u32) {
        let idle = self.members.workers[id].free_slots() > 0;
        let mut fed = false;
        while let Some((from, task)) = self.best_for(id) {
            if self.has_room(&self.members.workers[id], task) {
                self.take(from, id);
                self.assign(task, id);
            } else {
                if let (false, Some(task)) = (fed, self.first_of_class(class)) {
                    self.take(From::Class(class), id);
                    self.assign(task, id);
                }
                return;
            }
            fed = true;
            if idle {
                return;
            }
        }
    }

    /// The first task among a worker's own and those of the classes that it can hold.
    fn best_for(&mut self, id: WorkerId) -> Option<(From, TaskSlot)> {
        let mut best = self.first_of_own(id).map(|task| (From::Own, task));
        for class in 0..self.schedule.classes.len() {
            let Some(task) = self.first_of_class(class) else { continue };
            let needs = &self.graph.tasks[task].options.resources;
            let worker = &self.members.workers[id];
            if !needs.fit(&worker.resources) || worker.lacks_custom(needs) {
                continue;
            }
            let goes_first = |than: TaskSlot| {
                let (one, other) = (&self.graph.tasks[task], &self.graph.tasks[than]);
                if one.tenant != other.tenant {
                    let turn = |task: &Task| self.schedule.shares.turn(task.tenant);
                    return turn(one) < turn(other);
                }
                (one.priority, one.urgency) > (other.priority, other.urgency)
            };
            if best.is_none_or(|(_, than)| goes_first(than)) {
                best = Some((From::Class(class), task));
            }
        }
        best
    }

    /// The first ready task of a class; entries that are no longer meant are removed.
    fn first_of_class(&mut self, class: u32) -> Option<TaskSlot> {
        loop {
            let entry = self.schedule.classes.get(class).queue.first(&self.schedule.shares)?;
            if let Some(task) = self.graph.tasks.find_queued(entry, Stage::Ready) {
                return Some(task);
            }
            self.schedule.classes.queue(class).pop_first(&self.schedule.shares, false);
        }
    }

    fn first_of_own(&mut self, worker: WorkerId) -> Option<TaskSlot> {
        loop {
            let entry = self.members.workers[worker].queue.first(&self.schedule.shares)?;
            if let Some(task) = self.graph.tasks.find_queued(entry, Stage::Queued(worker)) {
                let record = &self.graph.tasks[task];
                if !self.members.workers[worker].lacks_custom(&record.options.resources) {
                    return Some(task);
                }
                // It keeps back none of those behind it: the holder may wait for one of them.
                self.members.workers[worker].queue.park_first(&self.schedule.shares);
                continue;
            }
            self.members.workers[worker].queue.pop_first(&self.schedule.shares, false);
        }
    }

    fn take(&mut self, from: From, id: WorkerId) {
        let Schedule { classes, shares, .. } = &mut self.schedule;
        let queue = match from {
            From::Own => &mut self.members.workers[id].queue,
            From::Class(class) => classes.queue(class),
        };
        queue.pop_first(shares, true);
    }

    fn has_room(&self, worker: &Worker, task: TaskSlot) -> bool {
        let record = &self.graph.tasks[task];
        let needs = &record.options.resources;
        let remaining = self.counts.ready;
        // What is sent ahead has its custom resources: nothing there waits for them.
        if worker.lacks_custom(needs) {
            return false;
        }
        worker.can_begin(needs) || {
            let mean_ns = self.graph.functions.mean_ns(record.function);
            worker.may_wait(needs, calls_ahead(mean_ns, remaining, self.members.workers.slots()))
        }
    }

    /// Gives a ready task to a worker.
    pub(in crate::manager) fn assign(&mut self, task: TaskSlot, id: WorkerId) {
        self.end_first(task);
        let name = self.graph.tasks.id(task);
        let expected_ns = self.graph.functions.mean_ns(self.graph.tasks[task].function);
        let record = &mut self.graph.tasks[task];
        record.attempt += 1;
        record.sent_ns = self.now;
        if !matches!(record.stage, Stage::Queued(_)) {
            record.charged_ns = expected_ns.unwrap_or(UNMEASURED_NS);
            self.members.workers[id].backlog_ns += record.charged_ns;
        }
        let cores = u64::from(record.options.resources.cores.max(1));
        self.schedule.shares.charge(record.tenant, record.charged_ns.saturating_mul(cores));
        self.counts.ready -= 1;
        self.counts.assigned += 1;
        let running = self.members.workers[id].take_in(name, record);
        record.stage = Stage::Assigned { worker: id, running };
        let assignment = Assignment {
            task: name,
            attempt: record.attempt,
            function: record.function,
            arguments: record.arguments.clone(),
            inputs: record
                .inputs
                .iter()
                .filter_map(|slot| self.graph.blocks[*slot].as_input())
                .collect(),
            outputs: record.outputs.iter().map(|slot| self.graph.blocks[*slot].name).collect(),
            options: record.options.clone(),
            priority: record.priority,
            tenant: record.tenant,
            expected_ns,
        };
        self.members.workers[id].post.run.push(assignment);
        self.members.touch(id);
        for index in 0..self.graph.tasks[task].inputs.len() {
            let slot = self.graph.tasks[task].inputs[index];
            if self.graph.blocks[slot].stored().is_some() {
                self.graph.blocks[slot].touch(self.now);
                self.queues().want(slot, id);
            }
        }
    }

    /// A task is no longer at its worker.
    pub(in crate::manager) fn unassign(&mut self, task: TaskSlot, id: WorkerId, running: bool) {
        self.counts.assigned -= 1;
        let name = self.graph.tasks.id(task);
        let charged_ns = self.graph.tasks[task].charged_ns;
        let needs = &self.graph.tasks[task].options.resources;
        let Some(worker) = self.members.workers.get_mut(id) else { return };
        worker.backlog_ns -= charged_ns;
        worker.held_ns -= charged_ns.min(AHEAD_NS);
        if running {
            worker.release(name, needs);
        } else {
            worker.ahead_len -= 1;
            worker.release_custom(needs);
        }
        self.members.touch(id);
        for index in 0..self.graph.tasks[task].inputs.len() {
            let slot = self.graph.tasks[task].inputs[index];
            if self.graph.blocks[slot].extra.is_some() {
                self.unwant(slot, id, Some(task));
            }
        }
    }

    /// Reserves for what was sent ahead to a worker, in order, as far as it fits.
    pub(in crate::manager) fn promote(&mut self, id: WorkerId) {
        self.reserve_resumed(id);
        let Some(worker) = self.members.workers.get_mut(id) else { return };
        while let Some((name, attempt)) = worker.ahead.front().copied() {
            let found = self
                .graph
                .tasks
                .find(name)
                .filter(|task| is_ahead(&self.graph.tasks[*task], id, attempt));
            if let Some(task) = found {
                let record = &mut self.graph.tasks[task];
                if !worker.reserve(name, &record.options.resources.without_custom()) {
                    return;
                }
                worker.ahead_len -= 1;
                record.stage = Stage::Assigned { worker: id, running: true };
            }
            worker.ahead.pop_front();
        }
    }

    /// For about how long a worker has calls to begin when those that run end, by measured durations: no
    /// message about further ones can be of use to it earlier. The last `unwritten` calls that it was sent
    /// do not count: they have not left.
    pub fn slack_ns(&self, id: WorkerId, unwritten: u32) -> u64 {
        let worker = self.members.workers.get(id);
        let Some(worker) = worker.filter(|one| one.is_active() && one.free_slots() == 0) else {
            return 0;
        };
        let calls = (u64::from(worker.held()) + worker.queue.len()).max(1);
        let mean_ns = worker.backlog_ns / calls;
        let there = worker.ahead_len.saturating_sub(unwritten);
        mean_ns.saturating_mul(there.into()) / u64::from(worker.slots.max(1))
    }

    /// Sends what is to be sent.
    pub(in crate::manager) fn flush(&mut self) {
        let touched = self.members.take_touched();
        for id in &touched {
            self.flush_worker(*id);
        }
        self.members.reuse(touched);
    }

    fn flush_worker(&mut self, id: WorkerId) {
        let Some(worker) = self.members.workers.get_mut(id) else { return };
        let post = std::mem::take(&mut worker.post);
        let out = &mut self.out;
        if !post.cancel.is_empty() {
            out.push(Action::Send(id, ToWorker::Cancel(post.cancel)));
        }
        // What is sent from now on is for the next executors.
        if post.restart {
            out.push(Action::Send(id, ToWorker::Restart));
        }
        out.extend(post.unpin.into_iter().map(|name| Action::Send(id, ToWorker::Unpin(name))));
        if !post.drop.is_empty() {
            out.push(Action::Send(id, ToWorker::Drop(post.drop)));
        }
        if !post.run.is_empty() {
            let new = post.run.iter().map(|assignment| assignment.function);
            for function in new.filter(|function| !worker.define(*function)) {
                let Some(known) = self.graph.functions.get(function) else { continue };
                let Some(definition) = known.definition.clone() else { continue };
                let label = known.label.clone();
                let define = ToWorker::Define { function, label, definition };
                out.push(Action::Send(id, define));
            }
            out.push(Action::Send(id, ToWorker::Run(post.run)));
        }
        out.extend(post.other.into_iter().map(|message| Action::Send(id, message)));
    }
}

/// Whether the entry `(task, attempt)` among those sent ahead to a worker is still meant.
pub(in crate::manager) fn is_ahead(task: &Task, id: WorkerId, attempt: u32) -> bool {
    task.attempt == attempt && task.stage == Stage::Assigned { worker: id, running: false }
}

impl Worker {
    /// Reserves a slot and resources that are not custom; whether there are any.
    pub(super) fn reserve(&mut self, task: TaskId, needs: &Resources) -> bool {
        let fits = self.free_slots() > 0 && self.free.take(needs);
        if fits {
            self.running.push(task);
        }
        fits
    }

    /// Takes in a task that is sent; whether it can begin at once.
    fn take_in(&mut self, id: TaskId, task: &Task) -> bool {
        self.held_ns += task.charged_ns.min(AHEAD_NS);
        let needs = &task.options.resources;
        let begins = self.can_begin(needs);
        if !needs.custom.is_empty() {
            self.free.take(&needs.only_custom());
        }
        if begins && self.reserve(id, &needs.without_custom()) {
            return true;
        }
        self.ahead.push_back((id, task.attempt));
        self.ahead_len += 1;
        false
    }
}

#[cfg(test)]
#[path = "dispatch_tests.rs"]
mod tests;
