//! Histories: matching and the end of runs in every order that a scheduler can make.
//!
//! `FREESTONE_SEED=7 cargo test -p freestone-events --test histories random` runs one random history;
//! `FREESTONE_HISTORIES=1000000` runs more of them, with `FREESTONE_FIRST=100000` from that one on.

#![allow(clippy::unwrap_used)]

mod naive;
mod world;

use freestone_events::event::{Dependency, EventId, Lasting, Source};
use freestone_events::matching::Mode;
use freestone_events::rank::RANK_JOINED;
use freestone_events::termination::Verdict;
use std::rc::Rc;
use world::{Choose, Op, World};

const HISTORIES: u64 = 100_000;
const IDS: [&str; 3] = ["a", "b", "c"];
const ONCE: Mode = Mode { persistent: false, greedy: false, at_least: 0 };
const PERSISTENT: Mode = Mode { persistent: true, greedy: false, at_least: 0 };

/// Seeded chance: splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(x ^ (x >> 31)) * end as u128) >> 64) as usize
    }
}

impl Choose for Random {
    fn choose(&mut self, count: usize) -> usize {
        self.below(count)
    }
}

fn random_dependencies(random: &mut Random, ranks: u32) -> Vec<Dependency> {
    let mut on = Vec::new();
    for _ in 0..random.below(4) {
        let id = EventId::from(IDS[random.below(IDS.len())]);
        match random.below(5) {
            0 => on.extend(Dependency::all(ranks, &id)),
            1 | 2 => on.push(Dependency { source: Source::Any, id }),
            _ => {
                let rank = random.below(ranks as usize) as u32;
                on.push(Dependency { source: Source::Rank(rank), id });
            }
        }
    }
    on
}

fn random_script(random: &mut Random, ranks: u32, depth: usize) -> Vec<Op> {
    let op = |_| match random.below(8) {
        0..4 => {
            let lasting = if random.below(12) == 0 { Lasting::Persistent } else { Lasting::Once };
            let target = random.below(ranks as usize) as u32;
            Op::Fire { target, id: IDS[random.below(IDS.len())], lasting }
        }
        4 if depth > 0 => Op::Retrieve { on: random_dependencies(random, ranks) },
        _ => {
            let on = random_dependencies(random, ranks);
            let mode = if random.below(4) == 0 && !on.is_empty() { PERSISTENT } else { ONCE };
            let deeper = if depth == 0 { vec![] } else { random_script(random, ranks, depth - 1) };
            Op::Submit { on, mode, body: Rc::new(deeper) }
        }
    };
    let len = if depth == 2 { 6 } else { 2 };
    (0..len).map(op).collect()
}

/// A random world of so many ranks, and of so many more that may join.
fn random_world(random: &mut Random, ranks: u32, joining: usize) -> World {
    let mut scripts: Vec<_> = (0..ranks).map(|_| random_script(random, ranks, 2)).collect();
    // Whoever joins first has this number.
    let welcome = Op::Submit {
        on: vec![Dependency::new(Source::Any, RANK_JOINED)],
        mode: PERSISTENT,
        body: Rc::new(vec![fire(ranks, IDS[random.below(IDS.len())])]),
    };
    if joining > 0 {
        scripts[random.below(ranks as usize)].push(welcome);
    }
    let joining = (0..joining).map(|_| random_script(random, ranks + 1, 1)).collect();
    World::new(scripts, 40).with_joining(joining)
}

#[test]
fn random_histories_keep_the_rules_and_end() {
    check_random_histories(0);
}

#[test]
fn random_histories_in_which_ranks_join_keep_the_rules_and_end() {
    check_random_histories(2);
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

/// Which histories are run: those of every build, unless the environment asks for others.
fn seeds() -> std::ops::Range<u64> {
    if let Some(seed) = number("FREESTONE_SEED") {
        return seed..seed + 1;
    }
    let first = number("FREESTONE_FIRST").unwrap_or(0);
    first..first + number("FREESTONE_HISTORIES").unwrap_or(HISTORIES)
}

fn check_random_histories(max_joining: usize) {
    let (mut ended, mut stuck, mut tasks) = (0, 0, 0);
    for seed in seeds() {
        let mut random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let ranks = 1 + random.below(3) as u32;
        let joining = random.below(max_joining + 1);
        let world = random_world(&mut random, ranks, joining);
        let outcome =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.run(&mut random)));
        let (verdict, submitted) = outcome.unwrap_or_else(|_| panic!("seed {seed}"));
        tasks += submitted;
        match verdict {
            Verdict::Ended => ended += 1,
            _ => stuck += 1,
        }
    }
    if seeds() == (0..HISTORIES) {
        assert!(ended > 500 && stuck > 1_000, "{ended} ended, {stuck} stuck");
        assert!(tasks > 100_000, "{tasks} tasks");
    }
}

