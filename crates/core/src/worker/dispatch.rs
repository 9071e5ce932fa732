//! Which call goes to which executor, and when.

use super::api::{Action, ExternalFile, Now};
use super::cache::{Location, Room};
use super::executors::{Executor, Health, UNKNOWN_NS};
use super::{Call, Stage, Worker, held};
use crate::wire::{Call as SentCall, Input, PlacedInput, TaskFailure, ToExecutor};
use freestone_base::sizing::{AHEAD_NS, calls_ahead};
use freestone_base::{FunctionId, Resources, TaskId};

/// How long the first call may be overtaken by others since it does not fit; then everything
/// behind it waits until it does.
const BLOCKED_TIMEOUT_NS: Now = 50_000_000;
/// A call may wait for so long behind others for the executor that has its inputs mapped.
const NEAR_NS: u64 = 100_000;
/// How many calls that do not fit are looked past in one turn.
const MAX_PASSED: u32 = 32;
/// One message to an executor has about this many bytes of arguments at most.
const MESSAGE_NBYTES: usize = 8 << 20;

/// What came of trying to start a call.
enum Placed {
    /// It is gone from the queue.
    Away,
    /// It does not fit beside what runs.
    Blocked,
    /// No executor takes calls.
    NoExecutor,
}

impl Worker {
    /// Starts what can be started, in order of priority and arrival.
    pub(super) fn dispatch(&mut self, now: Now, out: &mut Vec<Action>) {
        let mut behind = None;
        let mut passed = 0;
        while let Some((key, task)) = self.calls.next(behind) {
            match self.place(task, now, out) {
                Placed::Away => {}
                Placed::NoExecutor => break,
                Placed::Blocked => {
                    let Some(call) = self.calls.get_mut(task) else { break };
                    let since = *call.blocked_since.get_or_insert(now);
                    passed += 1;
                    if passed > MAX_PASSED || now.saturating_sub(since) >= BLOCKED_TIMEOUT_NS {
                        break;
                    }
                    behind = Some(key);
                }
            }
        }
        self.flush(out);
    }

    fn place(&mut self, task: TaskId, now: Now, out: &mut Vec<Action>) -> Placed {
        let Some(call) = self.calls.get(task) else { return Placed::Blocked };
        let needs = call.needs(&self.config.resources);
        let executor = match self.choose(call, &needs) {
            Ok(executor) => executor,
            Err(placed) => return placed,
        };
        // Those that came before the call in its executor have reserved it.
        let is_leased = self.executors[executor as usize].lease.is_some();
        let disk = if is_leased { 0 } else { needs.disk };
        let room = self.cache.room_on_disk(disk);
        if room == Room::Later {
            return Placed::Blocked;
        }
        let wanted = self.expected_nbytes(call);
        if !self.cache.fits(wanted.0, wanted.1) {
            self.cache.shed(wanted.0 + wanted.1, out);
        }
        if let Some(why) = self.wants_room(wanted).or_else(|| self.full(disk, room)) {
            if self.forget_all(out) {
                return Placed::Blocked;
            }
            self.fail(task, why, now, out);
        } else if let Some(files) = self.files_to_check(call) {
            self.calls.dequeue(task, Stage::Checking);
            out.push(Action::Check { task, files });
        } else {
            self.send(task, executor, needs, now, out);
        }
        Placed::Away
    }

    /// The executor that has least to do, among those that may take the call.
    fn choose(&self, call: &Call, needs: &Resources) -> Result<u32, Placed> {
        let expected_ns = self.expected_ns(call);
        let slots = u64::from(self.config.slots);
        let ahead = calls_ahead(Some(expected_ns), self.calls.queued() as u64, slots) as usize;
        let patience = (NEAR_NS / expected_ns.max(1)).min(ahead as u64 / 2) as usize;
        let mut best = None;
        let mut has_room = false;
        let may_begin = self.busy() < self.config.slots;
        for (index, executor) in (0..).zip(&self.executors) {
            if !executor.accepts() {
                continue;
            }
            let fits = if executor.in_flight.is_empty() {
                has_room |= may_begin;
                may_begin && needs.fit(&self.free)
            } else {
                let has_work = executor.work_ns >= AHEAD_NS || executor.in_flight.len() > ahead;
                let is_alone = executor.exclusive || call.is_exclusive();
                !has_work && !is_alone && executor.lease.as_ref() == Some(needs)
            };
            // Where its inputs are mapped already, unless it had to wait there for long.
            let is_elsewhere = !self.holders.has(index, &call.inputs);
            let behind = if is_elsewhere { patience } else { 0 };
            let load = (executor.in_flight.len() + behind, is_elsewhere, index);
            if fits && best.is_none_or(|best| load < best) {
                best = Some(load);
            }
        }
        let none = if has_room { Placed::Blocked } else { Placed::NoExecutor };
        best.map(|(_, _, index)| index).ok_or(none)
    }

    fn expected_ns(&self, call: &Call) -> u64 {
        let seen = self.functions.get(&call.assignment.function).and_then(|seen| seen.mean_ns);
        seen.or(call.assignment.expected_ns).unwrap_or(UNKNOWN_NS)
    }

    /// Bytes that a call leaves, judged by those of its function before, and bytes that are to
    /// be free besides. A call without blocks as inputs frees none when it ends: it leaves
    /// room for one that does, or calls that combine what it and its like make could not run.
    fn expected_nbytes(&self, call: &Call) -> (u64, u64) {
        let known = self.functions.get(&call.assignment.function);
        let needed = known.and_then(|known| known.mean_nbytes).unwrap_or(0);
        let is_alone = self.calls.len() == 1;
        if needed == 0 || is_alone || !call.inputs.is_empty() {
            return (needed, 0);
        }
        (needed, self.mean_nbytes)
    }

