//! The client of a history: it asks for random things and checks every answer.

use super::blocks::Blocks;
use super::known::{Known, Origin, SMALL, large, licences};
use freestone_base::{FunctionId, Name, Resources, Ticket, WorkerId};
use freestone_core::manager::{Explanation, Outcome, Request, Statistics};
use freestone_core::wire::{CallOptions, Keep, Payload};
use freestone_simulate::{Cluster, Combine, Options, Random, Script, script};
use std::collections::BTreeMap;

pub const FUNCTIONS: u32 = 4;

/// What a ticket was given for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Asked {
    Block(Name),
    Pin(Name, WorkerId),
    Other,
}

#[derive(Debug)]
pub struct Promise {
    pub asked: Asked,
    pub resolved: bool,
    /// The client let go of the block meanwhile, so the manager may forget it.
    pub lenient: bool,
}

/// A client, and the cluster that it talks to.
pub struct Client {
    pub cluster: Cluster,
    pub random: Random,
    pub blocks: Blocks,
    pub promises: Vec<Promise>,
    pub pins: Vec<(Name, WorkerId)>,
    pub statistics: Option<Statistics>,
    pub explanation: Option<Explanation>,
    pub locations: BTreeMap<Name, Vec<WorkerId>>,
    pub asked_locations: Vec<Name>,
    serial: u64,
}

impl Client {
    pub fn new(options: Options) -> Self {
        let random = Random::new(options.seed ^ 0x00c1_1e27);
        let mut client = Self {
            cluster: Cluster::new(options),
            random,
            blocks: Blocks::default(),
            promises: Vec::new(),
            pins: Vec::new(),
            statistics: None,
            explanation: None,
            locations: BTreeMap::new(),
            asked_locations: Vec::new(),
            serial: 0,
        };
        for function in 0..FUNCTIONS {
            client.ask(Request::Define {
                function: FunctionId(function),
                label: format!("f{function}"),
                definition: Payload::from(vec![function as u8]),
            });
        }
        client
    }

    /// Asks, and looks at what was resolved at once.
    pub fn ask(&mut self, request: Request) {
        self.cluster.ask(request);
        self.look();
    }

    pub fn ticket(&mut self, asked: Asked) -> Ticket {
        self.promises.push(Promise { asked, resolved: false, lenient: false });
        Ticket(self.promises.len() as u64 - 1)
    }

    pub fn name(&mut self) -> Name {
        self.serial += 1;
        Name::of(&self.serial.to_le_bytes())
    }

    /// Checks what was resolved since the last look.
    pub fn look(&mut self) {
        for (ticket, outcome) in std::mem::take(&mut self.cluster.resolved) {
            let Some(promise) = self.promises.get_mut(ticket.0 as usize) else {
                self.cluster.violation(format!("{ticket} was never given"));
                continue;
            };
            let asked = promise.asked;
            if std::mem::replace(&mut promise.resolved, true) {
                self.cluster.violation(format!("{ticket} ({asked:?}) resolved twice"));
            }
            match asked {
                Asked::Block(name) => self.on_block(name, ticket, &outcome),
                Asked::Pin(name, worker) => self.on_pin(name, worker, ticket, &outcome),
                Asked::Other => self.on_other(outcome),
            }
        }
    }

    fn on_block(&mut self, name: Name, ticket: Ticket, outcome: &Outcome) {
        match outcome {
            Outcome::Ready(output) => {
                let value = self.blocks.get(&name).map(|known| known.value);
                if value != Some(script::output_value(output)) {
                    self.cluster.violation(format!("{name} has a wrong value: {output:?}"));
                }
            }
            Outcome::Failed(failure) => {
                if self.promises[ticket.0 as usize].lenient {
                    return;
                }
                let complaint = self.blocks.complaint(name, failure, &self.cluster);
                if let Some(complaint) = complaint {
                    self.cluster.violation(format!("{name} failed without reason: {complaint}"));
                }
            }
            other => self.cluster.violation(format!("{name} resolved with {other:?}")),
        }
    }

