//! Queues of ready tasks: tenants take turns, and each has its tasks by priority, then by urgency
//! (depth-first, as long as the end is not near), then in order of submission.
//!
//! A task that leaves a queue before its turn leaves its entry behind, which is passed over later;
//! its stamp tells it from the entry that the task gets if it comes back.

use super::shares::Shares;
use crate::manager::shapes::coarse;
use crate::manager::table::TaskSlot;
use freestone_base::{Resources, Tenant};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

/// The slot of a task, and the stamp that it got when it was put into a queue, which no other task got.
pub(in crate::manager) type Entry = (TaskSlot, u32);

/// Smaller runs first.
pub(in crate::manager) type Rank = (Reverse<i32>, Reverse<u32>);

/// The rank of a task.
pub(in crate::manager) fn rank(priority: i32, urgency: u32) -> Rank {
    (Reverse(priority), Reverse(urgency))
}

/// A tenant's tasks, in buckets of equal rank.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    tenant: Tenant,
    buckets: BTreeMap<Rank, VecDeque<Entry>>,
    /// Out of turn for now, since they lack a custom resource.
    parked: Vec<(Rank, Entry)>,
}

/// A queue in one line for each tenant.
#[derive(Default, Debug, Serialize, Deserialize)]
pub(in crate::manager) struct Queue {
    lines: SmallVec<[Line; 1]>,
    spare: Option<VecDeque<Entry>>,
    /// Tasks in here that are still meant.
    live: u64,
}

impl Line {
    fn new(tenant: Tenant) -> Self {
        Self { tenant, buckets: BTreeMap::new(), parked: Vec::new() }
    }

    fn insert(&mut self, rank: Rank, entry: Entry, spare: &mut Option<VecDeque<Entry>>) {
        let bucket = self.buckets.entry(rank);
        bucket.or_insert_with(|| spare.take().unwrap_or_default()).push_back(entry);
    }

    /// How many entries come before one of this rank that is pushed now.
    fn before(&self, rank: Rank) -> u64 {
        self.buckets.range(..=rank).map(|(_, bucket)| bucket.len() as u64).sum()
    }

    fn len(&self) -> u64 {
        self.buckets.values().map(|bucket| bucket.len() as u64).sum()
    }
}

impl Queue {
    pub fn len(&self) -> u64 {
        self.live
    }

    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    pub fn push(&mut self, tenant: Tenant, rank: Rank, entry: Entry) {
        let known = self.lines.iter().position(|line| line.tenant == tenant);
        let index = known.unwrap_or_else(|| {
            self.lines.push(Line::new(tenant));
            self.lines.len() - 1
        });
        self.lines[index].insert(rank, entry, &mut self.spare);
        self.live += 1;
    }

    /// The line whose turn it is.
    fn line(&self, shares: &Shares) -> Option<usize> {
        if let [line] = &self.lines[..] {
            return (!line.buckets.is_empty()).then_some(0);
        }
        let lines = self.lines.iter().enumerate().filter(|(_, line)| !line.buckets.is_empty());
        lines.min_by_key(|(_, line)| shares.turn(line.tenant)).map(|(index, _)| index)
    }

    /// About how many entries come before one that its tenant has just pushed, if others take turns
    /// with it call by call.
    pub fn before(&self, tenant: Tenant, priority: i32, urgency: u32) -> u64 {
        let own = self.lines.iter().find(|line| line.tenant == tenant);
        let own = own.map_or(0, |line| line.before(rank(priority, urgency)));
        let others = self.lines.iter().filter(|line| line.tenant != tenant);
        (own + others.map(|line| line.len().min(own)).sum::<u64>()).saturating_sub(1)
    }

    /// The first entry.
    pub fn first(&self, shares: &Shares) -> Option<Entry> {
        let line = &self.lines[self.line(shares)?];
        line.buckets.first_key_value()?.1.front().copied()
    }

    /// Removes the first entry, which was meant if `live`.
    pub fn pop_first(&mut self, shares: &Shares, live: bool) -> Option<Entry> {
        let (index, _, task) = self.remove_first(shares)?;
        self.close(index);
        self.forget(live);
        Some(task)
    }

