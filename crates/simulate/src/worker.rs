//! A simulated worker: the worker's side of the contract, without executors and without bytes.

use super::calls::{Calls, HeldCall, Stage};
use super::script::{self, Script};
use freestone_base::{FunctionId, Name, Resources, TaskId, WorkerId};
use freestone_core::wire::{
    Address, Assignment, BlockDesc, FromWorker, Input, Keep, Output, PROTOCOL, Report, TaskFailure,
    ToWorker, WorkerStatus,
};
use std::collections::{BTreeMap, BTreeSet};

/// What a simulated worker wants done.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // it lives for one event
pub enum Effect {
    /// Tell the manager.
    Tell(FromWorker),
    /// A call begins; whoever runs the worker answers with [`SimulatedWorker::end`].
    Begin {
        /// Which beginning this is, counted from 1 at each worker.
        run: u64,
        /// The call.
        task: TaskId,
    },
    /// A transfer begins; whoever runs the worker answers with [`SimulatedWorker::fetched`].
    Receive {
        /// Which transfer this is, counted from 1 at each worker.
        transfer: u64,
        /// The block.
        name: Name,
        /// From where.
        source: WorkerId,
    },
    /// It has ended, as told.
    End,
}

/// A block in a simulated cache.
#[derive(Clone, Debug)]
pub struct HeldBlock {
    /// Its description; the checksum is its value.
    pub desc: BlockDesc,
    /// How long it is kept.
    pub keep: Keep,
    /// How often it is pinned.
    pub pins: u32,
    /// Whether it goes as soon as it is not pinned: it was dropped, and a pin crossed that.
    pub doomed: bool,
}

impl HeldBlock {
    /// The block as a worker announces it when it joins.
    pub fn as_announced(&self) -> Option<Self> {
        (!self.doomed).then(|| Self { pins: 0, ..self.clone() })
    }
}

#[derive(Debug)]
struct Incoming {
    transfer: u64,
    block: BlockDesc,
    source: WorkerId,
    keep: Keep,
    began_ns: u64,
}

/// A worker as the manager sees one.
#[derive(Debug)]
pub struct SimulatedWorker {
    /// Its id.
    pub id: WorkerId,
    /// What it has.
    pub resources: Resources,
    /// How many calls it runs at once.
    pub slots: u32,
    /// What was asked of it against the contract.
    pub violations: Vec<String>,
    /// The most bytes of blocks, if that is limited; blocks that clients put are taken all the same.
    pub quota: Option<u64>,
    pub(super) blocks: BTreeMap<Name, HeldBlock>,
    pub(super) calls: Calls,
    functions: BTreeSet<FunctionId>,
    incoming: BTreeMap<Name, Incoming>,
    inline_nbytes: u64,
    serial: u64,
}

impl SimulatedWorker {
    /// A worker with some blocks in its cache already. Outputs of up to `inline_nbytes` are inline.
    pub fn new(
        id: WorkerId,
        resources: Resources,
        slots: u32,
        inline_nbytes: u64,
        blocks: Vec<HeldBlock>,
    ) -> Self {
        Self {
            id,
            calls: Calls::new(resources.clone(), slots),
            resources,
            slots,
            violations: Vec::new(),
            quota: None,
            blocks: blocks.into_iter().map(|held| (held.desc.name, held)).collect(),
            functions: BTreeSet::new(),
            incoming: BTreeMap::new(),
            inline_nbytes,
            serial: 0,
        }
    }

    /// Its first message.
    pub fn hello(&self, key: &str, former: Option<WorkerId>) -> FromWorker {
        FromWorker::Hello {
            former,
            boot: String::new(),
            now_ns: 0,
            protocol: PROTOCOL,
            key: key.to_owned(),
            resources: self.resources.clone(),
            slots: self.slots,
            address: Address::Unix(self.id.to_string()),
            pid: self.id.0 + 1,
            host: "simulated".to_owned(),
            folder: format!("/{}", self.id),
            blocks: self.blocks.values().map(|held| held.desc.clone()).collect(),
        }
    }

    /// A sign of life.
    pub fn status(&self) -> FromWorker {
        FromWorker::Status(WorkerStatus {
            memory_nbytes: self.blocks.values().map(|held| held.desc.nbytes).sum(),
            waiting: (self.calls.len() - self.calls.running()) as u32,
            running: self.calls.running() as u32,
            ..WorkerStatus::default()
        })
    }

    /// The blocks in its cache.
    pub fn blocks(&self) -> impl Iterator<Item = &HeldBlock> {
        self.blocks.values()
    }

