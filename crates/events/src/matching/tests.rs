//! The rules of the README, one by one, and the bugs of the library that the paper describes.

use super::*;
use crate::event::Source;

type M = Matcher<&'static str, u32>;

fn from(rank: Rank, id: &str) -> Dependency {
    Dependency::new(Source::Rank(rank), id)
}

fn any(id: &str) -> Dependency {
    Dependency::new(Source::Any, id)
}

fn event(source: Rank, id: &str, payload: u32) -> Event<u32> {
    Event { source, id: id.into(), lasting: Lasting::Once, payload }
}

fn persistent(task: &'static str, on: Vec<Dependency>) -> Submission<&'static str> {
    let mode = Mode { persistent: true, greedy: false };
    Submission { task, on, mode, name: Some(task.to_owned()) }
}

fn greedy(task: &'static str, on: Vec<Dependency>) -> Submission<&'static str> {
    let mode = Mode { persistent: true, greedy: true };
    Submission { task, on, mode, name: None }
}

/// A matcher and what became ready.
#[derive(Default)]
struct Bench {
    matcher: M,
    ready: Vec<Ready<&'static str, u32>>,
}

impl Bench {
    fn submit(&mut self, submission: Submission<&'static str>) -> RequestId {
        self.matcher.submit(submission, &mut self.ready)
    }

    fn once(&mut self, task: &'static str, on: &[Dependency]) -> RequestId {
        self.submit(Submission::once(task, on.to_vec()))
    }

    fn fire(&mut self, source: Rank, id: &str, payload: u32) {
        self.matcher.deliver(event(source, id, payload), &mut self.ready);
    }

    fn fire_persistent(&mut self, source: Rank, id: &str, payload: u32) {
        let event = Event { lasting: Lasting::Persistent, ..event(source, id, payload) };
        self.matcher.deliver(event, &mut self.ready);
    }

    /// What ran since the last call, with what.
    fn ran(&mut self) -> Vec<(&'static str, Vec<u32>)> {
        let mut ran = Vec::new();
        while !self.ready.is_empty() {
            let Ready { task, given } = self.ready.remove(0);
            let events = match given {
                Given::Events(events) => events,
                Given::All(id) => self.matcher.gather(id, &mut self.ready),
            };
            ran.push((task, events.iter().map(|event| event.payload).collect()));
        }
        ran
    }
}

#[test]
fn a_task_without_dependencies_runs_at_once() {
    let mut bench = Bench::default();
    bench.once("t", &[]);
    assert_eq!(bench.ran(), [("t", vec![])]);
    assert_eq!(bench.matcher.kept(), 0);
}

#[test]
fn events_are_given_in_the_order_of_the_dependencies() {
    let mut bench = Bench::default();
    bench.once("t", &[from(0, "a"), from(1, "b"), any("c")]);
    bench.fire(2, "c", 3);
    bench.fire(1, "b", 2);
    assert_eq!(bench.ran(), []);
    bench.fire(0, "a", 1);
    assert_eq!(bench.ran(), [("t", vec![1, 2, 3])]);
    assert_eq!(bench.matcher.kept(), 0);
}

#[test]
fn the_task_submitted_first_consumes_first() {
    let mut bench = Bench::default();
    bench.once("any", &[any("e")]);
    bench.once("zero", &[from(0, "e")]);
    bench.once("later", &[any("e")]);
    for payload in 1..=3 {
        bench.fire(0, "e", payload);
    }
    assert_eq!(bench.ran(), [("any", vec![1]), ("zero", vec![2]), ("later", vec![3])]);
}

#[test]
fn events_that_came_first_are_consumed_first() {
    let mut bench = Bench::default();
    bench.fire(1, "e", 1);
    bench.fire(0, "e", 2);
    bench.fire(1, "e", 3);
    bench.once("zero", &[from(0, "e")]);
    bench.once("any", &[any("e"), any("e")]);
    assert_eq!(bench.ran(), [("zero", vec![2]), ("any", vec![1, 3])]);
    assert_eq!(bench.matcher.kept(), 0);
}

#[test]
fn any_source_and_a_certain_one_can_be_mixed() {
    // In the original an order that makes ANY equal to every source leaves this undefined.
    let mut bench = Bench::default();
    bench.once("t", &[any("e"), from(1, "e"), from(0, "e"), any("f")]);
    bench.fire(1, "e", 1);
    bench.fire(1, "e", 2);
    bench.fire(3, "f", 4);
    bench.fire(0, "e", 3);
    assert_eq!(bench.ran(), [("t", vec![1, 2, 3, 4])]);
}

#[test]
fn several_runs_of_a_persistent_task_can_be_in_the_making() {
    let mut bench = Bench::default();
    bench.submit(persistent("t", vec![from(0, "a"), from(1, "b")]));
    for payload in 1..=3 {
        bench.fire(0, "a", payload);
    }
    assert_eq!(bench.matcher.waiting()[0].holds, 3);
    bench.fire(1, "b", 11);
    bench.fire(1, "b", 12);
    assert_eq!(bench.ran(), [("t", vec![1, 11]), ("t", vec![2, 12])]);
    assert!(!bench.matcher.is_outstanding());
    let held = bench.matcher.held(|_| true);
    assert_eq!(held.iter().map(ToString::to_string).collect::<Vec<_>>(), ["'a' from rank 0"]);
}

#[test]
fn a_persistent_task_with_a_dependency_twice_gets_pairs() {
    let mut bench = Bench::default();
    bench.submit(persistent("t", vec![any("e"), from(1, "e")]));
    for (source, payload) in [(1, 1), (1, 2), (0, 3), (1, 4)] {
        bench.fire(source, "e", payload);
    }
    assert_eq!(bench.ran(), [("t", vec![1, 2]), ("t", vec![3, 4])]);
}

#[test]
fn a_persistent_task_takes_what_is_there() {
    let mut bench = Bench::default();
    for payload in 1..=3 {
        bench.fire(0, "e", payload);
    }
    bench.submit(persistent("t", vec![any("e")]));
    assert_eq!(bench.ran().len(), 3);
}

#[test]
fn a_persistent_event_is_consumed_any_number_of_times() {
    let mut bench = Bench::default();
    bench.once("early", &[from(0, "p"), from(0, "p")]);
    bench.fire_persistent(0, "p", 7);
    bench.once("late", &[any("p"), from(0, "e")]);
    bench.fire(0, "e", 1);
    assert_eq!(bench.ran(), [("early", vec![7, 7]), ("late", vec![7, 1])]);
    assert!(!bench.matcher.is_outstanding());
}

#[test]
fn a_persistent_event_goes_behind_those_of_its_identifier() {
    let mut bench = Bench::default();
    bench.fire_persistent(0, "e", 7);
    bench.fire(0, "e", 1);
    bench.once("t", &[any("e"), any("e"), any("e")]);
    assert_eq!(bench.ran(), [("t", vec![7, 1, 7])]);
}

#[test]
fn persistent_task_and_event_meet_once_per_firing() {
    let mut bench = Bench::default();
    bench.submit(persistent("state", vec![from(0, "state"), from(1, "e")]));
    bench.submit(persistent("alone", vec![from(0, "state")]));
    bench.fire_persistent(0, "state", 7);
    bench.fire(1, "e", 1);
    bench.fire(1, "e", 2);
    assert_eq!(bench.ran(), [("alone", vec![7]), ("state", vec![7, 1]), ("state", vec![7, 2])]);
}

#[test]
fn a_greedy_task_takes_all_that_is_there_when_it_starts() {
    let mut bench = Bench::default();
    bench.submit(greedy("t", vec![from(0, "a"), from(1, "b")]));
    bench.fire(1, "b", 11);
    bench.fire(0, "a", 1);
    bench.fire(0, "a", 2);
    assert_eq!(bench.ready.len(), 1);
    bench.fire(1, "b", 12);
    assert_eq!(bench.ran(), [("t", vec![1, 2, 11, 12])]);
    bench.fire(0, "a", 3);
    assert_eq!(bench.ran(), []);
    bench.fire(1, "b", 13);
    assert_eq!(bench.ran(), [("t", vec![3, 13])]);
}

#[test]
fn a_greedy_task_that_does_not_persist_runs_once() {
    let mut bench = Bench::default();
    let mode = Mode { persistent: false, greedy: true };
    bench.fire(0, "e", 1);
    bench.fire(0, "e", 2);
    bench.submit(Submission { task: "t", on: vec![any("e")], mode, name: None });
    assert!(bench.matcher.is_outstanding());
    assert_eq!(bench.ran(), [("t", vec![1, 2])]);
    bench.fire(0, "e", 3);
    assert_eq!(bench.ran(), []);
    assert_eq!(bench.matcher.unconsumed().len(), 1);
}

#[test]
fn retrieving_takes_one_event_of_each_dependency_that_is_there() {
    let mut bench = Bench::default();
    bench.fire(0, "a", 1);
    bench.fire(0, "a", 2);
    bench.fire(1, "c", 3);
    let found = bench.matcher.retrieve(&[from(0, "b"), from(0, "a"), any("c")]);
    let found: Vec<_> = found.iter().map(|(index, event)| (*index, event.payload)).collect();
    assert_eq!(found, [(1, 1), (2, 3)]);
}

#[test]
fn a_removed_task_gives_back_what_it_holds() {
    // In the original the events are lost.
    let mut bench = Bench::default();
    let named = |task| Submission { name: Some("x".into()), ..Submission::once(task, vec![]) };
    bench.submit(Submission { on: vec![from(0, "a"), from(0, "never")], ..named("gone") });
    bench.fire(0, "a", 1);
    bench.fire(0, "a", 2);
    assert!(bench.matcher.is_submitted("x"));
    assert_eq!(bench.matcher.remove("x", &mut bench.ready), 1);
    assert!(!bench.matcher.is_submitted("x"));
    assert_eq!(bench.matcher.remove("x", &mut bench.ready), 0);
    bench.once("t", &[from(0, "a"), any("a")]);
    assert_eq!(bench.ran(), [("t", vec![1, 2])]);
    assert_eq!(bench.matcher.kept(), 0);
}

#[test]
fn a_withdrawn_task_gives_to_those_who_wait() {
    let mut bench = Bench::default();
    let id = bench.once("gone", &[from(0, "a"), from(0, "never")]);
    bench.once("next", &[from(0, "a")]);
    bench.fire(0, "a", 1);
    assert_eq!(bench.ran(), []);
    assert!(bench.matcher.withdraw(id, &mut bench.ready));
    assert!(!bench.matcher.withdraw(id, &mut bench.ready));
    assert_eq!(bench.ran(), [("next", vec![1])]);
}

#[test]
fn what_was_consumed_leaves_nothing_behind() {
    // In the original every event leaks 112 bytes.
    let mut bench = Bench::default();
    for number in 0..1_000 {
        let id = format!("step {number} of a run with long identifiers");
        bench.fire(0, &id, number);
        bench.once("t", &[any(&id), from(1, &id)]);
        bench.fire(1, &id, number);
    }
    assert_eq!((bench.ran().len(), bench.matcher.kept()), (1_000, 0));
}

#[test]
fn the_end_waits_for_tasks_and_events_but_not_for_what_stays() {
    let mut bench = Bench::default();
    bench.submit(persistent("p", vec![any("e"), any("f")]));
    bench.fire_persistent(0, "q", 1);
    let tick = Event { lasting: Lasting::Weak, ..event(0, "tick", 1) };
    bench.matcher.deliver(tick, &mut bench.ready);
    bench.fire(0, "e", 1);
    assert!(!bench.matcher.is_outstanding());
    bench.fire(0, "nobody", 1);
    assert!(bench.matcher.is_outstanding());
    assert_eq!(bench.matcher.unconsumed()[0].to_string(), "'nobody' from rank 0");
    bench.matcher.retrieve(&[any("nobody")]);
    assert!(!bench.matcher.is_outstanding());
    bench.once("t", &[any("never")]);
    assert!(bench.matcher.is_outstanding());
    let waiting = bench.matcher.waiting();
    assert_eq!(waiting[1].lacks, [any("never")]);
}

#[test]
fn an_event_of_every_rank_is_one_dependency_each() {
    let mut bench = Bench::default();
    bench.once("sum", &Dependency::all(3, &EventId::from("e")));
    for rank in [2, 0, 1] {
        bench.fire(rank, "e", rank * 10);
    }
    assert_eq!(bench.ran(), [("sum", vec![0, 10, 20])]);
}

/// What a matcher looks at while `work` is done: values, their neighbours, keys.
fn looks(work: impl FnOnce()) -> u64 {
    let before = slab::LOOKS.get();
    work();
    slab::LOOKS.get() - before
}

/// A matcher in which so many tasks wait, for events of all sorts, and as many events for tasks.
fn crowded(count: u32) -> Bench {
    let mut bench = Bench::default();
    for number in 0..count {
        let id = format!("number {number}");
        bench.once("own", &[from(0, &id)]);
        bench.once("same", &[from(0, "same"), any("never")]);
        bench.once("any", &[any("of any"), from(number, "never")]);
        bench.submit(persistent("stays", vec![from(number, "stays"), any("never")]));
        bench.fire(number, "unwanted", number);
        bench.fire(number, &format!("unwanted {number}"), number);
    }
    bench
}

#[test]
fn the_cost_of_matching_does_not_depend_on_how_many_others_wait() {
    // In the original each match looks at all tasks that wait: here the last one's event comes first.
    let costs = |count: u32| {
        let mut bench = crowded(count);
        let last = format!("number {}", count - 1);
        let events = [(0, &last[..]), (0, "same"), (3, "of any"), (count - 1, "stays"), (1, "new")];
        let mut costs = events.map(|(source, id)| looks(|| bench.fire(source, id, 7))).to_vec();
        let unwanted = format!("unwanted {}", count - 1);
        for on in [from(count - 1, &unwanted), any("unwanted"), from(2, "nothing")] {
            costs.push(looks(|| {
                bench.once("late", std::slice::from_ref(&on));
            }));
        }
        costs.push(looks(|| drop(bench.matcher.retrieve(&[from(count - 1, "unwanted")]))));
        costs.push(looks(|| {
            bench.submit(persistent("gone", vec![any("never"), from(1, "never")]));
            assert_eq!(bench.matcher.remove("gone", &mut bench.ready), 1);
        }));
        assert_eq!(bench.ran().len(), 3);
        costs
    };
    let (few, many) = (costs(10), costs(20_000));
    for (step, (few, many)) in few.iter().zip(&many).enumerate() {
        // A table may show a key or two that are others' before the one that is looked for.
        assert!(*many <= few + 8, "step {step}: {few} looks, then {many}");
    }
}

#[test]
fn the_cost_of_a_task_grows_with_its_dependencies_alone() {
    let cost = |count: u32| {
        let mut bench = crowded(100);
        let on: Vec<_> = (0..count).map(|number| from(number, &format!("part {number}"))).collect();
        let cost = looks(|| {
            bench.once("sum", &on);
            (0..count).for_each(|number| bench.fire(number, &format!("part {number}"), number));
        });
        assert_eq!(bench.ran()[0].1.len(), count as usize);
        cost
    };
    let (one, many) = (cost(1), cost(1_000));
    assert!(many <= 1_000 * one, "{one} looks for one dependency, {many} for a thousand");
}
