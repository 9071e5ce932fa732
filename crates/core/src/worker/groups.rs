//! Groups: blocks that executors hold mapped from one call to the next.
//!
//! Their members count as used for as long as they are mapped. An executor lets a group go when
//! it is dropped, and all of them when memory runs out: it opens them again when it has to.

use super::Worker;
use super::api::Action;
use super::cache::Presence;
use crate::wire::{CallResult, Form, Output, TaskFailure, ToExecutor};
use freestone_base::Name;

impl Worker {
    /// An executor wants to hold a group: it can if all members are here.
    pub(super) fn on_open(
        &mut self,
        executor: u32,
        group: Name,
        members: &[Name],
        out: &mut Vec<Action>,
    ) {
        let Some(there) = self.executors.get_mut(executor as usize) else { return };
        let is_here = |name: &Name| self.cache.presence(*name) == Presence::Usable;
        let paths = members.iter().all(is_here).then(|| {
            let open = |name: &Name| {
                self.cache.hold(*name);
                *there.mapped.entry(*name).or_insert(0) += 1;
                self.cache.path(*name).unwrap_or_default().display().to_string()
            };
            members.iter().map(open).collect()
        });
        if paths.is_some() {
            self.note_group(executor, group);
        }
        out.push(Action::Send(executor, ToExecutor::Opened { group, paths }));
    }

    /// Calls ended: what they made may be groups that the executor holds, and what they missed is
    /// one whose members are not here.
    pub(super) fn note_groups(
        &mut self,
        executor: u32,
        result: &CallResult,
        out: &mut Vec<Action>,
    ) {
        match &result.result {
            Ok(outputs) => {
                for output in outputs {
                    if let Output::Stored(block) = output
                        && block.form == Form::Group
                    {
                        self.note_group(executor, block.name);
                    }
                }
            }
            // The manager has it made again.
            Err(TaskFailure::InputLost { name }) => self.cache.doom(*name, out),
            Err(_) => {}
        }
    }

    fn note_group(&mut self, executor: u32, group: Name) {
        let holders = self.groups.entry(group).or_default();
        if !holders.contains(&executor) {
            holders.push(executor);
        }
    }

    /// Whether an executor holds a group that a call has among its inputs.
    pub(super) fn holds_group(&self, executor: u32, inputs: &[Name]) -> bool {
        !self.groups.is_empty()
            && inputs.iter().any(|name| {
                self.groups.get(name).is_some_and(|holders| holders.contains(&executor))
            })
    }

    /// A group is not needed any more.
    pub(super) fn forget_group(&mut self, group: Name, out: &mut Vec<Action>) {
        for executor in self.groups.remove(&group).unwrap_or_default() {
            out.push(Action::Send(executor, ToExecutor::Forget(vec![group])));
        }
    }

    /// Has executors let go of all groups, so that their members can be moved. False: there are
    /// none.
    pub(super) fn forget_groups(&mut self, out: &mut Vec<Action>) -> bool {
        let mut groups: Vec<Name> = self.groups.keys().copied().collect();
        groups.sort_unstable();
        for group in &groups {
            self.forget_group(*group, out);
        }
        !groups.is_empty()
    }

    /// An executor is dead, and with it what it held.
    pub(super) fn forget_holder(&mut self, executor: u32) {
        self.groups.retain(|_, holders| {
            holders.retain(|holder| *holder != executor);
            !holders.is_empty()
        });
    }
}
