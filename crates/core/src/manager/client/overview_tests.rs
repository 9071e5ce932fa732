use crate::manager::graph::Functions;
use crate::manager::tests::{Play, call, inline, name, play, stored};
use crate::manager::{Action, Outcome, Record, Request};
use crate::manager::{Overview, Query};
use crate::wire::{Payload, RaisedException, TaskFailure};
use freestone_base::{FunctionId, Ticket};

fn overview(play: &mut Play, query: Query) -> Overview {
    play.request(Request::Overview { query, ticket: Ticket(999) });
    match play.outcomes().pop() {
        Some((999, Outcome::Overview(overview))) => *overview,
        other => panic!("no overview but {other:?}"),
    }
}

fn raised(traceback: &str) -> TaskFailure {
    TaskFailure::Raised(Box::new(RaisedException {
        kind: "ValueError".to_owned(),
        message: "no".to_owned(),
        traceback: traceback.to_owned(),
        pickled: Payload::from(&b""[..]),
        in_encoding: false,
    }))
}

fn started() -> Play {
    let mut play = play();
    let (function, definition) = (FunctionId(0), Payload::from(&b"code"[..]));
    play.request(Request::Define { function, label: "mass".to_owned(), definition });
    play.join(0, 1);
    play
}

#[test]
fn tasks_and_blocks_are_counted_by_function() {
    let mut play = started();
    play.request(Request::Submit(vec![call(1, &[]), call(2, &[1])]));
    let assignment = play.runs(0).remove(0);
    let found = overview(&mut play, Query { limit: 10, ..Query::default() });
    let mass = &found.functions[0];
    assert_eq!((mass.label.as_str(), mass.waiting, mass.assigned), ("mass", 1, 1));
    let stages: Vec<_> = found.tasks.iter().map(|task| (task.name, &*task.stage)).collect();
    assert_eq!(stages, [(name(1), "assigned"), (name(2), "waiting")]);
    play.done(0, &assignment, inline(b"value"));
    let found = overview(&mut play, Query { limit: 10, ..Query::default() });
    let mass = &found.functions[0];
    assert_eq!((mass.waiting, mass.assigned, mass.done, mass.blocks), (0, 1, 1, 1));
    assert_eq!((mass.busy_ns, mass.nbytes), (1000, 5));
    assert_eq!((mass.durations[0], mass.durations.iter().sum()), (1, 1_u64));
    assert_eq!((found.blocks[0].name, found.blocks[0].nbytes), (name(1), 5));
}

#[test]
fn blocks_that_no_function_is_known_for_are_counted_last() {
    let mut play = started();
    assert_eq!(overview(&mut play, Query::default()).functions.len(), 1);
    let bytes = Payload::from(&b"value"[..]);
    play.request(Request::PutInline { name: name(1), bytes });
    let found = overview(&mut play, Query::default());
    let [mass, others] = &found.functions[..] else { panic!("{:?}", found.functions) };
    assert_eq!((mass.label.as_str(), mass.blocks), ("mass", 0));
    assert_eq!((others.label.as_str(), others.blocks, others.nbytes), ("", 1, 5));
}

#[test]
fn the_graph_has_what_is_not_done_and_what_that_needs() {
    let mut play = started();
    play.request(Request::Submit(vec![call(1, &[]), call(2, &[1]), call(3, &[1, 2])]));
    let assignment = play.runs(0).remove(0);
    let asked = |limit| Query { graph: Some(limit), ..Query::default() };
    let graph = overview(&mut play, asked(3)).graph.unwrap();
    assert_eq!((graph.unfinished, graph.nodes.len()), (3, 3));
    assert_eq!(graph.edges, [(0, 1), (0, 2), (1, 2)]);
    assert_eq!(graph.between, [(0, 0, 3)]);
    play.done(0, &assignment, inline(b"value"));
    let graph = overview(&mut play, asked(2)).graph.unwrap();
    assert_eq!(graph.unfinished, 2);
    let block = graph.nodes.iter().find(|node| node.name == name(1)).unwrap();
    assert_eq!((&*block.stage, block.function), ("done", Some(0)));
    assert_eq!(graph.edges.len(), 3);
    let graph = overview(&mut play, asked(1)).graph.unwrap();
    assert_eq!((graph.nodes.len(), graph.edges.len(), graph.between.len()), (0, 0, 1));
}

#[test]
fn the_most_that_outputs_took_is_remembered() {
    let mut play = started();
    play.request(Request::Submit(vec![call(1, &[])]));
    let assignment = play.runs(0).remove(0);
    play.done(0, &assignment, stored(1, 100));
    let mass = overview(&mut play, Query::default()).functions.remove(0);
    assert_eq!((mass.nbytes, mass.peak_nbytes), (100, 100));
    play.request(Request::Release(vec![name(1)]));
    let mass = overview(&mut play, Query::default()).functions.remove(0);
    assert_eq!((mass.nbytes, mass.peak_nbytes), (0, 100));
}

