//! How long the manager takes to say where 100,000 blocks are that 100 workers hold.
//!
//! `cargo run --release -p freestone-core --example locate`
//!
//! Prints milliseconds, one line for each of some questions: what a `split` asks.

use freestone_base::{Name, Resources, Ticket, WorkerId};
use freestone_core::manager::{Action, Config, Event, Manager, Outcome, Request};
use freestone_core::wire::{Address, BlockDesc, Form, FromWorker, PROTOCOL};
use std::time::Instant;

const BLOCKS: u32 = 100_000;
const WORKERS: u32 = 100;
const QUESTIONS: u64 = 15;

fn name(block: u32) -> Name {
    Name::of(&block.to_le_bytes())
}

fn hello(worker: u32) -> FromWorker {
    let held = (worker..BLOCKS).step_by(WORKERS as usize);
    let blocks = held.map(|block| BlockDesc {
        name: name(block),
        nbytes: 1 << 16,
        checksum: 0,
        form: Form::Value,
    });
    FromWorker::Hello {
        protocol: PROTOCOL,
        key: String::new(),
        former: None,
        boot: String::new(),
        now_ns: 0,
        resources: Resources { cores: 8, ..Resources::default() },
        slots: 8,
        address: Address::Unix(String::new()),
        pid: worker,
        host: String::new(),
        folder: String::new(),
        blocks: blocks.collect(),
    }
}

fn main() {
    let mut manager = Manager::new(Config::default());
    let mut actions = Vec::new();
    for worker in 0..WORKERS {
        manager.handle(Event::Connected(WorkerId(worker)), 1, &mut actions);
        manager.handle(Event::Worker(WorkerId(worker), hello(worker)), 1, &mut actions);
    }
    let names: Vec<Name> = (0..BLOCKS).map(name).collect();
    for ticket in 0..QUESTIONS {
        actions.clear();
        let request = Request::WhoHas { names: names.clone(), ticket: Ticket(ticket) };
        let start = Instant::now();
        manager.handle(Event::Client(request), 2, &mut actions);
        let took = start.elapsed();
        let located = actions.iter().any(|action| match action {
            Action::Resolve(_, Outcome::Locations(found)) => {
                found.len() == BLOCKS as usize && found.iter().all(|workers| workers.len() == 1)
            }
            _ => false,
        });
        assert!(located, "every block is at one worker");
        println!("{:.3}", took.as_secs_f64() * 1e3);
    }
}
