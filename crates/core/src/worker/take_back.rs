//! Taking calls back from executors: for the manager, to cancel them, to share them out anew.

use super::api::{Action, Now};
use super::executors::{Executor, Health};
use super::{Returning, Stage, Worker};
use crate::wire::{FromWorker, TaskFailure, ToExecutor};
use freestone_base::TaskId;
use std::collections::BTreeMap;

/// After so long, what could not be taken back is asked for again.
const ASK_AGAIN_NS: Now = 5_000_000;

/// If an executor has ended nothing for this long, what waits in it is given to idle ones.
pub(super) const STUCK_NS: Now = 5_000_000;

impl Worker {
    /// The manager wants calls back that have not begun.
    pub(super) fn on_return(&mut self, tasks: Vec<TaskId>, out: &mut Vec<Action>) {
        let mut returning = Returning { asked: tasks, returned: Vec::new(), awaited: Vec::new() };
        let mut sent: BTreeMap<u32, u32> = BTreeMap::new();
        for task in &returning.asked {
            match self.calls.get(*task).map(|call| call.stage) {
                Some(Stage::Sent { executor, sequence }) => {
                    let first = sent.entry(executor).or_insert(sequence);
                    *first = sequence.min(*first);
                }
                Some(_) => returning.returned.push(*task),
                None => {}
            }
        }
        for task in &returning.returned {
            self.give_back(*task, out);
        }
        for (executor, from) in sent {
            if self.revoke(executor, from, out) {
                returning.awaited.push(executor);
            }
        }
        self.returning.push(returning);
        self.answer_returns(out);
    }

    /// Tries again to take back what was cancelled and could not be taken back.
    pub(super) fn ask_again(&mut self, now: Now, out: &mut Vec<Action>) {
        for executor in self.indexes() {
            let there = &mut self.executors[executor as usize];
            if there.ask_again_at.is_none_or(|at| at > now) {
                continue;
            }
            there.ask_again_at = None;
            let calls = &self.calls;
            let is_cancelled = |task| calls.get(task).is_some_and(|call| call.cancelled);
            let first = there.in_flight.iter().find(|sent| is_cancelled(sent.task));
            if let Some(from) = first.map(|sent| sent.sequence) {
                self.revoke(executor, from, out);
            }
        }
    }

    pub(super) fn on_cancel(&mut self, tasks: &[TaskId], now: Now, out: &mut Vec<Action>) {
        let mut sent: BTreeMap<u32, u32> = BTreeMap::new();
        for task in tasks {
            let Some(call) = self.calls.get_mut(*task) else { continue };
            call.cancelled = true;
            match call.stage {
                Stage::Sent { executor, sequence } => {
                    let first = sent.entry(executor).or_insert(sequence);
                    *first = sequence.min(*first);
                }
                _ => self.fail(*task, TaskFailure::Cancelled, now, out),
            }
        }
        for (executor, from) in sent {
            if !self.revoke(executor, from, out) {
                self.executors[executor as usize].ask_again_at = Some(now);
            }
        }
    }

    /// Asks for what an executor has not begun. False: it can't be asked now.
    pub(super) fn revoke(&mut self, executor: u32, from: u32, out: &mut Vec<Action>) -> bool {
        let there = &mut self.executors[executor as usize];
        if there.health != Health::Ready || there.revoking.is_some() {
            return false;
        }
        there.revoking = Some(from);
        out.push(Action::Revoke { executor, from, again: there.on_hold });
        true
    }

    pub(super) fn on_revoked(
        &mut self,
        executor: u32,
        first: Option<u32>,
        (claimed, is_unread): (u32, bool),
        now: Now,
        out: &mut Vec<Action>,
    ) {
        let Some(there) = self.executors.get_mut(executor as usize) else { return };
        if there.revoking.take().is_none() {
            return;
        }
        there.moved_at = now;
        if let Some(first) = first {
            let taken = there.take_from(first);
            there.on_hold = !there.in_flight.is_empty();
            if !is_unread {
                out.push(Action::Send(executor, ToExecutor::Resume));
            }
            // Out of the table while its calls change hands.
            let mut there = std::mem::replace(there, Executor::new());
            let mut back = Vec::new();
            for sent in taken {
                self.expect_no_more(&sent, out);
                if self.take_over(&mut there, &sent) {
                    back.push(sent.task);
                    continue;
                }
                for name in sent.inputs {
                    if there.unmap(name) {
                        self.cache.release(name, out);
                    }
                }
            }
            self.executors[executor as usize] = there;
            self.end_lease(executor);
            self.requeue(&back, now, out);
        }
        self.kill_cancelled(executor, claimed, now, out);
        self.on_nothing_revoked(executor);
        self.answer_returns(out);
    }

    fn requeue(&mut self, tasks: &[TaskId], now: Now, out: &mut Vec<Action>) {
        for task in tasks {
            match self.calls.get(*task) {
                Some(call) if call.cancelled => self.fail(*task, TaskFailure::Cancelled, now, out),
                _ => self.calls.enqueue(*task),
            }
        }
    }

    /// The call that was claimed last runs: if it is cancelled, its executor is killed. Those
    /// before it have ended, and are reported as cancelled when their results come.
    fn kill_cancelled(&mut self, executor: u32, claimed: u32, now: Now, out: &mut Vec<Action>) {
        let calls = &self.calls;
        let is_cancelled = |task| calls.get(task).is_some_and(|call| call.cancelled);
        let there = &mut self.executors[executor as usize];
        let mut cancelled = there.in_flight.iter().filter(|sent| is_cancelled(sent.task));
        let Some(last) = cancelled.next_back() else { return };
        if last.sequence == claimed {
            let task = last.task;
            self.kill_for(executor, task, out);
        } else {
            there.ask_again_at = Some(now + ASK_AGAIN_NS);
        }
    }

    /// Whoever waits for an answer of this executor has it.
    pub(super) fn on_nothing_revoked(&mut self, executor: u32) {
        for returning in &mut self.returning {
            returning.awaited.retain(|awaited| *awaited != executor);
        }
    }

    pub(super) fn answer_returns(&mut self, out: &mut Vec<Action>) {
        let (done, waiting): (Vec<_>, Vec<_>) =
            self.returning.drain(..).partition(|returning| returning.awaited.is_empty());
        self.returning = waiting;
        for Returning { asked, mut returned, .. } in done {
            for task in &asked {
                if self.calls.get(*task).is_some_and(|call| call.stage == Stage::Queued) {
                    self.give_back(*task, out);
                    returned.push(*task);
                }
            }
            out.push(Action::Tell(FromWorker::Returned { asked, returned }));
        }
    }

    fn give_back(&mut self, task: TaskId, out: &mut Vec<Action>) {
        if let Some(call) = self.calls.remove(task) {
            self.let_go(&call, out);
        }
    }

    /// Gives what waits in an executor that gets nowhere to those that have nothing to do.
    pub(super) fn share(&mut self, now: Now, out: &mut Vec<Action>) {
        if self.calls.queued() > 0 || !self.has_idle_executor() {
            return;
        }
        for executor in self.indexes() {
            let there = &self.executors[executor as usize];
            if there.in_flight.len() > 1 && !there.on_hold && there.moved_at + STUCK_NS <= now {
                let second = there.in_flight[1].sequence;
                self.revoke(executor, second, out);
            }
        }
    }

    pub(super) fn has_idle_executor(&self) -> bool {
        self.busy() < self.config.slots
            && self.executors.iter().any(|one| one.accepts() && one.in_flight.is_empty())
    }
}