    fn on_pin(&mut self, asked: Name, worker: WorkerId, ticket: Ticket, outcome: &Outcome) {
        match outcome {
            Outcome::Pinned { block, .. } => {
                let name = self.blocks.resolve(asked);
                let value = self.blocks.get(&name).map(|known| known.value);
                if block.name != name || value != Some(block.checksum) {
                    self.cluster.violation(format!("{name} pinned as {block:?}"));
                }
                let there = self.cluster.workers().find(|other| other.id == worker);
                let held = there.and_then(|worker| worker.block(&name));
                if there.is_some() && held.is_none_or(|held| held.pins == 0) {
                    self.cluster.violation(format!("{name} is not pinned on {worker}"));
                }
                self.pins.push((asked, worker));
            }
            Outcome::Failed(_) if self.cluster.injected.gone.contains(&worker) => {}
            other => self.on_block(asked, ticket, other),
        }
    }

    fn on_other(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Statistics(statistics) => self.statistics = Some(*statistics),
            Outcome::Locations(places) => {
                self.locations = self.asked_locations.drain(..).zip(places).collect();
            }
            Outcome::Explained(why) => self.explanation = Some(*why),
            other => self.cluster.violation(format!("a question resolved with {other:?}")),
        }
    }

    /// A block that the client holds a reference to, the latest more likely; or any block.
    pub fn any_block(&mut self, held: bool) -> Option<Name> {
        let count = self.blocks.count(held);
        if count == 0 {
            return None;
        }
        let recent = count.saturating_sub(8);
        let from = if self.random.chance(0.6) { recent } else { 0 };
        Some(self.blocks.at(from + self.random.index(count - from), held))
    }

    pub fn inputs(&mut self, most: usize) -> Vec<Name> {
        let count = self.random.index(most + 1);
        let held = !self.random.chance(0.02);
        (0..count).filter_map(|_| self.any_block(held)).collect()
    }

    pub fn any_worker(&mut self) -> Option<WorkerId> {
        let workers: Vec<WorkerId> = self.cluster.usable().map(|worker| worker.id).collect();
        (!workers.is_empty()).then(|| *self.random.pick(&workers))
    }

    pub fn nbytes(&mut self) -> u64 {
        if self.random.chance(0.4) { 8 } else { self.random.between(2_000, 100_000) }
    }

    pub fn script(&mut self, combine: Combine) -> Script {
        Script {
            combine,
            raises: combine == Combine::Hash && self.random.chance(0.02),
            duration_ns: self.random.between(1_000_000, 1_000_000_000),
            nbytes: self.nbytes(),
            salt: self.random.bits(),
        }
    }

    pub fn options(&mut self) -> CallOptions {
        let resources = match self.random.below(20) {
            0 => Resources { cores: 4, ..Resources::ONE_CORE },
            1 => Resources { gpus: 1, ..Resources::ONE_CORE },
            2 => Resources { cores: 9, ..Resources::ONE_CORE },
            3..6 => Resources { cores: 2, memory: 3, ..Resources::ONE_CORE },
            6 => Resources { cores: 0, memory: 1, ..Resources::ONE_CORE },
            7 => Resources { custom: licences(1), ..Resources::ONE_CORE },
            8 => Resources { custom: licences(2), ..Resources::ONE_CORE },
            _ => Resources::ONE_CORE,
        };
        let keep = match self.random.below(20) {
            0 => Keep::Session,
            1 => Keep::Worker,
            2 => Keep::Forever,
            _ => Keep::Task,
        };
        let timeout_ns = self.random.chance(0.03).then_some(500_000_000);
        let replicas = if self.random.chance(0.2) { self.random.between(2, 3) as u32 } else { 1 };
        let twice = self.random.chance(0.7);
        CallOptions { resources, keep, timeout_ns, replicas, twice, ..CallOptions::default() }
    }

    pub fn know(&mut self, name: Name, known: Known) {
        self.blocks.insert(name, known);
    }

    pub fn values(&self, names: &[Name]) -> Vec<u64> {
        names.iter().map(|name| self.blocks[name].value).collect()
    }

    /// A worker joins.
    pub fn join(&mut self, is_large: bool) {
        let resources = if is_large { large() } else { SMALL };
        let slots = resources.cores;
        self.cluster.join(resources, slots, Vec::new());
    }

    pub fn is_put(&self, name: &Name) -> bool {
        matches!(self.blocks[name].origin, Origin::Put { .. } | Origin::Inline)
    }
}

/// A panic of the manager shows what led to it.
impl Drop for Client {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for line in &self.cluster.log {
                eprintln!("{line}");
            }
        }
    }
}
