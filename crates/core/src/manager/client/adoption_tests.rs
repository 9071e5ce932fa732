use crate::manager::tests::{Play, call, desc, hello, name, play, play_with, stored};
use crate::manager::{Config, Event, Failure, Outcome, Request, Why};
use crate::wire::{FromWorker, Keep, ToWorker};
use freestone_base::{Resources, Ticket, WorkerId};

fn put(play: &mut Play, worker: u32) {
    play.request(Request::Put {
        block: desc(1, 10),
        path: "p".into(),
        owned: true,
        worker: WorkerId(worker),
        keep: Keep::Task,
        ticket: Ticket(1),
    });
}

/// Whether a worker was asked to take over a file.
fn is_asked(play: &Play, worker: u32) -> bool {
    let adopts = |message: &&ToWorker| matches!(message, ToWorker::Adopt { path, owned: true, .. } if path == "p");
    play.sent(worker).iter().any(adopts)
}

fn has(play: &mut Play, worker: u32) {
    play.says(worker, FromWorker::Have { block: desc(1, 10), fetched: None });
    assert_eq!(play.outcomes(), [(1, Outcome::Ready(stored(1, 10)))]);
}

fn loss(play: &Play) -> Option<Why> {
    match &play.outcomes()[..] {
        [(1, Outcome::Failed(failure))] => Some(Failure::clone(failure).why),
        _ => None,
    }
}

#[test]
fn a_file_adopted_by_a_dead_worker_goes_to_another() {
    let mut play = play();
    play.join(0, 1);
    play.join(1, 1);
    play.handle(Event::Left(WorkerId(0)));
    put(&mut play, 0);
    assert!(is_asked(&play, 1));
    has(&mut play, 1);
}

#[test]
fn what_a_worker_takes_along_when_it_reconnects_is_there_again() {
    let mut play = play();
    play.join(0, 1);
    put(&mut play, 0);
    has(&mut play, 0);
    play.handle(Event::Left(WorkerId(0)));
    play.handle(Event::Connected(WorkerId(1)));
    let mut back = hello(1, Resources { cores: 1, ..Resources::default() }, vec![desc(1, 10)]);
    if let FromWorker::Hello { former, .. } = &mut back {
        *former = Some(WorkerId(0));
    }
    play.says(1, back);
    play.request(Request::Submit(vec![call(2, &[1])]));
    assert_eq!(play.runs(1).len(), 1);
}

#[test]
fn what_was_on_its_way_into_a_worker_that_dies_goes_to_another() {
    let mut play = play();
    play.join(0, 1);
    play.join(1, 1);
    put(&mut play, 0);
    assert!(is_asked(&play, 0));
    play.handle(Event::Left(WorkerId(0)));
    assert!(is_asked(&play, 1) && play.outcomes().is_empty());
    play.handle(Event::Left(WorkerId(1)));
    play.join(2, 1);
    assert!(is_asked(&play, 2));
    has(&mut play, 2);
    play.request(Request::Submit(vec![call(2, &[1])]));
    assert_eq!(play.runs(2).len(), 1);
}

#[test]
fn only_a_worker_of_that_machine_is_waited_for() {
    let mut play = play();
    play.join(0, 1);
    play.handle(Event::Left(WorkerId(0)));
    put(&mut play, 0);
    play.request(Request::Submit(vec![call(2, &[1])]));
    let mut hello = hello(1, Resources::ONE_CORE, Vec::new());
    if let FromWorker::Hello { host, .. } = &mut hello {
        *host = "another".to_owned();
    }
    play.says(1, hello);
    assert!(!is_asked(&play, 1) && play.outcomes().is_empty());
    play.join(2, 1);
    assert!(is_asked(&play, 2));
    has(&mut play, 2);
}

#[test]
fn the_wait_for_a_worker_ends() {
    let mut play = play_with(Config { silence_ns: 10_000, ..Config::default() });
    play.join(0, 1);
    play.handle(Event::Left(WorkerId(0)));
    put(&mut play, 0);
    assert_eq!(loss(&play), None);
    play.now += 10_000;
    play.handle(Event::Tick);
    assert_eq!(loss(&play), Some(Why::InputLost(name(1))));
    play.request(Request::Release(vec![name(1)]));
    play.assert_empty();
}

#[test]
fn what_nobody_wants_any_more_is_adopted_and_dropped() {
    let mut play = play();
    play.join(0, 1);
    play.handle(Event::Left(WorkerId(0)));
    put(&mut play, 0);
    play.request(Request::Release(vec![name(1)]));
    play.join(1, 1);
    assert!(is_asked(&play, 1));
    play.says(1, FromWorker::Have { block: desc(1, 10), fetched: None });
    assert_eq!(play.sent(1), [&ToWorker::Drop(vec![name(1)])]);
    play.assert_empty();
}