    fn remove_first(&mut self, shares: &Shares) -> Option<(usize, Rank, Entry)> {
        let index = self.line(shares)?;
        let mut bucket = self.lines[index].buckets.first_entry()?;
        let (rank, task) = (*bucket.key(), bucket.get_mut().pop_front());
        if bucket.get().is_empty() {
            self.spare = Some(bucket.remove());
        }
        Some((index, rank, task?))
    }

    /// Lets those behind the first entry go first, until `unpark`.
    pub fn park_first(&mut self, shares: &Shares) {
        if let Some((index, rank, entry)) = self.remove_first(shares) {
            self.lines[index].parked.push((rank, entry));
        }
    }

    /// Puts what was parked back into its bucket.
    pub fn unpark(&mut self) {
        for line in &mut self.lines {
            for (rank, entry) in std::mem::take(&mut line.parked) {
                line.insert(rank, entry, &mut self.spare);
            }
        }
    }

    /// The last entry of the line whose turn it is.
    pub fn last(&self, shares: &Shares) -> Option<Entry> {
        let line = &self.lines[self.line(shares)?];
        line.buckets.last_key_value()?.1.back().copied()
    }

    /// Removes what is `last`, which was meant if `live`.
    pub fn pop_last(&mut self, shares: &Shares, live: bool) -> Option<Entry> {
        let index = self.line(shares)?;
        let mut bucket = self.lines[index].buckets.last_entry()?;
        let task = bucket.get_mut().pop_back();
        if bucket.get().is_empty() {
            self.spare = Some(bucket.remove());
        }
        self.close(index);
        self.forget(live);
        task
    }

    /// A line that is empty is no more, unless it is the only one.
    fn close(&mut self, index: usize) {
        let line = &self.lines[index];
        if self.lines.len() > 1 && line.buckets.is_empty() && line.parked.is_empty() {
            self.lines.swap_remove(index);
        }
    }

    /// An entry is no longer meant; it stays until it is popped.
    pub fn forget(&mut self, live: bool) {
        self.live -= u64::from(live);
        if self.live == 0 {
            self.lines.clear();
            if self.spare.as_ref().is_some_and(|spare| spare.capacity() > 1024) {
                self.spare = None;
            }
        }
    }

    /// Removes all entries, those of each tenant first to last.
    pub fn drain(&mut self) -> Vec<Entry> {
        self.unpark();
        self.live = 0;
        let lines = std::mem::take(&mut self.lines).into_iter();
        lines.flat_map(|line| line.buckets.into_values().flatten()).collect()
    }
}

/// Ready tasks that ask for about the same resources.
#[derive(Serialize, Deserialize)]
pub(in crate::manager) struct Class {
    kind: Resources,
    /// What none of its tasks exceeds.
    pub ceiling: Resources,
    pub queue: Queue,
}

/// The classes, numbered in the order in which they were seen.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::manager) struct Classes(Vec<Class>);

impl Classes {
    /// The number of the class of tasks that ask for `resources`.
    pub fn of(&mut self, resources: &Resources) -> u32 {
        // Most calls ask for what is coarse already.
        let index = self.find(resources).unwrap_or_else(|| {
            let kind = coarse(resources);
            self.find(&kind).unwrap_or_else(|| {
                self.0.push(Class { ceiling: kind.clone(), kind, queue: Queue::default() });
                self.0.len() - 1
            })
        });
        let class = &mut self.0[index];
        if !resources.fit(&class.ceiling) {
            class.ceiling = class.ceiling.larger(resources);
        }
        index as u32
    }

