//! A manager whose work takes time: it sends one call or takes in one result after the other.
//!
//! The state machine itself decides in no virtual time at all. To see what a dispatcher of a given
//! speed would make of a graph, its calls and results stand in line here.

use super::cluster::{Cluster, Standing};
use super::dispatcher::Charges;
use super::queue::Happening;
use freestone_base::WorkerId;
use freestone_core::manager::Event;
use freestone_core::wire::{FromWorker, ToWorker};

impl Cluster {
    fn charges(&self) -> Option<Charges> {
        let charges = self.options.charges;
        (charges != Charges::default()).then_some(charges)
    }

    /// Puts the calls of a message to a worker into the line; anything else is given back.
    pub(super) fn queue_calls(&mut self, worker: WorkerId, message: ToWorker) -> Option<ToWorker> {
        match message {
            ToWorker::Run(calls) if self.charges().is_some() => {
                self.dispatcher.calls.extend(calls.into_iter().map(|call| (worker, call)));
                self.serve();
                None
            }
            other => Some(other),
        }
    }

    /// Puts results into the line; what else a worker says is heard at once.
    pub(super) fn queue_results(&mut self, worker: WorkerId, message: FromWorker) {
        if self.charges().is_some() && matches!(message, FromWorker::Done(_)) {
            self.dispatcher.results.push_back((worker, message));
            return self.serve();
        }
        self.tell(Event::Worker(worker, message));
    }

    /// The manager is done with one.
    pub(super) fn on_served(&mut self) {
        self.dispatcher.busy = false;
        self.serve();
    }

    fn serve(&mut self) {
        let Some(charges) = self.charges() else { return };
        if self.dispatcher.busy {
            return;
        }
        let sends = self.dispatcher.results.is_empty() || !self.dispatcher.sent_last;
        let call = if sends { self.dispatcher.calls.pop_front() } else { None };
        if let Some((worker, call)) = call {
            self.dispatcher.sent_last = true;
            self.occupy(charges.call_ns);
            if self.links[worker.0 as usize].standing == Standing::Here {
                self.send_after(charges.call_ns, worker, ToWorker::Run(vec![call]));
            }
        } else if let Some((worker, message)) = self.dispatcher.results.pop_front() {
            self.dispatcher.sent_last = false;
            self.occupy(charges.result_ns);
            if !self.links[worker.0 as usize].closed {
                self.tell(Event::Worker(worker, message));
            }
        }
    }

    fn occupy(&mut self, time_ns: u64) {
        self.dispatcher.busy = true;
        self.dispatcher.busy_ns += time_ns;
        self.queue.plan(self.now + time_ns, Happening::Served);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::report::{SimulationConfig, simulate};

    #[test]
    fn calls_and_results_are_charged_one_after_the_other() {
        let graph = Graph::flat(200, 0.001, 0.0, 1);
        let charges = Charges { call_ns: 10_000_000, result_ns: 5_000_000 };
        let config = SimulationConfig { charges, ..SimulationConfig::new(graph, 100, 4) };
        let report = simulate(&config);
        assert_eq!((report.failed, report.charged_ns), (0, 200 * 15_000_000));
        // The last result counts from when it is its turn.
        let dispatch_ns = 200 * 15_000_000 - 5_000_000;
        let over_ns =
            report.makespan_ns.checked_sub(dispatch_ns).expect("it took as long at least");
        assert!(over_ns < 10_000_000, "{over_ns}");
        let free = simulate(&SimulationConfig { charges: Charges::default(), ..config });
        assert_eq!(free.charged_ns, 0);
        assert!(free.makespan_ns < 10_000_000, "{}", free.makespan_ns);
    }
}
