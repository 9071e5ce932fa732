//! What the client of a history may ask for.

use super::client::{Asked, Client, FUNCTIONS};
use super::known::{Known, Origin};
use freestone_base::{FunctionId, Name, Ticket};
use freestone_core::manager::Request;
use freestone_core::wire::{CallOptions, Keep, Payload, TaskFailure};
use freestone_simulate::{Combine, script};
use std::sync::Arc;

impl Client {
    /// Asks for something random.
    pub fn act(&mut self) {
        match self.random.below(100) {
            0..34 => self.submit_new(),
            34..40 => self.submit_again(),
            40..48 => self.reduce(),
            48..53 => self.put(),
            53..57 => self.put_inline(),
            57..63 => self.watch(),
            63..80 => self.release_some(),
            80..86 => self.gather(),
            86..90 => self.unpin_one(),
            90..92 => self.cancel(),
            92..94 => self.retire(),
            94 => match self.random.below(9) {
                0..3 => self.ask(Request::Restart { abandoned: Some(Vec::new()) }),
                3 => self.fulfil(),
                4 => self.fail(),
                _ => self.collect(),
            },
            95 => {
                let large = self.random.chance(0.3);
                self.join(large);
            }
            _ => self.question(),
        }
    }

    fn submit_new(&mut self) {
        let count = self.random.between(1, 8);
        let names: Vec<Name> = (0..count).map(|_| self.plan_call()).collect();
        let submissions = names.iter().filter_map(|name| self.refer(*name)).collect();
        self.ask(Request::Submit(submissions));
    }

    /// Makes up a call, and gives the name of its first output.
    fn plan_call(&mut self) -> Name {
        let function = FunctionId(self.random.below(u64::from(FUNCTIONS)) as u32);
        let script = self.script(Combine::Hash);
        let options = Arc::new(self.options());
        let mut inputs = self.inputs(4);
        if self.random.chance(0.01) {
            inputs.push(Name::of(b"never heard of"));
        }
        let count = if self.random.chance(0.1) { 3 } else { 1 };
        let outputs: Vec<Name> = (0..count).map(|_| self.name()).collect();
        let worker = if self.random.chance(0.06) { self.any_worker() } else { None };
        let known = |name: &Name| self.blocks.get(name).map_or(0, |known| known.value);
        let values: Vec<u64> = inputs.iter().map(known).collect();
        let retries = self.random.below(3) as u32;
        let priority = self.random.below(3) as i32 - 1;
        for (index, name) in outputs.iter().enumerate() {
            let known = Known {
                origin: Origin::Call { function, script, outputs: outputs.clone() },
                inputs: inputs.clone(),
                value: script.value(function, &values, index),
                nbytes: script.nbytes,
                references: 0,
                released: false,
                gathered: false,
                cancelled: false,
                options: options.clone(),
                retries,
                priority,
                pinned: worker,
            };
            self.know(*name, known);
        }
        outputs[0]
    }

    /// The submission that makes a block, with one reference more to each of its outputs.
    fn refer(&mut self, name: Name) -> Option<freestone_core::manager::Submission> {
        let Origin::Call { outputs, .. } = self.blocks[&name].origin.clone() else {
            return None;
        };
        let tickets: Vec<Ticket> = outputs.iter().map(|name| self.promise(*name)).collect();
        self.blocks[&name].submission(tickets)
    }

    /// A ticket for a block, which comes with a reference to it.
    fn promise(&mut self, name: Name) -> Ticket {
        self.blocks.hold(&name);
        self.ticket(Asked::Block(name))
    }

    /// What was asked for before, whatever became of it: also what failed or was released.
    fn submit_again(&mut self) {
        let Some(name) = self.any_block(false) else { return };
        match self.blocks[&name].origin {
            Origin::Call { .. } => {
                let submissions = self.refer(name).into_iter().collect();
                self.ask(Request::Submit(submissions));
            }
            Origin::Reduce { .. } => {
                let ticket = self.promise(name);
                if let Some(request) = self.blocks[&name].reduction(name, ticket) {
                    self.ask(request);
                }
            }
            _ => {}
        }
    }

