//! Everything around a worker, driven by a seed. After each step, what must always hold is
//! checked.

use super::executors::{FakeExecutor, Waiting, forget};
use crate::store::Tier;
use crate::wire::{
    Address, Assignment, BlockDesc, CallOptions, FileProblem, Form, FromWorker, Input, Keep,
    Output, Report, ToWorker,
};
use crate::worker::cache::{Location, State};
use crate::worker::claim::Claims;
use crate::worker::{
    Action, Adopted, Event, ExternalFile, FileStamp, Now, TransferError, Worker, WorkerConfig,
};
use freestone_base::{Custom, FunctionId, Name, Resources, TaskId, Tenant, WorkerId};
use smallvec::smallvec;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// So many of a resource with a name of the user's; none has no entry.
fn licences(amount: u32) -> Custom {
    [("licence", amount)].into_iter().collect()
}

/// Numbers from a seed (`SplitMix64`).
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    pub fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        if from.is_empty() { None } else { Some(from[self.below(from.len() as u64) as usize]) }
    }
}

/// A call as the manager sees it.
#[derive(Clone, Debug)]
pub struct FakeTask {
    pub assignment: Assignment,
    pub is_open: bool,
    pub hangs: bool,
}

pub struct World {
    pub dice: Dice,
    pub worker: Worker,
    pub now: Now,
    pub config: WorkerConfig,
    pub executors: Vec<FakeExecutor>,
    pub tasks: BTreeMap<TaskId, FakeTask>,
    /// Blocks that some call may have as an input, and whether the manager believes them here.
    pub blocks: BTreeMap<Name, (BlockDesc, bool)>,
    /// Files that are in the cache.
    pub files: BTreeMap<(Name, Tier), u64>,
    pub kept: BTreeSet<Name>,
    pub pinned: Vec<Name>,
    pins_asked: usize,
    /// What goes on beside the worker and will end.
    pub pending: Vec<Event>,
    pub serving: Vec<Name>,
    pub copying: Vec<Name>,
    fetching: BTreeSet<Name>,
    pub reports: Vec<Report>,
    pub returns_asked: usize,
    pub ended: bool,
    next_task: u64,
    next_block: u64,
    /// No more faults.
    pub is_calm: bool,
}

pub const FUNCTIONS: u32 = 3;

pub fn config(slots: u32) -> WorkerConfig {
    WorkerConfig {
        resources: Resources {
            cores: slots,
            memory: 100,
            disk: 2000,
            custom: licences(2),
            ..Resources::default()
        },
        slots,
        memory_quota: 1000,
        disk_quota: 2000,
        memory_folder: PathBuf::from("/memory"),
        disk_folder: PathBuf::from("/disk"),
        forever_folder: Some(PathBuf::from("/forever")),
        transfers_in: 2,
        stopped_ns: 10_000_000_000,
        scrub_nbytes_s: 100,
    }
}

impl World {
    pub fn new(seed: u64, config: WorkerConfig) -> Self {
        let mut world = Self {
            dice: Dice::new(seed),
            worker: Worker::new(config.clone(), Vec::new()),
            now: 1,
            executors: (0..config.slots).map(|_| FakeExecutor::dead()).collect(),
            config,
            tasks: BTreeMap::new(),
            blocks: BTreeMap::new(),
            files: BTreeMap::new(),
            kept: BTreeSet::new(),
            pinned: Vec::new(),
            pins_asked: 0,
            pending: Vec::new(),
            serving: Vec::new(),
            copying: Vec::new(),
            fetching: BTreeSet::new(),
            reports: Vec::new(),
            returns_asked: 0,
            ended: false,
            next_task: 0,
            next_block: 0,
            is_calm: false,
        };
        for number in 0..FUNCTIONS {
            let (label, definition) = (format!("f{number}"), Vec::new().into());
            let function = FunctionId(number);
            world.say(ToWorker::Define { function, label, definition });
        }
        world
    }

    pub fn say(&mut self, message: ToWorker) {
        self.event(Event::Manager(message));
    }

    pub fn event(&mut self, event: Event) {
        println!("{event:?}");
        let mut out = Vec::new();
        self.worker.handle(event, self.now, &mut out);
        self.carry_out(out);
    }

