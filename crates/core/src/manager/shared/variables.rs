//! Variables: each has a value, which is a block, or none yet.
//!
//! What somebody has read is kept until that entry ends, also when the variable has another value by
//! then. Nobody waits for a variable that has a value.

use super::Step;
use crate::manager::sharing::{Given, Item, VariableRequest, Waiter};
use freestone_base::WorkerId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

#[derive(Serialize, Deserialize)]
struct Hold {
    by: Waiter,
    /// What it has read, or the variable that it waits for.
    read: Result<Item, String>,
}

/// All variables.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Variables {
    /// Values, with their versions.
    values: HashMap<String, (u64, Item)>,
    /// Who waits for variables that have no value, in order.
    waiting: HashMap<String, BTreeMap<u64, u64>>,
    holds: HashMap<u64, Hold>,
    versions: u64,
}

impl Variables {
    pub fn on_request(&mut self, request: VariableRequest, step: &mut Step) {
        match request {
            VariableRequest::Set { title, item, expected, ticket } => {
                let version = self.values.get(&title).map_or(0, |(version, _)| *version);
                if expected.is_some_and(|expected| expected != version) {
                    step.released.push(item.name);
                    return step.answer(ticket, Given::Nothing);
                }
                self.set(title, item, step);
                step.answer(ticket, Given::Stored);
            }
            VariableRequest::Get { title, waits, by } => self.get(title, waits, by, step),
            VariableRequest::Delete { title, ticket } => {
                let former = self.values.remove(&title);
                let given = if former.is_some() { Given::Stored } else { Given::Nothing };
                step.released.extend(former.map(|(_, item)| item.name));
                step.answer(ticket, given);
            }
        }
    }

    fn set(&mut self, title: String, item: Item, step: &mut Step) {
        self.versions += 1;
        let version = self.versions;
        for number in self.waiting.remove(&title).unwrap_or_default().into_values() {
            let hold = self.holds.get_mut(&number).expect("who waits has an entry");
            hold.read = Ok(item.clone());
            step.retained.push(item.name);
            step.answer(hold.by.ticket, Given::Item { item: item.clone(), version });
        }
        let former = self.values.insert(title, (version, item));
        step.released.extend(former.map(|(_, item)| item.name));
    }

    fn get(&mut self, title: String, waits: bool, by: Waiter, step: &mut Step) {
        let read = if let Some((version, item)) = self.values.get(&title) {
            step.retained.push(item.name);
            step.answer(by.ticket, Given::Item { item: item.clone(), version: *version });
            Ok(item.clone())
        } else if waits {
            self.versions += 1;
            self.waiting.entry(title.clone()).or_default().insert(self.versions, by.hold);
            Err(title)
        } else {
            return step.answer(by.ticket, Given::Nothing);
        };
        self.holds.insert(by.hold, Hold { by, read });
    }

    /// An entry ends; whether it had anything.
    pub fn end(&mut self, number: u64, step: &mut Step) -> bool {
        if self.withdraw(number, step) {
            return false;
        }
        let Some(Hold { read: Ok(item), .. }) = self.holds.remove(&number) else { return false };
        step.released.push(item.name);
        true
    }

    /// An entry no longer waits; whether it did.
    pub fn withdraw(&mut self, number: u64, step: &mut Step) -> bool {
        let Some(Hold { by, read: Err(title) }) = self.holds.get(&number) else { return false };
        let (ticket, title) = (by.ticket, title.clone());
        self.holds.remove(&number);
        let line = self.waiting.get_mut(&title).expect("who waits is in line");
        line.retain(|_, one| *one != number);
        if line.is_empty() {
            self.waiting.remove(&title);
        }
        step.answer(ticket, Given::Ended);
        true
    }

    /// A worker is lost, with the tasks that ran there.
    pub fn on_left(&mut self, worker: WorkerId, step: &mut Step) {
        let there = self.holds.iter().filter(|(_, hold)| hold.by.worker == Some(worker));
        let mut there: Vec<u64> = there.map(|(number, _)| *number).collect();
        there.sort_unstable();
        for number in there {
            self.end(number, step);
        }
    }

    /// Checks what holds after each request; for tests.
    pub fn check(&self) {
        assert!(self.waiting.keys().all(|title| !self.values.contains_key(title)));
        let in_line: usize = self.waiting.values().map(BTreeMap::len).sum();
        assert_eq!(in_line, self.holds.values().filter(|hold| hold.read.is_err()).count());
    }
}
