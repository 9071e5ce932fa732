//! Many histories, each from a seed: if one fails, its seed says how to see it again.

use super::world::{World, config};
use crate::store::Tier;
use crate::wire::{Input, Keep, ToWorker};
use crate::worker::Event;
use freestone_base::{Name, TaskId};

const SEEDS: u64 = 1500;
const STEPS: u32 = 250;

impl World {
    fn submit(&mut self) {
        let count = self.dice.below(6) + 1;
        let mut assignments = Vec::new();
        for _ in 0..count {
            let inputs = (0..self.dice.below(3)).map(|_| self.input()).collect();
            assignments.push(self.assignment(inputs));
        }
        self.run(assignments);
    }

    fn input(&mut self) -> Input {
        let known: Vec<Name> = self.blocks.keys().copied().collect();
        match self.dice.below(3) {
            0 => Input::Inline(Vec::new().into()),
            1 => Input::Stored(self.new_block()),
            _ => match self.dice.pick(&known) {
                Some(name) => Input::Stored(self.blocks[&name].0.clone()),
                None => Input::Inline(Vec::new().into()),
            },
        }
    }

    fn adopt(&mut self) {
        let block = self.new_block();
        let owned = self.dice.one_in(2);
        let path = format!("/user/{}", block.name);
        self.say(ToWorker::Adopt { block, path, owned, keep: Keep::Task, verify: false });
    }

    fn some_tasks(&mut self) -> Vec<TaskId> {
        let open = self.tasks.iter().filter(|(_, task)| task.is_open);
        let open: Vec<TaskId> = open.map(|(task, _)| *task).collect();
        (0..=self.dice.below(3)).filter_map(|_| self.dice.pick(&open)).collect()
    }

    fn some_block(&mut self) -> Option<Name> {
        let known: Vec<Name> = self.blocks.keys().copied().collect();
        self.dice.pick(&known)
    }

    fn manager_step(&mut self) {
        match self.dice.below(9) {
            0 | 1 => self.submit(),
            2 | 3 => {
                if let Some(name) = self.some_block().filter(|name| !self.blocks[name].1) {
                    self.fetch(name);
                }
            }
            4 => {
                if let Some(name) = self.some_block() {
                    self.blocks.get_mut(&name).unwrap().1 = false;
                    self.say(ToWorker::Drop(vec![name]));
                }
            }
            5 => {
                self.returns_asked += 1;
                let mut tasks = self.some_tasks();
                tasks.sort_unstable();
                tasks.dedup();
                self.say(ToWorker::Return(tasks));
            }
            6 => {
                let tasks = self.some_tasks();
                self.say(ToWorker::Cancel(tasks));
            }
            7 => {
                if let Some(name) = self.some_block() {
                    self.pin(name);
                }
            }
            _ => {
                let pinned = self.pinned.clone();
                if let Some(name) = self.dice.pick(&pinned) {
                    let at = self.pinned.iter().position(|other| *other == name).unwrap();
                    self.pinned.swap_remove(at);
                    self.say(ToWorker::Unpin(name));
                }
            }
        }
    }

    fn random_step(&mut self) {
        match self.dice.below(20) {
            0..=8 => self.manager_step(),
            9 => {
                if let Some(name) = self.some_block() {
                    self.event(Event::Asked { question: 1, name });
                }
            }
            10 => self.adopt(),
            11 if self.dice.one_in(3) => {
                let index = self.dice.below(self.executors.len() as u64);
                self.die(index as usize, Some(11));
            }
            12 => self.now += self.dice.below(100_000_000),
            13 | 14 if !self.pending.is_empty() => {
                let at = self.dice.below(self.pending.len() as u64);
                self.finish(at as usize);
            }
            _ => {
                let index = self.dice.below(self.executors.len() as u64);
                self.step(index as usize);
            }
        }
        self.now += self.dice.below(1_000_000);
        if !self.dice.one_in(4) {
            self.advance();
        }
    }

    /// Nothing is needed any more: nothing stays, but what is to be kept.
    fn clear(&mut self) {
        for name in std::mem::take(&mut self.pinned) {
            self.say(ToWorker::Unpin(name));
        }
        let names: Vec<Name> = self.blocks.keys().copied().collect();
        self.say(ToWorker::Drop(names));
        self.calm_down();
        let task_only = |name: &Name| {
            let block = self.worker.cache.get(*name);
            block.is_some_and(|block| block.keep == Keep::Task)
        };
        let left: Vec<&Name> = self.blocks.keys().filter(|name| task_only(name)).collect();
        assert!(left.is_empty(), "{left:?} are left");
        for executor in &self.worker.executors {
            assert!(executor.in_flight.is_empty() && executor.mapped.is_empty());
            assert_eq!((&executor.lease, executor.work_ns), (&None, 0));
        }
        assert_eq!(self.worker.free, self.config.resources);
        assert!(self.worker.waiters.is_empty(), "{:?}", self.worker.waiters);
    }
}

#[test]
fn nothing_is_lost_or_done_twice_or_used_while_it_is_moved() {
    let only: Option<u64> = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = only.map_or(0..SEEDS, |seed| seed..seed + 1);
    for seed in seeds {
        // Shown only if the test fails.
        println!("SEED={seed}");
        let slots = 1 + (seed % 3) as u32;
        let mut config = config(slots);
        if seed % 2 == 0 {
            config.disk_quota = 1_000_000;
        }
        let mut world = World::new(seed, config);
        for _ in 0..STEPS {
            world.random_step();
        }
        world.calm_down();
        world.clear();
        let ended = world.reports.len();
        assert!(ended > 0 || world.tasks.is_empty());
        world.say(ToWorker::Shutdown);
        world.advance();
        assert!(world.ended);
        assert!(world.nbytes_in(Tier::Disk) <= world.config.disk_quota);
    }
}