    pub fn advance(&mut self) {
        loop {
            let mut out = Vec::new();
            self.worker.advance(self.now, &mut out);
            if out.is_empty() {
                break;
            }
            // `check` compares the worker's count with the files.
            for action in &out {
                if let Action::Tell(FromWorker::Status(status)) = action {
                    assert_eq!(status.memory_nbytes, self.worker.cache.memory_nbytes());
                }
            }
            self.carry_out(out);
        }
        self.check();
    }

    fn carry_out(&mut self, actions: Vec<Action>) {
        for action in actions {
            self.carry_out_one(action);
        }
    }

    fn carry_out_one(&mut self, action: Action) {
        // Shown only if the test fails.
        println!("    {action:?}");
        match action {
            Action::Tell(message) => self.on_message(message),
            Action::Report(report) => self.on_report(report),
            Action::Send(..)
            | Action::Spawn(_)
            | Action::Kill(_)
            | Action::Continue(_)
            | Action::Revoke { .. } => {
                self.on_executors(action);
            }
            Action::Check { task, .. } => {
                let changed = !self.is_calm && self.dice.one_in(5);
                let result = if changed {
                    Err(("/user/file".to_owned(), FileProblem::Changed("changed".to_owned())))
                } else {
                    Ok(())
                };
                self.pending.push(Event::Checked { task, result });
            }
            Action::Adopt { block, owned, path, .. } => self.on_adopt(block, path, owned),
            Action::Transfer { .. }
            | Action::MoveToDisk { .. }
            | Action::Verify { .. }
            | Action::Scrub { .. }
            | Action::Preserve { .. } => self.on_background(action),
            Action::Serve { block, .. } => {
                self.serving.push(block.name);
                let name = block.name;
                self.pending.push(Event::Served { name, nbytes: block.nbytes, changed: None });
            }
            Action::Measure => {
                let nbytes = if self.is_calm { 0 } else { self.dice.below(500) };
                self.pending.push(Event::Measured { nbytes });
            }
            Action::Look { executor, .. } => {
                self.pending.push(Event::Looked { executor, is_stopped: false });
            }
            Action::Discard { .. } | Action::Refuse { .. } => {}
            Action::Remove { name, tier, .. } => {
                let place = self.worker.cache.get(name).map(|block| block.place.clone());
                if place.is_none() || place == Some(Location::Tier(tier)) {
                    self.assert_unused(name, "removed");
                }
                assert!(self.files.remove(&(name, tier)).is_some(), "{name} is not in {tier:?}");
            }
            Action::Forget(block) => assert!(self.kept.remove(&block.name)),
            Action::End(reason) => {
                assert_eq!(reason, None);
                self.ended = true;
            }
        }
    }

    fn on_executors(&mut self, action: Action) {
        match action {
            Action::Send(executor, message) => {
                let executor = &mut self.executors[executor as usize];
                assert!(executor.is_alive, "{message:?} to a dead executor");
                executor.socket.push_back(message);
            }
            Action::Spawn(executor) => {
                let count = self.executors.len().max(executor as usize + 1);
                self.executors.resize_with(count, FakeExecutor::dead);
                let executor = &mut self.executors[executor as usize];
                assert!(!executor.is_alive);
                *executor = FakeExecutor { is_alive: true, ..FakeExecutor::dead() };
            }
            Action::Kill(executor) => self.executors[executor as usize].killed = true,
            Action::Revoke { executor, from, again } => {
                let claims = Claims::new(&self.executors[executor as usize].word);
                let (first, is_unread) = claims.revoke(from, again);
                let claimed = claims.claimed();
                self.event(Event::Revoked { executor, first, claimed, is_unread });
            }
            Action::Continue(executor) => self.executors[executor as usize].goes_on(),
            _ => {}
        }
    }

