//! What an executor does with what its worker sends.

use super::toy::inline;
use super::world::{Folders, Worker, call, name, placed, raised};
use freestone_core::store::{Mapping, format};
use freestone_core::wire::{
    CallResult, Form, FromExecutor, Isolation, Keep, Output, PlacedInput, TaskFailure, ToExecutor,
};
use std::path::Path;
use std::sync::Arc;

fn inlined(result: CallResult) -> Vec<u8> {
    match &*result.result.unwrap() {
        [Output::Inline(bytes)] => bytes.as_slice().to_vec(),
        other => panic!("{other:?}"),
    }
}

/// The stream of the block that a call left, which has the name of its output.
fn stored(worker: &Worker, result: CallResult) -> Vec<u8> {
    let sequence = result.sequence as u8;
    let outputs = result.result.unwrap();
    let [Output::Stored(block)] = &*outputs else { panic!("{outputs:?}") };
    assert_eq!(block.name, name(200 + sequence));
    let (path, _) = worker.folders.cache().path(block.name, &block.form).unwrap();
    let file = Mapping::open(&path).unwrap();
    file[format::parse(&file).unwrap().pickle].to_vec()
}

#[test]
fn calls_run_in_order_and_each_is_reported() {
    let mut worker = Worker::start();
    worker.calls((1..=50).map(|n| call(n, "sum", vec![], &[i64::from(n), 1])).collect());
    for n in 1..=50 {
        let result = worker.result();
        assert_eq!(result.sequence, n);
        assert_eq!(inlined(result), inline(i64::from(n) + 1));
    }
    worker.end().unwrap();
}

#[test]
fn an_executor_ends_with_its_connection() {
    Worker::start().leave().unwrap();
}

#[test]
fn calls_that_were_revoked_are_passed_over_until_it_resumes() {
    let mut worker = Worker::start();
    assert_eq!(worker.claims.revoke_from(2), Some(2));
    worker.calls(vec![call(1, "sum", vec![], &[1]), call(2, "sum", vec![], &[2])]);
    worker.send(&ToExecutor::Resume);
    worker.calls(vec![call(3, "sum", vec![], &[3])]);
    let ran: Vec<_> = (0..2).map(|_| worker.result().sequence).collect();
    assert_eq!(ran, [1, 3]);
    worker.end().unwrap();
}

#[test]
fn errors_are_described_where_they_came_from() {
    let mut worker = Worker::start();
    let mut run = |call| raised(worker.run(call));
    assert_eq!(run(call(1, "raise", vec![], &[])), ("raised".into(), false));
    let (message, is_encoding) = run(call(2, "nothing", vec![], &[]));
    assert!(message.ends_with("was not defined") && is_encoding, "{message}");
    let refused = ("the result of label of tuple: tuples stay here".into(), true);
    assert_eq!(run(call(3, "tuple", vec![], &[])), refused);
    // The executor goes on.
    assert_eq!(inlined(worker.run(call(4, "sum", vec![], &[4]))), inline(4));
    worker.end().unwrap();
}

#[test]
fn several_outputs_come_from_a_tuple_of_as_many() {
    let mut worker = Worker::start();
    let outputs = [name(1), name(2)].into_iter().collect::<smallvec::SmallVec<_>>();
    let pair = |sequence, numbers: &[i64]| freestone_core::wire::Call {
        outputs: outputs.clone(),
        ..call(sequence, "tuple", vec![], numbers)
    };
    let both = worker.run(pair(1, &[5, 6])).result.unwrap();
    let expected: Vec<_> = [5, 6].map(|number| Output::Inline(inline(number).into())).into();
    assert_eq!(both.to_vec(), expected);
    let (message, is_encoding) = raised(worker.run(pair(2, &[5])));
    assert!(message.ends_with("returned no tuple of 2 values") && is_encoding, "{message}");
    worker.end().unwrap();
}

#[test]
fn values_become_blocks_if_they_are_large_or_kept_for_ever() {
    let mut worker = Worker::start();
    let large = worker.run(call(1, "sum", vec![], &[1_234_567_890]));
    assert_eq!(stored(&worker, large), b"1234567890");
    let forever =
        freestone_core::wire::Call { keep: Keep::Forever, ..call(2, "sum", vec![], &[7]) };
    let kept = worker.run(forever);
    assert_eq!(stored(&worker, kept), b"7");
    let filled = worker.run(call(3, "fill", vec![], &[]));
    assert_eq!(stored(&worker, filled), b"77");
    worker.end().unwrap();
}

