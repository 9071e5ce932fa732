use crate::manager::tests::{Play, call, inline, name, play};
use crate::manager::{Event, Outcome, Publication, Request};
use crate::wire::{TaskFailure, ToWorker};
use freestone_base::{Ticket, WorkerId};

fn publication(title: &str, block: u32) -> Publication {
    Publication { title: title.to_owned(), name: name(block), label: "f".to_owned() }
}

fn publish(play: &mut Play, title: &str, block: u32, replace: bool) -> Vec<(u64, Outcome)> {
    let (publication, ticket) = (publication(title, block), Ticket(900));
    play.request(Request::Publish { publication, replace, ticket });
    play.outcomes()
}

const YES: [(u64, Outcome); 1] = [(900, Outcome::Accepted(true))];
const NO: [(u64, Outcome); 1] = [(900, Outcome::Accepted(false))];

#[test]
fn a_published_block_stays_until_its_title_goes() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[])]));
    let runs = play.runs(0);
    assert_eq!(publish(&mut play, "a", 1, false), YES);
    assert_eq!(publish(&mut play, "a", 1, false), YES);
    play.request(Request::Release(vec![name(1)]));
    play.done(0, &runs[0], inline(b"x"));
    assert_eq!(play.statistics().blocks, 1);
    play.request(Request::Watch { name: name(1), ticket: Ticket(5) });
    assert_eq!(play.outcomes(), [(5, Outcome::Ready(inline(b"x")))]);
    play.request(Request::Release(vec![name(1)]));
    play.request(Request::Unpublish { title: "a".to_owned(), ticket: Ticket(900) });
    assert_eq!(play.outcomes(), YES);
    play.request(Request::Unpublish { title: "a".to_owned(), ticket: Ticket(900) });
    assert_eq!(play.outcomes(), NO);
    play.assert_empty();
}

#[test]
fn a_title_is_taken_only_on_request() {
    let mut play = play();
    for block in [1, 2] {
        let bytes = b"x".as_slice().into();
        play.request(Request::PutInline { name: name(block), bytes });
    }
    assert_eq!(publish(&mut play, "a", 1, false), YES);
    assert_eq!(publish(&mut play, "b", 3, false), NO);
    assert_eq!(publish(&mut play, "a", 2, false), NO);
    assert_eq!(publish(&mut play, "a", 2, true), YES);
    play.request(Request::Publications { ticket: Ticket(1) });
    assert_eq!(play.outcomes(), [(1, Outcome::Publications(vec![publication("a", 2)]))]);
    play.request(Request::Release(vec![name(1), name(2)]));
    assert_eq!(play.statistics().blocks, 1);
    play.request(Request::Unpublish { title: "a".to_owned(), ticket: Ticket(2) });
    play.assert_empty();
}

#[test]
fn a_detached_call_runs_on_and_its_result_answers_the_next() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[]), call(2, &[1])]));
    let runs = play.runs(0);
    play.request(Request::Detach(vec![name(2)]));
    play.request(Request::Release(vec![name(1), name(2)]));
    play.request(Request::Abandon(vec![(name(1), 0), (name(2), 0)]));
    play.done(0, &runs[0], inline(b"x"));
    let runs = play.runs(0);
    play.done(0, &runs[0], inline(b"y"));
    // Nobody is told of what only kept it.
    assert_eq!(play.outcomes(), [(2, Outcome::Ready(inline(b"y")))]);
    play.request(Request::Submit(vec![call(2, &[1])]));
    assert_eq!(play.outcomes(), [(2, Outcome::Ready(inline(b"y")))]);
    assert_eq!(play.statistics().answered, 1);
}

#[test]
fn a_detached_call_that_fails_is_gone() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[])]));
    let runs = play.runs(0);
    play.request(Request::Detach(vec![name(1), name(7)]));
    play.request(Request::Release(vec![name(1)]));
    play.fails(0, &runs[0], TaskFailure::TimedOut { timeout_ns: 1 });
    play.assert_empty();
}

#[test]
fn a_block_that_is_not_known_is_watched_and_released_like_any_other() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Watch { name: name(1), ticket: Ticket(5) });
    assert!(matches!(play.outcomes().as_slice(), [(5, Outcome::Failed(_))]));
    // Another client makes it: the first one's release takes nothing from it.
    play.request(Request::Submit(vec![call(1, &[])]));
    let runs = play.runs(0);
    play.request(Request::Release(vec![name(1)]));
    play.done(0, &runs[0], inline(b"x"));
    assert_eq!(play.outcomes(), [(1, Outcome::Ready(inline(b"x")))]);
    assert_eq!(play.statistics().blocks, 1);
    play.request(Request::Release(vec![name(1)]));
    play.assert_empty();
}

#[test]
fn the_end_of_the_cluster_ends_what_is_detached() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[])]));
    play.request(Request::Detach(vec![name(1)]));
    play.request(Request::Shutdown);
    assert_eq!(play.sent(0), [&ToWorker::Shutdown]);
    assert_eq!(play.outcomes().len(), 1);
    play.handle(Event::Left(WorkerId(0)));
}