    fn on_background(&mut self, action: Action) {
        match action {
            Action::Transfer { block, tier, .. } => {
                assert!(self.fetching.insert(block.name));
                let result = self.transfer_result(tier);
                let name = block.name;
                self.pending.push(Event::Arrived { name, result, duration_ns: 1000 });
            }
            Action::MoveToDisk { name, .. } => {
                assert!(self.files.contains_key(&(name, Tier::Memory)), "{name} is not there");
                self.assert_unused(name, "moved");
                let fails = !self.is_calm && self.dice.one_in(5);
                let result = if fails { Err("full".to_owned()) } else { Ok(()) };
                self.pending.push(Event::Moved { name, result });
            }
            Action::Verify { block, path } => {
                self.pending.push(Event::Verified { block, path, intact: true });
            }
            Action::Scrub { block, .. } => {
                // What is not held may look damaged; what is held must stay as it is.
                let is_held = self.worker.scrub.suspects(block.name);
                if is_held {
                    self.copying.push(block.name);
                }
                let intact = is_held || self.is_calm || !self.dice.one_in(3);
                self.pending.push(Event::Scrubbed { block, intact });
            }
            Action::Preserve { block, .. } => {
                self.copying.push(block.name);
                self.pending.push(Event::Preserved { name: block.name, result: Ok(()) });
            }
            _ => {}
        }
    }

    fn transfer_result(&mut self, tier: Tier) -> Result<Tier, TransferError> {
        if self.is_calm || !self.dice.one_in(4) {
            return Ok(tier);
        }
        Err(TransferError { reason: "lost".to_owned(), missing_there: self.dice.one_in(2) })
    }

    fn on_adopt(&mut self, block: BlockDesc, path: String, owned: bool) {
        let result = if !self.is_calm && self.dice.one_in(5) {
            Err("gone".to_owned())
        } else if owned {
            Ok(Adopted::Owned(Tier::Memory))
        } else {
            let stamp = FileStamp { nbytes: block.nbytes, modified_ns: 0 };
            Ok(Adopted::External(ExternalFile { path, stamp }))
        };
        self.pending.push(Event::Adopted { block, result });
    }

    /// Nobody may use what is moved or whose pages are used again.
    fn assert_unused(&self, name: Name, what: &str) {
        let is_mapped = self.executors.iter().any(|executor| executor.mapped.contains(&name));
        assert!(!is_mapped, "{name} is {what} while an executor maps it");
        assert!(!self.pinned.contains(&name), "{name} is {what} while it is pinned");
        assert!(!self.serving.contains(&name), "{name} is {what} while it is sent");
        assert!(!self.copying.contains(&name), "{name} is {what} while it is copied");
    }

    fn on_message(&mut self, message: FromWorker) {
        match message {
            FromWorker::Returned { asked, returned } => {
                self.returns_asked -= 1;
                for task in returned {
                    assert!(asked.contains(&task));
                    let there = self.tasks.get_mut(&task).unwrap();
                    assert!(there.is_open, "{task} is returned after it ended");
                    there.is_open = false;
                }
            }
            FromWorker::Have { block, .. } => self.believe(block.name, true),
            FromWorker::FetchFailed { name, .. } => self.believe(name, false),
            FromWorker::Lost { names, .. } => {
                for name in names {
                    self.believe(name, false);
                }
            }
            FromWorker::Pinned { name, path } => {
                self.pins_asked -= 1;
                if path.is_some() {
                    self.pinned.push(name);
                }
            }
            // Seen when it was said: what came before it in one go may have changed more since.
            FromWorker::Status(_) | FromWorker::Paused { .. } | FromWorker::Resumed { .. } => {}
            FromWorker::Hello { .. }
            | FromWorker::Client { .. }
            | FromWorker::Done(_)
            | FromWorker::Printed(_)
            | FromWorker::Leaving => panic!("{message:?}"),
        }
    }

    fn believe(&mut self, name: Name, is_here: bool) {
        if let Some(block) = self.blocks.get_mut(&name) {
            block.1 = is_here;
        }
    }

    fn on_report(&mut self, report: Report) {
        let task = self.tasks.get_mut(&report.task).unwrap();
        assert!(task.is_open, "{} ends twice", report.task);
        assert_eq!(report.attempt, task.assignment.attempt);
        task.is_open = false;
        if let Ok(outputs) = &report.result {
            for output in outputs {
                if let Output::Stored(block) = output {
                    self.blocks.insert(block.name, (block.clone(), true));
                }
            }
        }
        self.reports.push(report);
    }

