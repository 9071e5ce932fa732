//! Queues of ready tasks: by priority, then depth-first, then in order of submission.
//!
//! A task that leaves a queue before its turn leaves its entry behind, which is passed over later;
//! its stamp tells it from the entry that the task gets if it comes back.

use crate::manager::shapes::coarse;
use freestone_base::{Resources, TaskId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

/// A task, and which time it is that it is in a queue.
pub(in crate::manager) type Entry = (TaskId, u32);

/// Smaller runs first.
pub(in crate::manager) type Rank = (Reverse<i32>, Reverse<u32>);

/// The rank of a task.
pub(in crate::manager) fn rank(priority: i32, depth: u32) -> Rank {
    (Reverse(priority), Reverse(depth))
}

/// A queue in buckets of equal rank.
#[derive(Default)]
pub(in crate::manager) struct Queue {
    buckets: BTreeMap<Rank, VecDeque<Entry>>,
    spare: Option<VecDeque<Entry>>,
    /// Out of turn for now, since they lack a custom resource.
    parked: Vec<(Rank, Entry)>,
    /// Tasks in here that are still meant.
    live: u64,
}

impl Queue {
    pub fn len(&self) -> u64 {
        self.live
    }

    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    pub fn push(&mut self, rank: Rank, entry: Entry) {
        self.insert(rank, entry);
        self.live += 1;
    }

    fn insert(&mut self, rank: Rank, entry: Entry) {
        let spare = &mut self.spare;
        self.buckets
            .entry(rank)
            .or_insert_with(|| spare.take().unwrap_or_default())
            .push_back(entry);
    }

    /// How many entries come before a task that is pushed now.
    pub fn before(&self, priority: i32, depth: u32) -> u64 {
        let buckets = self.buckets.range(..=rank(priority, depth));
        buckets.map(|(_, bucket)| bucket.len() as u64).sum::<u64>().saturating_sub(1)
    }

    /// The first entry.
    pub fn first(&self) -> Option<Entry> {
        self.buckets.first_key_value()?.1.front().copied()
    }

    /// Removes the first entry, which was meant if `live`.
    pub fn pop_first(&mut self, live: bool) -> Option<Entry> {
        let (_, task) = self.remove_first()?;
        self.forget(live);
        Some(task)
    }

    fn remove_first(&mut self) -> Option<(Rank, Entry)> {
        let mut bucket = self.buckets.first_entry()?;
        let (rank, task) = (*bucket.key(), bucket.get_mut().pop_front());
        if bucket.get().is_empty() {
            self.spare = Some(bucket.remove());
        }
        Some((rank, task?))
    }

    /// Lets those behind the first entry go first, until `unpark`.
    pub fn park_first(&mut self) {
        let first = self.remove_first();
        self.parked.extend(first);
    }

    /// Puts what was parked back into its bucket.
    pub fn unpark(&mut self) {
        for (rank, entry) in std::mem::take(&mut self.parked) {
            self.insert(rank, entry);
        }
    }

    /// The last entry.
    pub fn last(&self) -> Option<Entry> {
        self.buckets.last_key_value()?.1.back().copied()
    }

    /// Removes the last entry, which was meant if `live`.
    pub fn pop_last(&mut self, live: bool) -> Option<Entry> {
        let mut bucket = self.buckets.last_entry()?;
        let task = bucket.get_mut().pop_back();
        if bucket.get().is_empty() {
            self.spare = Some(bucket.remove());
        }
        self.forget(live);
        task
    }

    /// An entry is no longer meant; it stays until it is popped.
    pub fn forget(&mut self, live: bool) {
        self.live -= u64::from(live);
        if self.live == 0 {
            self.buckets.clear();
            self.parked.clear();
            if self.spare.as_ref().is_some_and(|spare| spare.capacity() > 1024) {
                self.spare = None;
            }
        }
    }

    /// Removes all entries, first to last.
    pub fn drain(&mut self) -> Vec<Entry> {
        self.unpark();
        self.live = 0;
        std::mem::take(&mut self.buckets).into_values().flatten().collect()
    }
}

/// Ready tasks that ask for about the same resources.
pub(in crate::manager) struct Class {
    kind: Resources,
    /// What none of its tasks exceeds.
    pub ceiling: Resources,
    pub queue: Queue,
}

/// The classes, numbered in the order in which they were seen.
#[derive(Default)]
pub(in crate::manager) struct Classes(Vec<Class>);

impl Classes {
    /// The number of the class of tasks that ask for `resources`.
    pub fn of(&mut self, resources: &Resources) -> u32 {
        let kind = coarse(resources);
        let found = self.0.iter().position(|class| class.kind == kind);
        let index = found.unwrap_or_else(|| {
            self.0.push(Class { ceiling: kind.clone(), kind, queue: Queue::default() });
            self.0.len() - 1
        });
        let class = &mut self.0[index];
        class.ceiling = class.ceiling.larger(resources);
        index as u32
    }

    pub fn get(&self, class: u32) -> &Class {
        &self.0[class as usize]
    }

    pub fn queue(&mut self, class: u32) -> &mut Queue {
        &mut self.0[class as usize].queue
    }

    /// How many classes there are.
    pub fn len(&self) -> u32 {
        self.0.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_parked_lets_others_go_first_until_it_is_unparked() {
        let mut queue = Queue::default();
        for task in 0..3 {
            queue.push(rank(0, 0), (TaskId(task), 0));
        }
        queue.park_first();
        assert_eq!(queue.first(), Some((TaskId(1), 0)));
        // The parked one is no longer meant.
        queue.forget(true);
        assert_eq!((queue.pop_first(true), queue.len()), (Some((TaskId(1), 0)), 1));
        queue.unpark();
        assert_eq!((queue.pop_first(true), queue.len()), (Some((TaskId(2), 0)), 0));
        assert_eq!(queue.first(), None);
    }

    #[test]
    fn priority_then_depth_then_order() {
        let mut queue = Queue::default();
        for (priority, depth, task) in [(0, 0, 1), (0, 2, 2), (1, 0, 3), (0, 2, 4)] {
            queue.push(rank(priority, depth), (TaskId(task), 1));
        }
        assert_eq!(queue.last(), Some((TaskId(1), 1)));
        let order: Vec<u64> =
            std::iter::from_fn(|| queue.pop_first(true)).map(|(task, _)| task.0).collect();
        assert_eq!(order, [3, 2, 4, 1]);
        assert!(queue.is_empty());
    }

    #[test]
    fn classes_are_by_resources() {
        let mut classes = Classes::default();
        let large = Resources { cores: 4, ..Resources::ONE_CORE };
        assert_eq!(classes.of(&Resources::ONE_CORE), 0);
        assert_eq!(classes.of(&large), 1);
        assert_eq!(classes.of(&Resources::ONE_CORE), 0);
    }
}
