//! Blocks that are checked: on disk before their first use, in memory from time to time.

use super::cases::{Harness, block, call};
use crate::store::Tier;
use crate::wire::{
    Address, Assignment, BlockDesc, CallResult, FromWorker, Input, Keep, Output, Spent,
    TaskFailure, ToWorker,
};
use crate::worker::{Action, Event};
use freestone_base::{Name, WorkerId};
use smallvec::smallvec;

const SECOND: u64 = 1_000_000_000;

fn has(task: u64, block: &BlockDesc) -> Assignment {
    Assignment { inputs: vec![Input::Stored(block.clone())], ..call(task) }
}

/// A block is wanted from another worker,
fn want(harness: &mut Harness, block: &BlockDesc) {
    let (source, keep, address) = (WorkerId(1), Keep::Session, Address::Unix(String::new()));
    harness.say(ToWorker::Fetch { block: block.clone(), source, address, keep });
    harness.advance();
}

/// and comes.
fn come(harness: &mut Harness, block: &BlockDesc, tier: Tier) {
    want(harness, block);
    harness.event(Event::Arrived { name: block.name, result: Ok(tier), duration_ns: 1 });
    harness.advance();
}

fn lost(harness: &Harness) -> Vec<Name> {
    let sent = harness.done.iter().filter_map(|action| match action {
        Action::Tell(FromWorker::Lost { names, .. }) => Some(names.clone()),
        _ => None,
    });
    sent.flatten().collect()
}

fn scrubbed(harness: &mut Harness) -> Vec<BlockDesc> {
    let mut found = Vec::new();
    harness.done.retain(|action| match action {
        Action::Scrub { block, .. } => {
            found.push(block.clone());
            false
        }
        _ => true,
    });
    found
}

fn is_verified(harness: &Harness, name: Name) -> bool {
    let is_it =
        |action: &Action| matches!(action, Action::Verify { block, .. } if block.name == name);
    harness.done.iter().any(is_it)
}

fn verified(harness: &mut Harness, block: &BlockDesc, intact: bool) {
    let path = format!("/disk/{}", block.name).into();
    harness.event(Event::Verified { block: block.clone(), path, intact });
}

/// A block is found damaged, and again while it is held.
fn damage(harness: &mut Harness, block: &BlockDesc) {
    harness.pass(SECOND);
    for uses in [0, 1] {
        let found = scrubbed(harness);
        assert_eq!(found, std::slice::from_ref(block));
        let before = harness.worker.cache.get(block.name).map(|block| block.uses);
        assert!(before >= Some(uses), "{before:?}");
        assert_eq!(lost(harness), []);
        harness.event(Event::Scrubbed { block: block.clone(), intact: false });
    }
    harness.advance();
    assert_eq!(lost(harness), [block.name]);
}

#[test]
fn what_is_on_disk_is_checked_before_its_first_use_and_only_then() {
    let mut harness = Harness::new(1);
    let there = BlockDesc { nbytes: 1500, ..block(1) };
    come(&mut harness, &there, Tier::Disk);
    assert!(!is_verified(&harness, there.name));
    harness.run(vec![has(0, &there)]);
    assert!(is_verified(&harness, there.name));
    assert_eq!(harness.sent().len(), 0);
    verified(&mut harness, &there, true);
    harness.advance();
    let sent = harness.sent().remove(0);
    harness.end(sent.0, &sent.1);
    harness.done.clear();
    harness.run(vec![has(1, &there)]);
    assert_eq!(harness.sent().len(), 1);
    assert!(!is_verified(&harness, there.name));
}

#[test]
fn what_is_damaged_on_disk_is_lost_and_removed() {
    let mut harness = Harness::new(1);
    let there = BlockDesc { nbytes: 1500, ..block(1) };
    come(&mut harness, &there, Tier::Disk);
    harness.run(vec![has(0, &there)]);
    verified(&mut harness, &there, false);
    harness.advance();
    assert_eq!(lost(&harness), [there.name]);
    assert_eq!(harness.reports()[0].result, Err(TaskFailure::InputLost { name: there.name }));
    let path = format!("/disk/{}", there.name);
    assert!(harness.done.contains(&Action::Discard { path }), "{:?}", harness.done);
    assert_eq!(harness.worker.cache.disk_nbytes(), 0);
    // Fetched again, it is a block like any other.
    harness.done.clear();
    come(&mut harness, &there, Tier::Disk);
    harness.run(vec![has(1, &there)]);
    verified(&mut harness, &there, true);
    harness.advance();
    assert_eq!(harness.sent().len(), 1);
}

#[test]
fn memory_is_checked_slowly_and_in_rounds() {
    let mut harness = Harness::new(1);
    // Of ten bytes each, and a hundred a second are checked.
    let blocks: Vec<BlockDesc> = (0..25).map(block).collect();
    for block in &blocks {
        come(&mut harness, block, Tier::Memory);
    }
    let mut seen: Vec<Name> = Vec::new();
    for expected in [10, 10, 5, 10] {
        assert_eq!(scrubbed(&mut harness), []);
        harness.pass(SECOND);
        let found = scrubbed(&mut harness);
        assert_eq!(found.len(), expected);
        seen.extend(found.iter().map(|block| block.name));
        for block in found {
            harness.event(Event::Scrubbed { block, intact: true });
        }
        harness.advance();
    }
    seen.truncate(25);
    seen.sort_unstable();
    assert_eq!(seen, blocks.iter().map(|block| block.name).collect::<Vec<_>>());
    assert_eq!(lost(&harness), []);
}

