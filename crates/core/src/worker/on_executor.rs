//! What executors say, and how they live and die.

use super::api::{Action, Now};
use super::cache::Location;
use super::executors::{Executor, Health, InFlight};
use super::{Stage, Worker};
use crate::store::Tier;
use crate::wire::{
    CallOptions, CallResult, DISK_EXCEEDED, MEMORY_EXCEEDED, Output, Report, Spent, TaskFailure,
    ToExecutor,
};
use freestone_base::{Name, Resources, TaskId};

/// Executors that die before they are ready are started again after ever longer waits,
const REVIVE_NS: Now = 10_000_000;
/// and after so many of them in a row the worker gives up.
const MAX_STILLBORN: u32 = 8;
/// A call that so many executors had when they died counts as what killed them, begun or not.
const MAX_DEATHS: u32 = 8;

impl Worker {
    pub(super) fn on_ready(&mut self, executor: u32, now: Now) {
        let Some(executor) = self.executors.get_mut(executor as usize) else { return };
        if executor.health == Health::Starting {
            executor.health = Health::Ready;
            executor.stillborn = 0;
            executor.moved_at = now;
        }
    }

    pub(super) fn on_results(
        &mut self,
        executor: u32,
        results: Vec<CallResult>,
        unmapped: &[Name],
        on_disk: &[Name],
        now: Now,
        out: &mut Vec<Action>,
    ) {
        for result in results {
            self.on_result(executor, result, on_disk, now, out);
        }
        let Some(there) = self.executors.get_mut(executor as usize) else { return };
        there.moved_at = now;
        for name in unmapped {
            if there.unmap(*name) {
                self.cache.release(*name, out);
            }
        }
        self.end_lease(executor);
    }

    fn on_result(
        &mut self,
        executor: u32,
        result: CallResult,
        on_disk: &[Name],
        now: Now,
        out: &mut Vec<Action>,
    ) {
        let Some(there) = self.executors.get_mut(executor as usize) else { return };
        // What is unknown was taken back: it can't be both, so this is not from a sane executor.
        let Some(sent) = there.take(result.sequence) else { return };
        let call = self.calls.get(sent.task);
        let is_current = call.is_some_and(|call| call.assignment.attempt == sent.attempt);
        let call = if is_current { self.calls.remove(sent.task) } else { None };
        let keep = call.as_ref().map(|call| call.assignment.options.keep).unwrap_or_default();
        let is_wanted = call.as_ref().is_some_and(|call| !call.cancelled);
        let stored = self.take_outputs(&result, keep, is_wanted, on_disk, out);
        self.expect_no_more(&sent, out);
        self.note_groups(executor, &result, out);
        let Some(call) = call else { return };
        self.learn(call.assignment.function, result.spent.occupied_ns(), stored);
        let ended = match result.result {
            _ if call.cancelled => Err(TaskFailure::Cancelled),
            // A child of the executor's ended so.
            Err(why) => Err(limit_or(why, &call.assignment.options)),
            ended => ended,
        };
        let start_ns = if result.spent.start_ns == 0 { now } else { result.spent.start_ns };
        out.push(Action::Report(Report {
            task: sent.task,
            attempt: sent.attempt,
            spent: Spent { start_ns, ..result.spent },
            result: ended,
        }));
    }

    /// Takes stored outputs into the cache, and out again if nobody wants them. Returns their
    /// bytes.
    fn take_outputs(
        &mut self,
        result: &CallResult,
        keep: crate::wire::Keep,
        is_wanted: bool,
        on_disk: &[Name],
        out: &mut Vec<Action>,
    ) -> u64 {
        let mut stored = 0;
        for output in result.result.iter().flatten() {
            let Output::Stored(block) = output else { continue };
            let name = block.name;
            stored += block.nbytes;
            let tier = if on_disk.contains(&name) { Tier::Disk } else { Tier::Memory };
            let was_needed = self.cache.is_needed(name);
            self.take_in(block.clone(), Location::Tier(tier), keep, out);
            if is_wanted || was_needed {
                self.on_usable(name, out);
            } else {
                self.cache.doom(name, out);
            }
        }
        stored
    }

    pub(super) fn on_died(
        &mut self,
        executor: u32,
        claimed: u32,
        why: TaskFailure,
        now: Now,
        out: &mut Vec<Action>,
    ) {
        let Some(there) = self.executors.get_mut(executor as usize) else { return };
        let why = &there.cause(why);
        let mut dead = bury(there, now);
        let stillborn = there.stillborn;
        if self.has_enough_executors() {
            self.executors[executor as usize].health = Health::Absent;
        } else {
            self.status.executors_restarted += 1;
        }
        if let Some(lease) = dead.lease.take() {
            self.end_use(&lease);
        }
        let lost: Vec<InFlight> = dead.in_flight.drain(..).collect();
        for sent in lost {
            self.expect_no_more(&sent, out);
            let is_blamed = match dead.killed_for {
                Some(task) => task == sent.task,
                None => sent.sequence == claimed,
            };
            let killed_for = dead.killed_for;
            if self.take_over(&mut dead, &sent) {
                self.on_lost_call(sent.task, (why, is_blamed), killed_for, now, out);
            }
        }
        self.forget_holder(executor);
        for (name, count) in dead.mapped {
            (0..count).for_each(|_| self.cache.release(name, out));
        }
        if dead.revoking.is_some() {
            self.on_nothing_revoked(executor);
            self.answer_returns(out);
        }
        if stillborn >= MAX_STILLBORN {
            self.ended = true;
            out.push(Action::End(Some(format!("executors do not start: {why:?}"))));
        }
    }