    /// The block of this name, if it is here to stay.
    pub fn block(&self, name: &Name) -> Option<&HeldBlock> {
        self.blocks.get(name).filter(|held| !held.doomed)
    }

    /// The call, if it is held.
    pub fn call(&self, task: TaskId) -> Option<&HeldCall> {
        self.calls.get(task)
    }

    /// The calls that it holds.
    pub fn calls(&self) -> impl Iterator<Item = &HeldCall> {
        self.calls.iter()
    }

    /// How many calls it holds.
    pub fn held(&self) -> usize {
        self.calls.len()
    }

    /// Whether a call is here that could begin, once others have ended.
    pub fn has_calls_to_begin(&self) -> bool {
        self.calls.ready() > 0
    }

    /// How many transfers it receives.
    pub fn receiving(&self) -> usize {
        self.incoming.len()
    }

    /// From whom it receives.
    pub fn sources(&self) -> impl Iterator<Item = WorkerId> {
        self.incoming.values().map(|incoming| incoming.source)
    }

    /// Whether it does nothing and waits for nothing.
    pub fn is_idle(&self) -> bool {
        self.calls.len() == 0 && self.incoming.is_empty()
    }

    /// What the manager says.
    pub fn handle(&mut self, message: ToWorker, now: u64, effects: &mut Vec<Effect>) {
        match message {
            ToWorker::Welcome { worker, .. } => {
                self.check(worker == self.id, || format!("welcomed as {worker}"));
            }
            ToWorker::Define { function, .. } => {
                let new = self.functions.insert(function);
                self.check(new, || format!("{function} defined twice"));
            }
            ToWorker::Run(calls) => calls.into_iter().for_each(|call| self.on_run(call)),
            ToWorker::Fetch { block, source, keep, .. } => {
                self.on_fetch(block, source, keep, now, effects);
            }
            ToWorker::Adopt { block, keep, .. } => self.have(block, None, keep, effects),
            ToWorker::Pin(name) => self.on_pin(name, effects),
            ToWorker::Keep(name) => self.on_keep(&name),
            ToWorker::Unpin(name) => self.on_unpin(name),
            ToWorker::Drop(names) => self.on_drop(&names, effects),
            ToWorker::Return(tasks) => self.on_return(tasks, effects),
            ToWorker::Cancel(tasks) => self.on_cancel(&tasks, now, effects),
            // Its executors have no state, and its connections no certificates.
            ToWorker::Restart | ToWorker::Revoked(_) => {}
            ToWorker::Refused(_) | ToWorker::Shutdown => effects.push(Effect::End),
        }
        self.begin(now, effects);
    }

    fn on_keep(&mut self, name: &Name) {
        if let Some(held) = self.blocks.get_mut(name) {
            held.keep = Keep::Forever;
        }
    }

    fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.violations.push(what());
        }
    }

    fn on_run(&mut self, call: Assignment) {
        let defined = self.functions.contains(&call.function);
        self.check(defined, || format!("{} before its {}", call.task, call.function));
        let fits = call.options.resources.fit(&self.resources);
        self.check(fits, || format!("{} does not fit", call.task));
        let blocks = &self.blocks;
        let here = |name: &Name| blocks.get(name).is_some_and(|held| !held.doomed);
        if let Err(why) = self.calls.add(call, here) {
            self.violations.push(why);
        }
    }

    fn on_fetch(
        &mut self,
        block: BlockDesc,
        source: WorkerId,
        keep: Keep,
        now: u64,
        effects: &mut Vec<Effect>,
    ) {
        let name = block.name;
        self.check(source != self.id, || format!("{name} to be fetched from itself"));
        if self.block(&name).is_some() {
            return effects.push(Effect::Tell(FromWorker::Have { block, fetched: None }));
        }
        self.serial += 1;
        let transfer = self.serial;
        let incoming = Incoming { transfer, block, source, keep, began_ns: now };
        let former = self.incoming.insert(name, incoming);
        self.check(former.is_none(), || format!("{name} fetched twice at once"));
        effects.push(Effect::Receive { transfer, name, source });
    }

    fn on_pin(&mut self, name: Name, effects: &mut Vec<Effect>) {
        let path = self.blocks.get_mut(&name).filter(|held| !held.doomed).map(|held| {
            held.pins += 1;
            format!("/{}/{name}", self.id)
        });
        effects.push(Effect::Tell(FromWorker::Pinned { name, path }));
    }

    fn on_unpin(&mut self, name: Name) {
        let Some(held) = self.blocks.get_mut(&name).filter(|held| held.pins > 0) else {
            return self.violations.push(format!("{name} unpinned and is not pinned"));
        };
        held.pins -= 1;
        if held.doomed && held.pins == 0 {
            self.blocks.remove(&name);
        }
    }

    /// A pinned block goes when it is let go of: the pin may have crossed the order to drop it.
    /// A block that is still on its way is given up, and the manager told, as it counts transfers.
    fn on_drop(&mut self, names: &[Name], effects: &mut Vec<Effect>) {
        for name in names {
            let needed = self.calls.any_needs(name);
            self.check(!needed, || format!("{name} dropped, but a call held here needs it"));
            match self.blocks.get_mut(name) {
                Some(held) if held.pins > 0 => held.doomed = true,
                _ => drop(self.blocks.remove(name)),
            }
            if let Some(incoming) = self.incoming.remove(name) {
                effects.push(Effect::Tell(FromWorker::FetchFailed {
                    name: *name,
                    source: incoming.source,
                    reason: "no longer wanted".to_owned(),
                    missing_there: false,
                    free: None,
                }));
            }
        }
    }

    fn on_return(&mut self, asked: Vec<TaskId>, effects: &mut Vec<Effect>) {
        let returned = asked.iter().copied().filter(|task| self.calls.give_back(*task)).collect();
        effects.push(Effect::Tell(FromWorker::Returned { asked, returned }));
    }

    fn on_cancel(&mut self, tasks: &[TaskId], now: u64, effects: &mut Vec<Effect>) {
        let cancelled = tasks.iter().filter_map(|task| self.calls.remove(*task));
        let reports: Vec<Report> =
            cancelled.map(|call| call.report(now, Err(TaskFailure::Cancelled))).collect();
        if !reports.is_empty() {
            effects.push(Effect::Tell(FromWorker::Done(reports)));
        }
    }

    fn begin(&mut self, now: u64, effects: &mut Vec<Effect>) {
        while let Some((run, task)) = self.calls.begin_next(now) {
            effects.push(Effect::Begin { run, task });
        }
    }

    fn have(
        &mut self,
        block: BlockDesc,
        fetched: Option<(WorkerId, u64)>,
        keep: Keep,
        effects: &mut Vec<Effect>,
    ) {
        self.insert(block.clone(), keep);
        effects.push(Effect::Tell(FromWorker::Have { block, fetched }));
    }

    fn insert(&mut self, desc: BlockDesc, keep: Keep) {
        let name = desc.name;
        let Some(held) = self.blocks.get_mut(&name) else {
            self.blocks.insert(name, HeldBlock { desc, keep, pins: 0, doomed: false });
            return self.calls.arrived(&name);
        };
        if std::mem::take(&mut held.doomed) {
            self.calls.arrived(&name);
        }
        let same = held.desc.checksum == desc.checksum;
        self.check(same, || format!("{name} has two values"));
    }

    /// Bytes of blocks that there is room for.
    fn free_nbytes(&self) -> u64 {
        let held: u64 = self.blocks.values().map(|held| held.desc.nbytes).sum();
        self.quota.map_or(u64::MAX, |quota| quota.saturating_sub(held))
    }

    /// What a call makes, unless there is no room for it.
    fn outputs_with_room(
        &mut self,
        call: &Assignment,
    ) -> Result<smallvec::SmallVec<[Output; 1]>, TaskFailure> {
        let outputs = self.outputs(call);
        let new = outputs.iter().map(|output| match output {
            Output::Stored(block) if !self.blocks.contains_key(&block.name) => block.nbytes,
            _ => 0,
        });
        let (needed, free): (u64, u64) = (new.sum(), self.free_nbytes());
        if needed > free {
            return Err(TaskFailure::StorageFull { needed, free, folder: format!("/{}", self.id) });
        }
        Ok(outputs)
    }

    /// A call ends that began as `run`; without effect if it was cancelled meanwhile.
    pub fn end(
        &mut self,
        run: u64,
        failure: Option<TaskFailure>,
        now: u64,
        effects: &mut Vec<Effect>,
    ) {
        let Some(call) = self.calls.finish(run) else { return };
        let result = match failure {
            Some(failure) => Err(failure),
            None => self.outputs_with_room(&call.assignment),
        };
        for output in result.iter().flatten() {
            if let Output::Stored(block) = output {
                self.insert(block.clone(), call.assignment.options.keep);
            }
        }
        effects.push(Effect::Tell(FromWorker::Done(vec![call.report(now, result)])));
        self.begin(now, effects);
    }

    fn outputs(&mut self, call: &Assignment) -> smallvec::SmallVec<[Output; 1]> {
        let script = Script::decode(call.arguments.as_slice()).unwrap_or_default();
        let mut values = Vec::with_capacity(call.inputs.len());
        for input in &call.inputs {
            let value = script::input_value(input);
            if let Input::Stored(desc) = input {
                let here = self.blocks.get(&desc.name).map(|held| held.desc.checksum);
                self.check(here == Some(value), || {
                    format!("{} described as {value:x}, and is {here:x?}", desc.name)
                });
            }
            values.push(value);
        }
        let output = |(index, name): (usize, &Name)| {
            let value = script.value(call.function, &values, index);
            script::output(*name, script.nbytes, value, self.inline_nbytes)
        };
        call.outputs.iter().enumerate().map(output).collect()
    }

    /// A transfer ends; without effect if the block is no longer wanted.
    pub fn fetched(
        &mut self,
        name: Name,
        transfer: u64,
        result: Result<u64, (String, bool)>,
        now: u64,
        effects: &mut Vec<Effect>,
    ) {
        if self.incoming.get(&name).is_none_or(|incoming| incoming.transfer != transfer) {
            return;
        }
        let Some(incoming) = self.incoming.remove(&name) else { return };
        let source = incoming.source;
        let free = self.free_nbytes();
        match result {
            Ok(_) if incoming.block.nbytes > free && !self.blocks.contains_key(&name) => {
                self.refuse_fetch(&incoming, free, now, effects);
            }
            Ok(value) => {
                let same = value == incoming.block.checksum;
                self.check(same, || format!("{name} fetched with another value than described"));
                let fetched = Some((source, now - incoming.began_ns));
                self.have(incoming.block, fetched, incoming.keep, effects);
            }
            Err((reason, missing_there)) => {
                let free = None;
                let failed = FromWorker::FetchFailed { name, source, reason, missing_there, free };
                effects.push(Effect::Tell(failed));
            }
        }
        self.begin(now, effects);
    }

    /// There is no room for a block: calls that wait for it are given up.
    fn refuse_fetch(
        &mut self,
        incoming: &Incoming,
        free: u64,
        now: u64,
        effects: &mut Vec<Effect>,
    ) {
        let (name, needed) = (incoming.block.name, incoming.block.nbytes);
        let folder = format!("/{}", self.id);
        let full = TaskFailure::StorageFull { needed, free, folder };
        let waiting = self.calls.waiting_for(&name);
        let given_up = waiting.into_iter().filter_map(|task| self.calls.remove(task));
        let reports: Vec<Report> =
            given_up.map(|call: HeldCall| call.report(now, Err(full.clone()))).collect();
        if !reports.is_empty() {
            effects.push(Effect::Tell(FromWorker::Done(reports)));
        }
        effects.push(Effect::Tell(FromWorker::FetchFailed {
            name,
            source: incoming.source,
            reason: "no room".to_owned(),
            missing_there: false,
            free: Some(free),
        }));
    }

    /// Evicts a block unless it is pinned or mapped by a running call. Calls that wait for it are
    /// given up if `report`, or wait for it to come again.
    pub fn evict(&mut self, name: Name, report: bool, now: u64, effects: &mut Vec<Effect>) -> bool {
        let free = self.blocks.get(&name).is_some_and(|held| held.pins == 0);
        if !free || self.calls.any_runs_with(&name) {
            return false;
        }
        self.blocks.remove(&name);
        let reason = "evicted".to_owned();
        effects.push(Effect::Tell(FromWorker::Lost { names: vec![name], reason }));
        let waiting = self.calls.vanished(&name);
        if report && !waiting.is_empty() {
            let given_up = waiting.into_iter().filter_map(|task| self.calls.remove(task));
            let lost = |call: HeldCall| call.report(now, Err(TaskFailure::InputLost { name }));
            effects.push(Effect::Tell(FromWorker::Done(given_up.map(lost).collect())));
        }
        true
    }

    /// Whether a call of this id runs here.
    pub fn runs(&self, task: TaskId) -> bool {
        self.calls.get(task).is_some_and(|call| matches!(call.stage, Stage::Running { .. }))
    }

    /// Whether the call that began as `run` still runs.
    pub(super) fn is_running(&self, run: u64) -> bool {
        self.calls.is_running(run)
    }

    /// What the running calls leave free; `None` if they take more than there is.
    pub fn free(&self) -> Option<Resources> {
        self.calls.check(&self.resources, self.slots)
    }
}
