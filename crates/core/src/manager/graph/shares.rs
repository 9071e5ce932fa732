//! Whose turn it is: programs that share a cluster get shares of it that are alike.
//!
//! Start-time fair queueing (Goyal, Vin and Cheng, 1996). Each tenant has a virtual time, that its
//! calls push on by the core-seconds that they are taken to need; the tenant whose time is the
//! smallest goes first. One that had nothing to run for a while begins at the time of those that had:
//! it saves nothing up, and owes nothing.

use freestone_base::Tenant;
use serde::{Deserialize, Serialize};

/// With more tenants than this, those that are not ahead of the others are forgotten.
const TENANTS_KEPT: usize = 16;

/// What tenants have had.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::manager) struct Shares {
    /// The time of the tenant that went last, when it did.
    now: u64,
    /// Times of tenants; of one that is not here it is `now`.
    times: Vec<(Tenant, u64)>,
}

impl Shares {
    /// Tenants go in this order.
    pub fn turn(&self, tenant: Tenant) -> (u64, Tenant) {
        let known = self.times.iter().find(|(known, _)| *known == tenant);
        (known.map_or(self.now, |(_, time)| self.now.max(*time)), tenant)
    }

    /// A call of a tenant begins that is taken to need so many nanoseconds, times cores.
    pub fn charge(&mut self, tenant: Tenant, cost_ns: u64) {
        let (start, _) = self.turn(tenant);
        self.now = start;
        let end = start.saturating_add(cost_ns);
        match self.times.iter_mut().find(|(known, _)| *known == tenant) {
            Some((_, time)) => *time = end,
            None => self.times.push((tenant, end)),
        }
        if self.times.len() > TENANTS_KEPT {
            let now = self.now;
            self.times.retain(|(_, time)| *time > now);
        }
    }
}
