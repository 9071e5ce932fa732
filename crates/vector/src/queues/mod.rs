//! Queues of tasks: how many, who takes from which, and in which order the others are visited.
//!
//! See docs/decisions/036-a-pipelines-queue-is-two-counters.md

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows that a worker takes at once.
pub type Task = Range<u64>;

/// How many queues there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One for all workers.
    Centralized,
    /// One for each package.
    PerGroup,
    /// One for each worker.
    PerCpu,
}

/// In which order an idle worker visits other queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victims {
    /// The next one, and so on, round.
    Seq,
    /// Those of its package first, in turn.
    SeqPri,
    /// In random order.
    Random,
    /// Those of its package first, in random order.
    RandomPri,
}

/// All layouts, with their names.
pub const LAYOUTS: [(&str, Layout); 3] = [
    ("CENTRALIZED", Layout::Centralized),
    ("PERGROUP", Layout::PerGroup),
    ("PERCPU", Layout::PerCpu),
];

/// All orders of victims, with their names.
pub const VICTIMS: [(&str, Victims); 4] = [
    ("SEQ", Victims::Seq),
    ("SEQPRI", Victims::SeqPri),
    ("RANDOM", Victims::Random),
    ("RANDOMPRI", Victims::RandomPri),
];

impl Layout {
    /// The layout of this name.
    pub fn named(name: &str) -> Option<Self> {
        LAYOUTS.iter().find(|(known, _)| *known == name).map(|(_, layout)| *layout)
    }
}

impl Victims {
    /// The order of this name.
    pub fn named(name: &str) -> Option<Self> {
        VICTIMS.iter().find(|(known, _)| *known == name).map(|(_, victims)| *victims)
    }
}

/// The tasks of a queue: its owners take from the front, thieves from the back.
///
/// All tasks are there before the first is taken, so a queue is two counters in one word.
#[derive(Debug)]
struct Queue {
    tasks: Vec<(usize, Task)>,
    /// The front in the low half, the back in the high one. Both ends are changed together by
    /// compare-and-swap, so no task is taken twice; the tasks themselves never change.
    ends: AtomicU64,
}

impl Queue {
    fn new(tasks: Vec<(usize, Task)>) -> Self {
        let ends = AtomicU64::new((tasks.len() as u64) << 32);
        Self { tasks, ends }
    }

    fn take(&self, front: bool) -> Option<(usize, Task)> {
        // Relaxed: the tasks were published when the workers were woken.
        let mut ends = self.ends.load(Ordering::Relaxed);
        loop {
            let (first, last) = (ends & 0xffff_ffff, ends >> 32);
            if first >= last {
                return None;
            }
            let (next, taken) =
                if front { (ends + 1, first) } else { (ends - (1 << 32), last - 1) };
            match self.ends.compare_exchange_weak(ends, next, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return Some(self.tasks[taken as usize].clone()),
                Err(found) => ends = found,
            }
        }
    }
}

/// The queues of one pipeline.
#[derive(Debug)]
pub struct Queues {
    all: Vec<Queue>,
    /// Of each worker: its own queue, then those that it visits.
    visits: Vec<Vec<usize>>,
    /// How many tasks there are.
    pub count: usize,
}

impl Queues {
    /// Deals the tasks that `cut` makes of `rows` rows.
    ///
    /// `packages` has the package of each worker. With `shared_out`, each queue first gets an
    /// even share of the rows, and cuts that. `place` is asked, in ascending order, which row a
    /// share of so many rows really ends at.
    ///
    /// # Errors
    ///
    /// What `cut` returns.
    pub fn deal<E>(
        layout: Layout,
        victims: Victims,
        packages: &[usize],
        rows: u64,
        shared_out: bool,
        cut: impl Fn(u64) -> Result<Vec<u64>, E>,
        mut place: impl FnMut(u64) -> u64,
    ) -> Result<Self, E> {
        let owners = owners(layout, packages);
        let count = owners.iter().max().map_or(1, |most| most + 1);
        let mut dealt: Vec<Vec<(usize, Task)>> = vec![Vec::new(); count];
        let (mut number, mut share, mut begin) = (0, 0, 0);
        let mut next = |size: u64| {
            share += size;
            let end = place(share);
            let task = (number, begin..end);
            (number, begin) = (number + 1, end);
            task
        };
        if shared_out {
            for (at, queue) in dealt.iter_mut().enumerate() {
                let share = rows / count as u64 + u64::from((at as u64) < rows % count as u64);
                queue.extend(cut(share)?.into_iter().map(&mut next));
            }
        } else {
            for size in cut(rows)? {
                let task = next(size);
                dealt[task.0 % count].push(task);
            }
        }
        let visits = (0..packages.len()).map(|me| visits(victims, &owners, packages, me)).collect();
        Ok(Self { all: dealt.into_iter().map(Queue::new).collect(), visits, count: number })
    }

