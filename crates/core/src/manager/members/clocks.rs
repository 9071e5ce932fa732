//! Clocks: workers of other machines tell times of a clock that began when that machine did.

use crate::manager::Manager;
use crate::manager::clock::Now;
use freestone_base::WorkerId;

impl Manager {
    /// How much a worker's clock is behind the manager's, which is nothing on the same machine.
    /// What the hello took to come here counts as behind.
    pub(in crate::manager) fn behind(&self, boot: &str, now_ns: Now) -> i64 {
        if boot == self.config.boot { 0 } else { self.now.cast_signed() - now_ns.cast_signed() }
    }

    /// A moment that a worker told, on the manager's clock.
    pub(in crate::manager) fn on_our_clock(&self, id: WorkerId, at_ns: Now) -> Now {
        let behind = self.members.workers.get(id).map_or(0, |worker| worker.behind_ns);
        at_ns.saturating_add_signed(behind)
    }
}
