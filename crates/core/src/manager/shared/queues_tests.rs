use crate::manager::shared::given_tests::{given, leave, name};
use crate::manager::tests::{Play, play};
use crate::manager::{
    Event, Given, Item, QueueRequest, Request, SharedRequest, Submission, Waiter,
};
use freestone_base::{FunctionId, Name, Ticket, WorkerId};
use smallvec::smallvec;
use std::collections::{BTreeMap, BTreeSet};

fn item(number: u64) -> Item {
    Item { name: name(number), label: String::new() }
}

fn by(hold: u64, owner: u64, worker: Option<u32>) -> Waiter {
    Waiter { hold, owner, worker: worker.map(WorkerId), ticket: Ticket(hold) }
}

/// A client makes the block of an item, puts it and lets go of it.
fn put(play: &mut Play, title: &str, capacity: u32, number: u64, hold: u64) -> Vec<(u64, Given)> {
    play.request(Request::PutInline { name: name(number), bytes: vec![1].into() });
    let (title, item, by) = (title.to_owned(), item(number), by(hold, 0, None));
    play.request(QueueRequest::Put { title, capacity: Some(capacity), item, by }.into());
    let given = given(play);
    play.request(Request::Release(vec![name(number)]));
    given
}

fn take(play: &mut Play, title: &str, capacity: u32, hold: u64, owner: u64) -> Vec<(u64, Given)> {
    let (title, by) = (title.to_owned(), by(hold, owner, None));
    play.request(QueueRequest::Take { title, capacity: Some(capacity), by, moves: false }.into());
    given(play)
}

fn close(play: &mut Play, title: &str) -> Vec<(u64, Given)> {
    let (title, ticket) = (title.to_owned(), Ticket(900));
    play.request(QueueRequest::Close { title, capacity: Some(0), ticket }.into());
    given(play)
}

fn finish(play: &mut Play, hold: u64) -> Vec<(u64, Given)> {
    play.request(SharedRequest::Finish { hold, ticket: Ticket(901) }.into());
    given(play)
}

/// The numbers of items that were given, by the entries that have them.
fn items(given: &[(u64, Given)], known: u64) -> Vec<(u64, u64)> {
    let numbers: BTreeMap<Name, u64> = (0..known).map(|number| (name(number), number)).collect();
    given
        .iter()
        .filter_map(|(hold, given)| match given {
            Given::Item { item, .. } => Some((*hold, numbers[&item.name])),
            _ => None,
        })
        .collect()
}

#[test]
fn a_block_lives_as_long_as_it_is_in_a_queue_or_taken() {
    let mut play = play();
    assert_eq!(put(&mut play, "a", 0, 1, 10), [(10, Given::Stored)]);
    assert_eq!(play.statistics().blocks, 1);
    assert_eq!(items(&take(&mut play, "a", 0, 11, 0), 9), [(11, 1)]);
    assert_eq!(play.statistics().blocks, 1);
    assert_eq!(leave(&mut play, 11), []);
    assert_eq!(items(&take(&mut play, "a", 0, 12, 0), 9), [(12, 1)]);
    finish(&mut play, 12);
    play.assert_empty();
}

#[test]
fn what_the_manager_does_not_know_is_not_put() {
    let mut play = play();
    let (title, item, by) = ("a".to_owned(), item(1), by(1, 0, None));
    play.request(QueueRequest::Put { title, capacity: Some(0), item, by }.into());
    assert_eq!(given(&play), [(1, Given::Unknown)]);
}

#[test]
fn the_block_of_a_task_that_runs_may_be_put() {
    let mut play = play();
    let (outputs, tickets) = (smallvec![name(1)], smallvec![Ticket(5)]);
    let call = Submission { outputs, tickets, ..Submission::new(FunctionId(0), Vec::new().into()) };
    let (label, definition) = ("f".to_owned(), Vec::new().into());
    play.request(Request::Define { function: FunctionId(0), label, definition });
    play.request(Request::Submit(vec![call]));
    let (title, item, by) = ("a".to_owned(), item(1), by(1, 0, None));
    play.request(QueueRequest::Put { title, capacity: Some(0), item, by }.into());
    assert_eq!(given(&play), [(1, Given::Stored)]);
    // Its client has no need of it any more, but others will.
    play.request(Request::Abandon(vec![(name(1), 1)]));
    assert_eq!(play.statistics().waiting + play.statistics().ready, 1);
}

