//! Categories: calls that users say are alike, and that get the memory that was measured of those
//! before.
//!
//! Until enough have ended, each gets the whole of a worker. Then each gets a quarter more than the
//! largest took; one that takes more after all is tried again with the whole of the largest worker.

use crate::manager::Manager;
use crate::manager::graph::{Stage, Task};
use crate::manager::table::TaskSlot;
use freestone_base::Resources;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many calls have to end before they say what others need.
const MIN_ENDED: u32 = 3;
/// Allocations are multiples of this, at least.
const GRAIN: u64 = 16 << 20;

/// What was seen of a category.
#[derive(Default, Serialize, Deserialize)]
struct Category {
    ended: u32,
    peak: u64,
}

impl Category {
    /// What a call gets; nothing while too few have ended.
    fn allocation(&self) -> Option<u64> {
        let grain = (self.peak.next_power_of_two() / 8).max(GRAIN);
        (self.ended >= MIN_ENDED)
            .then(|| (self.peak + self.peak / 4).max(1).next_multiple_of(grain))
    }
}

/// What was seen of the memory that calls take, by category.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Categories(BTreeMap<u32, Category>);

impl Categories {
    /// What a call of a category gets; nothing while too few have ended.
    fn allocation(&self, number: u32) -> Option<u64> {
        self.0.get(&number)?.allocation()
    }

    /// Takes in that `ended` calls of a category ended, and the largest peak of their memory; whether
    /// calls get something else than before.
    fn learn(&mut self, number: u32, nbytes: u64, ended: u32) -> bool {
        let category = self.0.entry(number).or_default();
        let before = category.allocation();
        category.ended = category.ended.saturating_add(ended);
        category.peak = category.peak.max(nbytes);
        category.allocation() != before
    }
}

impl Manager {
    /// Gives a task of a category, which is in no queue, the memory that it is taken to need.
    pub(in crate::manager) fn allocate(&mut self, task: TaskSlot) {
        let record = &self.graph.tasks[task];
        let Some(number) = category_of(record) else { return };
        let is_exhausted = record.history.as_ref().is_some_and(|history| history.exhausted);
        let known = self.schedule.categories.allocation(number);
        let whole = self.whole_memory(record);
        let memory = known.filter(|_| !is_exhausted).map_or(whole, |known| known.min(whole));
        if memory == record.options.resources.memory {
            return;
        }
        let mut options = (*record.options).clone();
        options.resources.memory = memory;
        let class = self.schedule.classes.of(&options.resources);
        let template = self.graph.tasks[task].template.with_options(options, class);
        self.graph.tasks[task].template = self.graph.templates.share(template);
    }

    /// The memory of the largest worker that can hold a task.
    fn whole_memory(&self, record: &Task) -> u64 {
        let needs = Resources { memory: 0, ..record.options.resources.clone() };
        if let Some(id) = record.pinned {
            return self.members.workers.get(id).map_or(0, |worker| worker.resources.memory);
        }
        let each = self.members.workers.least_loaded_of_each_shape(&needs, &[]);
        each.map(|id| self.members.workers[id].resources.memory).max().unwrap_or(0)
    }

    /// A call of a category ended, and took so much at its peak.
    pub(in crate::manager) fn note_memory(&mut self, task: TaskSlot, nbytes: u64) {
        if let Some(number) = category_of(&self.graph.tasks[task]) {
            self.learn_memory(number, nbytes, 1);
        }
    }

    fn learn_memory(&mut self, number: u32, nbytes: u64, ended: u32) {
        if self.schedule.categories.learn(number, nbytes, ended) {
            self.allocate_anew(number);
        }
    }

    /// Those that wait for a worker get what is known now. Costs a look at all tasks, but happens
    /// only when allocations change, which are coarse.
    fn allocate_anew(&mut self, number: u32) {
        for task in self.graph.tasks.slots() {
            let Some(record) = self.graph.tasks.get(task) else { continue };
            let waits = matches!(record.stage, Stage::Ready | Stage::Queued(_));
            if waits && category_of(record) == Some(number) {
                self.withdraw(task);
                self.resume(task);
            }
        }
    }

    /// An attempt took more than it was given; whether it may try again with more.
    pub(in crate::manager) fn may_have_more(&mut self, task: TaskSlot, limit: u64) -> bool {
        let Some(number) = category_of(&self.graph.tasks[task]) else { return false };
        if limit >= self.whole_memory(&self.graph.tasks[task]) {
            return false;
        }
        self.graph.tasks[task].history().exhausted = true;
        self.learn_memory(number, limit, 0);
        true
    }
}

fn category_of(record: &Task) -> Option<u32> {
    Some(record.options.category).filter(|number| *number > 0)
}

#[cfg(test)]
#[path = "categories_tests.rs"]
mod tests;