#[test]
fn a_file_is_copied_under_the_name_of_the_output() {
    let mut worker = Worker::start();
    let outputs = worker.run(call(1, "file", vec![], &[])).result.unwrap();
    let [Output::Stored(block)] = &*outputs else { panic!("{outputs:?}") };
    assert_eq!((block.name, &block.form), (name(201), &Form::File("result.txt".into())));
    let (path, _) = worker.folders.cache().path(block.name, &block.form).unwrap();
    assert_eq!(std::fs::read(path).unwrap(), b"of a call");
    worker.end().unwrap();
}

#[test]
fn a_block_is_unmapped_when_the_last_value_over_it_is_gone() {
    let mut worker = Worker::start();
    let block = worker.folders.block(name(1), 30);
    assert_eq!(inlined(worker.run(call(1, "sum", vec![block.clone()], &[12]))), inline(42));
    // Reported with the call, since nothing kept it.
    assert_eq!(worker.unmapped, [name(1)]);
    worker.run(call(2, "keep", vec![block], &[]));
    worker.run(call(3, "sum", vec![], &[]));
    assert_eq!(worker.unmapped, [name(1)]);
    worker.run(call(4, "drop", vec![], &[]));
    assert_eq!(worker.unmapped, [name(1), name(1)]);
    worker.end().unwrap();
}

#[test]
fn a_block_that_stays_is_mapped_until_it_is_to_be_forgotten() {
    let mut worker = Worker::start();
    let PlacedInput::Mapped { name: block, path, form, .. } = worker.folders.block(name(1), 5)
    else {
        panic!("a block")
    };
    let staying = PlacedInput::Mapped { name: block, path: path.clone(), form, stays: true };
    worker.run(call(1, "sum", vec![staying.clone()], &[]));
    assert_eq!(worker.unmapped, []);
    // It is not opened again: the file is gone. What the second call mapped is given back.
    std::fs::remove_file(&path).unwrap();
    assert_eq!(inlined(worker.run(call(2, "sum", vec![staying.clone()], &[]))), inline(5));
    assert_eq!(worker.unmapped, [block]);
    worker.send(&ToExecutor::Forget(vec![block]));
    let lost = worker.run(call(3, "sum", vec![staying], &[]));
    assert_eq!(lost.result, Err(TaskFailure::InputLost { name: block }));
    assert_eq!(worker.unmapped, [block; 3]);
    worker.end().unwrap();
}

#[test]
fn inputs_that_are_no_longer_there_are_reported_as_lost() {
    let mut worker = Worker::start();
    let gone = placed(name(1), Path::new("/gone/block"), Form::Value);
    let lost = worker.run(call(1, "sum", vec![gone], &[]));
    assert_eq!(lost.result, Err(TaskFailure::InputLost { name: name(1) }));
    let gone = placed(name(2), Path::new("/gone/group"), Form::Group);
    let lost = worker.run(call(2, "sum", vec![gone], &[]));
    assert_eq!(lost.result, Err(TaskFailure::InputLost { name: name(2) }));
    worker.end().unwrap();
}

/// Leaves a group of two blocks and a number, 30 + 12 + 100, and gives it as an input.
fn leave_group(worker: &mut Worker) -> PlacedInput {
    let blocks = vec![worker.folders.block(name(1), 30), worker.folders.block(name(2), 12)];
    let outputs = worker.run(call(1, "group", blocks, &[100])).result.unwrap();
    let [Output::Stored(block)] = &*outputs else { panic!("{outputs:?}") };
    assert_eq!((block.name, &block.form), (name(201), &Form::Group));
    let (path, _) = worker.folders.cache().path(block.name, &block.form).unwrap();
    placed(block.name, &path, Form::Group)
}

