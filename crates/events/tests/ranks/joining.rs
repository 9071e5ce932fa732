//! Runs that ranks join while they are on; over TCP, the only transport that can.

use crate::runs::{any, from};
use freestone_events::rank::{RANK_JOINED, RANK_LOST};
use freestone_events::transport::TransportError;
use freestone_events::transport::tcp::{Meeting, Tcp};
use freestone_events::{Access, Config, Dependency, EventId, EventsError, Identity, Lasting};
use freestone_events::{Progress, Rank, Submit, Target};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::Scope;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(60);
/// For those who are not let in.
const SHORT: Duration = Duration::from_millis(300);

/// A run that others can join.
struct Open {
    address: String,
    access: Access,
}

impl Open {
    /// Begins a run of `ranks` ranks with room for `most`.
    fn begin(ranks: u32, most: u32) -> (Self, Vec<Tcp>) {
        let (open, meeting) = Self::planned();
        let founders = open.found(meeting, ranks, most);
        (open, founders)
    }

    /// A run to which nobody has come yet.
    fn planned() -> (Self, Meeting) {
        let access = Access::new(&Identity::make(1).unwrap()).unwrap();
        let meeting = Meeting::new("127.0.0.1:0", &access).unwrap();
        (Self { address: meeting.address().unwrap().to_string(), access }, meeting)
    }

    fn found(&self, meeting: Meeting, ranks: u32, most: u32) -> Vec<Tcp> {
        let (founders, addresses) = std::thread::scope(|scope| {
            let meet = |rank| {
                let Self { address, access } = self;
                scope.spawn(move || Tcp::meet(address, rank, ranks, access, TIMEOUT).unwrap())
            };
            let founders: Vec<_> = (0..ranks).map(meet).collect();
            let addresses = meeting.hold(ranks, most, TIMEOUT).unwrap();
            let founders = founders.into_iter().map(|one| one.join().unwrap());
            (founders.collect::<Vec<_>>(), addresses)
        });
        founders[0].keep(meeting, addresses).unwrap();
        founders
    }

    fn try_join(&self, timeout: Duration) -> Result<Tcp, TransportError> {
        Tcp::join(&self.address, &self.access, timeout)
    }

    fn join(&self) -> Rank {
        started(self.try_join(TIMEOUT).unwrap())
    }
}

fn started(tcp: Tcp) -> Rank {
    Rank::start(Box::new(tcp), Config::default()).unwrap()
}

fn fire(rank: &Rank, target: u32, id: &str) {
    rank.fire_bytes(target, id, &[]).unwrap();
}

fn fire_at_all(rank: &Rank, id: &str) {
    rank.fire(&Target::All, &id.into(), Lasting::Once, 0, &[]).unwrap();
}

/// Runs a program as a rank, which has to end well.
fn run<'scope>(
    scope: &'scope Scope<'scope, '_>,
    rank: Rank,
    main: impl FnOnce(&Rank) + Send + 'scope,
) {
    scope.spawn(move || {
        main(&rank);
        rank.finish().unwrap();
    });
}

#[test]
fn all_hear_of_a_joining_rank_and_count_it_in_from_then_on() {
    for (workers, progress) in [(1, Progress::IdleWorker), (2, Progress::Thread)] {
        let (open, founders) = Open::begin(3, 5);
        std::thread::scope(|scope| {
            for tcp in founders {
                let config = Config { workers, progress, ..Config::default() };
                run(scope, Rank::start(Box::new(tcp), config).unwrap(), |rank| {
                    assert!(!rank.has_joined());
                    let joined = rank.wait(vec![any(RANK_JOINED)], None).unwrap();
                    assert_eq!((joined[0].source, rank.ranks()), (3, 4));
                    fire_at_all(rank, "here");
                    rank.wait(Dependency::all(4, &"here".into()), None).unwrap();
                });
            }
            run(scope, open.join(), |rank| {
                assert_eq!((rank.rank(), rank.ranks(), rank.has_joined()), (3, 4, true));
                fire_at_all(rank, "here");
                rank.wait(Dependency::all(4, &"here".into()), None).unwrap();
                assert!(rank.retrieve_any(&[any(RANK_JOINED)]).unwrap().is_empty());
            });
        });
    }
}

