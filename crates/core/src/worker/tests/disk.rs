//! Who is given what of the disk.

use super::cases::{Harness, block, call};
use crate::store::Tier;
use crate::wire::{
    Assignment, BlockDesc, CallOptions, CallResult, Form, FromWorker, Input, Keep, Output, Spent,
    TaskFailure, ToWorker,
};
use crate::worker::{Action, Adopted, Event};
use freestone_base::Resources;
use smallvec::smallvec;
use std::sync::Arc;

fn wants_disk(task: u64, nbytes: u64) -> Assignment {
    let resources = Resources { disk: nbytes, ..Resources::ONE_CORE };
    let options = Arc::new(CallOptions { resources, ..CallOptions::default() });
    Assignment { options, ..call(task) }
}

/// A block of more than the 1000 bytes of memory is wanted from another worker.
fn want(harness: &mut Harness, nbytes: u64) {
    let address = crate::wire::Address::Unix(String::new());
    let (source, keep) = (freestone_base::WorkerId(1), crate::wire::Keep::Session);
    let block = BlockDesc { nbytes, ..block(1) };
    harness.say(ToWorker::Fetch { block, source, address, keep });
    harness.advance();
}

fn transfers(harness: &Harness) -> usize {
    harness.done.iter().filter(|action| matches!(action, Action::Transfer { .. })).count()
}

#[test]
fn what_blocks_have_of_the_disk_no_call_is_given() {
    let mut harness = Harness::new(2);
    want(&mut harness, 1500);
    let (name, result) = (block(1).name, Ok(Tier::Disk));
    harness.event(Event::Arrived { name, result, duration_ns: 1 });
    harness.run(vec![wants_disk(0, 400)]);
    assert_eq!(harness.sent()[0].1[0].disk, Some(400));
    // There will be room for this one when the first has ended,
    harness.run(vec![wants_disk(1, 500)]);
    assert_eq!((harness.sent().len(), harness.reports().len()), (0, 0));
    // and never for this one.
    harness.run(vec![wants_disk(2, 501)]);
    let folder = "/disk".to_owned();
    let full = TaskFailure::StorageFull { needed: 501, free: 100, folder };
    assert_eq!(harness.reports()[0].result, Err(full));
}

#[test]
fn what_calls_may_take_of_the_disk_no_block_is_given() {
    let mut harness = Harness::new(2);
    harness.run(vec![wants_disk(0, 1500)]);
    let sent = harness.sent().remove(0);
    want(&mut harness, 1100);
    assert_eq!(transfers(&harness), 0);
    harness.end(sent.0, &sent.1);
    harness.advance();
    assert_eq!(transfers(&harness), 1);
}

#[test]
fn what_calls_were_seen_to_take_of_the_disk_no_block_is_given() {
    let mut harness = Harness::new(1);
    harness.event(Event::Measured { nbytes: 1500 });
    want(&mut harness, 1100);
    let refused = |action: &Action| matches!(action, Action::Tell(FromWorker::FetchFailed { .. }));
    assert!(harness.done.iter().any(refused), "{:?}", harness.done);
}

#[test]
fn what_comes_to_disk_while_it_is_moved_there_is_not_removed() {
    let mut harness = Harness::new(1);
    let inputs = vec![Input::Stored(large(1))];
    for (number, tier) in [(1, Tier::Memory), (2, Tier::Memory)] {
        let (block, path) = (large(number), format!("/memory/tmp/{number}"));
        let keep = Keep::Session;
        harness.say(ToWorker::Adopt {
            block: block.clone(),
            path,
            owned: true,
            keep,
            verify: false,
        });
        harness.event(Event::Adopted { block, result: Ok(Adopted::Owned(tier)) });
    }
    harness.advance();
    let name = large(1).name;
    let moves = Action::MoveToDisk { name, form: Form::Value };
    assert!(harness.done.contains(&moves), "{:?}", harness.done);
    harness.say(ToWorker::Run(vec![Assignment { outputs: smallvec![name], ..call(1) }]));
    harness.advance();
    let (executor, calls) = harness.sent().remove(0);
    let result = CallResult {
        sequence: calls[0].sequence,
        spent: Spent::default(),
        result: Ok(smallvec![Output::Stored(large(1))]),
    };
    // The file of the call, and that of the move, have the same place.
    let (unmapped, on_disk) = (Vec::new(), vec![name]);
    harness.event(Event::Results { executor, results: vec![result], unmapped, on_disk });
    harness.event(Event::Moved { name, result: Ok(()) });
    let removes =
        |action: &Action| matches!(action, Action::Remove { name: gone, .. } if *gone == name);
    assert!(!harness.done.iter().any(removes), "{:?}", harness.done);
    harness.run(vec![Assignment { inputs, ..call(2) }]);
    let path = "/disk".parse::<std::path::PathBuf>().unwrap().join(name.to_string());
    assert!(harness.done.contains(&Action::Verify { block: large(1), path }));
}

/// Two of these do not fit into memory.
fn large(number: u8) -> BlockDesc {
    BlockDesc { nbytes: 600, ..block(number) }
}

#[test]
fn a_call_whose_files_are_too_large_ends_with_its_limit() {
    let mut harness = Harness::new(1);
    harness.run(vec![wants_disk(0, 400)]);
    let claimed = harness.sent()[0].1[0].sequence;
    let status = Some(crate::wire::DISK_EXCEEDED);
    harness.event(Event::Died { executor: 0, claimed, signal: None, status });
    assert_eq!(harness.reports()[0].result, Err(TaskFailure::DiskExceeded { limit: 400 }));
    assert_eq!(harness.worker.cache.disk_given(), 0);
}