#[test]
fn what_is_damaged_in_memory_is_lost_even_while_it_is_in_use() {
    let mut harness = Harness::new(1);
    let there = block(1);
    come(&mut harness, &there, Tier::Memory);
    harness.say(ToWorker::Pin(there.name));
    damage(&mut harness, &there);
    // Removed, and not recycled: it is still mapped.
    let path = format!("/memory/{}", there.name);
    assert!(harness.done.contains(&Action::Discard { path }), "{:?}", harness.done);
    assert_eq!(harness.worker.cache.memory_nbytes(), 0);
    // Whoever used the old file may have opened the new one instead.
    come(&mut harness, &there, Tier::Memory);
    let uses = |harness: &Harness| harness.worker.cache.get(there.name).map(|block| block.uses);
    assert_eq!(uses(&harness), Some(1));
    harness.say(ToWorker::Pin(there.name));
    harness.say(ToWorker::Unpin(there.name));
    assert_eq!(uses(&harness), Some(1));
    harness.say(ToWorker::Unpin(there.name));
    assert_eq!(uses(&harness), Some(0));
}

#[test]
fn uses_that_end_before_a_lost_block_comes_again_are_not_its_own() {
    let mut harness = Harness::new(1);
    let there = block(1);
    come(&mut harness, &there, Tier::Memory);
    harness.say(ToWorker::Pin(there.name));
    damage(&mut harness, &there);
    harness.say(ToWorker::Unpin(there.name));
    come(&mut harness, &there, Tier::Memory);
    assert_eq!(harness.worker.cache.get(there.name).map(|block| block.uses), Some(0));
}

#[test]
fn what_was_removed_and_came_again_while_it_was_read_is_not_blamed() {
    let mut harness = Harness::new(1);
    let there = block(1);
    come(&mut harness, &there, Tier::Memory);
    harness.pass(SECOND);
    assert_eq!(scrubbed(&mut harness).len(), 1);
    harness.say(ToWorker::Drop(vec![there.name]));
    come(&mut harness, &there, Tier::Memory);
    harness.event(Event::Scrubbed { block: there.clone(), intact: false });
    assert_eq!(scrubbed(&mut harness), std::slice::from_ref(&there));
    harness.event(Event::Scrubbed { block: there.clone(), intact: true });
    assert_eq!(lost(&harness), []);
    assert_eq!(harness.worker.cache.get(there.name).map(|block| block.uses), Some(0));
}

#[test]
fn what_was_made_again_meanwhile_is_not_blamed() {
    let mut harness = Harness::new(1);
    come(&mut harness, &block(1), Tier::Memory);
    harness.pass(SECOND);
    assert_eq!(scrubbed(&mut harness).len(), 1);
    let old = BlockDesc { checksum: 7, ..block(1) };
    harness.event(Event::Scrubbed { block: old, intact: false });
    assert_eq!((lost(&harness), scrubbed(&mut harness)), (vec![], vec![]));
}

#[test]
fn what_came_to_memory_while_its_file_on_disk_was_read_is_not_blamed() {
    let mut harness = Harness::new(1);
    let there = BlockDesc { nbytes: 900, ..block(1) };
    come(&mut harness, &there, Tier::Disk);
    harness.run(vec![has(0, &there)]);
    assert!(is_verified(&harness, there.name));
    harness.run(vec![Assignment { outputs: smallvec![there.name], ..call(1) }]);
    let (executor, calls) = harness.sent().remove(0);
    let results = vec![CallResult {
        sequence: calls[0].sequence,
        spent: Spent::default(),
        result: Ok(smallvec![Output::Stored(there.clone())]),
    }];
    let (unmapped, on_disk) = (Vec::new(), Vec::new());
    harness.event(Event::Results { executor, results, unmapped, on_disk });
    verified(&mut harness, &there, false);
    assert_eq!(lost(&harness), []);
    harness.advance();
    assert_eq!(harness.sent().len(), 1);
}

#[test]
fn a_check_keeps_nothing_in_memory() {
    let mut harness = Harness::new(1);
    let blocks: Vec<BlockDesc> =
        [1, 2].map(|number| BlockDesc { nbytes: 400, ..block(number) }).to_vec();
    for block in &blocks {
        come(&mut harness, block, Tier::Memory);
    }
    harness.pass(SECOND);
    assert_eq!(scrubbed(&mut harness).len(), 1);
    want(&mut harness, &BlockDesc { nbytes: 400, ..block(3) });
    let moved = harness.done.iter().filter_map(|action| match action {
        Action::MoveToDisk { name, .. } => Some(*name),
        _ => None,
    });
    assert_eq!(moved.collect::<Vec<_>>(), [blocks[0].name]);
}
