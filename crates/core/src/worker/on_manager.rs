//! What the manager says.

use super::api::{Action, Adopted, Now};
use super::cache::{Location, Presence};
use super::fetches::Fetch;
use super::{ALIVE_NS, Function, SIGNS_OF_LIFE, Waiter, Worker};
use crate::wire::{Assignment, BlockDesc, FromWorker, Keep, TaskFailure, ToWorker};
use freestone_base::{Name, TaskId};

impl Worker {
    pub(super) fn on_manager(&mut self, message: ToWorker, now: Now, out: &mut Vec<Action>) {
        match message {
            ToWorker::Welcome { silence_ns, .. } => {
                self.alive_ns = ALIVE_NS.min(silence_ns / SIGNS_OF_LIFE);
            }
            ToWorker::Define { function, label, definition } => {
                let function_here =
                    Function { label, definition, mean_ns: None, mean_nbytes: None };
                self.functions.insert(function, function_here);
            }
            ToWorker::Run(assignments) => {
                for assignment in assignments {
                    self.on_assignment(assignment, now, out);
                }
            }
            ToWorker::Fetch { block, source, address, keep } => {
                let fetch = Fetch { block, source, address, keep, tier: None, dropped: false };
                self.on_fetch(fetch, out);
            }
            ToWorker::Adopt { block, path, owned, keep, verify } => {
                self.on_adopt(block, path, (owned, verify), keep, out);
            }
            ToWorker::Pin(name) => self.on_pin(name, out),
            ToWorker::Unpin(name) => self.cache.release(name, out),
            ToWorker::Keep(name) => self.on_keep(name, Keep::Forever, out),
            ToWorker::Drop(names) => {
                for name in &names {
                    self.on_drop(*name, out);
                }
                self.forget(&names, out);
            }
            ToWorker::Return(tasks) => self.on_return(tasks, out),
            ToWorker::Cancel(tasks) => self.on_cancel(&tasks, now, out),
            ToWorker::Restart => self.restart_executors(out),
            ToWorker::Refused(reason) => {
                self.ended = true;
                out.push(Action::End(Some(reason)));
            }
            // Whose connections are trusted is the business of who has them.
            ToWorker::Revoked(_) => {}
            ToWorker::Shutdown => self.on_shutdown(now, out),
        }
    }

    /// All calls end; blocks stay.
    pub(super) fn on_parted(&mut self, now: Now, out: &mut Vec<Action>) {
        let mut tasks: Vec<TaskId> = self.calls.iter().map(|(task, _)| task).collect();
        tasks.sort_unstable();
        self.on_cancel(&tasks, now, out);
        self.returning.clear();
        self.lost.clear();
    }

    fn on_assignment(&mut self, assignment: Assignment, now: Now, out: &mut Vec<Action>) {
        let (task, attempt) = (assignment.task, assignment.attempt);
        if let Some(call) = self.calls.get(task) {
            if call.assignment.attempt >= attempt {
                return;
            }
            // The manager has given the older attempt up; what it may still send is discarded.
            if let Some(old) = self.calls.remove(task) {
                self.let_go(&old, out);
            }
        }
        self.calls.insert(assignment);
        if self.ending {
            return self.fail(task, TaskFailure::Cancelled, now, out);
        }
        self.find_inputs(task, now, out);
    }

    fn find_inputs(&mut self, task: TaskId, now: Now, out: &mut Vec<Action>) {
        let Some(inputs) = self.calls.get(task).map(|call| call.inputs.clone()) else { return };
        let gone = inputs
            .iter()
            .find(|name| self.lost.contains(name) && !self.fetches.all.contains_key(name));
        if let Some(name) = gone {
            return self.fail(task, TaskFailure::InputLost { name: *name }, now, out);
        }
        let mut held = 0;
        for name in &inputs {
            self.cache.revive(*name, Keep::Task);
            if self.cache.presence(*name) == Presence::Usable {
                held += 1;
                self.cache.hold(*name);
                if let Some(call) = self.calls.get_mut(task) {
                    call.held.push(*name);
                }
            } else {
                self.wait_for(*name, Waiter::Call(task), out);
            }
        }
        if held == inputs.len() {
            self.calls.enqueue(task);
        }
    }