    fn reduce(&mut self) {
        let mut inputs = self.inputs(24);
        if inputs.is_empty() {
            return;
        }
        if self.random.chance(0.1) {
            inputs.truncate(1);
        }
        inputs.retain(|name| self.blocks.get(name).is_some());
        let commutes = self.random.chance(0.5);
        let combine = if commutes { Combine::Sum } else { Combine::Compose };
        let function = FunctionId(self.random.below(u64::from(FUNCTIONS)) as u32);
        let arity = self.random.between(2, 5) as u32;
        let script = self.script(combine);
        let options = CallOptions { keep: Keep::Task, ..self.options() };
        let value = script.value(function, &self.values(&inputs), 0);
        let known = Known {
            origin: Origin::Reduce { function, script, arity, commutes },
            value: if inputs.len() == 1 { self.blocks[&inputs[0]].value } else { value },
            inputs,
            nbytes: script.nbytes,
            references: 0,
            released: false,
            gathered: false,
            cancelled: false,
            options: Arc::new(options),
            retries: self.random.below(3) as u32,
            priority: self.random.below(3) as i32 - 1,
            pinned: None,
        };
        let name = self.name();
        self.know(name, known);
        let ticket = self.promise(name);
        if let Some(request) = self.blocks[&name].reduction(name, ticket) {
            self.ask(request);
        }
    }

    fn given(&mut self, origin: Origin, nbytes: u64, keep: Keep) -> Name {
        let name = self.name();
        let known = Known {
            origin,
            inputs: Vec::new(),
            value: self.random.bits(),
            nbytes,
            references: 1,
            released: false,
            gathered: false,
            cancelled: false,
            options: Arc::new(CallOptions { keep, ..CallOptions::default() }),
            retries: 0,
            priority: 0,
            pinned: None,
        };
        self.know(name, known);
        name
    }

    fn put(&mut self) {
        let Some(worker) = self.any_worker() else { return };
        let nbytes = self.random.between(2_000, 100_000);
        let keep = if self.random.chance(0.1) { Keep::Session } else { Keep::Task };
        let name = self.given(Origin::Put { worker }, nbytes, keep);
        let ticket = self.ticket(Asked::Block(name));
        let block = script::block(name, nbytes, self.blocks[&name].value);
        let owned = self.random.chance(0.5);
        let path = format!("/put/{name}");
        self.ask(Request::Put { block, path, owned, worker, keep, ticket });
    }

    fn put_inline(&mut self) {
        let name = self.given(Origin::Inline, 8, Keep::Task);
        let bytes = Payload::from(&self.blocks[&name].value.to_le_bytes()[..]);
        self.ask(Request::PutInline { name, bytes });
    }

    /// Puts what a call is to make, as an actor does.
    fn fulfil(&mut self) {
        let name = self.any_call().filter(|name| self.blocks[name].nbytes == 8);
        let Some(name) = name else { return };
        self.blocks.hold(&name);
        let bytes = Payload::from(&self.blocks[&name].value.to_le_bytes()[..]);
        self.ask(Request::PutInline { name, bytes });
    }

    /// Says that a call has failed, as an actor does.
    fn fail(&mut self) {
        let (Some(name), Some(worker)) = (self.any_call(), self.any_worker()) else { return };
        if let Some(known) = self.blocks.get_mut(&name) {
            known.cancelled = true;
        }
        self.ask(Request::Fail { name, worker, failure: TaskFailure::Cancelled });
    }

    /// A call that the client holds and that makes one block.
    fn any_call(&mut self) -> Option<Name> {
        let name = self.any_block(true)?;
        let is_call =
            |origin: &Origin| matches!(origin, Origin::Call { outputs, .. } if outputs.len() == 1);
        is_call(&self.blocks[&name].origin).then_some(name)
    }

