//! What the manager does about stragglers, losses and workers that come back.
#![allow(missing_docs, clippy::unwrap_used)]

use freestone_base::{FunctionId, Name, Resources, Ticket, WorkerId};
use freestone_core::manager::{Outcome, Request, Submission};
use freestone_core::wire::{CallOptions, Payload};
use freestone_simulate::{Cluster, Faults, Options, Script};
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;
const MB: u64 = 1_000_000;

fn name(number: u64) -> Name {
    Name::of(&number.to_le_bytes())
}

fn cluster(workers: u32, slots: u32) -> Cluster {
    let pulse_ns = Some(SECOND / 10);
    let mut cluster = Cluster::new(Options { checked: true, pulse_ns, ..Options::default() });
    let (label, definition) = ("f".to_owned(), Payload::default());
    cluster.ask(Request::Define { function: FunctionId(0), label, definition });
    for _ in 0..workers {
        cluster.join(Resources { cores: slots, ..Resources::default() }, slots, Vec::new());
    }
    cluster
}

fn submit(cluster: &mut Cluster, number: u64, seconds: u64, nbytes: u64, options: CallOptions) {
    let script =
        Script { duration_ns: seconds * SECOND, nbytes, salt: number, ..Script::default() };
    cluster.ask(Request::Submit(vec![Submission {
        outputs: [name(number)].into_iter().collect(),
        options: Arc::new(options),
        tickets: [Ticket(number)].into_iter().collect(),
        ..Submission::new(FunctionId(0), script.encode())
    }]));
}

fn is_resolved(cluster: &Cluster, number: u64) -> bool {
    cluster
        .resolved
        .iter()
        .any(|(ticket, outcome)| *ticket == Ticket(number) && matches!(outcome, Outcome::Ready(_)))
}

fn run_until(cluster: &mut Cluster, what: &str, is_so: impl Fn(&Cluster) -> bool) {
    for _ in 0..100_000 {
        if is_so(cluster) {
            assert_eq!(cluster.violations, Vec::<String>::new());
            return;
        }
        cluster.step();
    }
    panic!("never: {what}");
}

fn holders(cluster: &Cluster, number: u64) -> usize {
    cluster.workers().filter(|worker| worker.block(&name(number)).is_some()).count()
}

/// Calls of a second have been seen; then one begins that will take ten.
fn with_a_straggler(options: CallOptions) -> Cluster {
    let mut cluster = cluster(2, 1);
    submit(&mut cluster, 0, 1, 8, CallOptions::default());
    run_until(&mut cluster, "a call is measured", |cluster| is_resolved(cluster, 0));
    cluster.options.faults = Faults { slow: 1.0, ..Faults::default() };
    submit(&mut cluster, 1, 1, 8, options);
    run_until(&mut cluster, "it begins", |cluster| {
        cluster.workers().any(|worker| worker.calls().any(|call| worker.runs(call.assignment.task)))
    });
    cluster.options.faults = Faults::default();
    cluster
}

#[test]
fn a_straggler_is_overtaken_by_a_second_attempt_and_ended() {
    let mut cluster = with_a_straggler(CallOptions::default());
    run_until(&mut cluster, "the call ends", |cluster| is_resolved(cluster, 1));
    let seconds = cluster.now as f64 / SECOND as f64;
    assert!(seconds < 7.0, "{seconds} s: nobody helped");
    run_until(&mut cluster, "the first attempt is ended", |cluster| {
        cluster.workers().all(|worker| worker.held() == 0)
    });
}

#[test]
fn what_may_not_run_twice_does_not() {
    let mut cluster = with_a_straggler(CallOptions { twice: false, ..CallOptions::default() });
    run_until(&mut cluster, "the call ends", |cluster| is_resolved(cluster, 1));
    assert!(cluster.now > 10 * SECOND);
}

#[test]
fn a_first_attempt_that_ends_before_the_second_wins() {
    let mut cluster = with_a_straggler(CallOptions::default());
    run_until(&mut cluster, "a second attempt", |cluster| {
        cluster.workers().filter(|worker| worker.held() > 0).count() == 2
    });
    let second =
        cluster.workers().find(|worker| worker.calls().any(|call| call.assignment.attempt == 2));
    // Its worker is lost, and no other one is idle: the straggler goes on alone.
    let second = second.unwrap().id;
    let now = cluster.now;
    cluster.lose(now, second);
    run_until(&mut cluster, "the call ends", |cluster| is_resolved(cluster, 1));
}

#[test]
fn a_block_has_as_many_replicas_as_were_asked_for_also_after_a_loss() {
    let mut cluster = cluster(4, 1);
    let options = CallOptions { replicas: 2, ..CallOptions::default() };
    submit(&mut cluster, 0, 1, MB, options);
    run_until(&mut cluster, "there are two replicas", |cluster| holders(cluster, 0) == 2);
    let holder = cluster.workers().find(|worker| worker.block(&name(0)).is_some()).unwrap().id;
    let now = cluster.now;
    cluster.lose(now, holder);
    run_until(&mut cluster, "one is lost", |cluster| holders(cluster, 0) == 1);
    run_until(&mut cluster, "there are two again", |cluster| holders(cluster, 0) == 2);
    assert!(now > 0 && cluster.now < now + 2 * SECOND, "it was copied, and not made again");
    cluster.ask(Request::Release(vec![name(0)]));
    run_until(&mut cluster, "all replicas go", |cluster| holders(cluster, 0) == 0);
}

#[test]
fn what_is_dear_is_replicated_where_workers_are_lost() {
    let mut cluster = cluster(4, 1);
    submit(&mut cluster, 0, 20, MB, CallOptions::default());
    run_until(&mut cluster, "it is made", |cluster| is_resolved(cluster, 0));
    assert_eq!(holders(&cluster, 0), 1, "nobody was lost so far");
    let idle = cluster.workers().find(|worker| worker.block(&name(0)).is_none()).unwrap().id;
    let now = cluster.now;
    cluster.lose(now, idle);
    submit(&mut cluster, 1, 20, MB, CallOptions::default());
    run_until(&mut cluster, "a second replica", |cluster| holders(cluster, 1) == 2);
}

#[test]
fn one_without_executors_keeps_blocks_and_gets_no_calls() {
    let mut cluster = cluster(0, 0);
    let keeper = cluster.join(Resources { cores: 0, ..Resources::default() }, 0, Vec::new());
    submit(&mut cluster, 0, 1, MB, CallOptions::default());
    let options = CallOptions { resources: Resources::default(), ..CallOptions::default() };
    submit(&mut cluster, 1, 1, 8, options);
    for _ in 0..50 {
        cluster.step();
    }
    assert!(cluster.workers().all(|worker| worker.held() == 0));
    let worker = cluster.join(Resources { cores: 1, ..Resources::default() }, 1, Vec::new());
    run_until(&mut cluster, "both calls end", |cluster| {
        is_resolved(cluster, 0) && is_resolved(cluster, 1)
    });
    cluster.ask(Request::Retire(vec![worker]));
    run_until(&mut cluster, "it is handed over", |cluster| {
        cluster.workers().any(|other| other.id == keeper && other.block(&name(0)).is_some())
    });
    assert_eq!(worker, WorkerId(1));
}