    fn on_adopt(
        &mut self,
        block: BlockDesc,
        path: String,
        (owned, verify): (bool, bool),
        keep: Keep,
        out: &mut Vec<Action>,
    ) {
        self.lost.remove(&block.name);
        if self.cache.get(block.name).is_some() {
            self.on_keep(block.name, keep, out);
            if owned {
                out.push(Action::Discard { path });
            }
            out.push(Action::Tell(FromWorker::Have { block, fetched: None }));
            return;
        }
        let longest = self.adopting.entry(block.name).or_insert(keep);
        *longest = keep.max(*longest);
        self.cache.expect(block.name);
        out.push(Action::Adopt { block, path, owned, verify });
    }

    pub(super) fn on_adopted(
        &mut self,
        block: BlockDesc,
        result: Result<Adopted, String>,
        now: Now,
        out: &mut Vec<Action>,
    ) {
        let name = block.name;
        self.take_adopted(block, result, now, out);
        self.cache.come(name, out);
    }

    fn take_adopted(
        &mut self,
        block: BlockDesc,
        result: Result<Adopted, String>,
        now: Now,
        out: &mut Vec<Action>,
    ) {
        let name = block.name;
        let keep = self.adopting.remove(&name).unwrap_or_default();
        let place = match result {
            Ok(Adopted::Owned(tier)) => Location::Tier(tier),
            Ok(Adopted::External(file)) => Location::External(file),
            // It came in another way meanwhile.
            Err(_) if self.cache.get(name).is_some() => {
                self.on_keep(name, keep, out);
                return out.push(Action::Tell(FromWorker::Have { block, fetched: None }));
            }
            Err(reason) => {
                let why = TaskFailure::InputLost { name };
                return self.lose(name, reason, &why, now, out);
            }
        };
        self.take_in(block.clone(), place, keep, out);
        out.push(Action::Tell(FromWorker::Have { block, fetched: None }));
        self.on_usable(name, out);
    }

    /// A block that may be here, or come, is to stay for as long as `keep` says.
    fn on_keep(&mut self, name: Name, keep: Keep, out: &mut Vec<Action>) {
        if let Some(fetch) = self.fetches.all.get_mut(&name) {
            fetch.keep = fetch.keep.max(keep);
        }
        self.cache.revive(name, keep);
        self.preserve(name, out);
    }

    fn on_pin(&mut self, name: Name, out: &mut Vec<Action>) {
        match self.cache.presence(name) {
            Presence::Usable => self.pin(name, out),
            Presence::Absent if !self.fetches.all.contains_key(&name) => {
                out.push(Action::Tell(FromWorker::Pinned { name, path: None }));
            }
            _ => self.wait_for(name, Waiter::Pin, out),
        }
    }

    pub(super) fn pin(&mut self, name: Name, out: &mut Vec<Action>) {
        self.cache.hold(name);
        let path = self.cache.path(name).map(|path| path.display().to_string());
        out.push(Action::Tell(FromWorker::Pinned { name, path }));
    }

    fn on_drop(&mut self, name: Name, out: &mut Vec<Action>) {
        if let Some(fetch) = self.fetches.all.get_mut(&name) {
            fetch.dropped = true;
        }
        self.cache.doom(name, out);
    }

    fn on_shutdown(&mut self, now: Now, out: &mut Vec<Action>) {
        self.ending = true;
        let mut tasks: Vec<TaskId> = self.calls.iter().map(|(task, _)| task).collect();
        tasks.sort_unstable();
        for task in tasks {
            self.fail(task, TaskFailure::Cancelled, now, out);
        }
        for executor in self.indexes() {
            out.push(Action::Kill(executor));
        }
    }
}
