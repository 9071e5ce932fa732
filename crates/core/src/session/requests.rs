//! A client's requests, with the manager's numbers in place of its own.

use super::ids::Counters;
use super::{ClientId, Pending, SERIAL_BITS, Session, ticket_of};
use crate::manager::{
    Failure, LockRequest, Outcome, QueueRequest, Reduction, Request, SharedRequest, Submission,
    VariableRequest, Why,
};
use freestone_base::{FunctionId, Name, Tenant, Ticket, WorkerId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What no client in order says; its connection ends.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Violation {
    /// A function that it has not defined, or defines out of order.
    #[error("{0} is not one that this client can name now")]
    Function(FunctionId),
    /// A collection that it has not, or has already.
    #[error("collection {0} is not one that this client can name now")]
    Collection(u64),
    /// An entry of shared state that it has already.
    #[error("entry {0} of shared state is not one that this client can begin now")]
    Hold(u64),
    /// A call without outputs, or with another number of tickets.
    #[error("a call has {outputs} outputs and {tickets} tickets")]
    Outputs {
        /// The outputs.
        outputs: usize,
        /// The tickets.
        tickets: usize,
    },
    /// A reduction that combines nothing, or fewer than two at a time.
    #[error("a reduction of {inputs} blocks, {arity} at a time, is none")]
    Reduction {
        /// The blocks.
        inputs: usize,
        /// How many at a time.
        arity: u32,
    },
    /// What only the program that serves the cluster may ask.
    #[error("only the process that serves the cluster may ask this")]
    Forbidden,
}

impl Session {
    /// A ticket of the manager's in place of the client's.
    fn wait_for(&mut self, client: ClientId, pending: Pending) -> Ticket {
        let serial = self.serial;
        self.serial = (serial + 1) & ((1 << SERIAL_BITS) - 1);
        self.pending.insert(serial, pending);
        ticket_of(client, serial)
    }

    fn hold(&mut self, name: Name) {
        self.held.entry(name).or_default().live += 1;
    }

    /// Those of the references that it has and that count.
    pub(super) fn release(&mut self, mut names: Vec<Name>) -> Vec<Name> {
        names.retain(|name| {
            let Some(held) = self.held.get_mut(name) else { return false };
            let counts = held.renounced == 0;
            if counts {
                held.live -= 1;
            } else {
                held.renounced -= 1;
            }
            if held.live + held.renounced == 0 {
                self.held.remove(name);
            }
            counts
        });
        names
    }

    pub(super) fn unpin(&mut self, name: Name, worker: WorkerId) -> Option<Request> {
        let count = self.pins.get_mut(&(name, worker))?;
        *count -= 1;
        if *count == 0 {
            self.pins.remove(&(name, worker));
        }
        Some(Request::Unpin { name, worker })
    }

    /// What it had made and is not there yet, also what it does not hold any more.
    pub(super) fn unsettled(&self) -> Vec<Name> {
        let made = self.pending.values().filter(|pending| pending.is_made);
        made.filter_map(|pending| pending.name).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// What it has had made with a tag and is not there yet, once for each time that it waits for it.
    pub(super) fn tagged(&self, tag: &str) -> Vec<Name> {
        let tagged = self.pending.values().filter(|pending| pending.tag.as_deref() == Some(tag));
        let mut names: Vec<Name> = tagged.filter_map(|pending| pending.name).collect();
        // Their order is that of a hash map, and another process is to come to the same state.
        names.sort_unstable();
        names
    }

    /// Those of the blocks that are its own, and how many references it holds to each.
    pub(super) fn holdings(&self, names: Vec<Name>) -> Vec<(Name, u32)> {
        let unsettled: BTreeSet<Name> = self.unsettled().into_iter().collect();
        let own = names
            .into_iter()
            .filter(|name| unsettled.contains(name) || self.held.contains_key(name));
        own.map(|name| (name, self.held.get(&name).map_or(0, |held| held.live))).collect()
    }

    /// Cancelled for this client, though others need them: it waits for them no longer, and its
    /// references, which are returned, are not to keep them. What the manager has cancelled for
    /// everybody is no longer among what it waits for.
    pub(super) fn stop_waiting(
        &mut self,
        names: &BTreeSet<Name>,
    ) -> (Vec<(Ticket, Outcome)>, Vec<Name>) {
        let (mut stopped, mut needed) = (Vec::new(), BTreeSet::new());
        self.pending.retain(|_, pending| {
            let name = pending.name.filter(|name| pending.is_made && names.contains(name));
            let Some(name) = name else { return true };
            let failure = Failure::before(String::new(), name, Why::Cancelled);
            stopped.push((pending.ticket, Outcome::Failed(Arc::new(failure))));
            needed.insert(name);
            false
        });
        stopped.sort_unstable_by_key(|(ticket, _)| *ticket);
        let mut renounced = Vec::new();
        for name in needed {
            let Some(held) = self.held.get_mut(&name) else { continue };
            renounced.extend(std::iter::repeat_n(name, held.live as usize));
            held.renounced += std::mem::take(&mut held.live);
        }
        (stopped, renounced)
    }

    pub(super) fn translated(
        &mut self,
        client: ClientId,
        request: Request,
        shared: &mut Counters,
    ) -> Result<Request, Violation> {
        Ok(match request {
            Request::Submit(calls) => {
                let calls = calls.into_iter().map(|call| self.submission(client, call, shared));
                Request::Submit(calls.collect::<Result<_, _>>()?)
            }
            Request::Reduce(reduction) => {
                Request::Reduce(self.reduction(client, reduction, shared)?)
            }
            Request::PutInline { name, bytes } => {
                self.hold(name);
                Request::PutInline { name, bytes }
            }
            Request::Put { block, path, owned, worker, keep, ticket } => {
                let ticket = self.wait_for(client, Pending::of(ticket, block.name));
                self.hold(block.name);
                Request::Put { block, path, owned, worker, keep, ticket }
            }
            Request::Watch { name, ticket } => {
                let ticket = self.wait_for(client, Pending::of(ticket, name));
                self.hold(name);
                Request::Watch { name, ticket }
            }
            Request::Gather { name, worker, ticket } => {
                let pending = Pending { worker: Some(worker), ..Pending::of(ticket, name) };
                let ticket = self.wait_for(client, pending);
                Request::Gather { name, worker, ticket }
            }
            Request::Collect { collection, blocks } => {
                Request::Collect { collection: self.ids.collect(collection, shared)?, blocks }
            }
            Request::Disperse { collection } => {
                Request::Disperse { collection: self.ids.disperse(collection)? }
            }
            Request::Detach(names) => Request::Detach(names),
            Request::CancelForAll(names) => Request::CancelForAll(names),
            Request::Fail { name, worker, failure } => Request::Fail { name, worker, failure },
            Request::WhoHas { names, ticket } => {
                Request::WhoHas { names, ticket: self.wait_for(client, Pending::asked(ticket)) }
            }
            Request::Explain { name, ticket } => {
                Request::Explain { name, ticket: self.wait_for(client, Pending::asked(ticket)) }
            }
            Request::Statistics { ticket } => {
                Request::Statistics { ticket: self.wait_for(client, Pending::asked(ticket)) }
            }
            Request::Overview { query, ticket } => {
                Request::Overview { query, ticket: self.wait_for(client, Pending::asked(ticket)) }
            }
            Request::Publish { publication, replace, ticket } => {
                let ticket = self.wait_for(client, Pending::asked(ticket));
                Request::Publish { publication, replace, ticket }
            }
            Request::Unpublish { title, ticket } => {
                Request::Unpublish { title, ticket: self.wait_for(client, Pending::asked(ticket)) }
            }
            Request::Publications { ticket } => {
                Request::Publications { ticket: self.wait_for(client, Pending::asked(ticket)) }
            }
            Request::Shared(request) => Request::Shared(self.shared(client, request, shared)?),
            Request::Define { .. }
            | Request::Cancel(_)
            | Request::CancelTagged { .. }
            | Request::Release(_)
            | Request::Unpin { .. }
            | Request::Abandon(_)
            | Request::Restart { .. }
            | Request::Retire(_)
            | Request::Balance
            | Request::Observe(_)
            | Request::Shutdown => return Err(Violation::Forbidden),
        })
    }

    fn shared(
        &mut self,
        client: ClientId,
        mut request: SharedRequest,
        shared: &mut Counters,
    ) -> Result<SharedRequest, Violation> {
        // One that has ended is not known to the manager either.
        const ENDED: u64 = u64::MAX;
        if let Some(worker) = request.worker() {
            self.worker = Some(worker);
        }
        match &mut request {
            SharedRequest::Lock(LockRequest::Enter { hold, ticket, .. }) => {
                *hold = self.ids.enter(*hold, shared)?;
                *ticket = self.wait_for(client, Pending::asked(*ticket));
            }
            SharedRequest::Queue(
                QueueRequest::Open { by, .. }
                | QueueRequest::Put { by, .. }
                | QueueRequest::Take { by, .. },
            )
            | SharedRequest::Variable(VariableRequest::Get { by, .. }) => {
                by.hold = self.ids.enter(by.hold, shared)?;
                by.owner = u64::from(client) + 1;
                by.ticket = self.wait_for(client, Pending::asked(by.ticket));
            }
            SharedRequest::Lock(LockRequest::Await { hold, ticket }) => {
                *hold = self.ids.holds.get(hold).copied().unwrap_or(ENDED);
                *ticket = self.wait_for(client, Pending::asked(*ticket));
            }
            SharedRequest::Withdraw { hold } => {
                *hold = self.ids.holds.get(hold).copied().unwrap_or(ENDED);
            }
            SharedRequest::Leave { hold } => {
                *hold = self.ids.holds.remove(hold).unwrap_or(ENDED);
            }
            SharedRequest::Finish { hold, ticket } => {
                *hold = self.ids.holds.remove(hold).unwrap_or(ENDED);
                *ticket = self.wait_for(client, Pending::asked(*ticket));
            }
            SharedRequest::Queue(
                QueueRequest::Close { ticket, .. }
                | QueueRequest::Delete { ticket, .. }
                | QueueRequest::Count { ticket, .. },
            )
            | SharedRequest::Variable(
                VariableRequest::Set { ticket, .. } | VariableRequest::Delete { ticket, .. },
            ) => *ticket = self.wait_for(client, Pending::asked(*ticket)),
        }
        Ok(request)
    }

    fn submission(
        &mut self,
        client: ClientId,
        mut call: Submission,
        shared: &mut Counters,
    ) -> Result<Submission, Violation> {
        let (outputs, tickets) = (call.outputs.len(), call.tickets.len());
        if outputs == 0 || outputs != tickets {
            return Err(Violation::Outputs { outputs, tickets });
        }
        call.function = self.ids.function(call.function)?;
        let tag = call.options.tag.clone();
        call.options = self.ids.options(call.options, shared);
        call.tenant.get_or_insert(tenant_of(client));
        for (name, ticket) in call.outputs.iter().zip(&mut call.tickets) {
            self.hold(*name);
            let pending = Pending { tag: tag.clone(), ..Pending::made(*ticket, *name) };
            *ticket = self.wait_for(client, pending);
        }
        Ok(call)
    }

    fn reduction(
        &mut self,
        client: ClientId,
        mut reduction: Reduction,
        shared: &mut Counters,
    ) -> Result<Reduction, Violation> {
        let (inputs, arity) = (reduction.inputs.len(), reduction.arity);
        if inputs == 0 || arity < 2 || reduction.arguments.len() + 1 < arity as usize {
            return Err(Violation::Reduction { inputs, arity });
        }
        reduction.function = self.ids.function(reduction.function)?;
        let tag = reduction.options.tag.clone();
        reduction.options = self.ids.options(reduction.options, shared);
        reduction.tenant.get_or_insert(tenant_of(client));
        self.hold(reduction.output);
        let pending = Pending { tag, ..Pending::made(reduction.ticket, reduction.output) };
        reduction.ticket = self.wait_for(client, pending);
        Ok(reduction)
    }
}

/// Whose the calls of a client are.
fn tenant_of(client: ClientId) -> Tenant {
    Tenant(client + 1)
}
