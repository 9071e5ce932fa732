//! The manager in a few plain situations, on simulated workers: what it does, and how little.
#![allow(missing_docs, clippy::unwrap_used)]

use freestone_base::{FunctionId, Name, Resources, Ticket, WorkerId};
use freestone_core::manager::{Outcome, Reduction, Request, Statistics, Submission};
use freestone_core::wire::{CallOptions, Payload};
use freestone_simulate::{Cluster, Combine, Options, Script, SimulatedWorker, script};
use std::collections::BTreeMap;
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;
const MB: u64 = 1_000_000;

/// A cluster whose client names blocks by numbers and knows their values.
struct Scene {
    cluster: Cluster,
    values: BTreeMap<u64, u64>,
    resolved: BTreeMap<u64, Outcome>,
    /// The most blocks that there were at once, if they are counted.
    most: Option<usize>,
}

fn name(number: u64) -> Name {
    Name::of(&number.to_le_bytes())
}

impl Scene {
    fn new(workers: u32, cores: u32) -> Self {
        let cluster = Cluster::new(Options { checked: true, ..Options::default() });
        let mut scene =
            Self { cluster, values: BTreeMap::new(), resolved: BTreeMap::new(), most: None };
        scene.cluster.ask(Request::Define {
            function: FunctionId(0),
            label: "f".to_owned(),
            definition: Payload::default(),
        });
        for _ in 0..workers {
            let resources = Resources { cores, ..Resources::default() };
            scene.cluster.join(resources, cores, Vec::new());
        }
        scene.run();
        scene
    }

    fn call(&mut self, number: u64, inputs: &[u64], seconds: f64, nbytes: u64) -> Submission {
        let duration_ns = (seconds * SECOND as f64) as u64;
        let script = Script { duration_ns, nbytes, salt: number, ..Script::default() };
        let values: Vec<u64> = inputs.iter().map(|input| self.values[input]).collect();
        self.values.insert(number, script.value(FunctionId(0), &values, 0));
        Submission {
            outputs: [name(number)].into_iter().collect(),
            inputs: inputs.iter().map(|input| name(*input)).collect(),
            tickets: [Ticket(number)].into_iter().collect(),
            ..Submission::new(FunctionId(0), script.encode())
        }
    }

    fn submit(&mut self, number: u64, inputs: &[u64], seconds: f64, nbytes: u64) {
        let call = self.call(number, inputs, seconds, nbytes);
        self.cluster.ask(Request::Submit(vec![call]));
    }

    /// Runs until nothing happens any more, and checks every value.
    fn run(&mut self) {
        while !self.cluster.is_quiet() {
            self.cluster.step();
            self.check_sums();
            let held = self.cluster.workers().flat_map(SimulatedWorker::blocks).count();
            self.most = self.most.map(|most| most.max(held));
        }
        assert_eq!(self.cluster.violations, Vec::<String>::new());
        for (Ticket(number), outcome) in std::mem::take(&mut self.cluster.resolved) {
            if let Outcome::Ready(output) = &outcome {
                assert_eq!(script::output_value(output), self.values[&number]);
            }
            assert!(self.resolved.insert(number, outcome).is_none(), "{number} resolved twice");
        }
    }

    /// The calls of a reduction come with the arguments for as many inputs as they have.
    fn check_sums(&self) {
        for call in self.cluster.workers().flat_map(SimulatedWorker::calls) {
            let script = Script::decode(call.assignment.arguments.as_slice()).unwrap();
            if script.combine != Combine::Hash {
                assert_eq!(script.salt, call.assignment.inputs.len() as u64);
            }
        }
    }

    fn is_ready(&self, number: u64) -> bool {
        matches!(self.resolved.get(&number), Some(Outcome::Ready(_)))
    }

    fn statistics(&mut self) -> Statistics {
        let ticket = Ticket(u64::MAX);
        self.resolved.remove(&ticket.0);
        self.cluster.ask(Request::Statistics { ticket });
        self.run();
        match &self.resolved[&ticket.0] {
            Outcome::Statistics(statistics) => (**statistics).clone(),
            other => panic!("{other:?}"),
        }
    }

    fn seconds(&self) -> f64 {
        self.cluster.now as f64 / SECOND as f64
    }

    fn release_all(&mut self) {
        let names = self.values.keys().map(|number| name(*number)).collect();
        self.cluster.ask(Request::Release(names));
        self.run();
        let statistics = self.statistics();
        assert_eq!((statistics.tasks, statistics.blocks), (0, 0));
        assert_eq!(self.cluster.workers().flat_map(SimulatedWorker::blocks).count(), 0);
    }
}

