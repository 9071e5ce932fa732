//! What a worker reports that waits for more of its like, so that one record and one system call carry it.
//!
//! While a worker has calls to begin, results and fetched blocks are wanted soon, but not at once: they wait
//! for a small part of the time that the last call took. Where calls are short none waits: those come in
//! batches anyway.

use crate::wire::FromWorker;

/// Messages wait for this part of the time that the last call took,
const SHARE: u64 = 16;
/// for no longer than this,
const MAX_DELAY_NS: u64 = 5_000_000;
/// and not at all for less than a poller can wait.
const MIN_DELAY_NS: u64 = 1_000_000;

/// When messages to the manager are to be written.
#[derive(Debug, Default)]
pub struct Unsent {
    /// How long results and fetched blocks may wait.
    delay_ns: u64,
    due_ns: Option<u64>,
}

impl Unsent {
    /// Takes note of a message that was added to what is to be written.
    pub fn note(&mut self, message: &FromWorker, now_ns: u64) {
        let may_wait = match message {
            FromWorker::Done(reports) => {
                if let Some(last) = reports.last() {
                    self.delay_ns = (last.spent.duration_ns / SHARE).min(MAX_DELAY_NS);
                }
                reports.iter().all(|report| report.result.is_ok())
            }
            FromWorker::Have { fetched, .. } => fetched.is_some(),
            _ => false,
        };
        let delay_ns = if may_wait { self.delay_ns } else { 0 };
        let due_ns = if delay_ns < MIN_DELAY_NS { 0 } else { now_ns + delay_ns };
        self.due_ns = Some(self.due_ns.map_or(due_ns, |before| before.min(due_ns)));
    }

    /// When messages are to be written by a worker that has calls to begin; `None`: there are none.
    pub fn due_ns(&self) -> Option<u64> {
        self.due_ns
    }

    /// Whether messages are to be written now; without calls to begin they always are.
    pub fn is_due(&self, has_calls: bool, now_ns: u64) -> bool {
        self.due_ns.is_some_and(|due_ns| !has_calls || due_ns <= now_ns)
    }

    /// All was written.
    pub fn clear(&mut self) {
        self.due_ns = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Report, Spent, TaskFailure};
    use freestone_base::TaskId;

    const MS: u64 = 1_000_000;

    fn report(duration_ns: u64) -> Report {
        Report {
            task: TaskId(1),
            attempt: 1,
            spent: Spent { duration_ns, ..Spent::default() },
            result: Ok(smallvec::SmallVec::new()),
        }
    }

    #[test]
    fn results_of_long_calls_wait_while_there_are_calls_to_begin() {
        let mut unsent = Unsent::default();
        assert_eq!((unsent.due_ns(), unsent.is_due(false, 0)), (None, false));
        unsent.note(&FromWorker::Done(vec![report(32 * MS)]), 10 * MS);
        assert_eq!(unsent.due_ns(), Some(12 * MS));
        assert!(unsent.is_due(false, 10 * MS) && !unsent.is_due(true, 12 * MS - 1));
        // Later ones go with them.
        unsent.note(&FromWorker::Done(vec![report(3_000 * MS)]), 11 * MS);
        assert!(unsent.is_due(true, 12 * MS));
        unsent.clear();
        assert!(!unsent.is_due(true, 12 * MS));
    }

    #[test]
    fn short_calls_failures_and_all_else_go_at_once() {
        let mut unsent = Unsent::default();
        unsent.note(&FromWorker::Done(vec![report(MS)]), 10 * MS);
        assert!(unsent.is_due(true, 10 * MS));
        unsent.clear();
        unsent.note(&FromWorker::Done(vec![report(1_000 * MS)]), 10 * MS);
        assert!(!unsent.is_due(true, 10 * MS));
        unsent.note(&FromWorker::Leaving, 10 * MS);
        assert!(unsent.is_due(true, 10 * MS));
        unsent.clear();
        let failed = Report { result: Err(TaskFailure::Cancelled), ..report(1_000 * MS) };
        unsent.note(&FromWorker::Done(vec![report(1_000 * MS), failed]), 10 * MS);
        assert!(unsent.is_due(true, 10 * MS));
    }
}
