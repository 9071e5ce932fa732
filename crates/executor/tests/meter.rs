//! What a call takes at its peak. Alone in its file: other tests would take memory meanwhile.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]

use freestone_base::{FunctionId, Name, Tenant};
use freestone_core::wire::{Call, Isolation, Keep, Payload};
use freestone_executor::meter::Meter;
use std::hint::black_box;

const NBYTES: usize = 64 << 20;
/// The system counts pages in batches, one per processor: a little may be missing.
const MIN_MEASURED: usize = NBYTES / 10 * 9;

fn call(memory: Option<u64>) -> Call {
    Call {
        sequence: 1,
        function: FunctionId(1),
        arguments: Payload::default(),
        inputs: Vec::new(),
        outputs: [Name([1; 16])].into_iter().collect(),
        isolation: Isolation::Shared,
        keep: Keep::Task,
        priority: 0,
        tenant: Tenant::default(),
        cores: 1,
        memory,
        disk: None,
    }
}

#[test]
fn the_peak_of_a_call_is_measured_if_it_has_a_limit() {
    let mut meter = Meter::default();
    let mut measured = |memory| {
        meter.begin(&call(memory));
        drop(black_box(vec![1_u8; NBYTES]));
        meter.end()
    };
    assert_eq!(measured(None), 0);
    let found = measured(Some(u64::MAX)) as usize;
    assert!((MIN_MEASURED..2 * NBYTES).contains(&found), "{found}");
    // What was there before does not count.
    let _before = black_box(vec![1_u8; NBYTES]);
    let found = measured(Some(u64::MAX)) as usize;
    assert!((MIN_MEASURED..2 * NBYTES).contains(&found), "{found}");
}
