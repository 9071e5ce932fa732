//! Executors are replaced: whose calls are cancelled, and whose begin again.

use crate::manager::tests::{Play, call, inline, name, play};
use crate::manager::*;
use crate::wire::ToWorker;
use freestone_base::{Ticket, WorkerId};

fn cancelled(play: &Play) -> Vec<u64> {
    let ended = play.outcomes().into_iter().filter_map(|(ticket, outcome)| match outcome {
        Outcome::Failed(failure) if failure.why == Why::Cancelled => Some(ticket),
        _ => None,
    });
    ended.collect()
}

/// What a worker is sent, in a word each.
fn words(play: &Play, worker: u32) -> Vec<&'static str> {
    let sent = play.sent(worker).into_iter();
    let words = sent.map(|message| match message {
        ToWorker::Cancel(_) => "cancel",
        ToWorker::Restart => "restart",
        ToWorker::Run(_) => "run",
        _ => "other",
    });
    words.collect()
}

#[test]
fn what_the_program_waits_for_is_cancelled() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[]), call(2, &[]), call(3, &[1])]));
    play.request(Request::Restart { abandoned: None });
    assert_eq!(cancelled(&play), [1, 3, 2]);
    assert_eq!(words(&play, 0), ["cancel", "restart"]);
    play.request(Request::Release(vec![name(1), name(2), name(3)]));
    play.assert_empty();
}

#[test]
fn what_others_wait_for_begins_again() {
    let mut play = play();
    play.join(0, 1);
    let theirs = Ticket(Ticket::REMOTE | 7);
    let other = Submission { tickets: [theirs].into_iter().collect(), ..call(1, &[]) };
    play.request(Request::Submit(vec![other]));
    let first = play.runs(0)[0].clone();
    // The program waits for it, too.
    play.request(Request::Watch { name: name(1), ticket: Ticket(1) });
    play.request(Request::Restart { abandoned: None });
    assert_eq!(cancelled(&play), []);
    assert_eq!(words(&play, 0), ["cancel", "restart", "run"]);
    let second = play.runs(0)[0].clone();
    assert_eq!((second.task, second.attempt), (first.task, 2));
    play.done(0, &first, inline(b"old"));
    assert_eq!(play.outcomes(), []);
    play.done(0, &second, inline(b"new"));
    let ended: Vec<u64> = play.outcomes().into_iter().map(|(ticket, _)| ticket).collect();
    assert_eq!(ended, [theirs.0, 1]);
    assert_eq!(play.statistics().retried, 1);
}

#[test]
fn what_is_published_or_detached_begins_again() {
    let mut play = play();
    play.join(0, 2);
    play.request(Request::Submit(vec![call(1, &[]), call(2, &[])]));
    let publication = Publication { title: "one".to_owned(), name: name(1), label: String::new() };
    play.request(Request::Publish { publication, replace: false, ticket: Ticket(8) });
    play.request(Request::Detach(vec![name(2)]));
    play.request(Request::Restart { abandoned: None });
    assert_eq!(cancelled(&play), []);
    assert_eq!(play.runs(0).len(), 2);
}

#[test]
fn one_of_several_clients_cancels_what_it_alone_needs() {
    let mut play = play();
    play.join(0, 1);
    play.join(1, 1);
    play.request(Request::Submit(vec![call(1, &[]), call(2, &[])]));
    play.request(Request::Restart { abandoned: Some(vec![(name(1), 1)]) });
    assert_eq!(cancelled(&play), [1]);
    let again = [play.runs(0), play.runs(1)].concat();
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].outputs[0], name(2));
}

#[test]
fn a_worker_that_is_let_go_ends_its_calls() {
    let mut play = play();
    play.join(0, 1);
    play.join(1, 1);
    play.request(Request::Submit(vec![call(1, &[])]));
    let (at, other) = if play.runs(0).is_empty() { (1, 0) } else { (0, 1) };
    play.request(Request::Retire(vec![WorkerId(at)]));
    play.request(Request::Restart { abandoned: Some(Vec::new()) });
    assert!(words(&play, at).is_empty());
    assert_eq!(words(&play, other), ["restart"]);
}
