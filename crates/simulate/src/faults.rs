//! What goes wrong in a simulated run, and the record of what did: a failure that the manager
//! tells is legitimate only if something was injected that explains it.

use super::random::Random;
use super::script::Script;
use freestone_base::hash::ByName;
use freestone_base::{Name, WorkerId};
use freestone_core::wire::{Assignment, Payload, RaisedException, TaskFailure};
use std::collections::BTreeSet;

/// Probabilities of faults.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Per message to a worker: that some worker is lost.
    pub lose: f64,
    /// Per message to a worker: that some worker falls silent.
    pub silence: f64,
    /// Per message to a worker: that some worker evicts a block.
    pub evict: f64,
    /// Per transfer: that it fails.
    pub fetch: f64,
    /// Per transfer: that the source has just evicted the block.
    pub missing: f64,
    /// Per call: that it raises.
    pub raise: f64,
    /// Per call: that its result can't be encoded.
    pub encoding: f64,
    /// Per call: that its executor dies.
    pub kill: f64,
    /// Per call: that there is no room for its outputs.
    pub full: f64,
    /// Per call: that it takes ten times as long.
    pub slow: f64,
    /// Per worker that is gone: that another one joins.
    pub replace: f64,
    /// Per worker that is lost, and was not told to end: that it was only out of reach, and comes
    /// back with its cache.
    pub reconnect: f64,
    /// Per thing that happens: that the manager's process is killed, and another one goes on. Not to
    /// be raised from 0 later, since nothing is kept for it then.
    pub take_up: f64,
    /// After how many events the journal is compacted.
    pub compact_after: Option<u32>,
}

/// How often each thing was done to the calls that make one block.
#[derive(Clone, Copy, Debug, Default)]
pub struct Blows {
    /// They raised.
    pub raised: u32,
    /// Their results could not be encoded.
    pub encoding: u32,
    /// Their executors died.
    pub killed: u32,
    /// They ran for too long.
    pub timed_out: u32,
    /// There was no room.
    pub full: u32,
    /// A replica of the block was lost.
    pub lost: u32,
    /// A transfer of the block failed.
    pub unfetched: u32,
}

/// What was injected so far.
#[derive(Clone, Debug, Default)]
pub struct Injected {
    /// To whom: by the first output.
    pub(super) blows: ByName<Blows>,
    /// Some worker had not room for everything.
    pub cramped: bool,
    /// The workers that are gone, for whatever reason.
    pub gone: BTreeSet<WorkerId>,
}

impl Injected {
    /// What was done to the calls that make a block.
    pub fn of(&self, name: &Name) -> Blows {
        self.blows.get(name).copied().unwrap_or_default()
    }

    /// Whether room was short anywhere, at least as a worker saw it.
    pub fn was_room_short(&self) -> bool {
        self.cramped || self.blows.values().any(|blows| blows.full > 0)
    }

    /// The record of a block.
    pub fn at(&mut self, name: Name) -> &mut Blows {
        self.blows.entry(name).or_default()
    }
}

/// How a call that begins will end.
#[derive(Debug)]
pub struct Fate {
    /// After how long.
    pub after_ns: u64,
    /// With what, if it does not succeed.
    pub failure: Option<TaskFailure>,
}

impl Faults {
    /// Decides how a call that begins will end.
    pub fn fate(&self, call: &Assignment, random: &mut Random, injected: &mut Injected) -> Fate {
        let script = Script::decode(call.arguments.as_slice()).unwrap_or_default();
        let name = call.outputs.first().copied().unwrap_or_default();
        let slow = if random.chance(self.slow) { 10 } else { 1 };
        let whole_ns = script.duration_ns * slow;
        let failure = self.failure(&script, random, name, injected);
        let after_ns = if failure.is_some() { random.between(0, whole_ns) } else { whole_ns };
        if let Some(timeout_ns) = call.options.timeout_ns.filter(|limit| after_ns > *limit) {
            injected.at(name).timed_out += 1;
            let failure = Some(TaskFailure::TimedOut { timeout_ns });
            return Fate { after_ns: timeout_ns, failure };
        }
        Fate { after_ns, failure }
    }

    fn failure(
        &self,
        script: &Script,
        random: &mut Random,
        name: Name,
        injected: &mut Injected,
    ) -> Option<TaskFailure> {
        if script.raises || random.chance(self.raise) {
            injected.at(name).raised += 1;
            return Some(raised(false));
        }
        if random.chance(self.encoding) {
            injected.at(name).encoding += 1;
            return Some(raised(true));
        }
        if random.chance(self.kill) {
            injected.at(name).killed += 1;
            return Some(TaskFailure::Killed { signal: Some(9), status: None });
        }
        if random.chance(self.full) {
            injected.at(name).full += 1;
            return Some(TaskFailure::StorageFull {
                needed: script.nbytes,
                free: 0,
                folder: "/simulated".to_owned(),
            });
        }
        None
    }
}

fn raised(in_encoding: bool) -> TaskFailure {
    TaskFailure::Raised(Box::new(RaisedException {
        pickled: Payload::default(),
        kind: "SimulatedError".to_owned(),
        message: "as the script says".to_owned(),
        traceback: String::new(),
        in_encoding,
    }))
}
