//! What the disk and peers say.

use super::api::{Action, Now};
use super::cache::{Location, Presence};
use super::{Stage, Waiter, Worker};
use crate::wire::{BlockDesc, FileProblem, TaskFailure};
use freestone_base::{Name, TaskId};
use std::path::Path;

impl Worker {
    pub(super) fn on_moved(&mut self, name: Name, is_there: bool, now: Now, out: &mut Vec<Action>) {
        self.cache.moved(name, is_there, out);
        self.preserve(name, out);
        if self.cache.presence(name) == Presence::Absent {
            self.disappoint_others(name, out);
        }
        self.on_usable(name, out);
        self.start_fetches(now, out);
    }

    pub(super) fn on_verified(
        &mut self,
        block: &BlockDesc,
        path: &Path,
        intact: bool,
        now: Now,
        out: &mut Vec<Action>,
    ) {
        let name = block.name;
        let Some(found) = self.cache.get(name) else {
            return self.disappoint_others(name, out);
        };
        let is_awaited = found.is_verifying();
        let is_it = found.desc == *block && self.cache.path(name).as_deref() == Some(path);
        match (is_awaited, is_it, intact) {
            (true, true, true) => {
                self.cache.set_verified(name, out);
                self.preserve(name, out);
                // If it was no longer needed, it is gone now.
                if self.cache.presence(name) == Presence::Absent {
                    self.disappoint_others(name, out);
                }
                self.on_usable(name, out);
            }
            (true, true, false) => self.lose_damaged(name, now, out),
            _ => {
                // It came in another way meanwhile.
                let forever = self.config.forever_folder.as_deref();
                if !intact && forever.is_some_and(|folder| path.starts_with(folder)) {
                    out.push(Action::Forget(block.clone()));
                    self.cache.set_not_preserved(name);
                }
                if is_awaited {
                    self.verify(name, out);
                }
            }
        }
    }

    /// A block's file has other bytes than it should have. Who maps it keeps them, so the file is
    /// removed and its pages are not used again.
    pub(super) fn lose_damaged(&mut self, name: Name, now: Now, out: &mut Vec<Action>) {
        let Some(block) = self.cache.get(name) else { return };
        let path = self.cache.path(name).unwrap_or_default().display().to_string();
        let reason = format!("its file was damaged: {path}");
        if block.place == Location::Forever {
            out.push(Action::Forget(block.desc.clone()));
        } else if !self.cache.is_expected(name) {
            // One that is just being made again may be there already.
            out.push(Action::Discard { path });
        }
        self.lose(name, reason, &TaskFailure::InputLost { name }, now, out);
    }

    pub(super) fn on_preserved(&mut self, name: Name, is_there: bool, out: &mut Vec<Action>) {
        self.preserving -= 1;
        self.cache.end_preserving(name, is_there, out);
    }

    pub(super) fn on_asked(&mut self, question: u64, name: Name, out: &mut Vec<Action>) {
        match self.cache.presence(name) {
            Presence::Absent => out.push(Action::Refuse { question }),
            Presence::Usable => self.serve(question, name, out),
            Presence::Busy | Presence::Unverified => {
                self.wait_for(name, Waiter::Question(question), out);
            }
        }
    }

    pub(super) fn serve(&mut self, question: u64, name: Name, out: &mut Vec<Action>) {
        if let (Some(block), Some(path)) = (self.cache.get(name), self.cache.path(name)) {
            let block = block.desc.clone();
            let stamp = self.cache.stamp(name);
            self.cache.hold(name);
            out.push(Action::Serve { question, block, path, stamp });
        }
    }

    pub(super) fn on_served(
        &mut self,
        name: Name,
        nbytes: u64,
        changed: Option<FileProblem>,
        now: Now,
        out: &mut Vec<Action>,
    ) {
        self.status.sent_nbytes += nbytes;
        self.cache.release(name, out);
        if let Some(problem) = changed {
            self.lose_file(name, problem, now, out);
        }
    }

    pub(super) fn on_checked(
        &mut self,
        task: TaskId,
        result: Result<(), (String, FileProblem)>,
        now: Now,
        out: &mut Vec<Action>,
    ) {
        let Some(call) = self.calls.get_mut(task) else { return };
        if call.stage != Stage::Checking {
            return;
        }
        let Err((path, problem)) = result else {
            call.checked = true;
            return self.calls.enqueue(task);
        };
        let changed = call.held.iter().copied().find(|name| {
            self.cache.path(*name).is_some_and(|found| found.display().to_string() == path)
        });
        match changed {
            Some(name) => self.lose_file(name, problem, now, out),
            None => self.fail(task, TaskFailure::File { path, problem }, now, out),
        }
    }

    /// A file of the user's is no longer what it was.
    fn lose_file(&mut self, name: Name, problem: FileProblem, now: Now, out: &mut Vec<Action>) {
        if let Some(path) = self.cache.path(name) {
            let path = path.display().to_string();
            let reason = problem.to_string();
            let why = TaskFailure::File { path, problem };
            self.lose(name, reason, &why, now, out);
        }
    }
}