    pub fn nbytes_in(&self, tier: Tier) -> u64 {
        let here = self.files.iter().filter(|((_, there), _)| *there == tier);
        here.map(|(_, nbytes)| nbytes).sum()
    }

    /// A block that a call may have as an input, and that is somewhere.
    pub fn new_block(&mut self) -> BlockDesc {
        self.next_block += 1;
        let name = Name::of(&self.next_block.to_le_bytes());
        let nbytes = 1 + self.dice.below(400);
        let block = BlockDesc { name, nbytes, checksum: 0, form: Form::Value };
        self.blocks.insert(name, (block.clone(), false));
        block
    }

    pub fn assignment(&mut self, inputs: Vec<Input>) -> Assignment {
        self.next_task += 1;
        let task = TaskId(self.next_task);
        let timeout_ns = self.dice.one_in(6).then_some(20_000_000);
        let resources = Resources {
            cores: self.dice.pick(&[1, 1, 1, 1, 2, 99]).unwrap(),
            memory: self.dice.pick(&[0, 0, 0, 60]).unwrap(),
            disk: self.dice.pick(&[0, 0, 0, 300, 1000, 9999]).unwrap(),
            custom: licences(self.dice.pick(&[0, 0, 0, 1, 2]).unwrap()),
            ..Resources::default()
        };
        let keep = self.dice.pick(&[Keep::Task, Keep::Task, Keep::Session, Keep::Forever]).unwrap();
        let options = CallOptions { resources, keep, timeout_ns, ..CallOptions::default() };
        Assignment {
            task,
            attempt: 1,
            function: FunctionId(self.dice.below(u64::from(FUNCTIONS)) as u32),
            arguments: Vec::new().into(),
            inputs,
            outputs: smallvec![Name::of(&[1, task.0 as u8, (task.0 >> 8) as u8])],
            options: Arc::new(options),
            priority: self.dice.below(3) as i32,
            tenant: Tenant::default(),
            expected_ns: self.dice.pick(&[None, Some(1000), Some(1000), Some(10_000_000)]).unwrap(),
        }
    }

    pub fn run(&mut self, assignments: Vec<Assignment>) {
        for assignment in &assignments {
            let hangs = assignment.options.timeout_ns.is_some() && self.dice.one_in(3);
            let task = FakeTask { assignment: assignment.clone(), is_open: true, hangs };
            self.tasks.insert(assignment.task, task);
        }
        self.say(ToWorker::Run(assignments));
    }

    pub fn fetch(&mut self, name: Name) {
        let block = self.blocks[&name].0.clone();
        let address = Address::Unix("/peer".to_owned());
        let source = WorkerId(9);
        self.say(ToWorker::Fetch { block, source, address, keep: Keep::Task });
    }

    pub fn pin(&mut self, name: Name) {
        self.pins_asked += 1;
        self.say(ToWorker::Pin(name));
    }

    /// Something beside the worker ends.
    pub fn finish(&mut self, at: usize) {
        let event = self.pending.swap_remove(at);
        match &event {
            Event::Arrived { name, result, .. } => {
                self.fetching.remove(name);
                if let Ok(tier) = result {
                    let nbytes = self.blocks[name].0.nbytes;
                    self.files.insert((*name, *tier), nbytes);
                }
            }
            Event::Adopted { block, result: Ok(Adopted::Owned(tier)) } => {
                self.files.insert((block.name, *tier), block.nbytes);
            }
            Event::Moved { name, result: Ok(()) } => {
                let nbytes = self.files.remove(&(*name, Tier::Memory)).unwrap();
                self.files.insert((*name, Tier::Disk), nbytes);
            }
            Event::Served { name, .. } => forget(&mut self.serving, *name),
            Event::Scrubbed { block, .. } if self.worker.scrub.suspects(block.name) => {
                forget(&mut self.copying, block.name);
            }
            Event::Preserved { name, .. } => {
                forget(&mut self.copying, *name);
                self.kept.insert(*name);
            }
            _ => {}
        }
        self.event(event);
    }

    fn check(&self) {
        self.check_resources();
        self.check_quotas();
        for tier in [Tier::Memory, Tier::Disk] {
            let (here, untold) = (self.nbytes_in(tier), self.untold(tier) + self.twice_in(tier));
            let counted = match tier {
                Tier::Memory => self.worker.cache.memory_nbytes(),
                Tier::Disk => self.worker.cache.disk_nbytes(),
            };
            assert_eq!(counted, here - untold, "bytes in {tier:?}");
        }
    }