#[test]
fn a_chain_stays_where_it_began() {
    let mut scene = Scene::new(4, 2);
    scene.submit(0, &[], 1.0, 10 * MB);
    for number in 1..20 {
        scene.submit(number, &[number - 1], 1.0, 10 * MB);
    }
    scene.run();
    assert!(scene.is_ready(19));
    assert_eq!(scene.statistics().transfers, 0);
    assert!(scene.seconds() < 20.1, "{} s", scene.seconds());
    scene.release_all();
}

#[test]
fn a_tree_of_sums_is_as_fast_as_its_depth() {
    let mut scene = Scene::new(8, 2);
    for leaf in 0..16 {
        scene.submit(leaf, &[], 1.0, MB);
    }
    let (mut level, mut next) = ((0..16).collect::<Vec<u64>>(), 16);
    while level.len() > 1 {
        let mut sums = Vec::new();
        for pair in level.chunks(2) {
            scene.submit(next, pair, 1.0, MB);
            sums.push(next);
            next += 1;
        }
        level = sums;
    }
    scene.run();
    assert!(scene.is_ready(next - 1));
    assert!(scene.seconds() < 5.2, "{} s", scene.seconds());
    scene.release_all();
}

#[test]
fn a_hot_block_is_sent_to_a_worker_once_and_from_more_than_one() {
    let mut scene = Scene::new(16, 4);
    scene.submit(0, &[], 1.0, 100 * MB);
    scene.run();
    for number in 1..=640 {
        scene.submit(number, &[0], 1.0, 8);
    }
    scene.run();
    assert!((1..=640).all(|number| scene.is_ready(number)));
    assert!(scene.statistics().transfers <= 15);
    assert!(scene.seconds() < 13.0, "{} s", scene.seconds());
    scene.release_all();
}

#[test]
fn both_sides_of_a_diamond_run_at_once() {
    let mut scene = Scene::new(2, 2);
    scene.submit(0, &[], 1.0, MB);
    scene.submit(1, &[0], 3.0, MB);
    scene.submit(2, &[0], 3.0, MB);
    scene.submit(3, &[1, 2], 1.0, MB);
    scene.run();
    assert!(scene.is_ready(3));
    assert!(scene.seconds() < 5.1, "{} s", scene.seconds());
    scene.release_all();
}

#[test]
fn a_chain_is_made_again_where_its_worker_was_lost() {
    let mut scene = Scene::new(2, 1);
    scene.submit(0, &[], 1.0, MB);
    for number in 1..10 {
        scene.submit(number, &[number - 1], 1.0, MB);
    }
    let names: Vec<Name> = (0..9).map(name).collect();
    scene.cluster.ask(Request::Release(names));
    for worker in [0, 1] {
        scene.cluster.lose(5_500_000_000 + worker, WorkerId(worker as u32));
        scene.cluster.join_like(6 * SECOND, WorkerId(worker as u32));
    }
    scene.run();
    assert!(scene.is_ready(9));
    assert!(scene.statistics().recovered >= 5);
    assert!(scene.seconds() < 16.5, "{} s", scene.seconds());
}

/// Blocks numbered from 0, as many on each worker as on any other, and in no order of workers.
fn scattered(workers: u32, blocks: u64) -> Scene {
    let mut scene = Scene::new(workers, 2);
    for number in 0..blocks {
        let mut call = scene.call(number, &[], 0.1, 10 * MB);
        call.worker = Some(WorkerId((number % u64::from(workers)) as u32));
        scene.cluster.ask(Request::Submit(vec![call]));
    }
    scene.run();
    scene
}

fn reduce(scene: &mut Scene, blocks: u64, arity: u32, commutes: bool) -> Statistics {
    let combine = if commutes { Combine::Sum } else { Combine::Compose };
    let script = Script { combine, duration_ns: SECOND / 10, nbytes: 10 * MB, ..Script::default() };
    let values: Vec<u64> = (0..blocks).map(|number| scene.values[&number]).collect();
    scene.values.insert(1_000, script.value(FunctionId(0), &values, 0));
    scene.cluster.ask(Request::Reduce(Reduction {
        output: name(1_000),
        function: FunctionId(0),
        arguments: (2..=u64::from(arity)).map(|salt| Script { salt, ..script }.encode()).collect(),
        inputs: (0..blocks).map(name).collect(),
        arity,
        commutes,
        options: Arc::new(CallOptions::default()),
        retries: 0,
        priority: 0,
        tenant: None,
        ticket: Ticket(1_000),
    }));
    if scene.most.is_some() {
        scene.cluster.ask(Request::Release((0..blocks).map(name).collect()));
    }
    scene.run();
    assert!(scene.is_ready(1_000));
    scene.statistics()
}

