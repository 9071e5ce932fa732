//! What the client of a history knows of the blocks that it named, and which failures of theirs
//! are legitimate.

use super::blocks::{Ancestry, Blocks};
use freestone_base::{Custom, FunctionId, Name, Resources, Tenant, WorkerId};
use freestone_core::manager::{Failure, Reduction, Request, Submission, Why};
use freestone_core::wire::{CallOptions, Keep, TaskFailure};
use freestone_simulate::{Cluster, Injected, Script};
use std::sync::Arc;

/// Where a block comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    Call { function: FunctionId, script: Script, outputs: Vec<Name> },
    Reduce { function: FunctionId, script: Script, arity: u32, commutes: bool },
    Put { worker: WorkerId },
    Inline,
}

/// A block that the client named.
#[derive(Clone, Debug)]
pub struct Known {
    pub origin: Origin,
    pub inputs: Vec<Name>,
    pub value: u64,
    pub nbytes: u64,
    pub references: u32,
    /// The client held no reference at some time, so the manager may have forgotten it.
    pub released: bool,
    /// It may be there only because the client maps it, which keeps no lineage.
    pub gathered: bool,
    pub cancelled: bool,
    pub options: Arc<CallOptions>,
    pub retries: u32,
    pub priority: i32,
    pub pinned: Option<WorkerId>,
}

impl Known {
    pub fn is_kept(&self) -> bool {
        self.options.keep > Keep::Task
    }

    fn tenant(&self) -> Option<Tenant> {
        (!self.value.is_multiple_of(4)).then_some(Tenant((self.value % 4) as u32))
    }

    pub fn submission(&self, tickets: Vec<freestone_base::Ticket>) -> Option<Submission> {
        let Origin::Call { function, script, outputs } = &self.origin else { return None };
        Some(Submission {
            outputs: outputs.iter().copied().collect(),
            function: *function,
            arguments: script.encode(),
            inputs: self.inputs.iter().copied().collect(),
            options: self.options.clone(),
            retries: self.retries,
            priority: self.priority,
            tenant: self.tenant(),
            worker: self.pinned,
            near: None,
            tickets: tickets.into_iter().collect(),
        })
    }

    pub fn reduction(&self, output: Name, ticket: freestone_base::Ticket) -> Option<Request> {
        let Origin::Reduce { function, script, arity, commutes } = &self.origin else {
            return None;
        };
        Some(Request::Reduce(Reduction {
            output,
            function: *function,
            arguments: (2..=*arity).map(|_| script.encode()).collect(),
            inputs: self.inputs.clone(),
            arity: *arity,
            commutes: *commutes,
            options: self.options.clone(),
            retries: self.retries,
            priority: self.priority,
            tenant: self.tenant(),
            ticket,
        }))
    }
}

/// What the smallest worker of a history has.
pub const SMALL: Resources =
    Resources { cores: 2, gpus: 0, memory: 8, disk: 0, custom: Custom::new() };

/// What the largest has.
pub fn large() -> Resources {
    Resources { cores: 4, gpus: 1, memory: 32, disk: 0, custom: licences(2) }
}

/// So many of a resource that only some workers have.
pub fn licences(amount: u32) -> Custom {
    [("licence", amount)].into_iter().collect()
}

impl Blocks {
    /// Why a failure is not legitimate, or nothing.
    pub fn complaint(&self, name: Name, failure: &Failure, cluster: &Cluster) -> Option<String> {
        let injected = &cluster.injected;
        let ancestry = self.ancestry(name);
        let known = &ancestry.known;
        let reduces = |known: &&Known| matches!(known.origin, Origin::Reduce { .. });
        let intermediate = self.get(&failure.name).is_none() && known.iter().any(reduces);
        // A failed block may be named by the reduction of it alone.
        if !ancestry.contains(&self.resolve(failure.name)) && !intermediate {
            return Some(format!("{} is no input of it", failure.name));
        }
        let legitimate = match &failure.why {
            Why::Attempt(attempt) => self.is_attempt(known, failure.name, attempt, injected),
            // An executor that died has a signal; a worker that died has none.
            Why::Killed { kills, last: TaskFailure::Killed { signal: None, status: None } } => {
                *kills >= 8 && injected.gone.len() as u32 >= *kills
            }
            Why::Killed { kills, .. } => *kills >= 3 && injected.of(&failure.name).killed >= *kills,
            Why::Unschedulable { .. } => {
                known.iter().any(|known| !known.options.resources.fit(&SMALL))
            }
            Why::WorkerAbsent { worker, gone_ns, .. } => {
                gone_ns.is_some()
                    && injected.gone.contains(worker)
                    && known.iter().any(|known| known.pinned == Some(*worker))
            }
            Why::UnknownInput(input) => self.get(input).is_none_or(|known| known.released),
            Why::InputLost(input) => {
                (ancestry.contains(input) || intermediate)
                    && self.may_be_lost(*input, &ancestry, cluster)
            }
            Why::Cancelled => known.iter().any(|known| known.cancelled),
            Why::Interrupted | Why::Closed | Why::TooManyCalls { .. } => false,
        };
        (!legitimate).then(|| format!("{:?} of {}", failure.why, failure.name))
    }

    fn is_attempt(
        &self,
        known: &[&Known],
        name: Name,
        attempt: &TaskFailure,
        injected: &Injected,
    ) -> bool {
        let blows = injected.of(&name);
        let own = self.get(&name).map(|known| known.retries);
        let reduces = |known: &&&Known| matches!(known.origin, Origin::Reduce { .. });
        let least = known.iter().filter(reduces).map(|known| known.retries).min();
        let retries = own.or(least).unwrap_or(0);
        match attempt {
            TaskFailure::Raised(raised) if raised.in_encoding => blows.encoding > 0,
            TaskFailure::Raised(_) | TaskFailure::TimedOut { .. } => {
                blows.raised + blows.timed_out > retries
            }
            TaskFailure::StorageFull { .. } => blows.full > 0 || injected.cramped,
            TaskFailure::Killed { .. } => blows.killed >= 3,
            // The client has said that it has failed.
            TaskFailure::Cancelled => self.get(&name).is_some_and(|known| known.cancelled),
            _ => false,
        }
    }

    /// A block without lineage whose replicas may all be gone, or can't be fetched.
    fn may_be_lost(&self, name: Name, ancestry: &Ancestry, cluster: &Cluster) -> bool {
        let injected = &cluster.injected;
        let blows = injected.of(&name);
        let lost = blows.lost + blows.unfetched / 3;
        let Some(known) = self.get(&name) else { return lost > 20 };
        match known.origin {
            // One that was let go of may still be needed to make something lost again, and stays unless
            // room is short.
            Origin::Put { worker } => {
                lost > 0
                    || (known.released && injected.was_room_short())
                    || injected.gone.contains(&worker)
            }
            Origin::Inline => false,
            _ => {
                // What was let go of may be needed to make something lost again. A worker that is
                // let go takes along what nobody else has.
                let mut names = ancestry.names();
                let is_lost =
                    names.any(|name| injected.of(name).lost > 0 || cluster.is_gone_with(name));
                let is_retained = known.released && (known.is_kept() || known.gathered);
                let is_final =
                    is_retained || known.pinned.is_some_and(|id| injected.gone.contains(&id));
                lost > 20 || (is_final && is_lost)
            }
        }
    }
}
