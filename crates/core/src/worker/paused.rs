//! Calls that wait for others: they take nothing but custom resources meanwhile, and further executors stand in for
//! theirs, so that no depth of nesting stalls.
//!
//! At most as many calls as there are slots run at a time; those that wait do not count. A call that
//! could go on does so before anything else begins, as soon as there is a slot and what it takes.

use super::api::{Action, Now};
use super::executors::{Health, Paused};
use super::{Stage, Worker};
use crate::wire::FromWorker;
use freestone_base::{Resources, TaskId};

/// A stand-in that has had nothing to do for so long is ended.
const IDLE_NS: Now = 5_000_000_000;

/// What a call waits for, for people, when what it waited for is there.
pub(super) const TURN: &str = "its turn to go on (other calls run on its worker)";

impl Worker {
    /// The numbers of all executors.
    pub(super) fn indexes(&self) -> std::ops::Range<u32> {
        0..self.executors.len() as u32
    }

    /// How many executors run calls that take something.
    pub(super) fn busy(&self) -> u32 {
        self.executors.iter().filter(|executor| executor.is_busy()).count() as u32
    }

    /// How many executors are needed: one for each slot, and one for each call that waits.
    fn wanted(&self) -> u32 {
        let paused = self.executors.iter().filter(|executor| executor.paused.is_some()).count();
        self.config.slots + paused as u32
    }

    /// How many executors there are or will be without further ado.
    fn alive(&self) -> u32 {
        let is_gone = |health| matches!(health, Health::Absent | Health::Dead { .. });
        self.executors.iter().filter(|executor| !is_gone(executor.health)).count() as u32
    }

    /// Whether one that has died need not be started again.
    pub(super) fn has_enough_executors(&self) -> bool {
        self.alive() >= self.config.slots
    }

    /// The call that an executor runs waits for others.
    pub(super) fn on_paused(
        &mut self,
        executor: u32,
        sequence: u32,
        what: String,
        out: &mut Vec<Action>,
    ) {
        let Some(there) = self.executors.get_mut(executor as usize) else { return };
        let Some(at) = there.in_flight.iter().position(|sent| sent.sequence == sequence) else {
            return;
        };
        if let Some(paused) = &mut there.paused {
            // One thread of the call could go on, and another waits before it was let: it goes on
            // without what the call takes, as where the other had come first.
            if paused.sequence == sequence && paused.resuming_since.take().is_some() {
                out.push(Action::Continue(executor));
                if std::mem::take(&mut paused.is_reported) {
                    let sent = &there.in_flight[at];
                    let (task, attempt) = (sent.task, sent.attempt);
                    out.push(Action::Tell(FromWorker::Paused { task, attempt, what }));
                }
            }
            return;
        }
        there.paused = Some(Paused { sequence, resuming_since: None, is_reported: false });
        let behind = there.in_flight.get(at + 1).map(|sent| sent.sequence);
        let (task, attempt) = (there.in_flight[at].task, there.in_flight[at].attempt);
        if let Some(lease) = there.lease.take() {
            let held = lease.only_custom();
            there.lease = (!held.custom.is_empty()).then_some(held);
            self.end_use(&lease.without_custom());
        }
        out.push(Action::Tell(FromWorker::Paused { task, attempt, what }));
        // It may wait for what was sent behind it.
        if let Some(behind) = behind {
            self.revoke(executor, behind, out);
        }
    }

    /// A call that waited could go on.
    pub(super) fn on_resuming(&mut self, executor: u32, sequence: u32, now: Now) {
        let Some(there) = self.executors.get_mut(executor as usize) else { return };
        if let Some(paused) = &mut there.paused
            && paused.sequence == sequence
        {
            paused.resuming_since = Some(now);
        }
    }

    /// Has those go on that could, in the order in which they could; whether all did.
    pub(super) fn resume(&mut self, now: Now, out: &mut Vec<Action>) -> bool {
        let mut resuming: Vec<(Now, u32)> = (0..)
            .zip(&self.executors)
            .filter_map(|(index, one)| Some((one.paused?.resuming_since?, index)))
            .collect();
        resuming.sort_unstable();
        let left = resuming.into_iter().find(|(_, executor)| !self.resume_one(*executor, now, out));
        if let Some((_, executor)) = left {
            self.report_turn(executor, out);
        }
        left.is_none()
    }

