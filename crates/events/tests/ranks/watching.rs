//! Ranks that are lost over TCP, and whoever held their meeting and watches over them.

use crate::runs::met;
use freestone_events::transport::TransportError;
use freestone_events::transport::tcp::{Meeting, Tcp};
use freestone_events::{Access, Config, Failure, Identity, Rank};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(60);

fn started(tcp: Tcp) -> Rank {
    Rank::start(Box::new(tcp), Config::default()).unwrap()
}

#[test]
fn a_rank_that_falls_silent_is_reported_to_the_others_and_they_give_up() {
    let (mut ranks, meeting) = met(3);
    let watch = meeting.watch();
    // It keeps its connections, as a machine does that is off.
    let silent = ranks.pop().unwrap();
    let ranks: Vec<_> = ranks.into_iter().map(started).collect();
    assert!((0..3).all(|rank| !watch.has_given_up(rank)));
    assert!(watch.lose(2));
    assert!(!watch.lose(2));
    std::thread::scope(|scope| {
        for rank in ranks {
            scope.spawn(move || {
                let number = rank.rank();
                // As a program that computes: it makes no call.
                while !watch.has_given_up(number) {
                    std::thread::yield_now();
                }
                let error = rank.finish().unwrap_err().to_string();
                assert!(error.starts_with("rank 2 is lost"), "{error}");
                assert!(!watch.has_given_up(number));
                assert!(!watch.lose(number), "it has left");
            });
        }
    });
    drop(silent);
}

#[test]
fn a_rank_whose_connections_break_makes_the_others_give_up() {
    let (mut ranks, meeting) = met(2);
    let rank = started(ranks.remove(0));
    ranks.clear();
    while !meeting.watch().has_given_up(0) {
        std::thread::yield_now();
    }
    rank.fail(Failure::text("it is alone"));
    assert!(rank.finish().unwrap_err().to_string().starts_with("rank 1 is lost"));
}

#[test]
fn a_rank_lost_before_all_have_met_is_named_to_those_that_come() {
    let access = Access::new(&Identity::make(1).unwrap()).unwrap();
    let meeting = Meeting::new("127.0.0.1:0", &access).unwrap();
    let address = meeting.address().unwrap().to_string();
    std::thread::scope(|scope| {
        let meet = |rank| {
            let (address, access) = (&address, &access);
            scope.spawn(move || Tcp::meet(address, rank, 3, access, TIMEOUT).map(drop))
        };
        let early = meet(0);
        let held = scope.spawn(|| {
            let held = meeting.hold(3, 3, TIMEOUT);
            meeting.guard();
            held
        });
        meeting.watch().lose(1);
        let late = meet(2);
        let came = [early, late].map(|one| one.join().unwrap());
        meeting.close();
        let held = held.join().unwrap().map(drop);
        for one in came.into_iter().chain([held]) {
            assert!(matches!(one, Err(TransportError::Lost(1))), "{one:?}");
        }
    });
}

#[test]
fn a_rank_that_comes_again_hears_that_it_is_lost() {
    let access = Access::new(&Identity::make(1).unwrap()).unwrap();
    let meeting = Meeting::new("127.0.0.1:0", &access).unwrap();
    let address = meeting.address().unwrap().to_string();
    std::thread::scope(|scope| {
        let meet = || Tcp::meet(&address, 0, 1, &access, TIMEOUT);
        let first = scope.spawn(meet);
        meeting.hold(1, 1, TIMEOUT).unwrap();
        let first = first.join().unwrap().unwrap();
        scope.spawn(|| meeting.guard());
        let again = meet();
        meeting.close();
        assert!(matches!(again, Err(TransportError::Lost(0))), "{again:?}");
        drop(first);
    });
}