    /// Files on disk of blocks that are still being moved there.
    fn twice_in(&self, tier: Tier) -> u64 {
        let is_leaving = |name: Name| {
            self.worker.cache.get(name).is_some_and(|block| block.state == State::Leaving)
        };
        let files = self
            .files
            .iter()
            .filter(|((name, there), _)| tier == Tier::Disk && *there == tier && is_leaving(*name));
        files.map(|(_, nbytes)| nbytes).sum()
    }

    /// Outputs that the worker has not been told of.
    fn untold(&self, tier: Tier) -> u64 {
        let finished = self.executors.iter().flat_map(|executor| &executor.finished);
        let outputs = finished.filter_map(|finished| finished.result.as_ref().ok()).flatten();
        let stored = outputs.filter_map(|output| match output {
            Output::Stored(block) => self.files.get(&(block.name, tier)),
            Output::Inline(_) => None,
        });
        stored.sum()
    }

    fn check_resources(&self) {
        let mut taken = Resources::default();
        let mut running = 0;
        for executor in &self.executors {
            let Some(call) = &executor.running else { continue };
            let task = self.tasks.values().find(|task| task.assignment.outputs == call.outputs);
            let wanted = &task.unwrap().assignment.options.resources;
            // It takes nothing else while it waits for others.
            taken.give_back(&wanted.only_custom());
            if matches!(executor.waiting, Waiting::Paused | Waiting::Resuming) {
                continue;
            }
            running += 1;
            let cores = wanted.cores.min(self.config.resources.cores);
            // One that has waited takes what was left of the disk.
            let has_waited = executor.waiting == Waiting::Over;
            let disk = if has_waited { 0 } else { wanted.disk.min(self.config.resources.disk) };
            taken.give_back(&Resources { cores, disk, ..wanted.without_custom() });
        }
        assert!(taken.fit(&self.config.resources), "{taken}");
        assert!(running <= self.config.slots, "{running} calls run");
    }

    fn check_quotas(&self) {
        let cache = &self.worker.cache;
        assert!(cache.disk_given() <= self.config.disk_quota);
        let is_within = cache.memory_nbytes() <= self.config.memory_quota;
        assert!(is_within || cache.is_overfull_rightly(), "memory is over its quota");
    }

    /// Lets everything end, without faults.
    pub fn calm_down(&mut self) {
        self.is_calm = true;
        for _ in 0..10_000 {
            let missing: Vec<Name> =
                self.blocks.iter().filter(|(_, block)| !block.1).map(|(name, _)| *name).collect();
            for name in missing {
                if !self.worker.fetches.all.contains_key(&name) && self.is_wanted(name) {
                    self.fetch(name);
                }
            }
            while !self.pending.is_empty() {
                self.finish(0);
            }
            (0..self.executors.len()).for_each(|index| self.step(index));
            self.now += 1_000_000;
            self.advance();
            if self.is_quiet() {
                return;
            }
        }
        let open: Vec<_> = self.tasks.values().filter(|task| task.is_open).collect();
        panic!("it does not come to rest: {open:#?} {:#?}", self.executors);
    }

    fn is_wanted(&self, name: Name) -> bool {
        let mut open = self.tasks.values().filter(|task| task.is_open);
        open.any(|task| {
            let is_it = |input: &Input| matches!(input, Input::Stored(block) if block.name == name);
            task.assignment.inputs.iter().any(is_it)
        })
    }

    fn is_quiet(&self) -> bool {
        self.pending.is_empty()
            && self.pins_asked == 0
            && self.returns_asked == 0
            && self.tasks.values().all(|task| !task.is_open)
            && self.executors.iter().filter(|executor| executor.is_alive).count()
                >= self.config.slots as usize
            && self.executors.iter().filter(|executor| executor.is_alive).all(|executor| {
                executor.is_ready
                    && executor.running.is_none()
                    && executor.finished.is_empty()
                    && executor.unmapped.is_empty()
                    && executor.socket.is_empty()
            })
    }
}