#[test]
fn who_has_taken_does_not_wait_for_itself_at_the_end() {
    let mut play = play();
    for number in 0..2 {
        put(&mut play, "a", 0, number, 10 + number);
    }
    take(&mut play, "a", 0, 20, 1);
    take(&mut play, "a", 0, 21, 2);
    assert_eq!(close(&mut play, "a"), [(900, Given::Stored)]);
    assert_eq!(take(&mut play, "a", 0, 22, 1), []);
    // A third one, which has nothing, waits too.
    assert_eq!(take(&mut play, "a", 0, 23, 3), []);
    let ended = |hold| (hold, Given::Closed);
    assert_eq!(take(&mut play, "a", 0, 24, 2), [ended(22), ended(23), ended(24)]);
    // One of them dies after all.
    leave(&mut play, 20);
    assert_eq!(items(&take(&mut play, "a", 0, 25, 4), 9), [(25, 0)]);
}

#[test]
fn what_a_lost_worker_had_goes_back_in_its_place() {
    let mut play = play();
    play.join(0, 1);
    play.join(1, 1);
    for number in 0..3 {
        put(&mut play, "a", 0, number, 10 + number);
    }
    for (hold, worker) in [(20, 0), (21, 1), (22, 0), (23, 0)] {
        let (title, by) = ("a".to_owned(), by(hold, 1, Some(worker)));
        play.request(QueueRequest::Take { title, capacity: Some(0), by, moves: false }.into());
    }
    play.handle(Event::Left(WorkerId(0)));
    assert_eq!(given(&play), [(23, Given::Ended)]);
    assert_eq!(items(&take(&mut play, "a", 0, 30, 0), 9), [(30, 0)]);
    assert_eq!(items(&take(&mut play, "a", 0, 31, 0), 9), [(31, 2)]);
}

#[test]
fn a_queue_that_was_opened_ends_with_its_entry() {
    let mut play = play();
    play.join(0, 1);
    let open = |play: &mut Play, hold, worker| {
        let (title, by) = ("a".to_owned(), by(hold, 1, worker));
        play.request(QueueRequest::Open { title, capacity: 2, by }.into());
        given(play)
    };
    let put_into = |play: &mut Play, number| {
        play.request(Request::PutInline { name: name(number), bytes: vec![1].into() });
        let (title, item, by) = ("a".to_owned(), item(number), by(number, 0, None));
        play.request(QueueRequest::Put { title, capacity: None, item, by }.into());
        let given = given(play);
        play.request(Request::Release(vec![name(number)]));
        given
    };
    assert_eq!(put_into(&mut play, 1), [(1, Given::Closed)]);
    for (worker, hold) in [(None, 10), (Some(0), 20)] {
        assert_eq!(open(&mut play, hold, worker), [(hold, Given::Stored)]);
        assert_eq!(open(&mut play, hold + 1, worker), [(hold + 1, Given::Other { capacity: 2 })]);
        assert_eq!(put_into(&mut play, hold + 2), [(hold + 2, Given::Stored)]);
        assert_eq!(put_into(&mut play, hold + 3), [(hold + 3, Given::Stored)]);
        assert_eq!(put_into(&mut play, hold + 4), []);
        assert_eq!(play.statistics().blocks, 3);
        assert_eq!(items(&take(&mut play, "a", 2, hold + 5, 1), 30), [(hold + 5, hold + 2)]);
        finish(&mut play, hold + 5);
        assert_eq!(play.statistics().blocks, 2);
        assert_eq!(put_into(&mut play, hold + 6), []);
        if worker.is_none() {
            assert_eq!(leave(&mut play, hold), [(hold + 6, Given::Closed)]);
        } else {
            play.handle(Event::Left(WorkerId(0)));
            assert_eq!(given(&play), [(hold + 6, Given::Closed)]);
        }
        play.assert_empty();
        assert_eq!(put_into(&mut play, hold + 7), [(hold + 7, Given::Closed)]);
    }
    // One that was deleted is not its owner's any more.
    open(&mut play, 30, None);
    play.request(QueueRequest::Delete { title: "a".to_owned(), ticket: Ticket(900) }.into());
    open(&mut play, 31, None);
    assert_eq!(leave(&mut play, 30), []);
    assert_eq!(put_into(&mut play, 32), [(32, Given::Stored)]);
    leave(&mut play, 31);
    play.assert_empty();
}

/// The plainest model: items and those who wait, each in one row.
#[derive(Default)]
struct Model {
    capacity: usize,
    closed: bool,
    items: BTreeSet<u64>,
    /// Entries that wait for room with an item, that wait for an item, and that have one.
    putters: Vec<(u64, u64)>,
    takers: Vec<(u64, u64)>,
    taken: Vec<(u64, u64, u64)>,
}

