//! What executors hold from one call to the next.

use super::cases::{Harness, MS, block, call, removed, results, stored};
use crate::store::Tier;
use crate::wire::{
    Assignment, BlockDesc, CallResult, Form, Input, Output, PlacedInput, ToExecutor, ToWorker,
};
use crate::worker::{Action, Adopted, Event};
use freestone_base::Name;
use smallvec::smallvec;

/// A block comes into the memory tier.
fn adopt(harness: &mut Harness, block: BlockDesc) {
    let (path, keep) = ("/tmp/block".to_owned(), crate::wire::Keep::Task);
    let adopt = ToWorker::Adopt { block: block.clone(), path, owned: true, keep, verify: false };
    harness.say(adopt);
    harness.event(Event::Adopted { block, result: Ok(Adopted::Owned(Tier::Memory)) });
}

/// Two executors, a group of two blocks, and the call that made it in executor 0.
fn with_group() -> (Harness, Name) {
    let mut harness = Harness::new(2);
    adopt(&mut harness, block(1));
    adopt(&mut harness, block(2));
    let inputs = vec![Input::Stored(block(1)), Input::Stored(block(2))];
    harness.run(vec![Assignment { inputs, ..call(1) }]);
    let (executor, calls) = harness.sent().remove(0);
    let group = calls[0].outputs[0];
    let desc = BlockDesc { name: group, form: Form::Group, ..block(0) };
    let result = Ok(smallvec![Output::Stored(desc)]);
    harness.event(results(executor, vec![CallResult { result, ..stored(&calls[0]) }], Vec::new()));
    assert_eq!(executor, 0);
    (harness, group)
}

fn over(group: Name, number: u64) -> Assignment {
    let desc = BlockDesc { name: group, form: Form::Group, ..block(0) };
    Assignment { inputs: vec![Input::Stored(desc)], ..call(number) }
}

fn sent(harness: &Harness, executor: u32) -> Vec<ToExecutor> {
    let message = |action: &Action| match action {
        Action::Send(to, message) if *to == executor => Some(message.clone()),
        _ => None,
    };
    harness.done.iter().filter_map(message).collect()
}

#[test]
fn calls_over_a_group_go_to_the_executor_that_holds_it() {
    let (mut harness, group) = with_group();
    for number in 2..6 {
        harness.run(vec![over(group, number)]);
        let (executor, calls) = harness.sent().remove(0);
        assert_eq!(executor, 0);
        harness.end(executor, &calls);
    }
}

#[test]
fn another_executor_opens_the_members_and_they_stay_while_it_holds_them() {
    let (mut harness, group) = with_group();
    let members = vec![block(1).name, block(2).name];
    harness.event(Event::Open { executor: 1, group, members: members.clone() });
    let paths = Some(members.iter().map(|name| format!("/memory/{name}")).collect());
    assert_eq!(sent(&harness, 1), [ToExecutor::Opened { group, paths }]);
    harness.say(ToWorker::Drop(members.clone()));
    harness.event(results(0, Vec::new(), members.clone()));
    assert_eq!(removed(&harness), []);
    harness.event(results(1, Vec::new(), members.clone()));
    assert_eq!(removed(&harness), members);
}

#[test]
fn a_group_with_a_member_elsewhere_is_not_opened() {
    let (mut harness, group) = with_group();
    let members = vec![block(1).name, block(3).name];
    harness.event(Event::Open { executor: 1, group, members });
    assert_eq!(sent(&harness, 1), [ToExecutor::Opened { group, paths: None }]);
}

#[test]
fn a_group_that_is_dropped_is_forgotten_by_who_holds_it() {
    let (mut harness, group) = with_group();
    harness.done.clear();
    harness.say(ToWorker::Drop(vec![group]));
    assert_eq!(sent(&harness, 0), [ToExecutor::Forget(vec![group])]);
    assert_eq!(sent(&harness, 1), []);
    assert_eq!(removed(&harness), [group]);
}

