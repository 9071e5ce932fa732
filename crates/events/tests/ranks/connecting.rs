//! Connections over TCP, which are made when a rank first sends to another.

use crate::runs::{any, met};
use freestone_events::rank::RANK_LOST;
use freestone_events::transport::tcp::{Meeting, Tcp};
use freestone_events::transport::{Incoming, Outgoing, Transport};
use freestone_events::{Access, Config, EventId, Identity, Lasting, Rank};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

const RANKS: u32 = 6;

fn send(tcp: &Tcp, target: u32, id: &str) {
    let (id, lasting) = (EventId::from(id), Lasting::Once);
    tcp.send(target, &Outgoing::Event { id: &id, lasting, kind: 0, parts: &[] }).unwrap();
    tcp.flush();
}

/// The next so many events, in the order in which they come.
fn take(tcp: &Tcp, count: usize) -> Vec<(u32, String)> {
    let mut events = Vec::new();
    while events.len() < count {
        let take = &mut |source, incoming| match incoming {
            Incoming::Event(event) => events.push((source, event.id.to_string())),
            other => panic!("{other:?} from {source}"),
        };
        tcp.poll(take).unwrap();
    }
    events
}

#[test]
fn a_run_begins_with_connections_to_rank_0_and_those_that_are_used_are_made() {
    let (ranks, _meeting) = met(RANKS);
    let counts = || ranks.iter().map(Tcp::connections).collect::<Vec<_>>();
    assert_eq!(counts(), [5, 1, 1, 1, 1, 1]);
    send(&ranks[2], 3, "there");
    assert_eq!(take(&ranks[3], 1), [(2, "there".to_owned())]);
    assert_eq!(counts(), [5, 1, 2, 2, 1, 1]);
    send(&ranks[3], 2, "back");
    send(&ranks[2], 3, "again");
    assert_eq!(take(&ranks[2], 1), [(3, "back".to_owned())]);
    assert_eq!(take(&ranks[3], 1), [(2, "again".to_owned())]);
    assert_eq!(counts(), [5, 1, 2, 2, 1, 1]);
}

#[test]
fn pairs_that_connect_to_each_other_at_once_have_one_connection_and_keep_their_order() {
    let (ranks, _meeting) = met(RANKS);
    let ids: Vec<_> = (0..20).map(|index| index.to_string()).collect();
    thread::scope(|scope| {
        for (own, tcp) in (0..).zip(&ranks) {
            let others = (0..RANKS).filter(move |other| *other != own);
            for target in others.clone() {
                let ids = &ids;
                scope.spawn(move || ids.iter().for_each(|id| send(tcp, target, id)));
            }
            let ids = &ids;
            scope.spawn(move || {
                let events = take(tcp, 5 * ids.len());
                for source in others {
                    let from = events.iter().filter(|(other, _)| *other == source);
                    assert!(from.map(|(_, id)| id).eq(ids), "{source} to {own}");
                }
            });
        }
    });
    assert!(ranks.iter().all(|tcp| tcp.connections() == RANKS as usize - 1));
}

#[test]
fn who_says_nothing_keeps_no_rank_waiting() {
    const SILENT: usize = 12;
    let access = Access::new(&Identity::make(1).unwrap()).unwrap();
    let meeting = Meeting::new("127.0.0.1:0", &access).unwrap();
    let address = meeting.address().unwrap();
    // Each of them alone would be waited for as long as a message may take, longer than all have.
    let silent: Vec<_> = (0..SILENT).map(|_| TcpStream::connect(address).unwrap()).collect();
    let timeout = Duration::from_secs(60);
    let met = thread::scope(|scope| {
        let access = &access;
        let join = |rank| {
            scope.spawn(move || Tcp::meet(&address.to_string(), rank, RANKS, access, timeout))
        };
        let ranks: Vec<_> = (0..RANKS).map(join).collect();
        meeting.hold(RANKS, RANKS, timeout).unwrap();
        ranks.into_iter().map(|rank| rank.join().unwrap().unwrap().rank()).collect::<Vec<_>>()
    });
    assert_eq!(met, [0, 1, 2, 3, 4, 5]);
    drop(silent);
}

#[test]
fn many_ranks_come_to_the_meeting_and_to_each_other_at_once() {
    const MANY: u32 = 48;
    let (ranks, _meeting) = met(MANY);
    thread::scope(|scope| {
        for tcp in ranks.iter().skip(2) {
            scope.spawn(move || send(tcp, 1, "here"));
        }
        let events = take(&ranks[1], MANY as usize - 2);
        let mut sources: Vec<_> = events.into_iter().map(|(source, _)| source).collect();
        sources.sort_unstable();
        assert!(sources.into_iter().eq(2..MANY));
    });
}

#[test]
fn a_loss_is_heard_of_by_ranks_that_were_never_connected_to_the_lost_one() {
    // Rank 0 is connected to all; when it is lost, who sends finds out who else is.
    for lost in [[2].as_slice(), &[0, 2]] {
        let (ranks, _meeting) = met(4);
        let (losing, ranks): (Vec<_>, Vec<_>) =
            ranks.into_iter().partition(|tcp| lost.contains(&tcp.rank()));
        let ranks: Vec<_> = ranks
            .into_iter()
            .map(|tcp| Rank::start(Box::new(tcp), Config::default()).unwrap())
            .collect();
        for rank in &ranks {
            // A rank that has not asked for losses by then ends with the first one.
            assert!(rank.retrieve_any(&[any(RANK_LOST)]).unwrap().is_empty());
        }
        drop(losing);
        thread::scope(|scope| {
            for rank in ranks {
                scope.spawn(move || {
                    let mut found = Vec::new();
                    while found.len() < lost.len() {
                        if rank.rank() == 3 {
                            rank.fire_bytes(2, "to a lost rank", &[]).unwrap();
                        }
                        let event = rank.wait(vec![any(RANK_LOST)], None).unwrap();
                        found.push(event[0].source);
                    }
                    found.sort_unstable();
                    assert_eq!(found, lost);
                    rank.finish().unwrap();
                });
            }
        });
    }
}
