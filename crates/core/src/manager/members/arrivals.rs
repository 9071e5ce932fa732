//! What is for workers that have not joined.

use crate::manager::graph::Entry;
use crate::wire::ToWorker;
use freestone_base::WorkerId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is for one worker before it joins.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::manager) struct Early {
    /// Ready tasks that may only run there.
    pub tasks: Vec<Entry>,
    /// Blocks that clients have put, for it to adopt.
    pub adopt: Vec<ToWorker>,
    /// Whether it is to be let go at once.
    pub retire: bool,
}

/// What is for workers before they join, by worker; whoever takes it has all of it.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::manager) struct Arrivals(BTreeMap<WorkerId, Early>);

impl Arrivals {
    /// A task that may only run there is ready.
    pub fn add_task(&mut self, id: WorkerId, task: Entry) {
        self.0.entry(id).or_default().tasks.push(task);
    }

    /// It is to adopt a block.
    pub fn add_adoption(&mut self, id: WorkerId, message: ToWorker) {
        self.0.entry(id).or_default().adopt.push(message);
    }

    /// It is to be let go as soon as it joins.
    pub fn retire(&mut self, id: WorkerId) {
        self.0.entry(id).or_default().retire = true;
    }

    /// The worker has joined, or never will: all that was for it.
    pub fn take(&mut self, id: WorkerId) -> Early {
        self.0.remove(&id).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::table::{Slot, TaskSlot};

    #[test]
    fn what_is_for_a_worker_is_taken_once() {
        let mut arrivals = Arrivals::default();
        let entry = |task| (TaskSlot::of(task), 1);
        arrivals.add_task(WorkerId(3), entry(7));
        arrivals.add_task(WorkerId(3), entry(8));
        arrivals.add_adoption(WorkerId(3), ToWorker::Shutdown);
        arrivals.retire(WorkerId(4));
        let early = arrivals.take(WorkerId(3));
        assert_eq!(early.tasks, [entry(7), entry(8)]);
        assert_eq!((early.adopt.len(), early.retire), (1, false));
        assert!(arrivals.take(WorkerId(3)).tasks.is_empty());
        assert!(arrivals.take(WorkerId(4)).retire);
    }
}