#[test]
fn a_holder_that_died_is_not_asked_to_forget() {
    let (mut harness, group) = with_group();
    harness.event(Event::Died { executor: 0, claimed: 0, signal: Some(9), status: None });
    harness.done.clear();
    harness.say(ToWorker::Drop(vec![group, block(1).name, block(2).name]));
    assert_eq!(sent(&harness, 0), []);
    assert_eq!(removed(&harness), [group, block(1).name, block(2).name]);
}

#[test]
fn groups_are_let_go_when_memory_runs_out() {
    let (mut harness, group) = with_group();
    harness.done.clear();
    let large = BlockDesc { nbytes: 990, ..block(5) };
    adopt(&mut harness, large.clone());
    harness.say(ToWorker::Pin(large.name));
    harness.say(ToWorker::Pin(group));
    harness.advance();
    assert_eq!(sent(&harness, 0), [ToExecutor::Forget(vec![group])]);
}

fn with_input(number: u64, block: BlockDesc) -> Assignment {
    Assignment { inputs: vec![Input::Stored(block)], ..call(number) }
}

/// Runs a call with block 1; where it ran, and whether the block stays mapped there.
fn run_with_block(harness: &mut Harness, number: u64) -> (u32, bool) {
    harness.run(vec![with_input(number, block(1))]);
    let (executor, calls) = harness.sent().remove(0);
    let PlacedInput::Mapped { stays, .. } = calls[0].inputs[0] else { panic!("{calls:?}") };
    harness.end(executor, &calls);
    if !stays {
        harness.event(results(executor, Vec::new(), vec![block(1).name]));
    }
    (executor, stays)
}

/// Two executors, and a block that stays mapped in the second.
fn with_staying_block() -> Harness {
    let mut harness = Harness::new(2);
    adopt(&mut harness, block(1));
    for number in [1, 2] {
        assert_eq!(run_with_block(&mut harness, number), (0, false));
    }
    harness.run(vec![call(3)]);
    let (busy, calls) = harness.sent().remove(0);
    assert_eq!((busy, run_with_block(&mut harness, 4)), (0, (1, true)));
    harness.end(busy, &calls);
    harness.done.clear();
    harness
}

#[test]
fn a_block_of_many_calls_stays_mapped_and_they_go_there() {
    let mut harness = with_staying_block();
    for number in 5..8 {
        assert_eq!(run_with_block(&mut harness, number), (1, true));
        // It was mapped once.
        harness.event(results(1, Vec::new(), vec![block(1).name]));
    }
    harness.say(ToWorker::Drop(vec![block(1).name]));
    assert_eq!(removed(&harness), []);
}

#[test]
fn no_call_waits_long_for_the_executor_where_its_block_stays() {
    let mut harness = with_staying_block();
    harness.duration_ns = MS;
    for number in 5..30 {
        run_with_block(&mut harness, number);
        harness.event(results(1, Vec::new(), vec![block(1).name]));
    }
    harness.run(vec![with_input(40, block(1)), with_input(41, block(1))]);
    let executors: Vec<u32> = harness.sent().iter().map(|(executor, _)| *executor).collect();
    assert_eq!(executors, [0, 1]);
}

#[test]
fn what_stays_mapped_is_forgotten_when_it_is_dropped() {
    let mut harness = with_staying_block();
    harness.say(ToWorker::Drop(vec![block(1).name, block(2).name]));
    assert_eq!(sent(&harness, 0), []);
    assert_eq!(sent(&harness, 1), [ToExecutor::Forget(vec![block(1).name])]);
    assert_eq!(removed(&harness), []);
    harness.event(results(1, Vec::new(), vec![block(1).name]));
    assert_eq!(removed(&harness), [block(1).name]);
}

#[test]
fn what_stays_mapped_is_let_go_when_memory_runs_out() {
    let mut harness = with_staying_block();
    adopt(&mut harness, BlockDesc { nbytes: 995, ..block(5) });
    harness.say(ToWorker::Pin(block(5).name));
    harness.advance();
    assert_eq!(sent(&harness, 1), [ToExecutor::Forget(vec![block(1).name])]);
}
