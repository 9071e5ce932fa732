use super::{Outcome, Why};
use crate::manager::tests::{Play, call, name, play, stored};
use crate::manager::{Event, Request, Submission};
use crate::wire::FromWorker;
use freestone_base::WorkerId;

/// Submits a call for one worker alone; why it is refused, if it is.
fn submit(play: &mut Play, output: u32, worker: u32) -> Option<Why> {
    let call = Submission { worker: Some(WorkerId(worker)), ..call(output, &[]) };
    play.request(Request::Submit(vec![call]));
    refusal(play)
}

fn refusal(play: &Play) -> Option<Why> {
    play.outcomes().into_iter().find_map(|(_, outcome)| match outcome {
        Outcome::Failed(failure) => Some(failure.why.clone()),
        _ => None,
    })
}

fn absent(worker: u32, gone_ns: Option<u64>, present: &[u32]) -> Why {
    let present = present.iter().copied().map(WorkerId).collect();
    Why::WorkerAbsent { worker: WorkerId(worker), gone_ns, present }
}

#[test]
fn a_worker_that_never_was_is_refused_at_once() {
    let mut play = play();
    assert_eq!(submit(&mut play, 1, 0), Some(absent(0, None, &[])));
    play.join(0, 1);
    play.join(1, 1);
    assert_eq!(submit(&mut play, 2, 7), Some(absent(7, None, &[0, 1])));
}

#[test]
fn a_worker_that_is_gone_is_reported_with_the_time() {
    let mut play = play();
    play.join(0, 1);
    play.join(1, 1);
    play.handle(Event::Left(WorkerId(1)));
    // A thousand nanoseconds pass with each event.
    assert_eq!(submit(&mut play, 1, 1), Some(absent(1, Some(1000), &[0])));
    play.join(2, 1);
    assert_eq!(submit(&mut play, 2, 1), Some(absent(1, Some(3000), &[0, 2])));
    play.request(Request::Retire(vec![WorkerId(0)]));
    assert_eq!(submit(&mut play, 3, 0), Some(absent(0, Some(1000), &[2])));
}

#[test]
fn what_runs_only_on_a_worker_that_dies_fails_with_it() {
    let mut play = play();
    play.join(0, 1);
    play.join(1, 1);
    assert_eq!(submit(&mut play, 1, 1), None);
    play.handle(Event::Left(WorkerId(1)));
    assert_eq!(refusal(&play), Some(absent(1, Some(0), &[0])));
}

#[test]
fn a_worker_that_is_about_to_join_is_waited_for() {
    let mut play = play();
    play.handle(Event::Connected(WorkerId(0)));
    assert_eq!(submit(&mut play, 1, 0), None);
    play.join(0, 1);
    assert_eq!(play.runs(0).len(), 1);
    play.handle(Event::Connected(WorkerId(1)));
    assert_eq!(submit(&mut play, 2, 1), None);
    play.handle(Event::Left(WorkerId(1)));
    assert_eq!(refusal(&play), Some(absent(1, Some(0), &[0])));
}

#[test]
fn what_is_taken_back_before_its_worker_joins_is_queued_there_once() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[])]));
    play.done(0, &play.runs(0)[0].clone(), stored(1, 10));
    play.handle(Event::Connected(WorkerId(1)));
    let pinned = Submission { worker: Some(WorkerId(1)), ..call(2, &[1]) };
    play.request(Request::Submit(vec![pinned]));
    let lost = FromWorker::Lost { names: vec![name(1)], reason: String::new() };
    play.says(0, lost);
    play.done(0, &play.runs(0)[0].clone(), stored(1, 10));
    play.join(1, 1);
    let runs = play.runs(1);
    assert_eq!(runs.len(), 1);
    // The worker has nothing else: that is checked after each event.
    play.done(1, &runs[0], stored(2, 10));
    assert_eq!(refusal(&play), None);
}