impl Model {
    /// What becomes of those who wait, as entries with the items that they get.
    fn advance(&mut self) -> Vec<(u64, Option<u64>)> {
        let mut answers = Vec::new();
        loop {
            if let (false, Some(item)) = (self.takers.is_empty(), self.items.first().copied()) {
                let (hold, owner) = self.takers.remove(0);
                self.items.remove(&item);
                self.taken.push((hold, owner, item));
                answers.push((hold, Some(item)));
            } else if !self.putters.is_empty()
                && !self.closed
                && (self.capacity == 0 || self.items.len() < self.capacity)
            {
                let (hold, item) = self.putters.remove(0);
                self.items.insert(item);
                answers.push((hold, None));
            } else {
                break;
            }
        }
        if self.closed {
            answers.extend(self.putters.drain(..).map(|(hold, _)| (hold, None)));
            let waits = |owner| self.takers.iter().any(|(_, one)| *one == owner);
            if self.items.is_empty() && self.taken.iter().all(|(_, owner, _)| waits(*owner)) {
                answers.extend(self.takers.drain(..).map(|(hold, _)| (hold, None)));
            }
        }
        answers
    }
}

#[test]
fn many_random_requests_are_answered_as_by_the_model() {
    for seed in 0..200_u64 {
        let (mut play, mut state) = (play(), seed);
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888);
            (state >> 33) % below
        };
        let capacity = random(4) as u32;
        let mut model = Model { capacity: capacity as usize, ..Model::default() };
        for step in 0..80 {
            let mut expected = Vec::new();
            let got = match random(9) {
                0..=2 => {
                    let got = put(&mut play, "a", capacity, step, step);
                    if model.closed {
                        expected.push((step, None));
                    } else {
                        model.putters.push((step, step));
                    }
                    got
                }
                3..=5 => {
                    let owner = random(3);
                    model.takers.push((step, owner));
                    take(&mut play, "a", capacity, step, owner)
                }
                6 if !model.taken.is_empty() => {
                    let at = random(model.taken.len() as u64) as usize;
                    let (hold, _, item) = model.taken.swap_remove(at);
                    if random(2) == 0 {
                        finish(&mut play, hold)
                    } else {
                        model.items.insert(item);
                        leave(&mut play, hold)
                    }
                }
                7 if !model.takers.is_empty() => {
                    let at = random(model.takers.len() as u64) as usize;
                    let (hold, _) = model.takers.remove(at);
                    expected.push((hold, None));
                    play.request(SharedRequest::Withdraw { hold }.into());
                    given(&play)
                }
                8 if step > 60 && !model.closed => {
                    model.closed = true;
                    expected.push((900, None));
                    let (title, ticket) = ("a".to_owned(), Ticket(900));
                    play.request(
                        QueueRequest::Close { title, capacity: Some(capacity), ticket }.into(),
                    );
                    given(&play)
                }
                _ => continue,
            };
            expected.extend(model.advance());
            let numbers: BTreeMap<u64, u64> = items(&got, 80).into_iter().collect();
            let mut got: Vec<(u64, Option<u64>)> =
                got.iter().map(|(hold, _)| (*hold, numbers.get(hold).copied())).collect();
            got.sort_unstable();
            expected.sort_unstable();
            assert_eq!(got, expected, "seed {seed}, step {step}");
            let blocks = model.items.len() + model.taken.len() + model.putters.len();
            assert_eq!(play.statistics().blocks, blocks as u64, "seed {seed}, step {step}");
        }
    }
}

#[test]
fn who_moves_waits_no_longer_at_a_worker_that_is_to_be_let_go() {
    let mut play = play();
    play.join(0, 1);
    play.join(1, 1);
    let take = |play: &mut Play, hold: u64, worker: u32, moves: bool| {
        let (title, by) = ("a".to_owned(), by(hold, 0, Some(worker)));
        play.request(QueueRequest::Take { title, capacity: Some(0), by, moves }.into());
        given(play)
    };
    for (hold, worker, moves) in [(1, 0, true), (2, 0, false), (3, 1, true)] {
        assert!(take(&mut play, hold, worker, moves).is_empty());
    }
    play.request(Request::Retire(vec![WorkerId(0)]));
    assert_eq!(given(&play), [(1, Given::Ended)]);
    assert_eq!(take(&mut play, 4, 0, true), [(4, Given::Ended)]);
    assert_eq!(items(&put(&mut play, "a", 0, 1, 10), 2), [(2, 1)]);
    assert_eq!(items(&put(&mut play, "a", 0, 0, 11), 2), [(3, 0)]);
}
