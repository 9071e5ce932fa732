//! How many calls travel ahead: many tiny ones, few long ones.

/// Work that a slot should hold ahead so that it never waits for its next call, in nanoseconds:
/// some tens of message latencies.
pub const AHEAD_NS: u64 = 2_000_000;

/// The most calls that a slot ever holds ahead.
pub const MAX_AHEAD: u32 = 512;

/// How many calls a slot may hold besides the one that runs, when a call takes `mean_ns`
/// nanoseconds (`None`: not measured yet).
///
/// Half of the remaining calls per slot is the upper bound, as in guided self-scheduling, so that
/// the tail of a graph stays balanced: `remaining` calls wait for `slots` slots in all.
pub fn calls_ahead(mean_ns: Option<u64>, remaining: u64, slots: u64) -> u32 {
    let Some(mean_ns) = mean_ns else { return 1 };
    let by_time = AHEAD_NS / mean_ns.max(1);
    let by_share = remaining / (2 * slots.max(1));
    by_time.min(by_share).clamp(1, u64::from(MAX_AHEAD)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiny_calls_travel_in_crowds_and_long_ones_alone() {
        assert_eq!(calls_ahead(Some(1_000), 1_000_000, 2), MAX_AHEAD);
        assert_eq!(calls_ahead(Some(10_000), 1_000_000, 2), 200);
        assert_eq!(calls_ahead(Some(1_000_000_000), 1_000_000, 2), 1);
        assert_eq!(calls_ahead(None, 1_000_000, 2), 1);
    }

    #[test]
    fn the_tail_is_shared() {
        assert_eq!(calls_ahead(Some(1_000), 40, 2), 10);
        assert_eq!(calls_ahead(Some(1_000), 1, 2), 1);
        assert_eq!(calls_ahead(Some(1_000), 0, 0), 1);
    }
}