/// What is on one worker is combined there first: only what is left of each worker travels.
#[test]
fn a_reduction_by_place_moves_few_bytes() {
    let mut scene = scattered(4, 64);
    let statistics = reduce(&mut scene, 64, 4, true);
    assert!(statistics.transfers <= 12, "{} transfers", statistics.transfers);
    scene.release_all();
}

/// Neighbours only: at most one block of each pair of neighbours travels, and no more.
#[test]
fn a_reduction_in_order_gives_the_value_in_order() {
    let mut scene = scattered(4, 64);
    let statistics = reduce(&mut scene, 64, 4, false);
    assert!(statistics.transfers <= 64, "{} transfers", statistics.transfers);
    scene.release_all();
}

/// A reduction of blocks that are still to come, each call of which takes as long as it will; its
/// statistics, and the most blocks that there were at once.
fn reduce_as_they_come(commutes: bool) -> (Statistics, usize) {
    let mut scene = Scene::new(4, 2);
    for number in 0..400 {
        scene.submit(number, &[], 0.05 + 0.01 * (number % 11) as f64, 10 * MB);
    }
    scene.most = Some(0);
    let statistics = reduce(&mut scene, 400, 4, commutes);
    let most = scene.most.unwrap();
    scene.release_all();
    (statistics, most)
}

/// Inputs are combined as they come, also in order: else a worker would hold its share of all.
#[test]
fn a_reduction_holds_few_of_its_inputs() {
    let (in_order, most_in_order) = reduce_as_they_come(false);
    let (as_they_come, most) = reduce_as_they_come(true);
    assert!(most < 40, "{most} of 400 blocks at once");
    assert!(most_in_order < 80, "{most_in_order} of 400 blocks at once, in order");
    assert!(as_they_come.transfers < 20, "{} transfers", as_they_come.transfers);
    assert!(in_order.transfers < 400, "{} transfers in order", in_order.transfers);
}

/// All calls need a block of one worker, which would take 100 s: the others take their part.
#[test]
fn one_long_queue_is_shared() {
    let mut scene = Scene::new(5, 1);
    let mut first = scene.call(0, &[], 0.1, 10 * MB);
    first.worker = Some(WorkerId(0));
    scene.cluster.ask(Request::Submit(vec![first]));
    scene.run();
    let calls = (1..=100).map(|number| scene.call(number, &[0], 1.0, 8)).collect();
    scene.cluster.ask(Request::Submit(calls));
    scene.run();
    assert!((1..=100).all(|number| scene.is_ready(number)));
    assert!(scene.seconds() < 23.0, "{} s", scene.seconds());
    scene.release_all();
}

/// Blocks of a collection, made on two workers; two more join while calls run on all of them. What
/// calls took along that others stole stays there besides.
#[test]
fn joining_workers_get_their_share_while_calls_run() {
    for seed in 0..8 {
        let mut scene = scattered(2, 24);
        let blocks = (0..24).map(name).collect();
        scene.cluster.ask(Request::Collect { collection: 7, blocks });
        for number in 0..24 {
            scene.submit(100 + number, &[number], 0.05 * (1 + (number + seed) % 5) as f64, 8);
        }
        for _ in 0..2 {
            let resources = Resources { cores: 2, ..Resources::default() };
            scene.cluster.join(resources, 2, Vec::new());
        }
        for _ in 0..20 * seed {
            scene.cluster.step();
        }
        scene.cluster.ask(Request::Balance);
        scene.run();
        assert!((100..124).all(|number| scene.is_ready(number)));
        let statistics = scene.statistics();
        let held: Vec<u64> = statistics.workers.iter().map(|worker| worker.nbytes / MB).collect();
        assert_eq!((statistics.moving, statistics.recovered), (0, 0), "seed {seed}");
        let least = held.iter().min().unwrap();
        assert!(*least >= 50, "seed {seed}: {held:?}");
    }
}

#[test]
fn retired_workers_hand_over_by_the_plan() {
    let mut scene = scattered(4, 24);
    let blocks = (0..24).map(name).collect();
    scene.cluster.ask(Request::Collect { collection: 7, blocks });
    scene.cluster.ask(Request::Retire(vec![WorkerId(1), WorkerId(3)]));
    scene.run();
    let statistics = scene.statistics();
    let held: Vec<u64> = statistics.workers.iter().map(|worker| worker.nbytes / MB).collect();
    assert_eq!((held, statistics.transferred_nbytes / MB), (vec![120, 120], 120));
    scene.release_all();
}
