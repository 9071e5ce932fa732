//! Connections over TCP, which are made when a rank first sends to another.

use crate::runs::{any, met};
use freestone_events::rank::RANK_LOST;
use freestone_events::transport::tcp::Tcp;
use freestone_events::transport::{Incoming, Outgoing, Transport};
use freestone_events::{Config, EventId, Lasting, Rank};
use std::thread;

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
