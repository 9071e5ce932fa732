use crate::manager::tests::{Play, play};
use crate::manager::{Entry, Event, Limit, LockRequest, Outcome, SharedRequest};
use freestone_base::{Ticket, WorkerId};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

const TICKET: u64 = 500;

fn limit(number: u32) -> Limit {
    NonZeroU32::new(number)
}

fn enter_from(play: &mut Play, title: &str, at_once: u32, hold: u64, worker: Option<u32>) -> Entry {
    let (title, worker, ticket) = (title.to_owned(), worker.map(WorkerId), Ticket(TICKET));
    let holder = format!("h{hold}");
    let limit = limit(at_once);
    play.request(LockRequest::Enter { title, limit, hold, holder, worker, ticket }.into());
    match play.outcomes().pop() {
        Some((TICKET, Outcome::Entered(entry))) => entry,
        other => panic!("no entry but {other:?}"),
    }
}

fn enter(play: &mut Play, title: &str, at_once: u32, hold: u64) -> Entry {
    enter_from(play, title, at_once, hold, None)
}

fn wait(play: &mut Play, hold: u64) -> Vec<(u64, bool)> {
    play.request(LockRequest::Await { hold, ticket: Ticket(hold) }.into());
    accepted(play)
}

fn leave(play: &mut Play, hold: u64) -> Vec<(u64, bool)> {
    play.request(SharedRequest::Leave { hold }.into());
    accepted(play)
}

fn accepted(play: &Play) -> Vec<(u64, bool)> {
    let all = play.outcomes().into_iter();
    all.map(|(ticket, outcome)| (ticket, outcome == Outcome::Accepted(true))).collect()
}

fn behind(holds: &[u64]) -> Entry {
    Entry::Queued { holders: holds.iter().map(|hold| format!("h{hold}")).collect() }
}

#[test]
fn a_lock_lets_one_in_at_a_time_in_order() {
    let mut play = play();
    assert_eq!(enter(&mut play, "a", 0, 1), Entry::Granted);
    assert_eq!(enter(&mut play, "a", 0, 2), behind(&[1]));
    assert_eq!(enter(&mut play, "a", 0, 3), behind(&[1]));
    assert_eq!(enter(&mut play, "b", 0, 4), Entry::Granted);
    assert_eq!(wait(&mut play, 3), []);
    assert_eq!(wait(&mut play, 2), []);
    assert_eq!(leave(&mut play, 1), [(2, true)]);
    assert_eq!(wait(&mut play, 2), [(2, true)]);
    assert_eq!(leave(&mut play, 2), [(3, true)]);
    assert_eq!(leave(&mut play, 3), []);
    assert_eq!(leave(&mut play, 3), []);
}

#[test]
fn a_semaphore_lets_so_many_in() {
    let mut play = play();
    for hold in 0..4 {
        assert_eq!(enter(&mut play, "db", 4, hold), Entry::Granted);
    }
    assert_eq!(enter(&mut play, "db", 4, 4), behind(&[0, 1, 2, 3]));
    assert_eq!(wait(&mut play, 4), []);
    assert_eq!(leave(&mut play, 2), [(4, true)]);
    assert_eq!(enter(&mut play, "db", 4, 5), behind(&[0, 1, 3, 4]));
}

#[test]
fn who_leaves_the_line_hears_so_and_is_passed_over() {
    let mut play = play();
    enter(&mut play, "a", 0, 1);
    enter(&mut play, "a", 0, 2);
    enter(&mut play, "a", 0, 3);
    assert_eq!(wait(&mut play, 2), []);
    assert_eq!(wait(&mut play, 3), []);
    assert_eq!(leave(&mut play, 2), [(2, false)]);
    assert_eq!(wait(&mut play, 2), [(2, false)]);
    assert_eq!(leave(&mut play, 1), [(3, true)]);
}

#[test]
fn a_name_in_use_keeps_its_kind() {
    let mut play = play();
    enter(&mut play, "a", 3, 1);
    assert_eq!(enter(&mut play, "a", 2, 2), Entry::Other { limit: limit(3) });
    assert_eq!(enter(&mut play, "a", 0, 3), Entry::Other { limit: limit(3) });
    assert_eq!(leave(&mut play, 2), []);
    leave(&mut play, 1);
    assert_eq!(enter(&mut play, "a", 0, 4), Entry::Granted);
    assert_eq!(enter(&mut play, "a", 1, 5), Entry::Other { limit: None });
}

#[test]
fn a_lost_worker_lets_go() {
    let mut play = play();
    play.join(0, 1);
    play.join(1, 1);
    enter_from(&mut play, "a", 0, 1, Some(0));
    enter_from(&mut play, "a", 0, 2, Some(0));
    enter_from(&mut play, "a", 0, 3, Some(1));
    assert_eq!(wait(&mut play, 2), []);
    assert_eq!(wait(&mut play, 3), []);
    play.handle(Event::Left(WorkerId(0)));
    assert_eq!(accepted(&play), [(2, false), (3, true)]);
}

/// The plainest model: everybody in one line, of whom the first few are in.
#[derive(Default)]
struct Model(BTreeMap<u64, (u32, Vec<u64>)>);

impl Model {
    fn is_in(&self, title: u64, hold: u64) -> bool {
        let (limit, line) = &self.0[&title];
        line.iter().take((*limit).max(1) as usize).any(|one| *one == hold)
    }
}

#[test]
fn many_random_entries_are_let_in_as_in_one_line() {
    for seed in 0..200_u64 {
        let (mut play, mut model, mut state) = (play(), Model::default(), seed);
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888);
            (state >> 33) % below
        };
        let mut present: Vec<(u64, u64)> = Vec::new();
        for hold in 0..60 {
            let title = random(3);
            let at_once = random(4) as u32;
            let known = model.0.get(&title).map_or(at_once, |(limit, _)| *limit);
            let entry = enter(&mut play, &title.to_string(), at_once, hold);
            if known != at_once {
                assert_eq!(entry, Entry::Other { limit: limit(known) });
                continue;
            }
            model.0.entry(title).or_insert((at_once, Vec::new())).1.push(hold);
            present.push((title, hold));
            assert_eq!(entry == Entry::Granted, model.is_in(title, hold));
            wait(&mut play, hold);
            for _ in 0..random(3) {
                if present.is_empty() {
                    break;
                }
                let (title, leaving) = present.swap_remove(random(present.len() as u64) as usize);
                let before: Vec<u64> = present
                    .iter()
                    .filter(|(of, hold)| *of == title && !model.is_in(title, *hold))
                    .map(|(_, hold)| *hold)
                    .collect();
                let was_in = model.is_in(title, leaving);
                let answers = leave(&mut play, leaving);
                model.0.get_mut(&title).unwrap().1.retain(|hold| *hold != leaving);
                let granted = before.into_iter().filter(|hold| model.is_in(title, *hold));
                let mut expected: Vec<(u64, bool)> = granted.map(|hold| (hold, true)).collect();
                expected.extend((!was_in).then_some((leaving, false)));
                let mut answers = answers;
                answers.sort_unstable();
                expected.sort_unstable();
                assert_eq!(answers, expected, "seed {seed}");
                if model.0[&title].1.is_empty() {
                    model.0.remove(&title);
                }
            }
        }
    }
}