fn path_of(folders: &Folders, number: u8) -> String {
    let (path, _) = folders.cache().path(name(number), &Form::Value).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_group_is_held_by_who_made_it_and_made_again_by_others() {
    let mut worker = Worker::start();
    let group = leave_group(&mut worker);
    assert_eq!(inlined(worker.run(call(2, "sum", vec![group.clone()], &[]))), inline(142));

    let mut other = Worker::start_in(Arc::clone(&worker.folders));
    other.calls(vec![call(1, "sum", vec![group.clone()], &[1])]);
    // What comes before the answer waits until the call has ended.
    other.calls(vec![call(2, "sum", vec![], &[2])]);
    let asked = FromExecutor::Open { group: name(201), members: vec![name(1), name(2)] };
    assert_eq!(other.receive(), asked);
    let paths = Some([1, 2].map(|number| path_of(&other.folders, number)).to_vec());
    other.send(&ToExecutor::Opened { group: name(201), paths });
    assert_eq!(inlined(other.result()), inline(143));
    assert_eq!(inlined(other.result()), inline(2));
    // Held from now on: nothing is asked.
    assert_eq!(inlined(other.run(call(3, "sum", vec![group.clone()], &[]))), inline(142));

    other.send(&ToExecutor::Forget(vec![name(201)]));
    other.calls(vec![call(4, "sum", vec![group], &[])]);
    assert_eq!(other.receive(), asked);
    other.send(&ToExecutor::Opened { group: name(201), paths: None });
    assert_eq!(other.result().result, Err(TaskFailure::InputLost { name: name(201) }));
    worker.end().unwrap();
    other.end().unwrap();
}

#[test]
fn a_worker_that_ends_instead_of_answering_ends_the_call() {
    let mut worker = Worker::start();
    let group = leave_group(&mut worker);
    let mut other = Worker::start_in(Arc::clone(&worker.folders));
    other.calls(vec![call(1, "sum", vec![group], &[])]);
    assert!(matches!(other.receive(), FromExecutor::Open { .. }));
    // The result of the call can't be reported either.
    let ended = other.leave().unwrap_err();
    assert!(ended.contains("Broken pipe"), "{ended}");
    worker.end().unwrap();
}

#[test]
fn a_call_in_a_new_process_gets_its_inputs_and_groups() {
    let mut worker = Worker::start();
    let group = leave_group(&mut worker);
    let inputs = vec![group, PlacedInput::Inline(inline(8).into())];
    let apart =
        freestone_core::wire::Call { isolation: Isolation::Process, ..call(2, "sum", inputs, &[]) };
    let result = worker.run(apart);
    assert_eq!(result.sequence, 2);
    assert_eq!(inlined(result), inline(150));
    // What the other process mapped is reported as unmapped by this one.
    assert!(worker.unmapped.contains(&name(201)));
    worker.end().unwrap();
}

#[test]
fn a_forked_call_ends_with_its_child_alone() {
    let mut worker = Worker::start();
    let forked = |call| freestone_core::wire::Call { isolation: Isolation::Fork, ..call };
    let block = worker.folders.block(name(1), 30);
    assert_eq!(inlined(worker.run(forked(call(1, "sum", vec![block], &[1])))), inline(31));
    assert_eq!(raised(worker.run(forked(call(2, "raise", vec![], &[])))), ("raised".into(), false));
    let killed = worker.run(forked(call(3, "abort", vec![], &[])));
    let expected = TaskFailure::Killed { signal: Some(libc::SIGKILL), status: None };
    assert_eq!(killed.result, Err(expected));
    assert_eq!(inlined(worker.run(call(4, "sum", vec![], &[4]))), inline(4));
    worker.end().unwrap();
}

#[test]
fn a_result_that_fits_no_message_is_refused_and_others_are_reported() {
    let mut worker = Worker::start();
    worker.calls(vec![
        call(1, "sum", vec![], &[1]),
        call(2, "large", vec![], &[65 << 20]),
        call(3, "sum", vec![], &[3]),
    ]);
    assert_eq!(inlined(worker.result()), inline(1));
    let refused = worker.result();
    assert!(
        matches!(refused.result, Err(TaskFailure::TooLarge { is_result: true, .. })),
        "{:?}",
        refused.result
    );
    assert_eq!(inlined(worker.result()), inline(3));
    worker.end().unwrap();
}
