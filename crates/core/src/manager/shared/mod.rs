//! State that clients and tasks share by name. It is the manager's, so that no loss of a worker
//! touches it.

mod locks;

use super::Manager;
use super::api::{Outcome, Request};
use super::locking::LockRequest;
use freestone_base::Ticket;
pub(in crate::manager) use locks::Locks;

/// What becomes of tickets that wait.
type Answers = Vec<(Ticket, Outcome)>;

impl Manager {
    pub(in crate::manager) fn on_lock(&mut self, request: LockRequest) {
        let mut answers = Answers::new();
        self.locks.on_request(request, &mut answers);
        self.answer_all(answers);
    }

    /// Lets go of what tasks of a lost worker hold.
    pub(in crate::manager) fn leave_locks_of(&mut self, worker: freestone_base::WorkerId) {
        let mut answers = Answers::new();
        self.locks.on_left(worker, &mut answers);
        self.answer_all(answers);
    }

    fn answer_all(&mut self, answers: Answers) {
        for (ticket, outcome) in answers {
            self.resolve(ticket, outcome);
        }
    }
}

impl From<LockRequest> for Request {
    fn from(request: LockRequest) -> Self {
        Self::Lock(request)
    }
}

#[cfg(test)]
#[path = "locks_tests.rs"]
mod tests;