    /// Says once that a call has what it waited for, and waits for its turn.
    fn report_turn(&mut self, executor: u32, out: &mut Vec<Action>) {
        let Some((task, attempt)) = self.paused_call(executor) else { return };
        let paused = &mut self.executors[executor as usize].paused;
        let Some(paused) = paused.as_mut().filter(|paused| !paused.is_reported) else { return };
        paused.is_reported = true;
        let what = TURN.to_owned();
        out.push(Action::Tell(FromWorker::Paused { task, attempt, what }));
    }

    /// The call that an executor runs and that waits.
    fn paused_call(&self, executor: u32) -> Option<(TaskId, u32)> {
        let there = &self.executors[executor as usize];
        let sequence = there.paused?.sequence;
        let sent = there.in_flight.iter().find(|sent| sent.sequence == sequence)?;
        Some((sent.task, sent.attempt))
    }

    fn resume_one(&mut self, executor: u32, now: Now, out: &mut Vec<Action>) -> bool {
        let Some((task, attempt)) = self.paused_call(executor) else { return true };
        // One that is out of date takes nothing: its executor is about to be killed.
        let needs = self.current(task, attempt).unwrap_or_default().without_custom();
        if self.busy() >= self.config.slots {
            return false;
        }
        // Blocks may have come into the room that it had on disk: it takes what is left.
        let needs = Resources { disk: needs.disk.min(self.cache.free_disk()), ..needs };
        if !self.free.take(&needs) {
            return false;
        }
        self.cache.reserve_disk(needs.disk);
        let there = &mut self.executors[executor as usize];
        there.lease.get_or_insert_default().give_back(&needs);
        there.paused = None;
        there.moved_at = now;
        out.push(Action::Tell(FromWorker::Resumed { task, attempt }));
        out.push(Action::Continue(executor));
        true
    }

    /// What a call takes, if it is the attempt that counts.
    fn current(&self, task: TaskId, attempt: u32) -> Option<Resources> {
        let call = self.calls.get(task)?;
        let is_sent = matches!(call.stage, Stage::Sent { .. });
        (is_sent && call.assignment.attempt == attempt).then(|| call.needs(&self.config.resources))
    }

    /// Starts executors in the place of those whose calls wait, while something could begin, and
    /// ends those that are not needed any more.
    pub(super) fn stand_in(&mut self, now: Now, out: &mut Vec<Action>) {
        let mut missing = self.wanted().saturating_sub(self.alive());
        if self.calls.queued() > 0 && self.busy() < self.config.slots && !self.has_idle_executor() {
            while missing > 0 && !self.is_starting() {
                missing -= 1;
                self.start_stand_in(out);
            }
        }
        if self.dismissal().is_some_and(|at| at <= now) {
            let idle = self.idle_stand_in();
            if let Some((_, index)) = idle {
                self.executors[index as usize].kill(index, out);
            }
        }
    }

    fn is_starting(&self) -> bool {
        self.executors
            .iter()
            .any(|one| matches!(one.health, Health::Starting | Health::Dead { .. }))
    }

    fn start_stand_in(&mut self, out: &mut Vec<Action>) {
        let absent = self.executors.iter().position(|one| one.health == Health::Absent);
        let index = absent.unwrap_or_else(|| {
            self.executors.push(super::executors::Executor::new());
            self.executors.len() - 1
        });
        self.executors[index].health = Health::Starting;
        out.push(Action::Spawn(index as u32));
    }

    /// The executor that is not needed and has had nothing to do for longest, and since when.
    fn idle_stand_in(&self) -> Option<(Now, u32)> {
        if self.alive() <= self.wanted() {
            return None;
        }
        let idle = (0..).zip(&self.executors).filter(|(_, one)| {
            one.health == Health::Ready && one.in_flight.is_empty() && one.revoking.is_none()
        });
        // Of several the last one, which was started last.
        idle.map(|(index, one)| (one.moved_at, index))
            .min_by_key(|(at, index)| (*at, u32::MAX - *index))
    }

    /// When an executor is to be ended that is not needed.
    pub(super) fn dismissal(&self) -> Option<Now> {
        Some(self.idle_stand_in()?.0 + IDLE_NS)
    }
}