    /// Takes a task for a worker: from its own queue, or else from those that it visits.
    pub fn take(&self, worker: usize) -> Option<(usize, Task)> {
        let visits = &self.visits[worker];
        let own = self.all[visits[0]].take(true);
        own.or_else(|| visits[1..].iter().find_map(|queue| self.all[*queue].take(false)))
    }
}

fn owners(layout: Layout, packages: &[usize]) -> Vec<usize> {
    let mut known: Vec<usize> = Vec::new();
    packages
        .iter()
        .enumerate()
        .map(|(worker, package)| match layout {
            Layout::Centralized => 0,
            Layout::PerCpu => worker,
            Layout::PerGroup => known.iter().position(|one| one == package).unwrap_or_else(|| {
                known.push(*package);
                known.len() - 1
            }),
        })
        .collect()
}

fn visits(victims: Victims, owners: &[usize], packages: &[usize], me: usize) -> Vec<usize> {
    let workers = owners.len();
    let mut others: Vec<usize> = (1..workers).map(|step| (me + step) % workers).collect();
    if matches!(victims, Victims::Random | Victims::RandomPri) {
        shuffle(&mut others, me as u64);
    }
    if matches!(victims, Victims::SeqPri | Victims::RandomPri) {
        // Stable: within and outside of the package the order stays.
        others.sort_by_key(|other| packages[*other] != packages[me]);
    }
    let mut visited = vec![owners[me]];
    for other in others {
        if !visited.contains(&owners[other]) {
            visited.push(owners[other]);
        }
    }
    visited
}

fn shuffle(items: &mut [usize], seed: u64) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5678_9abc_def1);
    for last in (1..items.len()).rev() {
        // xorshift: any order will do, as long as workers differ.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        items.swap(last, (state % (last as u64 + 1)) as usize);
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    const ALL: [Victims; 4] = [Victims::Seq, Victims::SeqPri, Victims::Random, Victims::RandomPri];

    fn ones(layout: Layout, victims: Victims, packages: &[usize], rows: u64, out: bool) -> Queues {
        let cut = |rows| Ok::<_, Infallible>(vec![1; rows as usize]);
        let Ok(queues) = Queues::deal(layout, victims, packages, rows, out, cut, |row| row);
        queues
    }

    #[test]
    fn every_task_is_taken_once_whoever_takes() {
        for layout in [Layout::Centralized, Layout::PerGroup, Layout::PerCpu] {
            for victims in ALL {
                for shared_out in [false, true] {
                    let queues = ones(layout, victims, &[0, 0, 1, 1], 103, shared_out);
                    let mut rows: Vec<u64> = Vec::new();
                    std::thread::scope(|scope| {
                        let taken: Vec<_> = (0..4)
                            .map(|worker| {
                                let queues = &queues;
                                scope.spawn(move || {
                                    std::iter::from_fn(|| queues.take(worker))
                                        .map(|(_, task)| task.start)
                                        .collect::<Vec<_>>()
                                })
                            })
                            .collect();
                        for thread in taken {
                            rows.extend(thread.join().expect("no worker panics"));
                        }
                    });
                    rows.sort_unstable();
                    assert_eq!(rows, (0..103).collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn the_package_comes_first() {
        let queues = ones(Layout::PerCpu, Victims::SeqPri, &[0, 1, 0, 1], 4, false);
        assert_eq!(queues.visits[1], [1, 3, 2, 0]);
        let queues = ones(Layout::PerCpu, Victims::Seq, &[0, 1, 0, 1], 4, false);
        assert_eq!(queues.visits[1], [1, 2, 3, 0]);
        let queues = ones(Layout::PerGroup, Victims::Seq, &[0, 1, 0, 1], 4, false);
        assert_eq!(queues.visits[3], [1, 0]);
    }

    #[test]
    fn random_orders_visit_all_and_keep_to_the_package_when_asked() {
        let packages = [0, 0, 0, 0, 1, 1, 1, 1];
        let mut orders = Vec::new();
        for victims in [Victims::Random, Victims::RandomPri] {
            let queues = ones(Layout::PerCpu, victims, &packages, 8, false);
            for (me, visits) in queues.visits.iter().enumerate() {
                assert_eq!(visits[0], me);
                let mut sorted = visits.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..8).collect::<Vec<_>>());
                if victims == Victims::RandomPri {
                    assert!(visits[..4].iter().all(|other| packages[*other] == packages[me]));
                }
                orders.push(visits[1..].to_vec());
            }
        }
        orders.dedup();
        assert!(orders.len() > 10, "workers do not all go the same way");
    }

    #[test]
    fn thieves_take_from_the_back() {
        let queues = ones(Layout::PerCpu, Victims::Seq, &[0, 0], 6, true);
        assert_eq!(queues.take(0), Some((0, 0..1)));
        for expected in [1..2, 2..3, 5..6, 4..5, 3..4] {
            assert_eq!(queues.take(0).map(|(_, task)| task), Some(expected));
        }
        assert_eq!(queues.take(1), None);
    }
}
