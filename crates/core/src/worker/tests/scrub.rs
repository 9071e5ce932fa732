//! Blocks that are checked: on disk before their first use, in memory from time to time.

use super::cases::{Bench, block, call};
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
fn want(bench: &mut Bench, block: &BlockDesc) {
    let (source, keep, address) = (WorkerId(1), Keep::Session, Address::Unix(String::new()));
    bench.say(ToWorker::Fetch { block: block.clone(), source, address, keep });
    bench.advance();
}

/// and comes.
fn come(bench: &mut Bench, block: &BlockDesc, tier: Tier) {
    want(bench, block);
    bench.event(Event::Arrived { name: block.name, result: Ok(tier), duration_ns: 1 });
    bench.advance();
}

fn lost(bench: &Bench) -> Vec<Name> {
    let told = bench.done.iter().filter_map(|action| match action {
        Action::Tell(FromWorker::Lost { names, .. }) => Some(names.clone()),
        _ => None,
    });
    told.flatten().collect()
}

fn scrubbed(bench: &mut Bench) -> Vec<BlockDesc> {
    let mut found = Vec::new();
    bench.done.retain(|action| match action {
        Action::Scrub { block, .. } => {
            found.push(block.clone());
            false
        }
        _ => true,
    });
    found
}

fn is_verified(bench: &Bench, name: Name) -> bool {
    let is_it =
        |action: &Action| matches!(action, Action::Verify { block, .. } if block.name == name);
    bench.done.iter().any(is_it)
}

fn verified(bench: &mut Bench, block: &BlockDesc, intact: bool) {
    let path = format!("/disk/{}", block.name).into();
    bench.event(Event::Verified { block: block.clone(), path, intact });
}

/// A block is found damaged, and again while it is held.
fn damage(bench: &mut Bench, block: &BlockDesc) {
    bench.pass(SECOND);
    for uses in [0, 1] {
        let found = scrubbed(bench);
        assert_eq!(found, std::slice::from_ref(block));
        let before = bench.worker.cache.get(block.name).map(|block| block.uses);
        assert!(before >= Some(uses), "{before:?}");
        assert_eq!(lost(bench), []);
        bench.event(Event::Scrubbed { block: block.clone(), intact: false });
    }
    bench.advance();
    assert_eq!(lost(bench), [block.name]);
}

#[test]
fn what_is_on_disk_is_checked_before_its_first_use_and_only_then() {
    let mut bench = Bench::new(1);
    let there = BlockDesc { nbytes: 1500, ..block(1) };
    come(&mut bench, &there, Tier::Disk);
    assert!(!is_verified(&bench, there.name));
    bench.run(vec![has(0, &there)]);
    assert!(is_verified(&bench, there.name));
    assert_eq!(bench.sent().len(), 0);
    verified(&mut bench, &there, true);
    bench.advance();
    let sent = bench.sent().remove(0);
    bench.end(sent.0, &sent.1);
    bench.done.clear();
    bench.run(vec![has(1, &there)]);
    assert_eq!(bench.sent().len(), 1);
    assert!(!is_verified(&bench, there.name));
}

#[test]
fn what_is_damaged_on_disk_is_lost_and_removed() {
    let mut bench = Bench::new(1);
    let there = BlockDesc { nbytes: 1500, ..block(1) };
    come(&mut bench, &there, Tier::Disk);
    bench.run(vec![has(0, &there)]);
    verified(&mut bench, &there, false);
    bench.advance();
    assert_eq!(lost(&bench), [there.name]);
    assert_eq!(bench.reports()[0].result, Err(TaskFailure::InputLost { name: there.name }));
    let path = format!("/disk/{}", there.name);
    assert!(bench.done.contains(&Action::Discard { path }), "{:?}", bench.done);
    assert_eq!(bench.worker.cache.disk_nbytes(), 0);
    // Fetched again, it is a block like any other.
    bench.done.clear();
    come(&mut bench, &there, Tier::Disk);
    bench.run(vec![has(1, &there)]);
    verified(&mut bench, &there, true);
    bench.advance();
    assert_eq!(bench.sent().len(), 1);
}

#[test]
fn memory_is_checked_slowly_and_in_rounds() {
    let mut bench = Bench::new(1);
    // Of ten bytes each, and a hundred a second are checked.
    let blocks: Vec<BlockDesc> = (0..25).map(block).collect();
    for block in &blocks {
        come(&mut bench, block, Tier::Memory);
    }
    let mut seen: Vec<Name> = Vec::new();
    for expected in [10, 10, 5, 10] {
        assert_eq!(scrubbed(&mut bench), []);
        bench.pass(SECOND);
        let found = scrubbed(&mut bench);
        assert_eq!(found.len(), expected);
        seen.extend(found.iter().map(|block| block.name));
        for block in found {
            bench.event(Event::Scrubbed { block, intact: true });
        }
        bench.advance();
    }
    seen.truncate(25);
    seen.sort_unstable();
    assert_eq!(seen, blocks.iter().map(|block| block.name).collect::<Vec<_>>());
    assert_eq!(lost(&bench), []);
}

