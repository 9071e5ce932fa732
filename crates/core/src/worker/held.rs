//! What executors hold from one call to the next: groups, and blocks that stay mapped.
//!
//! A group's members count as used for as long as they are mapped, and so does a block that stays.
//! An executor lets go of what is dropped, and of everything when memory runs out: it opens again
//! what it has to.

use super::Worker;
use super::api::Action;
use super::cache::Presence;
use crate::wire::{BlockDesc, CallResult, Form, Output, TaskFailure, ToExecutor};
use freestone_base::Name;
use std::collections::{BTreeMap, HashMap};

/// The call of a block from which on it stays mapped: most blocks have one or two.
const STAYS_FROM: u32 = 3;
/// Smaller blocks are read.
const STAYS_LEAST: u64 = if cfg!(test) { 1 } else { 16 << 10 };

/// Which executors hold what.
#[derive(Debug, Default)]
pub(super) struct Holders(HashMap<Name, Vec<u32>>);

impl Holders {
    pub fn note(&mut self, name: Name, executor: u32) {
        let holders = self.0.entry(name).or_default();
        if !holders.contains(&executor) {
            holders.push(executor);
        }
    }

    /// Whether an executor holds any of these.
    pub fn has(&self, executor: u32, names: &[Name]) -> bool {
        let holds = |name| self.0.get(name).is_some_and(|holders| holders.contains(&executor));
        !self.0.is_empty() && names.iter().any(holds)
    }

    fn names(&self) -> Vec<Name> {
        let mut names: Vec<Name> = self.0.keys().copied().collect();
        names.sort_unstable();
        names
    }

    fn remove(&mut self, executor: u32) {
        self.0.retain(|_, holders| {
            holders.retain(|holder| *holder != executor);
            !holders.is_empty()
        });
    }
}

/// Whether a block stays mapped after a call, when it has had so many.
pub(super) fn stays(block: &BlockDesc, calls: u32) -> bool {
    calls >= STAYS_FROM && block.form == Form::Value && block.nbytes >= STAYS_LEAST
}

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
            self.holders.note(group, executor);
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
                        self.holders.note(block.name, executor);
                    }
                }
            }
            // The manager has it made again.
            Err(TaskFailure::InputLost { name }) => self.cache.doom(*name, out),
            Err(_) => {}
        }
    }

    /// These are not needed any more.
    pub(super) fn forget(&mut self, names: &[Name], out: &mut Vec<Action>) {
        let mut forgotten: BTreeMap<u32, Vec<Name>> = BTreeMap::new();
        for name in names {
            for executor in self.holders.0.remove(name).unwrap_or_default() {
                forgotten.entry(executor).or_default().push(*name);
            }
        }
        // Calls on their way may be what they are held for.
        if !forgotten.is_empty() {
            self.flush(out);
        }
        for (executor, names) in forgotten {
            out.push(Action::Send(executor, ToExecutor::Forget(names)));
        }
    }

    /// Has executors let go of everything, so that it can be moved. False: they hold nothing.
    pub(super) fn forget_all(&mut self, out: &mut Vec<Action>) -> bool {
        let names = self.holders.names();
        self.forget(&names, out);
        !names.is_empty()
    }

    /// An executor is dead, and with it what it held.
    pub(super) fn forget_holder(&mut self, executor: u32) {
        self.holders.remove(executor);
    }
}
