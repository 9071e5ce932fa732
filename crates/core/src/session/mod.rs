//! Clients in other processes: what each asks of the manager, and what is its own.
//!
//! See the `README.md` in this folder for the messages and what holds for a session.

mod ids;
pub mod messages;
mod requests;
mod resume;

pub use messages::{FromClient, HomeCache, ToClient};
pub use requests::Violation;
pub use resume::{Resumable, Unsent};

use crate::manager::{Failure, Outcome, Request, SharedRequest, Submission, Why};
use freestone_base::{FunctionId, Name, Ticket, WorkerId};
use ids::Ids;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A client, numbered in the order of connecting.
pub type ClientId = u32;

/// Bits of a ticket that count what one client waits for; those above are the client's number.
const SERIAL_BITS: u32 = 38;

/// What a client waits for.
#[derive(Serialize, Deserialize)]
struct Pending {
    /// The ticket that it chose.
    ticket: Ticket,
    /// The block, if it is about one.
    name: Option<Name>,
    /// Where the block is to be pinned, if it is.
    worker: Option<WorkerId>,
    /// Whether the client has had the block made.
    is_made: bool,
    /// With which the client has submitted it.
    tag: Option<Arc<str>>,
}

impl Pending {
    fn asked(ticket: Ticket) -> Self {
        Self { ticket, name: None, worker: None, is_made: false, tag: None }
    }

    fn of(ticket: Ticket, name: Name) -> Self {
        Self { name: Some(name), ..Self::asked(ticket) }
    }

    fn made(ticket: Ticket, name: Name) -> Self {
        Self { is_made: true, ..Self::of(ticket, name) }
    }
}

/// References to a block.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Held {
    /// Those that count at the manager.
    live: u32,
    /// Those that the client has still to release, though they count no longer: it has cancelled
    /// the call, and others need it.
    renounced: u32,
}

/// What a manager keeps of one client.
#[derive(Default, Serialize, Deserialize)]
struct Session {
    ids: Ids,
    held: HashMap<Name, Held>,
    pending: HashMap<u64, Pending>,
    serial: u64,
    /// Blocks that it maps, and at which worker.
    pins: BTreeMap<(Name, WorkerId), u32>,
    /// The worker of the task whose client this is, if it has said so.
    worker: Option<WorkerId>,
}

/// The sessions of a manager, by client.
///
/// It does nothing by itself: a shell gives it the requests of clients and the manager's outcomes,
/// and passes on what it returns.
#[derive(Default, Serialize, Deserialize)]
pub struct Sessions {
    by_client: BTreeMap<ClientId, Session>,
    opened: ClientId,
    /// Functions that clients defined: the same one has one number.
    functions: HashMap<Name, FunctionId>,
    shared: ids::Counters,
    /// Blocks that will be pinned for clients that are gone.
    orphans: HashMap<Ticket, (Name, WorkerId)>,
    /// What clients that are gone had made and others need, by the tickets that will end it: when
    /// those others go, it is nobody's.
    left_behind: BTreeMap<Ticket, Name>,
    /// What clients have cancelled since it was last asked for.
    cancelled: Vec<(ClientId, BTreeSet<Name>)>,
    /// How calls end that clients may not submit, since it was last asked for.
    refused: Stopped,
    /// How much a client may wait for, if that is bounded.
    max_pending: Option<usize>,
}

/// What a manager does for a client, as far as its requests depend on it.
pub trait Graph {
    /// [`Manager::dependents`](crate::manager::Manager::dependents).
    fn dependents(&self, names: &[Name]) -> Vec<Name>;
    /// A number that no function has.
    fn next_function(&mut self) -> FunctionId;
}

/// An outcome, and what becomes of it.
#[derive(Debug, PartialEq)]
pub enum Answer {
    /// A client waits for it under a ticket that it chose.
    For(ClientId, Ticket),
    /// The client is gone, and this is to be asked of the manager.
    Undo(Name, WorkerId),
    /// Nobody waits for it.
    Nobody,
}

impl Sessions {
    /// None yet; each may wait for so much before calls that it submits are refused.
    pub fn new(max_pending: u64) -> Self {
        Self { max_pending: usize::try_from(max_pending).ok(), ..Self::default() }
    }

    /// Each may wait for so much from now on.
    pub fn limit(&mut self, max_pending: u64) {
        self.max_pending = usize::try_from(max_pending).ok();
    }

    /// How many clients there are.
    pub fn len(&self) -> usize {
        self.by_client.len()
    }

    /// The clients, by number.
    pub fn clients(&self) -> Vec<ClientId> {
        self.by_client.keys().copied().collect()
    }