    /// A block that the manager does not know gives no reference, and it says so at once.
    fn watch(&mut self) {
        let held = !self.random.chance(0.1);
        let Some(name) = self.any_block(held) else { return };
        let was_free = self.blocks[&name].references == 0;
        let ticket = self.promise(name);
        self.ask(Request::Watch { name, ticket });
        if was_free && self.promises[ticket.0 as usize].resolved {
            self.watch_ended(name);
        }
    }

    /// Whether a watch of a block without references took one can't be seen: it gives it back.
    fn watch_ended(&mut self, name: Name) {
        self.release(&[name]);
    }

    fn release_some(&mut self) {
        let count = self.random.between(1, 6);
        let mut names: Vec<Name> = Vec::new();
        for _ in 0..count {
            names.extend(self.any_block(true));
        }
        self.release(&names);
    }

    /// Gives references back, as far as there are some.
    pub fn release(&mut self, names: &[Name]) {
        let mut given = Vec::new();
        for name in names {
            let Some(left) = self.blocks.release(name) else { continue };
            given.push(*name);
            if left == 0 {
                let of_it = |asked: Asked| match asked {
                    Asked::Block(other) | Asked::Pin(other, _) => other == *name,
                    Asked::Other => false,
                };
                let open = self.promises.iter_mut().filter(|promise| !promise.resolved);
                open.filter(|promise| of_it(promise.asked)).for_each(|open| open.lenient = true);
            }
        }
        self.ask(Request::Release(given));
    }

    fn gather(&mut self) {
        let held = !self.random.chance(0.05);
        let (Some(name), Some(worker)) = (self.any_block(held), self.any_worker()) else {
            return;
        };
        let ticket = self.ticket(Asked::Pin(name, worker));
        for name in [name, self.blocks.resolve(name)] {
            if let Some(known) = self.blocks.get_mut(&name) {
                known.gathered = true;
            }
        }
        self.promises[ticket.0 as usize].lenient = self.blocks[&name].references == 0;
        self.ask(Request::Gather { name, worker, ticket });
    }

    pub fn unpin_one(&mut self) {
        if self.pins.is_empty() {
            return;
        }
        let (name, worker) = self.pins.swap_remove(self.random.index(self.pins.len()));
        self.ask(Request::Unpin { name, worker });
    }

    /// Cancels calls, and with them what is made along with them.
    fn cancel(&mut self) {
        let Some(name) = self.any_block(true) else { return };
        if self.is_put(&name) {
            return;
        }
        if let Some(known) = self.blocks.get_mut(&name) {
            known.cancelled = true;
        }
        self.ask(Request::Cancel(vec![name]));
    }

    fn retire(&mut self) {
        if self.cluster.usable().count() > 1
            && let Some(worker) = self.any_worker()
        {
            self.ask(Request::Retire(vec![worker]));
        }
    }

    /// Some blocks become a collection, one is no more, or all are evened out.
    fn collect(&mut self) {
        let collection = self.random.below(4);
        let request = match self.random.below(3) {
            0 => Request::Disperse { collection },
            1 => Request::Balance,
            _ => {
                let count = self.random.between(1, 4) * 5;
                let blocks = (0..count).filter_map(|_| self.any_block(false)).collect();
                Request::Collect { collection, blocks }
            }
        };
        self.ask(request);
    }

    fn question(&mut self) {
        let Some(name) = self.any_block(false) else { return };
        let ticket = self.ticket(Asked::Other);
        let question = match self.random.below(3) {
            0 => Request::Explain { name, ticket },
            1 => Request::Statistics { ticket },
            _ => {
                self.asked_locations = vec![name];
                Request::WhoHas { names: vec![name], ticket }
            }
        };
        self.ask(question);
    }
}