#[test]
fn a_trace_has_the_most_that_outputs_took() {
    let mut play = started();
    play.request(Request::Observe(true));
    let mut peaks = Vec::new();
    for block in 1..4 {
        play.request(Request::Submit(vec![call(block, &[])]));
        let assignment = play.runs(0).remove(0);
        play.done(0, &assignment, stored(block, 100));
        for action in &play.out {
            if let Action::Trace(Record::Peak { label, nbytes, .. }) = action {
                peaks.push((label.clone(), *nbytes));
            }
        }
        if block == 2 {
            play.request(Request::Release(vec![name(1)]));
        }
    }
    assert_eq!(peaks, [("mass".into(), 100), ("mass".into(), 200)]);
}

#[test]
fn only_the_tasks_that_were_asked_for_are_listed() {
    let mut play = started();
    play.request(Request::Submit((1..9).map(|block| call(block, &[])).collect()));
    let count = |play: &mut Play, limit, label: Option<&str>, stage: Option<&str>| {
        let (label, stage) = (label.map(str::to_owned), stage.map(str::to_owned));
        overview(play, Query { limit, label, stage, graph: None }).tasks.len()
    };
    assert_eq!(count(&mut play, 3, None, None), 3);
    assert_eq!(count(&mut play, 9, Some("mass"), None), 8);
    assert_eq!(count(&mut play, 9, Some("other"), None), 0);
    assert_eq!(count(&mut play, 9, None, Some("waiting")), 0);
}

#[test]
fn failures_are_remembered_with_the_end_of_their_traceback() {
    let mut play = started();
    play.request(Request::Submit(vec![call(1, &[])]));
    let assignment = play.runs(0).remove(0);
    let long = format!("{}é the end", "x".repeat(20 << 10));
    play.fails(0, &assignment, raised(&long));
    let found = overview(&mut play, Query::default());
    assert_eq!(found.functions[0].failed, 1);
    let [failure] = found.failures.as_slice() else { panic!("{:?}", found.failures) };
    assert_eq!((failure.name, &*failure.ended, failure.attempts), (name(1), "raised", 1));
    assert_eq!(failure.message, "ValueError: no");
    assert!(failure.traceback.ends_with("é the end") && failure.traceback.len() <= 16 << 10);
}

#[test]
fn what_was_cancelled_did_not_fail() {
    let mut play = started();
    play.request(Request::Submit(vec![call(1, &[])]));
    play.request(Request::Cancel(vec![name(1)]));
    assert_eq!(overview(&mut play, Query::default()).failures, []);
}

#[test]
fn records_are_made_while_somebody_looks() {
    let mut play = started();
    let traced = |play: &mut Play, block| {
        play.request(Request::Submit(vec![call(block, &[])]));
        let assignment = play.runs(0).remove(0);
        play.done(0, &assignment, inline(b"value"));
        play.out.iter().filter(|action| matches!(action, Action::Trace(_))).count()
    };
    assert_eq!(traced(&mut play, 1), 0);
    play.request(Request::Observe(true));
    assert_eq!(traced(&mut play, 2), 1);
    play.request(Request::Observe(false));
    assert_eq!(traced(&mut play, 3), 0);
}

#[test]
fn a_record_names_what_the_task_waited_for_and_all_that_it_made() {
    let mut play = started();
    play.request(Request::Observe(true));
    let mut sum = call(2, &[1]);
    sum.outputs.push(name(3));
    play.request(Request::Submit(vec![call(1, &[]), sum]));
    let mut named = Vec::new();
    for _ in 0..2 {
        let assignment = play.runs(0).remove(0);
        play.done(0, &assignment, inline(b"value"));
        for action in &play.out {
            if let Action::Trace(Record::Task { inputs, outputs, .. }) = action {
                named.push((inputs.to_string(), outputs.to_string()));
            }
        }
    }
    let of_sum = (name(1).to_string(), name(3).to_string());
    assert_eq!(named, [(String::new(), String::new()), of_sum]);
}

#[test]
fn attempts_are_counted_by_how_long_they_took_bounds_included() {
    let mut functions = Functions::default();
    for duration_ns in [0, 100_000, 100_001, 3_000_000_000, 1 << 60] {
        functions.ran(FunctionId(0), duration_ns);
    }
    let durations = functions.figures()[0].durations;
    assert_eq!(durations, [2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
}