    /// A call is in an executor no longer, and leaves nothing there any more.
    pub(super) fn expect_no_more(&mut self, sent: &InFlight, out: &mut Vec<Action>) {
        for name in &sent.outputs {
            self.cache.come(*name, out);
        }
    }

    /// A call that was in an executor that died.
    fn on_lost_call(
        &mut self,
        task: TaskId,
        (why, is_blamed): (&TaskFailure, bool),
        killed_for: Option<TaskId>,
        now: Now,
        out: &mut Vec<Action>,
    ) {
        let Some(call) = self.calls.get_mut(task) else { return };
        let blame = is_blamed.then_some(why);
        let late = call.assignment.options.timeout_ns.filter(|_| killed_for == Some(task));
        call.deaths += u32::from(killed_for.is_none());
        // Nobody began it, yet one executor after another dies that has it.
        let blame = blame.or_else(|| (call.deaths >= MAX_DEATHS).then_some(why));
        match (call.cancelled, blame, late) {
            (true, ..) => self.fail(task, TaskFailure::Cancelled, now, out),
            (_, Some(_), Some(timeout_ns)) => {
                self.fail(task, TaskFailure::TimedOut { timeout_ns }, now, out);
            }
            (_, Some(why), None) => {
                let why = limit_or(why.clone(), &call.assignment.options);
                self.fail(task, why, now, out);
            }
            (_, None, _) => self.calls.enqueue(task),
        }
    }

    /// Takes a call back that an executor has not begun, or did not survive; its inputs are the
    /// call's again. False: the call is out of date, and they stay the executor's.
    pub(super) fn take_over(&mut self, executor: &mut Executor, sent: &InFlight) -> bool {
        let Some(call) = self.calls.get_mut(sent.task) else { return false };
        let is_there = matches!(call.stage, Stage::Sent { .. });
        if !is_there || call.assignment.attempt != sent.attempt {
            return false;
        }
        for name in &sent.inputs {
            executor.unmap(*name);
        }
        call.stage = Stage::Waiting;
        call.checked = false;
        true
    }

    /// An executor without calls gives back what they took.
    pub(super) fn end_lease(&mut self, executor: u32) {
        let executor = &mut self.executors[executor as usize];
        if executor.in_flight.is_empty()
            && let Some(lease) = executor.lease.take()
        {
            self.end_use(&lease);
        }
    }

    pub(super) fn end_use(&mut self, lease: &Resources) {
        self.free.give_back(lease);
        self.cache.unreserve_disk(lease.disk);
    }

    pub(super) fn revive_executors(&mut self, now: Now, out: &mut Vec<Action>) {
        for (index, executor) in (0..).zip(&mut self.executors) {
            match executor.health {
                Health::Dead { again_at } if again_at <= now => {
                    executor.health = Health::Starting;
                    out.push(Action::Spawn(index));
                }
                _ if executor.is_worn_out() => executor.kill(index, out),
                _ => {}
            }
        }
    }

    /// Kills executors whose calls run for too long.
    pub(super) fn kill_late(&mut self, now: Now, out: &mut Vec<Action>) {
        for index in self.indexes() {
            let executor = &self.executors[index as usize];
            let is_late = executor.deadline.is_some_and(|deadline| deadline <= now);
            if let (true, Some(sent)) = (is_late, executor.in_flight.front()) {
                let task = sent.task;
                self.kill_for(index, task, out);
            }
        }
    }

    pub(super) fn kill_for(&mut self, executor: u32, task: TaskId, out: &mut Vec<Action>) {
        let there = &mut self.executors[executor as usize];
        there.deadline = None;
        if there.health == Health::Ready {
            there.killed_for = Some(task);
            there.kill(executor, out);
        }
    }

    /// Ends the executors that have run calls, or could.
    pub(super) fn restart_executors(&mut self, out: &mut Vec<Action>) {
        for (index, executor) in (0..).zip(&mut self.executors) {
            if executor.health == Health::Ready {
                executor.deadline = None;
                executor.kill(index, out);
            }
        }
    }

    /// Tells an executor about a function before its first call.
    pub(super) fn define(&mut self, executor: u32, task: TaskId, out: &mut Vec<Action>) {
        let Some(call) = self.calls.get(task) else { return };
        let function = call.assignment.function;
        let Some(known) = self.functions.get(&function) else { return };
        if self.executors[executor as usize].defined.insert(function) {
            let (label, definition) = (known.label.clone(), known.definition.clone());
            out.push(Action::Send(executor, ToExecutor::Define { function, label, definition }));
        }
    }
}

/// Why a call ended, where its executor ended for its sake.
fn limit_or(why: TaskFailure, options: &CallOptions) -> TaskFailure {
    let Resources { memory, disk, .. } = options.resources;
    match why {
        TaskFailure::Killed { status: Some(MEMORY_EXCEEDED), .. } => {
            TaskFailure::MemoryExceeded { limit: memory }
        }
        TaskFailure::Killed { status: Some(DISK_EXCEEDED), .. } => {
            TaskFailure::DiskExceeded { limit: disk }
        }
        other => other,
    }
}

/// Puts in the place of a dead executor the one that will be started.
fn bury(there: &mut Executor, now: Now) -> Executor {
    let stillborn = if there.health == Health::Starting { there.stillborn + 1 } else { 0 };
    let wait = if stillborn == 0 { 0 } else { REVIVE_NS << stillborn.min(6) };
    let health = Health::Dead { again_at: now + wait };
    let next = Executor { health, stillborn, moved_at: now, ..Executor::new() };
    std::mem::replace(there, next)
}