    /// Why what a call leaves would find no room.
    fn wants_room(&self, (needed, besides): (u64, u64)) -> Option<TaskFailure> {
        if needed == 0 || self.cache.fits(needed, besides) {
            return None;
        }
        let free = self.cache.free();
        self.full(needed + besides, Room::Nowhere { free })
    }

    fn full(&self, needed: u64, room: Room) -> Option<TaskFailure> {
        let Room::Nowhere { free } = room else { return None };
        let folder = self.config.disk_folder.display().to_string();
        Some(TaskFailure::StorageFull { needed, free, folder })
    }

    fn files_to_check(&self, call: &Call) -> Option<Vec<ExternalFile>> {
        if call.checked || call.held.is_empty() {
            return None;
        }
        let files = call.held.iter().filter_map(|name| match &self.cache.get(*name)?.place {
            Location::External(file) => Some(file.clone()),
            _ => None,
        });
        let files: Vec<ExternalFile> = files.collect();
        (!files.is_empty()).then_some(files)
    }

    fn send(
        &mut self,
        task: TaskId,
        executor: u32,
        needs: Resources,
        now: Now,
        out: &mut Vec<Action>,
    ) {
        self.define(executor, task, out);
        let Some(call) = self.calls.get(task) else { return };
        let expected_ns = self.expected_ns(call);
        let options = &call.assignment.options;
        let there = &mut self.executors[executor as usize];
        if there.in_flight.is_empty() {
            self.free.take(&needs);
            self.cache.reserve_disk(needs.disk);
            there.lease = Some(needs);
            there.exclusive = call.is_exclusive();
            there.deadline = options.timeout_ns.map(|timeout| now.saturating_add(timeout));
            there.moved_at = now;
        }
        let sequence = there.push(call, expected_ns);
        for name in &call.assignment.outputs {
            self.cache.expect(*name);
        }
        let message = self.placed(task, executor, sequence);
        self.executors[executor as usize].outbox.extend(message);
        self.calls.dequeue(task, Stage::Sent { executor, sequence });
    }

    fn placed(&mut self, task: TaskId, executor: u32, sequence: u32) -> Option<SentCall> {
        let Self { calls, cache, holders, .. } = self;
        let assignment = &calls.get(task)?.assignment;
        let mut placed = |input: &Input| match input {
            Input::Inline(bytes) => PlacedInput::Inline(bytes.clone()),
            Input::Stored(block) => {
                let path = cache.path(block.name).unwrap_or_default();
                let path = path.display().to_string();
                let stays = held::stays(block, cache.note_call(block.name));
                if stays {
                    holders.note(block.name, executor);
                }
                PlacedInput::Mapped { name: block.name, path, form: block.form.clone(), stays }
            }
        };
        Some(SentCall {
            sequence,
            function: assignment.function,
            arguments: assignment.arguments.clone(),
            inputs: assignment.inputs.iter().map(&mut placed).collect(),
            outputs: assignment.outputs.clone(),
            isolation: assignment.options.isolation,
            keep: assignment.options.keep,
            priority: assignment.priority,
            tenant: assignment.tenant,
            cores: assignment.options.resources.cores,
            memory: assignment.options.memory_limit(),
            disk: assignment.options.disk_limit(),
        })
    }

    /// Sends executors what was collected for them.
    pub(super) fn flush(&mut self, out: &mut Vec<Action>) {
        for (index, executor) in (0..).zip(&mut self.executors) {
            let mut message = Vec::new();
            let mut nbytes = 0;
            for call in executor.outbox.drain(..) {
                nbytes += call_nbytes(&call);
                message.push(call);
                if nbytes > MESSAGE_NBYTES {
                    out.push(Action::Send(index, ToExecutor::Calls(std::mem::take(&mut message))));
                    nbytes = 0;
                }
            }
            if !message.is_empty() {
                out.push(Action::Send(index, ToExecutor::Calls(message)));
            }
        }
    }

    /// What was seen of a function counts for its next calls.
    pub(super) fn learn(&mut self, function: FunctionId, occupied_ns: u64, stored: u64) {
        let mix = |mean: Option<u64>, new: u64| {
            // One part in eight, so that a change shows after some calls and an outlier fades.
            Some(mean.map_or(new, |mean| mean - mean / 8 + new / 8))
        };
        if stored > 0 {
            let mean = Some(self.mean_nbytes).filter(|mean| *mean > 0);
            self.mean_nbytes = mix(mean, stored).unwrap_or(stored);
        }
        let Some(known) = self.functions.get_mut(&function) else { return };
        known.mean_ns = mix(known.mean_ns, occupied_ns);
        known.mean_nbytes = mix(known.mean_nbytes, stored);
    }

    /// When something is due at an executor.
    pub(super) fn executor_wakeup(&self, executor: &Executor) -> Option<Now> {
        match executor.health {
            Health::Dead { again_at } => Some(again_at),
            Health::Ready if executor.in_flight.len() > 1 && executor.ask_again_at.is_none() => {
                let stuck = executor.moved_at + super::take_back::STUCK_NS;
                let is_due = self.calls.queued() == 0 && self.has_idle_executor();
                (is_due && !executor.on_hold).then_some(stuck)
            }
            Health::Ready => executor.deadline.into_iter().chain(executor.ask_again_at).min(),
            Health::Starting | Health::Dying | Health::Absent => None,
        }
    }
}

fn call_nbytes(call: &SentCall) -> usize {
    let inline = call.inputs.iter().map(|input| match input {
        PlacedInput::Inline(bytes) => bytes.len(),
        PlacedInput::Mapped { path, .. } => path.len(),
    });
    call.arguments.len() + inline.sum::<usize>()
}
