//! Messages that wait for others to the same worker, so that one record and one system call carry them.
//!
//! A worker that has enough to do needs what it is sent only once that is done. Its messages wait for a
//! share of that time, which is known from measured durations; so they wait where calls are long, and where
//! they are short, which come in batches anyway, none does.

use crate::wire::ToWorker;
use freestone_base::WorkerId;
use std::time::{Duration, Instant};

/// Messages wait for this part of the time for which their worker has enough to do,
const SHARE: u32 = 32;
/// for no longer than this,
const MAX_DELAY: Duration = Duration::from_millis(5);
/// and not at all for less than a poller can wait.
const MIN_DELAY: Duration = Duration::from_millis(1);

/// Workers with messages that have not been written.
#[derive(Debug, Default)]
pub(super) struct Held {
    workers: Vec<WorkerId>,
    /// When the first of them is due; then all are written.
    due: Option<Instant>,
}

/// Whether a message is of use only when what its worker has to do now is done: calls, and what they
/// need or no longer need. All others are waited for by somebody.
pub(super) fn may_be_held(message: &ToWorker) -> bool {
    matches!(
        message,
        ToWorker::Run(_) | ToWorker::Fetch { .. } | ToWorker::Define { .. } | ToWorker::Drop(_)
    )
}

/// How long messages wait for a worker that has enough to do for `slack`.
fn delay(slack: Duration) -> Option<Duration> {
    let delay = (slack / SHARE).min(MAX_DELAY);
    (delay >= MIN_DELAY).then_some(delay)
}

impl Held {
    /// Whether messages to a worker are to be written later, if it has enough to do for `slack`.
    pub fn holds(&mut self, worker: WorkerId, slack: Duration) -> bool {
        let Some(delay) = delay(slack) else { return false };
        let due = Instant::now() + delay;
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
        self.workers.push(worker);
        true
    }

    /// How long until some are due; `None`: there are none.
    pub fn until_due(&self) -> Option<Duration> {
        Some(self.due?.saturating_duration_since(Instant::now()))
    }

    /// All of them once some are due, each at least once; else none.
    pub fn take_due(&mut self) -> Vec<WorkerId> {
        if self.until_due() != Some(Duration::ZERO) {
            return Vec::new();
        }
        self.due = None;
        std::mem::take(&mut self.workers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_wait_for_workers_with_long_calls_only() {
        assert_eq!(delay(Duration::ZERO), None);
        assert_eq!(delay(Duration::from_millis(31)), None);
        assert_eq!(delay(Duration::from_millis(64)), Some(Duration::from_millis(2)));
        assert_eq!(delay(Duration::from_secs(60)), Some(MAX_DELAY));
    }

    #[test]
    fn all_go_out_when_the_first_is_due() {
        let mut held = Held::default();
        assert!(!held.holds(WorkerId(0), Duration::ZERO));
        assert_eq!((held.until_due(), held.take_due()), (None, Vec::new()));
        assert!(held.holds(WorkerId(1), Duration::from_secs(1)));
        assert!(held.holds(WorkerId(2), Duration::from_millis(40)));
        assert!(held.until_due().unwrap() < Duration::from_millis(2));
        held.due = Some(Instant::now());
        assert_eq!(held.take_due(), [WorkerId(1), WorkerId(2)]);
        assert_eq!((held.until_due(), held.take_due()), (None, Vec::new()));
    }

    #[test]
    fn what_somebody_waits_for_goes_at_once() {
        assert!(may_be_held(&ToWorker::Run(Vec::new())));
        assert!(!may_be_held(&ToWorker::Cancel(Vec::new())));
        assert!(!may_be_held(&ToWorker::Return(Vec::new())));
        assert!(!may_be_held(&ToWorker::Shutdown));
    }
}
