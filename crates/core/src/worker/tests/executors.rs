//! Executors as far as a worker sees them.

use super::world::World;
use crate::store::Tier;
use crate::wire::{
    BlockDesc, Call, CallResult, Form, Output, PlacedInput, Spent, TaskFailure, ToExecutor,
};
use crate::worker::Event;
use crate::worker::claim::{Claims, INITIAL};
use freestone_base::{FunctionId, Name};
use smallvec::smallvec;
use std::collections::{HashSet, VecDeque};
use std::sync::atomic::AtomicU64;

/// How a call that runs waits for others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waiting {
    /// It may still.
    NotYet,
    /// It does.
    Paused,
    /// It could go on.
    Resuming,
    /// It does no more.
    Over,
}

/// An executor's process as far as it matters here.
#[derive(Debug)]
pub struct FakeExecutor {
    pub is_alive: bool,
    pub is_ready: bool,
    pub killed: bool,
    pub word: AtomicU64,
    pub socket: VecDeque<ToExecutor>,
    pub queue: VecDeque<Call>,
    pub running: Option<Call>,
    /// What the call that runs does about waiting for others.
    pub waiting: Waiting,
    pub finished: Vec<CallResult>,
    /// Inputs that it maps now.
    pub mapped: Vec<Name>,
    pub unmapped: Vec<Name>,
    /// Inputs that stay mapped until it is told to forget them.
    pub staying: Vec<Name>,
    pub defined: HashSet<FunctionId>,
}

impl FakeExecutor {
    pub fn dead() -> Self {
        Self {
            is_alive: false,
            is_ready: false,
            killed: false,
            word: AtomicU64::new(INITIAL),
            socket: VecDeque::new(),
            queue: VecDeque::new(),
            running: None,
            waiting: Waiting::NotYet,
            finished: Vec::new(),
            mapped: Vec::new(),
            unmapped: Vec::new(),
            staying: Vec::new(),
            defined: HashSet::new(),
        }
    }

    /// Its call that waited goes on.
    pub fn goes_on(&mut self) {
        assert_eq!(self.waiting, Waiting::Resuming, "it did not ask");
        self.waiting = Waiting::Over;
    }
}

impl World {
    /// An executor does its next thing.
    pub fn step(&mut self, index: usize) {
        let executor = &mut self.executors[index];
        if !executor.is_alive {
            return;
        }
        if executor.killed {
            return self.die(index, Some(9));
        }
        if !executor.is_ready {
            executor.is_ready = true;
            return self.event(Event::Ready { executor: index as u32 });
        }
        if let Some(call) = &executor.running {
            let sequence = call.sequence;
            match executor.waiting {
                Waiting::NotYet if self.dice.below(4) == 0 => {
                    self.executors[index].waiting = Waiting::Paused;
                    self.tell(index);
                    let executor = index as u32;
                    return self.event(Event::Paused { executor, sequence, what: "a lock".into() });
                }
                Waiting::Paused => {
                    executor.waiting = Waiting::Resuming;
                    let executor = index as u32;
                    return self.event(Event::Resuming { executor, sequence });
                }
                Waiting::Resuming => return,
                Waiting::NotYet | Waiting::Over => {}
            }
            return self.end_call(index);
        }
        if let Some(call) = executor.queue.pop_front() {
            return self.begin(index, call);
        }
        match executor.socket.pop_front() {
            Some(ToExecutor::Calls(calls)) => executor.queue.extend(calls),
            Some(ToExecutor::Resume) => Claims::new(&executor.word).resume(),
            Some(ToExecutor::Define { function, .. }) => {
                assert!(executor.defined.insert(function), "defined twice");
            }
            Some(ToExecutor::Forget(names)) => {
                let (gone, stay): (Vec<Name>, Vec<Name>) =
                    executor.staying.iter().partition(|name| names.contains(name));
                executor.staying = stay;
                executor.unmapped.extend(gone);
            }
            Some(ToExecutor::Opened { .. }) => {}
            Some(ToExecutor::Shutdown) => panic!("executors are killed"),
            None => self.tell(index),
        }
    }

