use crate::manager::shared::given_tests::{given, leave, name};
use crate::manager::tests::{Play, play};
use crate::manager::{Given, Item, Request, VariableRequest, Waiter};
use freestone_base::Ticket;
use std::collections::{BTreeMap, BTreeSet};

const SET: u64 = 900;

/// A client makes the block of a value, sets a variable to it and lets go of it.
fn set(play: &mut Play, title: u64, number: u64, expected: Option<u64>) -> Vec<(u64, Given)> {
    play.request(Request::PutInline { name: name(number), bytes: vec![1].into() });
    let item = Item { name: name(number), label: String::new() };
    let (title, ticket) = (title.to_string(), Ticket(SET));
    play.request(VariableRequest::Set { title, item, expected, ticket }.into());
    let given = given(play);
    play.request(Request::Release(vec![name(number)]));
    given
}

fn get(play: &mut Play, title: u64, hold: u64, waits: bool) -> Vec<(u64, Given)> {
    let by = Waiter { hold, owner: 0, worker: None, ticket: Ticket(hold) };
    play.request(VariableRequest::Get { title: title.to_string(), waits, by }.into());
    given(play)
}

/// A variable's value and its version.
type Value = (u64, u64);

#[test]
fn many_random_requests_are_answered_as_by_a_dictionary() {
    for seed in 0..200_u64 {
        let (mut play, mut state) = (play(), seed);
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888);
            (state >> 33) % below
        };
        let mut values: BTreeMap<u64, Value> = BTreeMap::new();
        // Entries that wait for a variable, and those that have read a value.
        let mut waiting: Vec<(u64, u64)> = Vec::new();
        let mut read: BTreeMap<u64, u64> = BTreeMap::new();
        for step in 0..80 {
            let title = random(3);
            match random(6) {
                0 | 1 => {
                    let version = values.get(&title).map_or(0, |(_, version)| *version);
                    let expected = [None, Some(version), Some(version + 1)][random(3) as usize];
                    let got = set(&mut play, title, step, expected);
                    if expected == Some(version + 1) {
                        assert_eq!(got, [(SET, Given::Nothing)]);
                        continue;
                    }
                    let (served, left): (Vec<_>, Vec<_>) =
                        waiting.into_iter().partition(|(_, of)| *of == title);
                    waiting = left;
                    assert_eq!(got.len(), served.len() + 1);
                    for ((hold, _), (ticket, given)) in served.iter().zip(&got) {
                        assert_eq!(hold, ticket);
                        assert!(
                            matches!(given, Given::Item { item, .. } if item.name == name(step))
                        );
                        read.insert(*hold, step);
                    }
                    let by = Waiter { hold: 999, owner: 0, worker: None, ticket: Ticket(1) };
                    let title_of = title.to_string();
                    play.request(VariableRequest::Get { title: title_of, waits: false, by }.into());
                    let [(1, Given::Item { version: new, .. })] = given(&play)[..] else {
                        panic!("it was set")
                    };
                    assert!(new > version, "versions grow");
                    leave(&mut play, 999);
                    values.insert(title, (step, new));
                }
                2 | 3 => {
                    let waits = random(2) == 0;
                    let got = get(&mut play, title, step, waits);
                    if let Some((number, version)) = values.get(&title) {
                        let item = Item { name: name(*number), label: String::new() };
                        assert_eq!(got, [(step, Given::Item { item, version: *version })]);
                        read.insert(step, *number);
                    } else if waits {
                        assert_eq!(got, []);
                        waiting.push((step, title));
                    } else {
                        assert_eq!(got, [(step, Given::Nothing)]);
                    }
                }
                4 => {
                    let ticket = Ticket(SET);
                    let title_of = title.to_string();
                    play.request(VariableRequest::Delete { title: title_of, ticket }.into());
                    let had = values.remove(&title).is_some();
                    let expected = if had { Given::Stored } else { Given::Nothing };
                    assert_eq!(given(&play), [(SET, expected)]);
                }
                _ => {
                    if let Some(hold) = read.keys().next().copied() {
                        read.remove(&hold);
                        assert_eq!(leave(&mut play, hold), []);
                    }
                    if let Some((hold, _)) = waiting.pop() {
                        assert_eq!(leave(&mut play, hold), [(hold, Given::Ended)]);
                    }
                }
            }
            let kept: BTreeSet<u64> =
                values.values().map(|(number, _)| *number).chain(read.values().copied()).collect();
            assert_eq!(play.statistics().blocks, kept.len() as u64, "seed {seed}, step {step}");
        }
    }
}
