//! Resources that users count by names of their own.

use crate::manager::tests::{Play, call, inline, name, play};
use crate::manager::{Outcome, Request, Submission, Why};
use crate::wire::{CallOptions, FromWorker};
use freestone_base::{Custom, Resources, Ticket, WorkerId};
use std::sync::Arc;

fn licences(amount: u32) -> Resources {
    let custom = Custom::from_iter([("licence", amount)]);
    Resources { custom, ..Resources::ONE_CORE }
}

fn licensed(number: u32) -> Submission {
    let options = CallOptions { resources: licences(1), ..CallOptions::default() };
    Submission { options: Arc::new(options), ..call(number, &[]) }
}

fn cluster(cores: u32, licence: u32) -> Play {
    let mut play = play();
    play.join_with(0, cores, Resources { cores, ..licences(licence) });
    play
}

fn running(play: &Play) -> usize {
    play.manager.members.workers[WorkerId(0)].running.len()
}

#[test]
fn a_call_goes_where_its_licence_is() {
    let mut play = play();
    play.join(0, 4);
    play.join_with(1, 1, licences(1));
    play.request(Request::Submit(vec![licensed(1)]));
    assert_eq!(play.runs(1).len(), 1);
}

#[test]
fn one_that_has_its_licence_to_spare_is_chosen() {
    let mut play = cluster(4, 1);
    play.request(Request::Submit(vec![licensed(1)]));
    play.join_with(1, 4, Resources { cores: 4, ..licences(1) });
    // The second worker has more to do, and the licence.
    let plain = |number| Submission { worker: Some(WorkerId(1)), ..call(number, &[]) };
    play.request(Request::Submit((2..=3).map(plain).collect()));
    play.request(Request::Submit(vec![licensed(4)]));
    assert_eq!(play.runs(1).len(), 1);
}

#[test]
fn what_waits_for_a_licence_keeps_no_other_call_back() {
    let mut play = cluster(3, 1);
    let here = |submission| Submission { worker: Some(WorkerId(0)), priority: 9, ..submission };
    play.request(Request::Submit(vec![licensed(1)]));
    let holder = play.runs(0).remove(0);
    play.request(Request::Submit(vec![licensed(2), here(licensed(3))]));
    assert_eq!(play.runs(0), []);
    play.request(Request::Submit(vec![
        call(4, &[]),
        Submission { priority: 0, ..here(call(5, &[])) },
    ]));
    assert_eq!((running(&play), play.runs(0).len()), (3, 2));
    for block in [2, 3] {
        play.request(Request::Explain { name: name(block), ticket: Ticket(9) });
        let Some((9, Outcome::Explained(explained))) = play.outcomes().pop() else { panic!() };
        assert_eq!(explained.lacking, ["licence"]);
    }
    play.done(0, &holder, inline(b"1"));
    assert_eq!(play.runs(0).remove(0).outputs[0], name(3));
}

#[test]
fn a_call_that_waits_for_others_keeps_its_licence() {
    let mut play = cluster(1, 1);
    play.request(Request::Submit((1..=2).map(licensed).collect()));
    let first = play.runs(0).remove(0);
    let (task, attempt) = (first.task, first.attempt);
    play.says(0, FromWorker::Paused { task, attempt, what: "a lock".into() });
    assert_eq!(running(&play), 0);
    play.request(Request::Submit(vec![call(3, &[])]));
    let plain = play.runs(0).remove(0);
    assert_eq!(running(&play), 1);
    play.done(0, &plain, inline(b"3"));
    play.says(0, FromWorker::Resumed { task, attempt });
    assert_eq!(running(&play), 1);
    play.done(0, &first, inline(b"1"));
    assert_eq!(running(&play), 1);
}

#[test]
fn a_licence_that_no_worker_has_refuses_the_call() {
    let mut play = cluster(4, 0);
    play.request(Request::Submit(vec![licensed(1)]));
    let Some((1, Outcome::Failed(failure))) = play.outcomes().pop() else { panic!() };
    assert!(matches!(&failure.why, Why::Unschedulable { needs, .. } if *needs == licences(1)));
}
