//! Messages that wait for others to the same worker, so that one record and one system call carry them.
//!
//! A worker that has calls to begin needs what it is sent only once it has begun these. So its messages wait
//! for a share of the time that they take, by measured durations. Where calls are short none waits: those
//! come in batches anyway. Only calls that were written count, so that none waits behind others that wait.

use crate::wire::ToWorker;
use freestone_base::WorkerId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Messages wait for this part of the time for which their worker has calls to begin,
const SHARE: u64 = 4;
/// for no longer than this,
const MAX_DELAY_NS: u64 = 25_000_000;
/// and not at all for less than a poller can wait.
const MIN_DELAY_NS: u64 = 1_000_000;

/// What waits for one worker.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    /// Calls among its messages that were not written.
    calls: u32,
    /// When its messages are to be written, if any wait.
    due_ns: Option<u64>,
}

/// Workers with messages that have not been written.
#[derive(Debug, Default)]
pub struct Held {
    /// By the number of the worker.
    workers: Vec<Waiting>,
    /// When each is due; entries of those that were written earlier are passed over.
    due: BinaryHeap<Reverse<(u64, WorkerId)>>,
}

/// Whether a message is of use only when what its worker has to do now is done: calls, and what they
/// need or no longer need. All others are waited for by somebody.
pub fn may_be_held(message: &ToWorker) -> bool {
    matches!(
        message,
        ToWorker::Run(_) | ToWorker::Fetch { .. } | ToWorker::Define { .. } | ToWorker::Drop(_)
    )
}

/// How long messages wait for a worker that has calls to begin for `slack_ns`.
fn delay_ns(slack_ns: u64) -> Option<u64> {
    let delay_ns = (slack_ns / SHARE).min(MAX_DELAY_NS);
    (delay_ns >= MIN_DELAY_NS).then_some(delay_ns)
}

impl Held {
    fn of(&mut self, worker: WorkerId) -> &mut Waiting {
        let index = worker.0 as usize;
        if self.workers.len() <= index {
            self.workers.resize_with(index + 1, Waiting::default);
        }
        &mut self.workers[index]
    }

    /// Calls were added to what waits for a worker.
    pub fn add_calls(&mut self, worker: WorkerId, count: usize) {
        self.of(worker).calls += count as u32;
    }

    /// How many calls for a worker were not written.
    pub fn calls(&self, worker: WorkerId) -> u32 {
        self.workers.get(worker.0 as usize).map_or(0, |waiting| waiting.calls)
    }

    /// Whether messages wait for a worker.
    fn has(&self, worker: WorkerId) -> bool {
        self.workers.get(worker.0 as usize).is_some_and(|waiting| waiting.due_ns.is_some())
    }

    /// Whether a worker's messages are to be written later, if it has calls to begin for `slack_ns`.
    pub fn holds(&mut self, worker: WorkerId, slack_ns: u64, now_ns: u64) -> bool {
        let Some(delay_ns) = delay_ns(slack_ns) else { return false };
        let waiting = self.of(worker);
        if waiting.due_ns.is_none() {
            let due_ns = now_ns + delay_ns;
            waiting.due_ns = Some(due_ns);
            self.due.push(Reverse((due_ns, worker)));
        }
        true
    }

    /// A worker has nothing to do: what waits for it is due.
    pub fn hurry(&mut self, worker: WorkerId) {
        if self.has(worker) {
            self.of(worker).due_ns = Some(0);
            self.due.push(Reverse((0, worker)));
        }
    }

    /// A worker's messages are written, or it is gone.
    pub fn release(&mut self, worker: WorkerId) {
        *self.of(worker) = Waiting::default();
    }

    /// When the first are due; `None`: none wait.
    pub fn next_ns(&mut self) -> Option<u64> {
        while let Some(Reverse((due_ns, worker))) = self.due.peek() {
            if self.workers[worker.0 as usize].due_ns == Some(*due_ns) {
                return Some(*due_ns);
            }
            self.due.pop();
        }
        None
    }

    /// The next worker whose messages are due.
    pub fn take_due(&mut self, now_ns: u64) -> Option<WorkerId> {
        self.next_ns().filter(|due_ns| *due_ns <= now_ns)?;
        let Reverse((_, worker)) = self.due.pop()?;
        self.release(worker);
        Some(worker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn messages_wait_for_workers_with_long_calls_only() {
        assert_eq!(delay_ns(0), None);
        assert_eq!(delay_ns(3 * MS), None);
        assert_eq!(delay_ns(8 * MS), Some(2 * MS));
        assert_eq!(delay_ns(60_000 * MS), Some(MAX_DELAY_NS));
    }

    #[test]
    fn each_worker_has_its_time() {
        let mut held = Held::default();
        assert!(!held.holds(WorkerId(0), 0, 7));
        assert_eq!((held.next_ns(), held.take_due(7)), (None, None));
        assert!(held.holds(WorkerId(1), 80 * MS, 0));
        assert!(held.holds(WorkerId(2), 40 * MS, 0));
        // What comes later goes with what waits.
        assert!(held.holds(WorkerId(2), 80 * MS, MS));
        assert_eq!(held.next_ns(), Some(10 * MS));
        assert_eq!(held.take_due(10 * MS - 1), None);
        assert_eq!(held.take_due(10 * MS), Some(WorkerId(2)));
        assert_eq!(held.take_due(10 * MS), None);
        held.hurry(WorkerId(2));
        assert_eq!(held.next_ns(), Some(20 * MS), "nothing waits for it");
        held.release(WorkerId(1));
        assert_eq!((held.next_ns(), held.take_due(60 * MS)), (None, None));
        assert!(held.holds(WorkerId(1), 80 * MS, 60 * MS));
        held.hurry(WorkerId(1));
        assert_eq!(held.take_due(60 * MS), Some(WorkerId(1)));
        assert_eq!(held.take_due(600 * MS), None);
    }

    #[test]
    fn calls_that_were_not_written_are_counted() {
        let mut held = Held::default();
        held.add_calls(WorkerId(3), 2);
        held.add_calls(WorkerId(3), 1);
        assert_eq!((held.calls(WorkerId(3)), held.calls(WorkerId(9))), (3, 0));
        held.release(WorkerId(3));
        assert_eq!(held.calls(WorkerId(3)), 0);
    }

    #[test]
    fn what_somebody_waits_for_goes_at_once() {
        assert!(may_be_held(&ToWorker::Run(Vec::new())));
        assert!(!may_be_held(&ToWorker::Cancel(Vec::new())));
        assert!(!may_be_held(&ToWorker::Return(Vec::new())));
        assert!(!may_be_held(&ToWorker::Shutdown));
    }
}
