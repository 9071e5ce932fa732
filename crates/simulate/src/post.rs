//! Messages to workers that the manager's shell would not have written so far.

use freestone_base::WorkerId;
use freestone_core::net::held::Held;
use freestone_core::wire::ToWorker;

/// Messages that were not written.
#[derive(Debug, Default)]
pub(super) struct Post {
    pub held: Held,
    /// By worker.
    pub unwritten: Vec<Vec<ToWorker>>,
    /// Workers that the event which is handled has messages for, and whether one goes at once.
    pub touched: Vec<(WorkerId, bool)>,
    /// When the next look is planned.
    pub planned_ns: Option<u64>,
    /// How often something was written.
    pub writes: u64,
}
