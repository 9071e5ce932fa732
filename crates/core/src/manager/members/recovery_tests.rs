//! Workers that die under tasks.

use crate::manager::tests::{Play, call, inline, name, play, stored};
use crate::manager::*;
use freestone_base::WorkerId;

/// The worker that is sent task 1 dies, and before it `besides` workers that run nothing.
fn deaths(play: &mut Play, rounds: u32, besides: u32) {
    for round in 0..rounds {
        let first = round * 100;
        if round > 0 {
            assert!(play.outcomes().is_empty(), "it failed after {round} deaths");
        }
        play.join(first, 1);
        assert_eq!(play.runs(first).len(), 1);
        for worker in first + 1..=first + besides {
            play.join(worker, 1);
            play.handle(Event::Left(WorkerId(worker)));
        }
        play.handle(Event::Left(WorkerId(first)));
    }
}

fn kills(play: &Play) -> u32 {
    match &play.outcomes()[..] {
        [(1, Outcome::Failed(failure))] => match failure.why {
            Why::Killed { kills, .. } => kills,
            _ => panic!("{failure:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_task_under_which_all_lost_workers_died_is_to_blame() {
    let mut play = play();
    play.request(Request::Submit(vec![call(1, &[])]));
    deaths(&mut play, 8, 0);
    assert_eq!(kills(&play), 8);
}

#[test]
fn where_workers_are_lost_all_the_time_it_is_not_soon_to_blame() {
    let mut play = play();
    play.request(Request::Submit(vec![call(1, &[])]));
    deaths(&mut play, 20, 2);
    assert_eq!(kills(&play), 20);
}

#[test]
fn what_was_lost_is_as_urgent_as_what_waits_for_it() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[])]));
    let runs = play.runs(0);
    play.done(0, &runs[0], stored(1, 10));
    // All of these could run before, and nobody waits for them.
    let others = (11..20).map(|number| call(number, &[]));
    play.request(Request::Submit(others.chain([call(2, &[1])]).collect()));
    play.request(Request::Release(vec![name(1)]));
    play.handle(Event::Left(WorkerId(0)));
    play.join(1, 1);
    let runs = play.runs(1);
    assert_eq!(runs[0].outputs[0], name(1), "{runs:?}");
    play.done(1, &runs[0], stored(1, 10));
    let runs = play.runs(1);
    assert_eq!(runs[0].outputs[0], name(2), "{runs:?}");
    play.done(1, &runs[0], inline(b"y"));
    assert_eq!(play.statistics().recovered, 1);
}
