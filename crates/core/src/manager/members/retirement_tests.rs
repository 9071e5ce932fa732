//! Workers that are let go: nothing that only they have is lost.

use crate::manager::tests::{call, desc, name, play, stored};
use crate::manager::*;
use crate::wire::{FromWorker, ToWorker};
use freestone_base::{Ticket, WorkerId};

/// Worker 0 alone has block 1, and retires, and the only other worker is lost.
fn retiring_alone() -> crate::manager::tests::Play {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[])]));
    play.done(0, &play.runs(0)[0].clone(), stored(1, 10));
    play.join(1, 1);
    play.request(Request::Retire(vec![WorkerId(0)]));
    play.handle(Event::Left(WorkerId(1)));
    play
}

#[test]
fn a_worker_that_waits_to_hand_over_ends_when_nobody_needs_its_blocks() {
    let mut play = retiring_alone();
    play.request(Request::Release(vec![name(1)]));
    assert!(play.sent(0).contains(&&ToWorker::Shutdown), "{:?}", play.out);
}

#[test]
fn blocks_stay_with_a_worker_that_retires_until_another_can_take_them() {
    let mut play = retiring_alone();
    assert!(!play.sent(0).contains(&&ToWorker::Shutdown));
    play.join(2, 1);
    let fetches = play
        .sent(2)
        .iter()
        .any(|message| matches!(message, ToWorker::Fetch { block, .. } if block.name == name(1)));
    assert!(fetches, "{:?}", play.out);
    play.says(2, FromWorker::Have { block: desc(1, 10), fetched: Some((WorkerId(0), 5)) });
    assert!(play.sent(0).contains(&&ToWorker::Shutdown));
}

#[test]
fn what_is_wanted_while_a_worker_hands_over_is_handed_over_too() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[])]));
    play.done(0, &play.runs(0)[0].clone(), stored(1, 10));
    play.request(Request::Submit(vec![call(2, &[])]));
    play.done(0, &play.runs(0)[0].clone(), stored(2, 10));
    // Block 2 is only mapped by the client: nothing asks for it, nor could make it again.
    play.request(Request::Gather { name: name(2), worker: WorkerId(0), ticket: Ticket(9) });
    play.says(0, FromWorker::Pinned { name: name(2), path: Some("p".to_owned()) });
    play.request(Request::Release(vec![name(2)]));
    play.join(1, 1);
    play.request(Request::Retire(vec![WorkerId(0)]));
    let fetches = |play: &crate::manager::tests::Play, number: u32| {
        play.sent(1).iter().any(|message| {
            matches!(message, ToWorker::Fetch { block, .. } if block.name == name(number))
        })
    };
    assert!(fetches(&play, 1) && !fetches(&play, 2));
    play.request(Request::Watch { name: name(2), ticket: Ticket(10) });
    play.says(1, FromWorker::Have { block: desc(1, 10), fetched: Some((WorkerId(0), 5)) });
    assert!(fetches(&play, 2) && play.sent(0).is_empty(), "{:?}", play.out);
    play.says(1, FromWorker::Have { block: desc(2, 10), fetched: Some((WorkerId(0), 5)) });
    assert!(play.sent(0).contains(&&ToWorker::Shutdown));
    play.handle(Event::Left(WorkerId(0)));
    assert!(play.outcomes().is_empty());
}
