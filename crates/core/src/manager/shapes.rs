//! Kinds: resources told apart only as far as it matters, so that few of them are to be looked at
//! however many workers and tasks there are.

use super::order::Order;
use freestone_base::{Resources, WorkerId};
use serde::{Deserialize, Serialize};

/// Rounds an amount down to three significant bits: amounts of a kind differ by less than a
/// quarter.
const fn coarse_amount(amount: u64) -> u64 {
    let bits = u64::BITS - amount.leading_zeros();
    if bits <= 3 { amount } else { amount >> (bits - 3) << (bits - 3) }
}

/// Resources by which workers and tasks are grouped; never more than the real ones.
pub(super) fn coarse(resources: &Resources) -> Resources {
    Resources {
        memory: coarse_amount(resources.memory),
        disk: coarse_amount(resources.disk),
        ..resources.clone()
    }
}

/// Workers with about the same resources that take work, the least loaded first.
#[derive(Serialize, Deserialize)]
pub(super) struct Shape {
    slots: u32,
    /// What each of them has, at least.
    floor: Resources,
    /// What none of them exceeds.
    pub ceiling: Resources,
    pub order: Order,
}

impl Shape {
    pub fn new(slots: u32, resources: Resources) -> Self {
        Self { slots, floor: coarse(&resources), ceiling: resources, order: Order::default() }
    }

    /// Whether workers with so many slots and these resources are of it.
    pub fn has(&self, slots: u32, resources: &Resources) -> bool {
        self.slots == slots && self.floor == coarse(resources)
    }

    /// The least loaded worker that passes, among those that could ever hold a call that asks for
    /// `needs`. Almost always the first of all.
    pub fn least_loaded<'a>(
        &self,
        needs: &Resources,
        resources: impl Fn(WorkerId) -> &'a Resources,
        passes: impl Fn(WorkerId) -> bool,
    ) -> Option<(u32, WorkerId)> {
        // One without executors only keeps blocks.
        if self.slots == 0 || !needs.fit(&self.ceiling) {
            return None;
        }
        let all_fit = needs.fit(&self.floor);
        let suits = |id: WorkerId| passes(id) && (all_fit || needs.fit(resources(id)));
        let first = self.order.first().filter(|(_, id)| suits(*id));
        first.or_else(|| self.order.iter().find(|(_, id)| suits(*id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_rounded_down_by_less_than_a_quarter() {
        for amount in [0, 1, 7, 8, 9, 15, 1000, 1 << 35, (1 << 36) - 1, u64::MAX] {
            let rounded = coarse_amount(amount);
            assert!(rounded <= amount && amount - rounded <= amount / 4);
            assert_eq!(coarse_amount(rounded), rounded);
        }
    }
}
