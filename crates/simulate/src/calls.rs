//! The calls that a simulated worker holds: waiting for inputs, ready, or running.

use freestone_base::{Name, Resources, TaskId};
use freestone_core::wire::{Assignment, Input, Output, Report, Spent, TaskFailure};
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Where a call is in its life at a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Inputs are missing: as many.
    Waiting(usize),
    /// It can begin.
    Ready,
    /// It runs.
    Running {
        /// Which beginning it was.
        run: u64,
        /// When it began.
        start_ns: u64,
    },
}

/// A call at a worker.
#[derive(Debug)]
pub struct HeldCall {
    /// What the manager sent.
    pub assignment: Assignment,
    /// Where it is in its life.
    pub stage: Stage,
    arrival: u64,
}

type Order = (Reverse<i32>, u64);

impl HeldCall {
    fn order(&self) -> Order {
        (Reverse(self.assignment.priority), self.arrival)
    }

    fn needs<'a>(&'a self, name: &'a Name) -> impl Iterator<Item = &'a Name> {
        stored(&self.assignment).filter(move |needed| *needed == name)
    }

    /// How it ended.
    pub fn report(&self, now: u64, result: Result<SmallVec<[Output; 1]>, TaskFailure>) -> Report {
        let start_ns = match self.stage {
            Stage::Running { start_ns, .. } => start_ns,
            _ => now,
        };
        let Assignment { task, attempt, .. } = self.assignment;
        let spent = Spent { start_ns, duration_ns: now - start_ns, ..Spent::default() };
        Report { task, attempt, spent, result }
    }
}

fn stored(call: &Assignment) -> impl Iterator<Item = &Name> {
    call.inputs.iter().filter_map(|input| match input {
        Input::Stored(desc) => Some(&desc.name),
        Input::Inline(_) => None,
    })
}

/// All calls of one worker, with what they take.
#[derive(Debug)]
pub struct Calls {
    held: BTreeMap<TaskId, HeldCall>,
    ready: BTreeMap<Order, TaskId>,
    runs: BTreeMap<u64, TaskId>,
    free: Resources,
    slots: u32,
    serial: u64,
}

impl Calls {
    /// None yet, on a worker with these resources and executors.
    pub fn new(resources: Resources, slots: u32) -> Self {
        Self {
            held: BTreeMap::new(),
            ready: BTreeMap::new(),
            runs: BTreeMap::new(),
            free: resources,
            slots,
            serial: 0,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// How many run.
    pub fn running(&self) -> usize {
        self.runs.len()
    }

    /// How many could begin.
    pub fn ready(&self) -> usize {
        self.ready.len()
    }

    /// The call of this id.
    pub fn get(&self, task: TaskId) -> Option<&HeldCall> {
        self.held.get(&task)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &HeldCall> {
        self.held.values()
    }

    /// Takes a call in.
    pub fn add(
        &mut self,
        assignment: Assignment,
        present: impl Fn(&Name) -> bool,
    ) -> Result<(), String> {
        self.serial += 1;
        let task = assignment.task;
        let missing = stored(&assignment).filter(|name| !present(name)).count();
        let stage = if missing > 0 { Stage::Waiting(missing) } else { Stage::Ready };
        let call = HeldCall { assignment, stage, arrival: self.serial };
        if missing == 0 {
            self.ready.insert(call.order(), task);
        }
        match self.held.insert(task, call) {
            None => Ok(()),
            Some(former) => Err(format!("{task} sent twice, held as {:?}", former.stage)),
        }
    }

    /// Begins the first of the ready calls that fits, by priority, then arrival.
    pub fn begin_next(&mut self, now: u64) -> Option<(u64, TaskId)> {
        if self.runs.len() >= self.slots as usize {
            return None;
        }
        let fits = |task: &&TaskId| self.held[*task].assignment.options.resources.fit(&self.free);
        let task = *self.ready.values().find(fits)?;
        self.serial += 1;
        let run = self.serial;
        let call = self.held.get_mut(&task)?;
        if !self.free.take(&call.assignment.options.resources) {
            return None;
        }
        self.ready.remove(&call.order());
        call.stage = Stage::Running { run, start_ns: now };
        self.runs.insert(run, task);
        Some((run, task))
    }

    /// Whether the call that began as `run` still runs.
    pub fn is_running(&self, run: u64) -> bool {
        self.runs.contains_key(&run)
    }

    /// Takes out the call that began as `run`, if it still runs.
    pub fn finish(&mut self, run: u64) -> Option<HeldCall> {
        let task = *self.runs.get(&run)?;
        self.remove(task)
    }

    /// Takes a call out, wherever it is in its life.
    pub fn remove(&mut self, task: TaskId) -> Option<HeldCall> {
        let call = self.held.remove(&task)?;
        match call.stage {
            Stage::Waiting(_) => {}
            Stage::Ready => {
                self.ready.remove(&call.order());
            }
            Stage::Running { run, .. } => {
                self.runs.remove(&run);
                self.free.give_back(&call.assignment.options.resources);
            }
        }
        Some(call)
    }

    /// Takes a call out if it has not begun, and says whether.
    pub fn give_back(&mut self, task: TaskId) -> bool {
        let begun = |call: &HeldCall| matches!(call.stage, Stage::Running { .. });
        if self.held.get(&task).is_none_or(begun) {
            return false;
        }
        self.remove(task).is_some()
    }

    /// Whether a call that is held needs this block.
    pub fn any_needs(&self, name: &Name) -> bool {
        self.held.values().any(|call| call.needs(name).next().is_some())
    }

    /// Whether a running call needs this block.
    pub fn any_runs_with(&self, name: &Name) -> bool {
        self.runs.values().any(|task| self.held[task].needs(name).next().is_some())
    }

    /// The calls that have not begun and lack this block or another one.
    pub fn waiting_for(&self, name: &Name) -> Vec<TaskId> {
        let waits = |call: &HeldCall| {
            matches!(call.stage, Stage::Waiting(_)) && call.needs(name).next().is_some()
        };
        self.held.iter().filter(|(_, call)| waits(call)).map(|(task, _)| *task).collect()
    }

    /// A block is here now.
    pub fn arrived(&mut self, name: &Name) {
        for (task, call) in &mut self.held {
            let needs = call.needs(name).count();
            if let Stage::Waiting(missing) = call.stage {
                call.stage = match missing - needs.min(missing) {
                    0 => Stage::Ready,
                    missing => Stage::Waiting(missing),
                };
                if call.stage == Stage::Ready {
                    self.ready.insert(call.order(), *task);
                }
            }
        }
    }

    /// A block is gone: which calls wait for it now.
    pub fn vanished(&mut self, name: &Name) -> Vec<TaskId> {
        let mut waiting = Vec::new();
        for (task, call) in &mut self.held {
            let needs = call.needs(name).count();
            if needs == 0 {
                continue;
            }
            waiting.push(*task);
            call.stage = match call.stage {
                Stage::Waiting(missing) => Stage::Waiting(missing + needs),
                _ => Stage::Waiting(needs),
            };
            self.ready.remove(&call.order());
        }
        waiting
    }

    /// Counts again what the running calls take out of `resources` and `slots`.
    pub fn check(&self, resources: &Resources, slots: u32) -> Option<Resources> {
        if self.runs.len() > slots as usize {
            return None;
        }
        let mut free = resources.clone();
        let mut running = self.runs.values().map(|task| &self.held[task].assignment.options);
        let fits = running.all(|options| free.take(&options.resources));
        (fits && free == self.free).then_some(free)
    }
}
