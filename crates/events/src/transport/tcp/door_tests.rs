//! The doors, with joining ranks that do not do as they should.

use super::door::{Door, REFUSED};
use super::meeting::{DISAGREES, JOINING};
use super::named::{read_named, write_named};
use crate::event::Rank;
use crate::limits;
use crate::transport::Joining;
use freestone_tls::{Access, Identity, Tls};
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

/// The doors of rank 0 of three, and where they are.
fn doors(room: u32) -> (Arc<Door>, Access, [SocketAddr; 2]) {
    let access = Access::new(&Identity::make(1).unwrap()).unwrap();
    let door = Door::new(0, 3, room, &access, |_, _| Ok(()), || {});
    let listeners = [(), ()].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let places = [0, 1].map(|index: usize| listeners[index].local_addr().unwrap());
    let [meeting, own] = listeners;
    let addresses = ["zero", "one", "two"].map(str::to_owned).to_vec();
    door.keep_meeting(meeting, addresses).unwrap();
    door.open(own).unwrap();
    (door, access, places)
}

fn say(place: SocketAddr, access: &Access, number: u32, text: &str) -> Tls<TcpStream> {
    let mut tls = Tls::connect(TcpStream::connect(place).unwrap(), access).unwrap();
    write_named(&mut tls, number, text).unwrap();
    tls.flush().unwrap();
    tls
}

/// Asks to join, as a rank that listens at an address.
fn ask(place: SocketAddr, access: &Access, address: &str) -> Tls<TcpStream> {
    say(place, access, JOINING, &format!("{address} {}", limits::get().shared()))
}

fn next_news(door: &Door) -> Joining {
    while !door.has_news() {
        std::thread::yield_now();
    }
    let mut news = door.take_news();
    assert_eq!(news.len(), 1);
    news.pop_front().unwrap()
}

/// What a joining rank is told until it has to connect: its number, its attempt, where ranks are.
fn seated(tls: &mut Tls<TcpStream>) -> (Rank, String, Vec<String>) {
    let (number, attempt) = read_named(tls).unwrap();
    assert_eq!(read_named(tls).unwrap(), (5, String::new()));
    let addresses = (0..number).map(|_| read_named(tls).unwrap().1).collect();
    (number, attempt, addresses)
}

#[test]
fn the_number_of_one_that_gives_up_goes_to_the_next() {
    let (door, access, [meeting, own]) = doors(5);
    let mut first = ask(meeting, &access, "three");
    assert_eq!(next_news(&door), Joining::Asks);
    door.admit(3, &[1]);
    let addresses = ["zero", "", "two"].map(str::to_owned).to_vec();
    assert_eq!(seated(&mut first), (3, "1".to_owned(), addresses));
    drop(first);
    assert_eq!(next_news(&door), Joining::Gone);

    let mut second = ask(meeting, &access, "three-again");
    assert_eq!(next_news(&door), Joining::Asks);
    door.admit(3, &[]);
    let (number, attempt, _) = seated(&mut second);
    assert_eq!((number, &attempt[..]), (3, "2"));
    let mut connection = say(own, &access, number, &attempt);
    assert_eq!(read_named(&mut connection).unwrap(), (0, String::new()));
    // One of the first attempt comes late: it is not kept, and not answered.
    assert!(read_named(&mut say(own, &access, 3, "1")).is_err());
    write_named(&mut second, number, "").unwrap();
    second.flush().unwrap();
    assert_eq!(next_news(&door), Joining::Came);
    assert!(door.collect(3).is_some() && door.collect(3).is_none());
    door.grow(4);
    assert_eq!(read_named(&mut second).unwrap(), (4, String::new()));

    let mut third = ask(meeting, &access, "four");
    assert_eq!(next_news(&door), Joining::Asks);
    door.admit(4, &[]);
    assert_eq!(seated(&mut third).2.last().unwrap(), "three-again");
    door.close();
}

#[test]
fn who_asks_a_run_that_ends_meanwhile_is_refused() {
    let (door, access, [meeting, _]) = doors(5);
    let mut third = ask(meeting, &access, "three");
    assert_eq!(next_news(&door), Joining::Asks);
    door.close();
    assert_eq!(read_named(&mut third).unwrap(), (REFUSED, "the run is over".to_owned()));
}

#[test]
fn who_has_other_settings_is_refused_with_both_values() {
    let (door, access, [meeting, _]) = doors(5);
    let other = limits::get().shared().replace("WINDOW=4MiB", "WINDOW=1MiB");
    let mut joining = say(meeting, &access, JOINING, &format!("three {other}"));
    let words = "3 FREESTONE_EVENTS_WINDOW 1MiB 4MiB".to_owned();
    assert_eq!(read_named(&mut joining).unwrap(), (DISAGREES, words));
    assert!(!door.has_news());
    door.close();
}

#[test]
fn what_makes_no_sense_is_not_let_in() {
    let (door, access, [meeting, own]) = doors(3);
    let (number, why) = read_named(&mut ask(meeting, &access, "x")).unwrap();
    assert_eq!(number, REFUSED);
    assert!(why.starts_with("the run has 3 ranks, and room for no more"), "{why}");
    for (place, number, text) in [(meeting, 1, "x"), (own, 7, "1"), (own, 2, "no number")] {
        assert!(read_named(&mut say(place, &access, number, text)).is_err());
    }
    assert!(!door.has_news() && door.collect(7).is_none());
    door.close();
}