#[test]
fn a_run_that_nobody_joins_ends_as_any_other() {
    let (_, founders) = Open::begin(2, 4);
    std::thread::scope(|scope| {
        for tcp in founders {
            run(scope, started(tcp), |rank| {
                let listens = Submit::on(vec![any(RANK_JOINED)]).persistent();
                rank.submit_many(listens, |_, _| Ok(())).unwrap();
                fire(rank, 1 - rank.rank(), "e");
                rank.wait(vec![any("e")], None).unwrap();
            });
        }
    });
}

#[test]
fn the_end_waits_for_the_work_of_a_joining_rank() {
    let (open, founders) = Open::begin(2, 3);
    let answered = Arc::new(AtomicU32::new(0));
    std::thread::scope(|scope| {
        for tcp in founders {
            let answered = Arc::clone(&answered);
            run(scope, started(tcp), move |rank| {
                rank.submit_many(Submit::on(vec![any("question")]).persistent(), |rank, events| {
                    fire(rank, events[0].source, "answer");
                    Ok(())
                })
                .unwrap();
                if rank.rank() == 0 {
                    // Until somebody comes; then there is nothing left that they wait for.
                    rank.wait(vec![any(RANK_JOINED)], None).unwrap();
                }
                rank.submit_many(Submit::on(vec![any("done")]).persistent(), move |_, _| {
                    answered.fetch_add(1, Ordering::SeqCst);
                    Ok(())
                })
                .unwrap();
            });
        }
        run(scope, open.join(), |rank| {
            rank.submit(Submit::default(), |rank, _| {
                for round in 0..200 {
                    let other = round % 2;
                    fire(rank, other, "question");
                    rank.wait(vec![from(other, "answer")], None).unwrap();
                }
                fire(rank, 0, "done");
                fire(rank, 1, "done");
                Ok(())
            })
            .unwrap();
        });
    });
    assert_eq!(answered.load(Ordering::SeqCst), 2);
}

#[test]
fn who_comes_before_the_run_has_begun_joins_it_then() {
    let (open, meeting) = Open::planned();
    std::thread::scope(|scope| {
        let early = scope.spawn(|| open.join());
        std::thread::scope(|scope| {
            let hold = scope.spawn(|| meeting.hold(1, 2, SHORT).map(|_| ()));
            // Nobody but the one who joins has come, and that does not disturb the meeting.
            let error = hold.join().unwrap().unwrap_err().to_string();
            assert!(error.contains(" for ranks 0, at the meeting, "), "{error}");
        });
        let founder = open.found(meeting, 1, 2).remove(0);
        run(scope, started(founder), |rank| {
            rank.wait(vec![any(RANK_JOINED)], None).unwrap();
        });
        run(scope, early.join().unwrap(), |rank| assert_eq!(rank.rank(), 1));
    });
}

#[test]
fn who_comes_when_there_is_no_room_is_refused() {
    let (open, founders) = Open::begin(1, 3);
    std::thread::scope(|scope| {
        let founder = founders.into_iter().next().unwrap();
        run(scope, started(founder), |rank| {
            let joined = rank.wait(vec![any(RANK_JOINED), any(RANK_JOINED)], None).unwrap();
            let sources: Vec<_> = joined.iter().map(|event| event.source).collect();
            assert_eq!((sources, rank.ranks()), (vec![1, 2], 3));
            rank.wait(vec![any("full")], None).unwrap();
            (1..3).for_each(|target| fire(rank, target, "go on"));
        });
        let first = open.join();
        let second = open.join();
        let error = open.try_join(TIMEOUT).unwrap_err().to_string();
        assert!(error.contains("the run has 3 ranks, and room for no more"), "{error}");
        for (number, rank) in (1..).zip([first, second]) {
            run(scope, rank, move |rank| {
                assert_eq!(rank.rank(), number);
                // Not before all are there, or the run might be over.
                if number == 2 {
                    fire(rank, 0, "full");
                }
                rank.wait(vec![from(0, "go on")], None).unwrap();
            });
        }
    });
}

#[test]
fn several_who_come_at_once_join_one_after_the_other() {
    let (open, founders) = Open::begin(2, 6);
    std::thread::scope(|scope| {
        for tcp in founders {
            run(scope, started(tcp), |rank| {
                rank.wait(vec![any(RANK_JOINED); 4], None).unwrap();
                fire_at_all(rank, "here");
                rank.wait(Dependency::all(6, &"here".into()), None).unwrap();
            });
        }
        for _ in 0..4 {
            let open = &open;
            scope.spawn(move || {
                let rank = open.join();
                // It has heard of those who came before it, and hears of the others.
                let later = 5 - rank.rank() as usize;
                rank.wait(vec![any(RANK_JOINED); later], None).unwrap();
                fire_at_all(&rank, "here");
                rank.wait(Dependency::all(6, &"here".into()), None).unwrap();
                rank.finish().unwrap();
            });
        }
    });
}