    /// The clients of tasks that run at a worker and share state with others. If the worker is lost,
    /// its tasks begin again elsewhere, and what is left of them may change nothing any more.
    pub fn of_tasks_at(&self, worker: WorkerId) -> Vec<ClientId> {
        let there = self.by_client.iter().filter(|(_, session)| session.worker == Some(worker));
        there.map(|(client, _)| *client).collect()
    }

    /// Whether there is no client.
    pub fn is_empty(&self) -> bool {
        self.by_client.is_empty()
    }

    /// A client has shown that it may use the cluster.
    pub fn open(&mut self) -> ClientId {
        let client = self.opened;
        self.opened = (self.opened + 1) & (Ticket::FREE >> SERIAL_BITS) as ClientId;
        self.by_client.insert(client, Session::default());
        client
    }

    /// A client is gone: what it alone needs is cancelled, and all that it held is released.
    pub fn close(&mut self, client: ClientId, graph: &impl Graph) -> Vec<Request> {
        let Some(session) = self.by_client.remove(&client) else { return Vec::new() };
        let mut requests = Vec::new();
        let names = session.unsettled();
        if !names.is_empty() {
            let abandoned = session.holdings(graph.dependents(&names));
            requests.push(Request::Abandon(self.with_left_behind(abandoned)));
        }
        for ((name, worker), count) in &session.pins {
            let unpin = || Request::Unpin { name: *name, worker: *worker };
            requests.extend(std::iter::repeat_with(unpin).take(*count as usize));
        }
        for (serial, pending) in &session.pending {
            let ticket = ticket_of(client, *serial);
            if let (Some(name), Some(worker)) = (pending.name, pending.worker) {
                self.orphans.insert(ticket, (name, worker));
            } else if let (Some(name), true) = (pending.name, pending.is_made) {
                self.left_behind.insert(ticket, name);
            }
        }
        let holds = session.ids.holds.values().rev();
        requests.extend(holds.map(|hold| SharedRequest::Leave { hold: *hold }.into()));
        let collections = session.ids.collections.values();
        requests.extend(collections.map(|number| Request::Disperse { collection: *number }));
        let mut held: Vec<(Name, u32)> =
            session.held.into_iter().map(|(name, held)| (name, held.live)).collect();
        held.sort_unstable();
        let times = |(name, count)| std::iter::repeat_n(name, count as usize);
        requests.push(Request::Release(held.into_iter().flat_map(times).collect()));
        requests
    }

    /// A client's request, as the manager gets it; none if there is nothing to ask.
    ///
    /// # Errors
    /// When no client in order says this.
    pub fn on_request(
        &mut self,
        client: ClientId,
        request: Request,
        graph: &mut impl Graph,
    ) -> Result<Option<Request>, Violation> {
        let Some(session) = self.by_client.get_mut(&client) else { return Ok(None) };
        match request {
            Request::Define { function, label, definition } => {
                let name = Name::of(&[definition.as_slice(), label.as_bytes()].concat());
                let known = self.functions.get(&name).copied();
                let number = known.unwrap_or_else(|| graph.next_function());
                session.ids.define(function, number)?;
                self.functions.insert(name, number);
                let define = Request::Define { function: number, label, definition };
                Ok(known.is_none().then_some(define))
            }
            Request::Cancel(names) => {
                let dependents = graph.dependents(&names);
                let abandoned = session.holdings(dependents);
                self.cancelled.push((client, abandoned.iter().map(|(name, _)| *name).collect()));
                Ok(Some(Request::Abandon(self.with_left_behind(abandoned))))
            }
            Request::Restart { .. } => {
                let abandoned = session.holdings(graph.dependents(&session.unsettled()));
                let abandoned = Some(self.with_left_behind(abandoned));
                Ok(Some(Request::Restart { abandoned }))
            }
            Request::Submit(mut calls) => {
                let limit = self.max_pending.unwrap_or(usize::MAX);
                let room = limit.saturating_sub(session.pending.len());
                if room < calls.len() {
                    let refused = calls.split_off(room);
                    let outcomes = refused.iter().flat_map(|call| refusals(call, limit));
                    self.refused.push((client, outcomes.collect()));
                }
                session.translated(client, Request::Submit(calls), &mut self.shared).map(Some)
            }
            Request::Release(names) => Ok(Some(Request::Release(session.release(names)))),
            Request::Unpin { name, worker } => Ok(session.unpin(name, worker)),
            other => session.translated(client, other, &mut self.shared).map(Some),
        }
    }