    fn begin(&mut self, index: usize, call: Call) {
        let executor = &mut self.executors[index];
        if !Claims::new(&executor.word).try_claim(call.sequence) {
            return;
        }
        assert!(executor.defined.contains(&call.function), "not defined");
        for input in &call.inputs {
            let PlacedInput::Mapped { name, path, .. } = input else { continue };
            let tier = if path.starts_with("/memory") { Tier::Memory } else { Tier::Disk };
            let is_kept = path.starts_with("/forever") && self.kept.contains(name);
            let is_there = self.files.contains_key(&(*name, tier)) || is_kept;
            assert!(is_there || path.starts_with("/user"), "{path} is not there");
            executor.mapped.push(*name);
        }
        executor.running = Some(call);
        executor.waiting = Waiting::NotYet;
    }

    fn end_call(&mut self, index: usize) {
        let executor = &mut self.executors[index];
        let Some(call) = executor.running.take() else { return };
        let task = self.tasks.values().find(|task| task.assignment.outputs == call.outputs);
        if task.is_some_and(|task| task.hangs) && !self.is_calm {
            executor.running = Some(call);
            return;
        }
        let result = match self.dice.below(4) {
            0 => Err(TaskFailure::InputLost { name: Name::default() }),
            1 | 2 => Ok(smallvec![Output::Inline(Vec::new().into())]),
            _ => {
                let nbytes = 1 + self.dice.below(400);
                let name = call.outputs[0];
                self.files.insert((name, Tier::Memory), nbytes);
                let form = Form::Value;
                Ok(smallvec![Output::Stored(BlockDesc { name, nbytes, checksum: 0, form })])
            }
        };
        for input in &call.inputs {
            let PlacedInput::Mapped { name, stays, .. } = input else { continue };
            if *stays && !executor.staying.contains(name) {
                executor.staying.push(*name);
            } else {
                executor.unmapped.push(*name);
            }
        }
        let duration_ns = self.dice.below(5000);
        let spent = Spent { start_ns: self.now, duration_ns, ..Spent::default() };
        executor.finished.push(CallResult { sequence: call.sequence, spent, result });
        if self.dice.one_in(3) {
            self.tell(index);
        }
    }

    fn tell(&mut self, index: usize) {
        let executor = &mut self.executors[index];
        if executor.finished.is_empty() && executor.unmapped.is_empty() {
            return;
        }
        let results = std::mem::take(&mut executor.finished);
        // Values may live on after their call.
        let keeps = !self.is_calm && self.dice.one_in(4);
        let unmapped = if keeps { Vec::new() } else { std::mem::take(&mut executor.unmapped) };
        for name in &unmapped {
            forget(&mut executor.mapped, *name);
        }
        let executor = index as u32;
        self.event(Event::Results { executor, results, unmapped, on_disk: Vec::new() });
    }

    pub fn die(&mut self, index: usize, signal: Option<i32>) {
        let executor = &mut self.executors[index];
        if !executor.is_alive {
            return;
        }
        let claimed = Claims::new(&executor.word).claimed();
        // What it wrote and did not tell of is removed with the folder.
        for result in executor.finished.iter().filter_map(|finished| finished.result.as_ref().ok())
        {
            for output in result {
                if let Output::Stored(block) = output {
                    self.files.remove(&(block.name, Tier::Memory));
                }
            }
        }
        *executor = FakeExecutor::dead();
        let executor = index as u32;
        self.event(Event::Died { executor, claimed, signal, status: None });
    }
}

/// Takes a name out once.
pub fn forget(names: &mut Vec<Name>, name: Name) {
    let at = names.iter().position(|other| *other == name).expect("it is among them");
    names.swap_remove(at);
}
