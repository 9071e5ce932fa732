//! Reductions that are answered by what was kept, and are made again all the same.

use crate::manager::tests::{Play, desc, hello, inline, name, play, reduction, run_all, stored};
use crate::manager::*;
use crate::wire::{Assignment, CallOptions, FromWorker, Input, Keep, Output, ToWorker};
use freestone_base::{Resources, Ticket};
use std::sync::Arc;

const INPUTS: [u32; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

fn put(play: &mut Play) {
    for input in INPUTS {
        let bytes = (&[input as u8][..]).into();
        play.request(Request::PutInline { name: name(input), bytes });
    }
}

fn reduce(play: &mut Play, inputs: &[u32], keep: Keep) {
    let options = Arc::new(CallOptions { keep, ..CallOptions::default() });
    play.request(Request::Reduce(Reduction { options, ..reduction(100, inputs, 3, false) }));
}

/// What a call makes: its inputs, one after the other; the result is a file.
fn joined(run: &Assignment) -> Output {
    if run.outputs[0] == name(100) {
        return stored(100, 10);
    }
    let bytes = run.inputs.iter().flat_map(|input| match input {
        Input::Inline(bytes) => bytes.as_slice().to_vec(),
        Input::Stored(_) => panic!("all are inline"),
    });
    Output::Inline(bytes.collect::<Vec<u8>>().into())
}

/// A worker that has the result of an earlier run.
fn find_result(play: &mut Play) {
    let resources = Resources { cores: 1, memory: 1 << 30, ..Resources::default() };
    play.says(0, hello(1, resources, vec![desc(100, 10)]));
}

fn lose_result(play: &mut Play) {
    play.says(0, FromWorker::Lost { names: vec![name(100)], reason: "damaged".into() });
}

#[test]
fn a_found_result_that_is_lost_is_made_again_in_order() {
    for released in [false, true] {
        let mut play = play();
        find_result(&mut play);
        put(&mut play);
        reduce(&mut play, &INPUTS, Keep::Forever);
        assert_eq!(play.outcomes(), [(100, Outcome::Ready(stored(100, 10)))]);
        if released {
            play.request(Request::Release(INPUTS.map(name).to_vec()));
        }
        lose_result(&mut play);
        let runs = run_all(&mut play, &[0], |run, _| joined(run));
        assert_eq!(runs.len(), 5);
        assert!(runs.iter().all(|run| run.arguments.as_slice() == [run.inputs.len() as u8]));
        let last = runs.last().expect("there are five");
        assert_eq!((last.outputs[0], last.options.keep), (name(100), Keep::Forever));
        let Output::Inline(bytes) =
            joined(&Assignment { outputs: vec![name(0)].into(), ..last.clone() })
        else {
            panic!("small")
        };
        assert_eq!(bytes.as_slice(), INPUTS.map(|input| input as u8));
        play.request(Request::Watch { name: name(100), ticket: Ticket(5) });
        assert_eq!(play.outcomes(), [(5, Outcome::Ready(stored(100, 10)))]);
        if !released {
            play.request(Request::Release(INPUTS.map(name).to_vec()));
        }
        play.request(Request::Release(vec![name(100), name(100)]));
        let statistics = play.statistics();
        // The result itself is kept.
        assert_eq!((statistics.tasks, statistics.blocks, statistics.inline_nbytes), (0, 1, 0));
    }
}

#[test]
fn a_found_result_that_is_let_go_lets_go_of_its_inputs() {
    let mut play = play();
    find_result(&mut play);
    put(&mut play);
    for _ in 0..2 {
        reduce(&mut play, &INPUTS, Keep::Forever);
    }
    play.request(Request::Release(INPUTS.map(name).to_vec()));
    play.request(Request::Release(vec![name(100), name(100)]));
    let statistics = play.statistics();
    assert_eq!((statistics.tasks, statistics.blocks, statistics.inline_nbytes), (0, 1, 0));
}

#[test]
fn a_found_result_of_unknown_inputs_that_is_lost_is_named() {
    let mut play = play();
    find_result(&mut play);
    reduce(&mut play, &INPUTS, Keep::Forever);
    assert_eq!(play.outcomes(), [(100, Outcome::Ready(stored(100, 10)))]);
    lose_result(&mut play);
    play.request(Request::Watch { name: name(100), ticket: Ticket(5) });
    let found = play.outcomes();
    assert!(matches!(&found[..], [(5, Outcome::Failed(why))]
        if why.why == Why::InputLost(name(100))));
}

#[test]
fn a_small_result_that_is_to_be_kept_after_all_is_made_once_more() {
    let mut play = play();
    play.join(0, 1);
    put(&mut play);
    reduce(&mut play, &INPUTS, Keep::Task);
    run_all(&mut play, &[0], |_, _| inline(b"x"));
    reduce(&mut play, &INPUTS, Keep::Forever);
    assert!(play.outcomes().is_empty());
    let runs = run_all(&mut play, &[0], |run, _| joined(run));
    assert_eq!(runs.last().map(|run| run.options.keep), Some(Keep::Forever));
    reduce(&mut play, &INPUTS, Keep::Forever);
    assert_eq!(play.outcomes(), [(100, Outcome::Ready(stored(100, 10)))]);
}

#[test]
fn a_large_result_that_is_to_be_kept_after_all_is_kept_where_it_is() {
    let mut play = play();
    play.join(0, 1);
    put(&mut play);
    reduce(&mut play, &INPUTS, Keep::Task);
    run_all(&mut play, &[0], |run, _| joined(run));
    reduce(&mut play, &INPUTS, Keep::Forever);
    assert_eq!(play.sent(0), [&ToWorker::Keep(name(100))]);
}

#[test]
fn a_result_to_come_that_is_to_be_kept_after_all_is_made_to_be_kept() {
    let mut play = play();
    put(&mut play);
    reduce(&mut play, &INPUTS, Keep::Task);
    reduce(&mut play, &INPUTS, Keep::Forever);
    play.join(0, 1);
    let runs = run_all(&mut play, &[0], |run, _| joined(run));
    let keeps: Vec<Keep> = runs.iter().map(|run| run.options.keep).collect();
    assert_eq!(keeps, [Keep::Task, Keep::Task, Keep::Task, Keep::Task, Keep::Forever]);
}