    /// Cancels for each client the calls that it has submitted with a tag, as if it had asked for that:
    /// what others need goes on. How many they are, and what is to be asked of the manager.
    pub fn cancel_tagged(&mut self, tag: &str, graph: &impl Graph) -> (u64, Option<Request>) {
        let (mut count, mut abandoned) = (0, BTreeMap::<Name, u32>::new());
        for (client, session) in &self.by_client {
            let names = session.tagged(tag);
            if names.is_empty() {
                continue;
            }
            count += names.len() as u64;
            let holdings = session.holdings(graph.dependents(&names));
            self.cancelled.push((*client, holdings.iter().map(|(name, _)| *name).collect()));
            // Together, since what two of them have tagged is needed by neither.
            for (name, references) in holdings {
                *abandoned.entry(name).or_default() += references;
            }
        }
        let abandon = |held| Request::Abandon(self.with_left_behind(held));
        (count, (count > 0).then(|| abandon(abandoned.into_iter().collect())))
    }

    /// Some of a client's blocks, and those that are nobody's.
    fn with_left_behind(&self, mut held: Vec<(Name, u32)>) -> Vec<(Name, u32)> {
        held.extend(self.left_behind.values().map(|name| (*name, 0)));
        held
    }

    /// The clients that wait for something under these tickets, each once, and whether the manager's
    /// own program does.
    pub fn owners(&self, tickets: &[Ticket]) -> (Vec<ClientId>, bool) {
        let mut owners = BTreeSet::new();
        let mut is_own = false;
        for ticket in tickets {
            let client = ((ticket.0 & Ticket::FREE) >> SERIAL_BITS) as ClientId;
            if ticket.is_remote() && self.by_client.contains_key(&client) {
                owners.insert(client);
            } else {
                is_own |= !ticket.is_remote();
            }
        }
        // What nobody waits for is the manager's own, who has had it made or runs it for others.
        (owners.iter().copied().collect(), is_own || owners.is_empty())
    }

    /// Whose an outcome is.
    pub fn on_outcome(&mut self, ticket: Ticket, outcome: &Outcome) -> Answer {
        let is_pinned = matches!(outcome, Outcome::Pinned { .. });
        if let Some((name, worker)) = self.orphans.remove(&ticket) {
            return if is_pinned { Answer::Undo(name, worker) } else { Answer::Nobody };
        }
        if self.left_behind.remove(&ticket).is_some() {
            return Answer::Nobody;
        }
        let client = ((ticket.0 & Ticket::FREE) >> SERIAL_BITS) as ClientId;
        let Some(session) = self.by_client.get_mut(&client) else { return Answer::Nobody };
        let serial = ticket.0 & ((1 << SERIAL_BITS) - 1);
        let Some(pending) = session.pending.remove(&serial) else { return Answer::Nobody };
        if let (true, Some(name), Some(worker)) = (is_pinned, pending.name, pending.worker) {
            *session.pins.entry((name, worker)).or_default() += 1;
        }
        Answer::For(client, pending.ticket)
    }

    /// Whether there is something for [`take_stopped`](Self::take_stopped).
    pub fn have_stopped(&self) -> bool {
        !self.cancelled.is_empty() || !self.refused.is_empty()
    }

    /// How calls end that were refused, and what clients cancelled and others still need; and what is
    /// to be asked of the manager for it. To be called once the manager's outcomes of these requests
    /// were passed on. The clients are answered before all that they asked next.
    pub fn take_stopped(&mut self) -> (Stopped, Vec<Request>) {
        let (mut stopped, mut requests) = (std::mem::take(&mut self.refused), Vec::new());
        for (client, names) in std::mem::take(&mut self.cancelled) {
            if let Some(session) = self.by_client.get_mut(&client) {
                let (outcomes, renounced) = session.stop_waiting(&names);
                stopped.push((client, outcomes));
                requests.push(Request::Release(renounced));
            }
        }
        (stopped, requests)
    }
}

/// How the outputs of a call end that a client may not submit, since it has so many.
fn refusals(call: &Submission, limit: usize) -> impl Iterator<Item = (Ticket, Outcome)> {
    let why = Why::TooManyCalls { limit: limit as u64 };
    call.outputs.iter().zip(&call.tickets).map(move |(name, ticket)| {
        (*ticket, Outcome::Failed(Arc::new(Failure::before(String::new(), *name, why.clone()))))
    })
}

/// Clients, and how what they waited for ends.
pub type Stopped = Vec<(ClientId, Vec<(Ticket, Outcome)>)>;

/// The manager's ticket for what a client waits for.
fn ticket_of(client: ClientId, serial: u64) -> Ticket {
    Ticket(Ticket::REMOTE | u64::from(client) << SERIAL_BITS | serial)
}

#[cfg(test)]
mod tests;
