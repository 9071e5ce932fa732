//! Workers that die under tasks.

use crate::manager::tests::{Play, call, play};
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