    fn find(&self, kind: &Resources) -> Option<usize> {
        self.0.iter().position(|class| class.kind == *kind)
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
    use crate::manager::table::Slot;

    const ONE: Tenant = Tenant(0);

    fn entry(task: u32) -> Entry {
        (TaskSlot::of(task), 0)
    }

    #[test]
    fn what_is_parked_lets_others_go_first_until_it_is_unparked() {
        let (mut queue, shares) = (Queue::default(), &Shares::default());
        for task in 0..3 {
            queue.push(ONE, rank(0, 0), entry(task));
        }
        queue.park_first(shares);
        assert_eq!(queue.first(shares), Some(entry(1)));
        // The parked one is no longer meant.
        queue.forget(true);
        assert_eq!((queue.pop_first(shares, true), queue.len()), (Some(entry(1)), 1));
        queue.unpark();
        assert_eq!((queue.pop_first(shares, true), queue.len()), (Some(entry(2)), 0));
        assert_eq!(queue.first(shares), None);
    }

    #[test]
    fn priority_then_depth_then_order() {
        let (mut queue, shares) = (Queue::default(), &Shares::default());
        for (priority, depth, task) in [(0, 0, 1), (0, 2, 2), (1, 0, 3), (0, 2, 4)] {
            queue.push(ONE, rank(priority, depth), entry(task));
        }
        assert_eq!(queue.last(shares), Some(entry(1)));
        let order: Vec<Entry> = std::iter::from_fn(|| queue.pop_first(shares, true)).collect();
        assert_eq!(order, [3, 2, 4, 1].map(entry));
        assert!(queue.is_empty());
    }

    #[test]
    fn tenants_take_turns_and_a_late_one_saves_nothing_up() {
        let (mut queue, mut shares) = (Queue::default(), Shares::default());
        let entry = |task| entry(task);
        (0..50).for_each(|task| queue.push(Tenant(1), rank(9, 9), entry(task)));
        let mut run = |queue: &mut Queue, calls: usize| {
            let mut order = Vec::new();
            for _ in 0..calls {
                let (task, _) = queue.pop_first(&shares, true).unwrap();
                let tenant = Tenant(1 + u32::from(task.index() >= 100));
                shares.charge(tenant, if tenant == Tenant(1) { 10 } else { 30 });
                order.push(tenant.0);
            }
            order
        };
        assert_eq!(run(&mut queue, 20), [1; 20]);
        (100..110).for_each(|task| queue.push(Tenant(2), rank(0, 0), entry(task)));
        assert_eq!(queue.before(Tenant(2), 0, 0), 9 + 10);
        assert_eq!(run(&mut queue, 9), [2, 1, 1, 1, 2, 1, 1, 1, 2]);
        let rest = run(&mut queue, 31);
        assert_eq!(rest.iter().filter(|tenant| **tenant == 2).count(), 7);
        assert!(queue.is_empty());
    }

    /// While both have something to run, what two tenants get differs by little, whatever their
    /// calls cost, and whoever comes and goes besides.
    #[test]
    fn many_random_tenants_get_shares_that_are_alike() {
        for seed in 0..200_u64 {
            let mut state = seed;
            let mut random = |below: u64| {
                state =
                    state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888);
                (state >> 33) % below
            };
            let (mut queue, mut shares) = (Queue::default(), Shares::default());
            let dearest = 1 + random(1000);
            // What each has had since both last had something to run.
            let (mut had, mut backlog, mut costs) = ([0; 40], [0_u32; 40], Vec::new());
            for _ in 0..2000 {
                let tenant = if random(2) == 0 { random(2) } else { random(40) } as usize;
                if backlog[tenant] < 5 || tenant < 2 {
                    let rank = rank(random(3) as i32, random(3) as u32);
                    queue.push(Tenant(tenant as u32), rank, entry(costs.len() as u32));
                    costs.push((tenant, random(dearest + 1)));
                    backlog[tenant] += 1;
                }
                if random(10) < 8
                    && let Some((task, _)) = queue.pop_first(&shares, true)
                {
                    let (tenant, cost) = costs[task.index()];
                    shares.charge(Tenant(tenant as u32), cost);
                    had[tenant] += cost;
                    backlog[tenant] -= 1;
                }
                if backlog[0] == 0 || backlog[1] == 0 {
                    had = [0; 40];
                }
                assert!(had[0].abs_diff(had[1]) <= 3 * dearest, "seed {seed}: {had:?}");
            }
        }
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
