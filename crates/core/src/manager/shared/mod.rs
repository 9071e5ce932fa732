//! State that clients and tasks share by name. It is the manager's, so that no loss of a worker
//! touches it.

#[cfg(test)]
mod given_tests;
mod locks;
mod queues;
mod variables;

use super::Manager;
use super::api::{Outcome, Request};
use super::sharing::{Given, Item, LockRequest, QueueRequest, SharedRequest, VariableRequest};
use freestone_base::{Name, Ticket, WorkerId};
use locks::Locks;
use queues::Queues;
use serde::{Deserialize, Serialize};
use variables::Variables;

/// How many replicas the value of a variable has, so that it outlives any worker.
const REPLICAS: u32 = 2;

/// What becomes of tickets that wait.
type Answers = Vec<(Ticket, Outcome)>;

/// What a request leads to.
#[derive(Default)]
struct Step {
    answers: Answers,
    /// Blocks with one more reference, and such with one less.
    retained: Vec<Name>,
    released: Vec<Name>,
}

/// Locks, queues and variables.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Shared {
    locks: Locks,
    queues: Queues,
    variables: Variables,
}

impl Step {
    fn answer(&mut self, ticket: Ticket, given: Given) {
        self.answers.push((ticket, Outcome::Given(given)));
    }
}

impl Shared {
    fn on_request(&mut self, request: SharedRequest, step: &mut Step) {
        match request {
            SharedRequest::Lock(request) => self.locks.on_request(request, &mut step.answers),
            SharedRequest::Queue(request) => self.queues.on_request(request, step),
            SharedRequest::Variable(request) => self.variables.on_request(request, step),
            SharedRequest::Leave { hold } => {
                self.locks.leave(hold, &mut step.answers);
                self.queues.end(hold, false, step);
                self.variables.end(hold, step);
            }
            SharedRequest::Withdraw { hold } => {
                self.queues.withdraw(hold, step);
                self.variables.withdraw(hold, step);
            }
            SharedRequest::Finish { hold, ticket } => {
                let had = self.queues.end(hold, true, step) || self.variables.end(hold, step);
                step.answers.push((ticket, Outcome::Accepted(had)));
            }
        }
    }

    fn on_left(&mut self, worker: WorkerId, step: &mut Step) {
        self.locks.on_left(worker, &mut step.answers);
        self.queues.on_left(worker, step);
        self.variables.on_left(worker, step);
    }

    /// Checks what holds after each request; for tests.
    pub fn check(&self) {
        self.locks.check();
        self.queues.check();
        self.variables.check();
    }
}

impl Manager {
    pub(in crate::manager) fn on_shared(&mut self, request: SharedRequest) {
        let mut step = Step::default();
        if let Some(Item { name, .. }) = request.item().cloned() {
            if !self.refer_to(&name) {
                let ticket = request.ticket().expect("who gives an item waits for an answer");
                return self.resolve(ticket, Outcome::Given(Given::Unknown));
            }
            if matches!(request, SharedRequest::Variable(_)) {
                self.have_replicas(&name, REPLICAS);
            }
        }
        let moving = request.moves_from();
        self.shared.on_request(request, &mut step);
        if let Some(worker) = moving.filter(|id| self.is_leaving(*id)) {
            self.shared.queues.on_retiring(worker, &mut step);
        }
        self.pass_on(step);
    }

    fn is_leaving(&self, id: WorkerId) -> bool {
        self.members.workers.get(id).is_some_and(|worker| !worker.is_active())
    }

    /// A worker is to be let go: tasks there that can go on elsewhere take no more from queues.
    pub(in crate::manager) fn move_shared_of(&mut self, worker: WorkerId) {
        let mut step = Step::default();
        self.shared.queues.on_retiring(worker, &mut step);
        self.pass_on(step);
    }

    /// Ends what tasks of a lost worker hold.
    pub(in crate::manager) fn leave_shared_of(&mut self, worker: WorkerId) {
        let mut step = Step::default();
        self.shared.on_left(worker, &mut step);
        self.pass_on(step);
    }

    fn pass_on(&mut self, step: Step) {
        for name in &step.retained {
            // Whoever has it besides keeps it until now.
            self.refer_to(name);
        }
        self.on_release(&step.released);
        for (ticket, outcome) in step.answers {
            self.resolve(ticket, outcome);
        }
    }
}

impl From<SharedRequest> for Request {
    fn from(request: SharedRequest) -> Self {
        Self::Shared(request)
    }
}

impl From<LockRequest> for Request {
    fn from(request: LockRequest) -> Self {
        SharedRequest::Lock(request).into()
    }
}

impl From<QueueRequest> for Request {
    fn from(request: QueueRequest) -> Self {
        SharedRequest::Queue(request).into()
    }
}

impl From<VariableRequest> for Request {
    fn from(request: VariableRequest) -> Self {
        SharedRequest::Variable(request).into()
    }
}

#[cfg(test)]
#[path = "locks_tests.rs"]
mod tests;

#[cfg(test)]
mod queues_tests;

#[cfg(test)]
mod variables_tests;