#[test]
fn what_is_damaged_in_memory_is_lost_even_while_it_is_in_use() {
    let mut bench = Bench::new(1);
    let there = block(1);
    come(&mut bench, &there, Tier::Memory);
    bench.say(ToWorker::Pin(there.name));
    damage(&mut bench, &there);
    // Removed, and not recycled: it is still mapped.
    let path = format!("/memory/{}", there.name);
    assert!(bench.done.contains(&Action::Discard { path }), "{:?}", bench.done);
    assert_eq!(bench.worker.cache.memory_nbytes(), 0);
    // Whoever used the old file may have opened the new one instead.
    come(&mut bench, &there, Tier::Memory);
    let uses = |bench: &Bench| bench.worker.cache.get(there.name).map(|block| block.uses);
    assert_eq!(uses(&bench), Some(1));
    bench.say(ToWorker::Pin(there.name));
    bench.say(ToWorker::Unpin(there.name));
    assert_eq!(uses(&bench), Some(1));
    bench.say(ToWorker::Unpin(there.name));
    assert_eq!(uses(&bench), Some(0));
}

#[test]
fn uses_that_end_before_a_lost_block_comes_again_are_not_its_own() {
    let mut bench = Bench::new(1);
    let there = block(1);
    come(&mut bench, &there, Tier::Memory);
    bench.say(ToWorker::Pin(there.name));
    damage(&mut bench, &there);
    bench.say(ToWorker::Unpin(there.name));
    come(&mut bench, &there, Tier::Memory);
    assert_eq!(bench.worker.cache.get(there.name).map(|block| block.uses), Some(0));
}

#[test]
fn what_was_removed_and_came_again_while_it_was_read_is_not_blamed() {
    let mut bench = Bench::new(1);
    let there = block(1);
    come(&mut bench, &there, Tier::Memory);
    bench.pass(SECOND);
    assert_eq!(scrubbed(&mut bench).len(), 1);
    bench.say(ToWorker::Drop(vec![there.name]));
    come(&mut bench, &there, Tier::Memory);
    bench.event(Event::Scrubbed { block: there.clone(), intact: false });
    assert_eq!(scrubbed(&mut bench), std::slice::from_ref(&there));
    bench.event(Event::Scrubbed { block: there.clone(), intact: true });
    assert_eq!(lost(&bench), []);
    assert_eq!(bench.worker.cache.get(there.name).map(|block| block.uses), Some(0));
}

#[test]
fn what_was_made_again_meanwhile_is_not_blamed() {
    let mut bench = Bench::new(1);
    come(&mut bench, &block(1), Tier::Memory);
    bench.pass(SECOND);
    assert_eq!(scrubbed(&mut bench).len(), 1);
    let old = BlockDesc { checksum: 7, ..block(1) };
    bench.event(Event::Scrubbed { block: old, intact: false });
    assert_eq!((lost(&bench), scrubbed(&mut bench)), (vec![], vec![]));
}

#[test]
fn what_came_to_memory_while_its_file_on_disk_was_read_is_not_blamed() {
    let mut bench = Bench::new(1);
    let there = BlockDesc { nbytes: 900, ..block(1) };
    come(&mut bench, &there, Tier::Disk);
    bench.run(vec![has(0, &there)]);
    assert!(is_verified(&bench, there.name));
    bench.run(vec![Assignment { outputs: smallvec![there.name], ..call(1) }]);
    let (executor, calls) = bench.sent().remove(0);
    let results = vec![CallResult {
        sequence: calls[0].sequence,
        spent: Spent::default(),
        result: Ok(smallvec![Output::Stored(there.clone())]),
    }];
    let (unmapped, on_disk) = (Vec::new(), Vec::new());
    bench.event(Event::Results { executor, results, unmapped, on_disk });
    verified(&mut bench, &there, false);
    assert_eq!(lost(&bench), []);
    bench.advance();
    assert_eq!(bench.sent().len(), 1);
}

#[test]
fn a_check_keeps_nothing_in_memory() {
    let mut bench = Bench::new(1);
    let blocks: Vec<BlockDesc> =
        [1, 2].map(|number| BlockDesc { nbytes: 400, ..block(number) }).to_vec();
    for block in &blocks {
        come(&mut bench, block, Tier::Memory);
    }
    bench.pass(SECOND);
    assert_eq!(scrubbed(&mut bench).len(), 1);
    want(&mut bench, &BlockDesc { nbytes: 400, ..block(3) });
    let moved = bench.done.iter().filter_map(|action| match action {
        Action::MoveToDisk { name, .. } => Some(*name),
        _ => None,
    });
    assert_eq!(moved.collect::<Vec<_>>(), [blocks[0].name]);
}