#[test]
fn a_run_without_room_or_with_another_certificate_is_not_joined() {
    let (open, founders) = Open::begin(2, 2);
    let error = open.try_join(SHORT).unwrap_err().to_string();
    assert!(error.contains("if it has FREESTONE_EVENTS_MOST"), "{error}");
    drop(founders);
    let (open, founders) = Open::begin(1, 3);
    let other = Open { access: Access::new(&Identity::make(1).unwrap()).unwrap(), ..open };
    assert!(other.try_join(SHORT).is_err());
    for tcp in founders {
        let rank = started(tcp);
        rank.finish().unwrap();
        assert_eq!(rank.ranks(), 1);
    }
}

#[test]
fn a_run_that_is_over_is_not_joined() {
    let (open, founders) = Open::begin(1, 3);
    for tcp in founders {
        started(tcp).finish().unwrap();
    }
    let error = open.try_join(SHORT).unwrap_err().to_string();
    assert!(error.contains("it does while its run goes on"), "{error}");
}

#[test]
fn a_joining_rank_that_is_lost_is_lost_like_any_rank() {
    let (open, founders) = Open::begin(2, 3);
    std::thread::scope(|scope| {
        for tcp in founders {
            scope.spawn(move || {
                let rank = started(tcp);
                // The loss may be heard of first, and end the wait.
                let _ = rank.wait(vec![any(RANK_JOINED), any("never")], None);
                let error = rank.finish().unwrap_err();
                assert!(matches!(error, EventsError::RankLost { rank: 2 }), "{error}");
            });
        }
        drop(open.try_join(TIMEOUT).unwrap());
    });
}

#[test]
fn a_joining_rank_knows_who_was_lost_before_it_came() {
    let (open, mut founders) = Open::begin(3, 4);
    let lost = founders.remove(1);
    let (asked, heard) = (AtomicU32::new(0), AtomicU32::new(0));
    let until_both = |count: &AtomicU32| {
        while count.load(Ordering::SeqCst) < 2 {
            std::thread::yield_now();
        }
    };
    std::thread::scope(|scope| {
        for tcp in founders {
            let (asked, heard) = (&asked, &heard);
            run(scope, started(tcp), move |rank| {
                rank.submit(Submit::on(vec![from(1, RANK_LOST)]), |rank, _| {
                    fire(rank, rank.rank(), "heard");
                    Ok(())
                })
                .unwrap();
                asked.fetch_add(1, Ordering::SeqCst);
                rank.wait(vec![any("heard")], None).unwrap();
                heard.fetch_add(1, Ordering::SeqCst);
                // Nobody has that number yet, or it has just come.
                if rank.ranks() == 3 {
                    rank.wait(vec![any(RANK_JOINED)], None).unwrap();
                }
                rank.wait(vec![from(3, "hello")], None).unwrap();
            });
        }
        until_both(&asked);
        drop(lost);
        until_both(&heard);
        run(scope, open.join(), |rank| {
            assert_eq!((rank.rank(), rank.ranks()), (3, 4));
            // What is for the lost one goes nowhere.
            for target in 0..3 {
                fire(rank, target, "hello");
            }
        });
    });
}

#[test]
fn draining_goes_on_when_ranks_have_joined() {
    let (open, founders) = Open::begin(1, 2);
    std::thread::scope(|scope| {
        let founder = founders.into_iter().next().unwrap();
        run(scope, started(founder), |rank| {
            rank.wait(vec![any(RANK_JOINED)], None).unwrap();
            rank.submit(Submit::on(vec![from(1, "part")]), |_, _| Ok(())).unwrap();
            rank.drain().unwrap();
            let group = EventId::from("again");
            rank.fire(&Target::Group(vec![0, 1]), &group, Lasting::Once, 0, &[]).unwrap();
            rank.wait(vec![any("again")], None).unwrap();
        });
        run(scope, open.join(), |rank| {
            fire(rank, 0, "part");
            rank.drain().unwrap();
            rank.wait(vec![from(0, "again")], None).unwrap();
        });
    });
}
