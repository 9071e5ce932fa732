//! Workers: how they join, come back and leave, and what each has.

mod arrivals;
mod clocks;
mod joining;
mod reconnect;
mod recovery;
mod restart;
mod retirement;
mod taking_up;
mod workers;

use arrivals::Arrivals;
pub(in crate::manager) use workers::{Worker, WorkerStage, Workers};

use crate::manager::clock::Now;
use crate::wire::ToWorker;
use freestone_base::WorkerId;
use serde::{Deserialize, Serialize};

/// The workers, which of them to look at, and what is for those that have not joined.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::manager) struct Members {
    pub workers: Workers,
    pub arrivals: Arrivals,
    /// Until when the workers of a process that was killed may still reconnect.
    pub awaited_until: Now,
    /// Workers to look at when the event has been handled, each once.
    touched: Vec<WorkerId>,
}

impl Members {
    /// Looks at a worker when the event has been handled.
    pub fn touch(&mut self, id: WorkerId) {
        if let Some(worker) = self.workers.get_mut(id)
            && !worker.touched
        {
            worker.touched = true;
            self.touched.push(id);
        }
    }

    /// Sends a message to a worker at the end of the event.
    pub fn send(&mut self, id: WorkerId, message: ToWorker) {
        if let Some(worker) = self.workers.get_mut(id) {
            worker.post.other.push(message);
            self.touch(id);
        }
    }

    /// The workers to look at.
    pub fn touched(&self) -> &[WorkerId] {
        &self.touched
    }

    /// The workers to look at are looked at now: each may be touched again.
    pub fn take_touched(&mut self) -> Vec<WorkerId> {
        let touched = std::mem::take(&mut self.touched);
        for id in &touched {
            if let Some(worker) = self.workers.get_mut(*id) {
                worker.touched = false;
            }
        }
        touched
    }

    /// Gives a list of `take_touched` back, empty, for the next event.
    pub fn reuse(&mut self, mut touched: Vec<WorkerId>) {
        touched.clear();
        self.touched = touched;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Address;
    use freestone_base::Resources;

    #[test]
    fn each_worker_is_looked_at_once_per_event() {
        let mut members = Members::default();
        for id in [4, 2] {
            let address = Address::Unix(String::new());
            members.workers.insert(Worker::new(WorkerId(id), Resources::ONE_CORE, 1, address));
        }
        members.touch(WorkerId(4));
        members.send(WorkerId(2), ToWorker::Shutdown);
        members.send(WorkerId(4), ToWorker::Shutdown);
        // It has not joined.
        members.send(WorkerId(3), ToWorker::Shutdown);
        let touched = members.take_touched();
        assert_eq!(touched, [4, 2].map(WorkerId));
        members.touch(WorkerId(2));
        assert_eq!(members.touched(), [WorkerId(2)]);
        assert_eq!(members.workers[WorkerId(4)].post.other.len(), 1);
    }
}