/// Tries every sequence of choices, one after the other.
#[derive(Default)]
struct Exhaustive {
    /// What was chosen, of how many.
    path: Vec<(usize, usize)>,
    depth: usize,
}

impl Exhaustive {
    /// Goes on to the next sequence; false after the last.
    fn next(&mut self) -> bool {
        self.depth = 0;
        while let Some((choice, count)) = self.path.pop() {
            if choice + 1 < count {
                self.path.push((choice + 1, count));
                return true;
            }
        }
        false
    }
}

impl Choose for Exhaustive {
    fn choose(&mut self, count: usize) -> usize {
        if self.depth == self.path.len() {
            self.path.push((0, count));
        }
        let (choice, before) = self.path[self.depth];
        assert_eq!(before, count, "a run depends on more than its choices");
        self.depth += 1;
        choice
    }
}

/// Runs scripts in every order; how many orders there are.
fn in_every_order(scripts: &[Vec<Op>], wanted: Verdict) -> usize {
    let [ended, stuck] = count_orders(scripts, &[]);
    assert_eq!(if wanted == Verdict::Ended { stuck } else { ended }, 0);
    ended + stuck
}

/// Runs scripts in every order, with those who may join; how many orders end, and how many are
/// stuck.
fn count_orders(scripts: &[Vec<Op>], joining: &[Vec<Op>]) -> [usize; 2] {
    let (mut orders, mut chooser) = ([0, 0], Exhaustive::default());
    loop {
        let world = World::new(scripts.to_vec(), 10).with_joining(joining.to_vec());
        let (verdict, _) = world.run(&mut chooser);
        orders[usize::from(verdict != Verdict::Ended)] += 1;
        assert!(orders.iter().sum::<usize>() < 3_000_000, "too many orders to try");
        if !chooser.next() {
            return orders;
        }
    }
}

fn fire(target: u32, id: &'static str) -> Op {
    Op::Fire { target, id, lasting: Lasting::Once }
}

fn submit(source: u32, id: &'static str, body: Vec<Op>) -> Op {
    let on = vec![Dependency::new(Source::Rank(source), id)];
    Op::Submit { on, mode: ONCE, body: Rc::new(body) }
}

#[test]
fn a_question_and_an_answer_in_every_order() {
    let asks = vec![submit(1, "answer", vec![]), fire(1, "question")];
    let answers = vec![submit(0, "question", vec![fire(0, "answer")])];
    assert!(in_every_order(&[asks, answers], Verdict::Ended) > 10);
}

#[test]
fn an_event_that_nobody_wants_in_every_order() {
    assert!(in_every_order(&[vec![fire(1, "a")], vec![fire(0, "b")]], Verdict::Stuck) > 10);
}

#[test]
fn a_barrier_in_every_order() {
    let barrier = |_| {
        let on = Dependency::all(2, &"e".into());
        vec![Op::Submit { on, mode: ONCE, body: Rc::new(vec![]) }, fire(0, "e"), fire(1, "e")]
    };
    let scripts: Vec<_> = (0..2).map(barrier).collect();
    assert!(in_every_order(&scripts, Verdict::Ended) > 1_000);
}

#[test]
fn a_persistent_task_that_passes_on_in_every_order() {
    let on = vec![Dependency::new(Source::Any, "a")];
    let body = Rc::new(vec![fire(1, "a")]);
    let passes = vec![Op::Submit { on, mode: PERSISTENT, body }];
    let takes = vec![fire(0, "a"), submit(0, "a", vec![])];
    assert!(in_every_order(&[passes, takes], Verdict::Ended) > 10);
}

/// Serves whoever joins: answers each "a".
fn serves() -> Vec<Op> {
    let on = vec![Dependency::new(Source::Any, "a")];
    let body = Rc::new(vec![]);
    vec![Op::Submit { on, mode: PERSISTENT, body }]
}

#[test]
fn one_joins_or_not_in_every_order() {
    let [ended, stuck] = count_orders(&[serves()], &[vec![fire(0, "a"), fire(1, "a")]]);
    // It fires at itself, too, and has nobody there for that; or it never came.
    assert!(ended > 1 && stuck > 10, "{ended} ended, {stuck} stuck");
}

#[test]
fn two_join_one_after_the_other_in_every_order() {
    let [ended, stuck] = count_orders(&[vec![]], &[vec![], vec![]]);
    assert!(ended > 100, "{ended}");
    assert_eq!(stuck, 0);
}

#[test]
fn who_knows_of_a_joining_rank_fires_at_it_in_every_order() {
    let on = vec![Dependency::new(Source::Any, RANK_JOINED)];
    let welcome = Op::Submit { on, mode: PERSISTENT, body: Rc::new(vec![fire(1, "welcome")]) };
    let welcoming = vec![submit(0, "welcome", vec![fire(0, "a")])];
    let [ended, stuck] = count_orders(&[[serves(), vec![welcome]].concat()], &[welcoming]);
    assert!(ended > 100, "{ended}");
    assert_eq!(stuck, 0);
}
