//! The line of calls and results before a manager whose work takes time.

use freestone_base::WorkerId;
use freestone_core::wire::{Assignment, FromWorker};
use std::collections::VecDeque;

/// How long a manager is busy with each call, in nanoseconds; nothing by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Charges {
    /// To send it.
    pub call_ns: u64,
    /// To take in how it ended.
    pub result_ns: u64,
}

/// What stands in line.
#[derive(Debug, Default)]
pub(super) struct Dispatcher {
    pub calls: VecDeque<(WorkerId, Assignment)>,
    pub results: VecDeque<(WorkerId, FromWorker)>,
    pub busy: bool,
    /// Calls and results take turns, as long as there are both.
    pub sent_last: bool,
    /// How long it was busy.
    pub busy_ns: u64,
}
